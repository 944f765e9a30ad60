"""Parser of types, operands and constants in textual LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.frontend.lexer import Tokens, symbol, words
from kgen.emulate.llvm.frontend.module import Constant, Fields, LlvmInstruction, Local, Operand
from kgen.emulate.llvm.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    HALF,
    LDS,
    PRIVATE,
    REGION,
    VOID,
    ArrayType,
    Floating,
    LlvmInteger,
    LlvmType,
    LlvmVector,
    Pointer,
    Struct,
    Void,
)

_NAMED_TYPES: dict[str, LlvmType] = {
    "void": VOID,
    "label": Void("label"),
    "token": Void("token"),
    "metadata": Void("metadata"),
    "half": HALF,
    "bfloat": BFLOAT,
    "float": FLOAT,
    "double": DOUBLE,
}
_INTEGER_TYPE = re.compile(r"i\d+$")
_ZEROS = frozenset(("zeroinitializer", "null", "undef", "poison", "none"))
_CONSTANT_WORDS = _ZEROS | {"true", "false", "splat"}
_EXPRESSIONS = frozenset(
    words("getelementptr bitcast addrspacecast ptrtoint inttoptr trunc add sub xor")
)
#: Words between an opcode and its first type: wrapping and fast-math flags. They promise that a
#: case does not occur, or allow less precision.
FLAGS = frozenset(
    words(
        "nuw nsw exact disjoint nneg inbounds nusw samesign fast nnan ninf nsz arcp contract afn"
        " reassoc volatile"
    )
)

#: Function that parses an instruction after its opcode and flags.
Parse = Callable[[], Fields]


class OperandParser:
    """Reads types and operands at the cursor of ``tokens``.

    ``narrow_pointers`` says that LDS and private pointers have 32 bits (AMDGPU).
    """

    def __init__(self, tokens: Tokens, *, narrow_pointers: bool) -> None:
        self.tokens = tokens
        self.narrow_pointers = narrow_pointers
        self.named_types: dict[str, LlvmType] = {}

    # -- types ----------------------------------------------------------------------------------

    def at_type(self) -> bool:
        t = self.tokens
        if t.kind == "word":
            return t.text == "ptr" or t.text in _NAMED_TYPES or bool(_INTEGER_TYPE.match(t.text))
        return t.text in ("<", "[", "{") or (
            t.kind == "local" and symbol(t.text) in self.named_types
        )

    def type(self) -> LlvmType:
        t = self.tokens
        text = t.next()
        if text == "ptr":
            return self._pointer()
        if text in _NAMED_TYPES:
            return _NAMED_TYPES[text]
        if _INTEGER_TYPE.match(text):
            return LlvmInteger(int(text[1:]))
        if text == "<":
            if t.accept("{"):
                fields = self._fields()
                t.expect(">")
                return Struct(fields, packed=True)
            count, of = self._count_and_element()
            t.expect(">")
            return LlvmVector(count, of)
        if text == "[":
            count, of = self._count_and_element()
            t.expect("]")
            return ArrayType(count, of)
        if text == "{":
            return Struct(self._fields())
        if text.startswith("%") and symbol(text) in self.named_types:
            return self.named_types[symbol(text)]
        t.at -= 1
        raise t.error("expected a type")

    def _pointer(self) -> Pointer:
        t = self.tokens
        if not t.accept("addrspace"):
            return Pointer()
        t.expect("(")
        space = t.integer()
        t.expect(")")
        narrow = self.narrow_pointers and space in (REGION, LDS, PRIVATE)
        return Pointer(space, 32 if narrow else 64)

    def _count_and_element(self) -> tuple[int, LlvmType]:
        count = self.tokens.integer()
        self.tokens.expect("x")
        return count, self.type()

    def _fields(self) -> tuple[LlvmType, ...]:
        fields: list[LlvmType] = []
        while not self.tokens.accept("}"):
            fields.append(self.type())
            self.tokens.accept(",")
        return tuple(fields)

    # -- operands -------------------------------------------------------------------------------

    def typed_operand(self) -> Operand:
        """Parse ``<type> [attributes] <value>``."""
        type_ = self.type()
        if isinstance(type_, Void) and type_.name == "metadata":
            self._skip_metadata()
            return Constant(type_, "zero")
        self.skip_attributes()
        return self.operand(type_)

    def typed_operands(self) -> list[Operand]:
        """Parse typed operands that are separated by commas, up to a comma that starts something
        else."""
        t = self.tokens
        operands = [self.typed_operand()]
        while t.text == "," and t.kinds[t.at + 1] != "metadata" and t.texts[t.at + 1] != "align":
            t.next()
            operands.append(self.typed_operand())
        return operands

    def alignment(self, type_: LlvmType) -> int:
        """Parse ``, align 16``; without it, return the ABI alignment of the type."""
        t = self.tokens
        if t.text == "," and t.texts[t.at + 1] == "align":
            t.at += 2
            return t.integer()
        return type_.align

    def skip_attributes(self) -> None:
        """Skip parameter attributes: words, ``align 4``, ``range(...)``, ``"key"="value"``."""
        t = self.tokens
        while True:
            if t.kind == "word" and t.text not in _CONSTANT_WORDS and t.text not in _EXPRESSIONS:
                word = t.next()
                if t.text == "(":
                    t.skip_brackets()
                elif word == "align":
                    t.integer()
            elif t.kind == "string" and not t.text.startswith("c"):
                t.next()
                if t.accept("="):
                    t.next()
            else:
                return

    def _skip_metadata(self) -> None:
        """Skip ``!12``, ``!{...}``, ``!DILocation(...)`` or a typed value."""
        t = self.tokens
        if t.kind == "metadata":
            t.next()
            if t.text in ("{", "("):
                t.skip_brackets()
        else:
            self.typed_operand()

    def operand(self, type_: LlvmType) -> Operand:
        t = self.tokens
        if t.kind == "local":
            return Local(type_, symbol(t.next()))
        return self.constant(type_)

    def constant(self, type_: LlvmType) -> Constant:
        t = self.tokens
        kind, text = t.kind, t.text
        if kind == "number":
            t.next()
            return self._number(type_, text)
        if kind == "global":
            return Constant(type_, "global", symbol(t.next()))
        if kind == "string" and text.startswith("c"):
            return Constant(type_, "bytes", _unescape(t.next()[2:-1]))
        if text in _ZEROS:
            t.next()
            return Constant(type_, "zero")
        if text in ("true", "false"):
            return Constant(type_, "int", int(t.next() == "true"))
        if text == "splat":
            t.next()
            t.expect("(")
            element = self.typed_operand()
            t.expect(")")
            return Constant(type_, "list", (element,) * type_.lanes)
        if text in ("<", "[", "{"):
            return Constant(type_, "list", self._list())
        if text in _EXPRESSIONS:
            return Constant(type_, "expression", self._expression(type_))
        raise t.error("expected a value")

    def _number(self, type_: LlvmType, text: str) -> Constant:
        if isinstance(type_, Floating):
            return Constant(type_, "bits", _float_bits(text, type_))
        value = int(text[3:], 16) if text[1:3] == "0x" else int(text)
        return Constant(type_, "int", value)

    def _list(self) -> tuple[Operand, ...]:
        """Parse ``<...>``, ``[...]``, ``{...}`` or ``<{...}>`` at the cursor."""
        t = self.tokens
        packed = t.text == "<" and t.texts[t.at + 1] == "{"
        t.at += 2 if packed else 1
        elements: list[Operand] = []
        while t.text not in (">", "]", "}"):
            elements.append(self.typed_operand())
            t.accept(",")
        t.at += 2 if packed else 1
        return tuple(elements)

    def _expression(self, type_: LlvmType) -> LlvmInstruction:
        """Parse a constant expression: ``opcode [flags] (operands)``."""
        t = self.tokens
        line = t.line
        opcode = t.next()
        while t.text in FLAGS:
            t.next()
        if t.accept("inrange"):
            t.skip_brackets()
        t.expect("(")
        source: LlvmType = VOID
        if opcode == "getelementptr":
            source = self.type()
            t.expect(",")
        operands = [self.typed_operand()]
        while t.accept(","):
            operands.append(self.typed_operand())
        if t.accept("to"):
            self.type()
        t.expect(")")
        return LlvmInstruction(
            opcode=opcode, line=line, type=type_, operands=tuple(operands), source_type=source
        )


def _unescape(text: str) -> bytes:
    return re.sub(
        rb"\\([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), text.encode("latin-1")
    ).replace(b"\\\\", b"\\")


def _float_bits(text: str, type_: Floating) -> int:
    """Return the bits, in ``type_``, of a decimal or hexadecimal literal.

    ``0x...`` without a letter gives the bits of the value as a double, even for float. ``0xH``
    (half), ``0xR`` (bfloat) and ``f0x`` give the bits themselves. There are words for infinities
    and NaN: ``-inf``, ``+qnan``, and ``+nan(0x1)`` or ``snan`` with a payload.
    """
    if (special := _SPECIAL.match(text)) is not None:
        return _special_bits(special, type_)
    if text.startswith(("0xH", "0xR", "f0x")):
        return int(text[3:], 16)
    as_double = text.startswith("0x")
    value = np.uint64(int(text, 16)).view(np.float64) if as_double else np.float64(text)
    return _BITS_OF[type_.name](value)


_SPECIAL = re.compile(r"(?P<sign>[-+])(?P<word>inf|qnan|s?nan)(?:\(0x(?P<payload>\w+)\))?$")
#: Bits of each type's significand.
_SIGNIFICAND = {"double": 52, "float": 23, "half": 10, "bfloat": 7}


def _special_bits(special: re.Match[str], type_: Floating) -> int:
    stored, width = _SIGNIFICAND[type_.name], 8 * type_.size
    exponent = (1 << width - 1) - (1 << stored)
    quiet = 1 << stored - 1 if special["word"] in ("qnan", "nan") else 0
    payload = int(special["payload"] or "0", 16) & ((1 << stored) - 1)
    return (special["sign"] == "-") << width - 1 | exponent | quiet | payload


_BITS_OF: dict[str, Callable[[np.float64], int]] = {
    "double": lambda value: int(value.view(np.uint64)),
    "float": lambda value: int(np.float32(value).view(np.uint32)),
    "half": lambda value: int(np.float16(value).view(np.uint16)),
    "bfloat": lambda value: int(np.float32(value).view(np.uint32)) >> 16,
}
