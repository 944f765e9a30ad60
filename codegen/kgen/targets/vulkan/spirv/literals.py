"""Encoding of numbers and strings of SPIR-V text as words.

A number has as many 32-bit words as its type needs, the low word first. A narrower number is sign
extended if its type is a signed integer, and zero extended otherwise (SPIR-V 1.6, section 2.2.1,
"Literal"). The accepted spellings and their results are those of spirv-as.
"""

from __future__ import annotations

import re
import struct
from fractions import Fraction

from kgen_runtime.values import frozen

_HEX_FLOAT = re.compile(
    r"(?P<sign>[-+]?)0x(?P<whole>[0-9a-f]+)(?:\.(?P<part>[0-9a-f]*))?p(?P<exponent>[-+]?\d+)", re.I
)
_DECIMAL_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.I)
_INTEGER = re.compile(r"-?(0x[0-9a-f]+|\d+)", re.I)

#: Explicit mantissa bits by width (IEEE 754 binary16, binary32 and binary64).
_MANTISSA = {16: 10, 32: 23, 64: 52}


@frozen
class NumberType:
    """Number type that OpTypeInt or OpTypeFloat declared."""

    kind: str  # "int" or "float"
    width: int
    signed: bool = False


UINT32 = NumberType(kind="int", width=32)


def number(text: str, kind: NumberType) -> list[int]:
    """Return the words of a number. Raises ValueError if the text is not a number, or does not fit
    its type."""
    floating = kind.kind == "float"
    value = _float_bits(text, kind.width) if floating else _integer_bits(text, kind)
    return [value & 0xFFFFFFFF, value >> 32] if kind.width > 32 else [value]


def string(text: str) -> list[int]:
    """Return the words of a quoted string: UTF-8, NUL-terminated, NUL-padded to whole words."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise ValueError(f"{text} is not a quoted string")
    data = re.sub(r"\\(.)", r"\1", text[1:-1]).encode() + b"\0"
    data += bytes(-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def _integer_bits(text: str, kind: NumberType) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text} is not an integer")
    value, width = int(text, _base(text.lstrip("-"))), kind.width
    # Hexadecimal digits give the bits, so 0xffffffff is legal for a signed number.
    bits_given = text[:2].lower() == "0x"
    high = (1 << width) if bits_given or not kind.signed else (1 << (width - 1))
    low = -(1 << (width - 1)) if kind.signed else 0
    if not low <= value < high:
        sign = "signed" if kind.signed else "unsigned"
        raise ValueError(f"{text} does not fit a {width}-bit {sign} integer")
    if kind.signed and value >= 1 << (width - 1):
        value -= 1 << width
    return value & ((1 << max(width, 32)) - 1)


def _base(digits: str) -> int:
    """Return the base of an integer's digits. A leading zero means octal, as in C."""
    if digits[:2].lower() == "0x":
        return 16
    return 8 if digits[0] == "0" else 10


def _float_bits(text: str, width: int) -> int:
    if match := _HEX_FLOAT.fullmatch(text):
        return _hex_float_bits(match, text, width)
    if not _DECIMAL_FLOAT.fullmatch(text):
        raise ValueError(f"{text} is not a floating-point number")
    sign = 1 if text.startswith("-") else 0
    value = abs(Fraction(text))
    if width == 16:
        # spirv-as rounds to binary32 first, and from there towards zero.
        rounded = _encode(value, 32)
        bits = _encode(_decode(rounded, 32), 16, nearest=False)
    else:
        bits = _encode(value, width)
    if bits >= _infinity(width):
        raise ValueError(f"{text} does not fit a {width}-bit float")
    return sign << (width - 1) | bits


def _hex_float_bits(match: re.Match[str], text: str, width: int) -> int:
    part = match["part"] or ""
    digits, exponent = int(match["whole"] + part, 16), int(match["exponent"])
    mantissa = _MANTISSA[width]
    if exponent == 1 << (width - mantissa - 2) and int(match["whole"], 16) == 1:
        # spirv-dis writes infinity and NaN as 1.payload times two to one more than the largest.
        payload = (int(part or "0", 16) << mantissa) >> (4 * len(part))
        bits = _infinity(width) | payload
    else:
        value = Fraction(digits) * Fraction(2) ** (exponent - 4 * len(part))
        bits = _encode(value, width)
        if bits >= _infinity(width) or _decode(bits, width) != value:
            raise ValueError(f"{text} is not exactly a {width}-bit float")
    return (1 << (width - 1) if match["sign"] == "-" else 0) | bits


def _infinity(width: int) -> int:
    return ((1 << (width - 1 - _MANTISSA[width])) - 1) << _MANTISSA[width]


def _encode(value: Fraction, width: int, nearest: bool = True) -> int:
    """Return the bits of a number that is not negative, rounded to nearest even or towards zero.

    Numbers above the largest finite one give the bits of infinity.
    """
    mantissa = _MANTISSA[width]
    bias = (1 << (width - mantissa - 2)) - 1
    if not value:
        return 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    exponent = max(exponent, 1 - bias)
    scaled = value * Fraction(2) ** (mantissa - exponent)
    whole = round(scaled) if nearest else int(scaled)
    # The implicit bit of `whole` adds one to the exponent field, which is 0 for subnormals.
    return min(((exponent + bias - 1) << mantissa) + whole, _infinity(width))


def _decode(bits: int, width: int) -> Fraction:
    mantissa = _MANTISSA[width]
    bias = (1 << (width - mantissa - 2)) - 1
    field, part = bits >> mantissa, bits & ((1 << mantissa) - 1)
    whole = part | (1 << mantissa if field else 0)
    return Fraction(whole) * Fraction(2) ** (max(field, 1) - bias - mantissa)
