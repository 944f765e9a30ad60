"""Parser of operands (PTX ISA 4.5 constants, 6 operands)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import numpy as np

from kgen.emulate.ptx.frontend.syntax import (
    Address,
    DestinationPair,
    FloatLiteral,
    IntegerLiteral,
    Not,
    Operand,
    Register,
    SymbolAddress,
    VectorOperand,
)
from kgen.emulate.ptx.types import PtxType
from kgen.emulate.wording import shorten

#: Maps a name of the source to its unique name in the current scope.
Resolve = Callable[[str], str]

_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$")
_HEX_FLOAT = re.compile(r"(-?)0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))$")
_DECIMAL = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?$")
_NAME = re.compile(r"[%$A-Za-z_][\w$.]*$")
_OFFSET = re.compile(r"(.+?)\s*([+-])\s*([-+]?\w+)$")
_SYMBOL = re.compile(r"([$A-Za-z_][\w$.]*)\s*\+\s*([-+]?(?:0[xX][0-9a-fA-F]+|\d+))$")
_BRACKETS = frozenset("{[(}])")
#: Predefined constants, PTX ISA 4.4.
_PREDEFINED = {"WARP_SZ": 32}


def split(text: str) -> list[str]:
    """Split operands at the commas outside brackets."""
    if not _BRACKETS.intersection(text):
        found = [part.strip() for part in text.split(",")]
        return found if found[-1] else found[:-1]
    found, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            found.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*found, last] if last else found


def integer(text: str) -> int:
    """Parse a PTX integer constant; octal constants start with 0."""
    digits = text.rstrip("U")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    base = 8 if re.fullmatch(r"0[0-7]+", digits) else 0
    return sign * int(digits, base)


def initial_bytes(text: str, type_: PtxType) -> bytes:
    """Return a constant as the bytes of a variable's element. Raises ValueError if it is not a
    constant of the type."""
    value = _scalar(text, lambda name: name)
    if isinstance(value, Register):
        raise ValueError(f"`{shorten(text)}` is not a number")
    if isinstance(value, IntegerLiteral):
        if type_.dtype.kind == "f":
            raise ValueError(f"`{shorten(text)}` is an integer in a variable of .{type_.name}")
        return (value.value & ((1 << type_.bits) - 1)).to_bytes(type_.size, "little")
    if type_.size < 4:
        raise ValueError(f"`{shorten(text)}` is too wide for .{type_.name}")
    return np.array(value.value, f"f{type_.size}").tobytes()


def operand(text: str, resolve: Resolve) -> Operand:
    """Parse one operand. Raises ValueError if it does not have a form of PTX."""
    if text.startswith("{") and text.endswith("}"):
        items = split(text[1:-1])
        if any(item.startswith("{") for item in items):
            raise ValueError("a vector in a vector is not an operand")
        return VectorOperand(elements=tuple(operand(item, resolve) for item in items))
    if text.startswith("[") and text.endswith("]"):
        return _address(text[1:-1].strip(), resolve)
    if text.startswith("!"):
        return Not(register=_register(text[1:].strip(), resolve))
    if "|" in text:
        first, second = text.split("|")
        return DestinationPair(
            first=_register(first.strip(), resolve), second=_register(second.strip(), resolve)
        )
    if (moved := _SYMBOL.match(text)) is not None:
        return SymbolAddress(base=_register(moved[1], resolve), offset=integer(moved[2]))
    return _scalar(text, resolve)


def _scalar(text: str, resolve: Resolve) -> Register | IntegerLiteral | FloatLiteral:
    if text in _PREDEFINED:
        return IntegerLiteral(value=_PREDEFINED[text])
    if _INTEGER.match(text):
        return IntegerLiteral(value=integer(text))
    exact = _HEX_FLOAT.match(text)
    if exact:
        code, digits = (">f", exact[2]) if exact[2] else (">d", exact[3])
        value: float = struct.unpack(code, bytes.fromhex(digits))[0]
        return FloatLiteral(value=-value if exact[1] else value)
    if _DECIMAL.match(text):
        return FloatLiteral(value=float(text))
    return _register(text, resolve)


def _register(text: str, resolve: Resolve) -> Register:
    if not _NAME.match(text):
        raise ValueError(f"`{shorten(text)}` is not an operand")
    return Register(name=resolve(text))


def _address(text: str, resolve: Resolve) -> Address:
    parts = split(text)
    if len(parts) == 2:
        tensor, coordinates = _address(parts[0], resolve), operand(parts[1], resolve)
        if not isinstance(coordinates, VectorOperand):
            raise ValueError(f"`{shorten(text)}` is not an address")
        return Address(base=tensor.base, offset=tensor.offset, coordinates=coordinates.elements)
    offset = 0
    moved = _OFFSET.match(text)
    if moved and _INTEGER.match(moved[3]):
        text, offset = moved[1], integer(moved[3])
        offset = -offset if moved[2] == "-" else offset
    base = _scalar(text.strip(), resolve)
    if isinstance(base, FloatLiteral):
        raise ValueError(f"`{shorten(text)}` is not an address")
    return Address(base=base, offset=offset)
