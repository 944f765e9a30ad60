"""Format strings of C's printf (ISO C 7.23.6.1) on a 64-bit host with glibc.

CUDA's printf leaves formatting to the host, so the host's C library defines the text.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

from kgen.emulate.wording import shorten
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?"
    r"(?P<length>hh|h|ll|l|j|z|t|)(?P<kind>[diouxXcspeEfFgG%])",
    re.ASCII,
)
_BITS = {"hh": 8, "h": 16, "": 32, **dict.fromkeys(("l", "ll", "j", "z", "t"), 64)}
#: Widest field, and most digits, of a conversion.
_MOST_DIGITS = 1024


@frozen
class FormatConversion:
    """Conversion of a format. `width`, `precision`: "" if absent, "*" if they are arguments."""

    flags: str
    width: str
    precision: str | None
    length: str
    kind: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each argument of the conversion, in order."""
        stars = [4 for field in (self.width, self.precision) if field == "*"]
        wide = self.kind in "speEfFgG" or _BITS[self.length] == 64
        return (*stars, 8 if wide else 4)


@lru_cache(maxsize=64)
def parse(given: bytes) -> tuple[bytes | FormatConversion, ...]:
    """Return the literal text and the conversions of a format string.

    Raises EmulationError for a conversion that is not supported.
    """
    # Latin-1 has a character for each byte.
    text, position = given.decode("latin-1"), 0
    found: list[bytes | FormatConversion] = []
    while (start := text.find("%", position)) >= 0:
        found.append(given[position:start])
        match = _CONVERSION.match(text, start)
        if match is None:
            raise _not_supported(text[start : start + 12])
        conversion = FormatConversion(**match.groupdict())
        if conversion.kind in "csp" and conversion.length:
            raise _not_supported(match[0])
        found.append(b"%" if conversion.kind == "%" else conversion)
        position = match.end()
    found.append(given[position:])
    return tuple(part for part in found if part)


def convert(
    conversion: FormatConversion, values: Sequence[int], string: Callable[[int], bytes]
) -> bytes:
    """Return the text of a conversion. `values` are the bits of its arguments; `string` reads a
    string at an address."""
    *stars, value = values
    left, width = "-" in conversion.flags, conversion.width
    wide = _signed(stars.pop(0), 32) if width == "*" else int(width or 0)
    left, wide = left or wide < 0, abs(wide)
    digits: int | None = None
    if conversion.precision is not None:
        given = conversion.precision
        digits = _signed(stars.pop(0), 32) if given == "*" else int(given or 0)
        digits = None if digits < 0 else digits
    for asked in (wide, digits or 0):
        if asked > _MOST_DIGITS:
            raise EmulationError(
                f"printf: %{conversion.kind} with a width or precision of {asked}; "
                f"{_MOST_DIGITS} is the emulator's limit; print fewer characters"
            )
    kind = conversion.kind
    prefix, body, fills = b"", b"", False
    if kind == "c":
        body = bytes([value & 0xFF])
    elif kind == "s":
        body = string(value)[:digits] if value else b"(null)" if digits is None else b""
    elif kind == "p" and not value:
        body = b"(nil)"
    elif kind in "diouxXp":
        prefix, body = _integer(conversion, value, digits)
        fills = digits is None
    else:
        prefix, body, fills = _float(conversion, value, 6 if digits is None else digits)
    missing = max(0, wide - len(prefix) - len(body))
    if left:
        return prefix + body + b" " * missing
    if fills and "0" in conversion.flags:
        return prefix + b"0" * missing + body
    return b" " * missing + prefix + body


def _integer(conversion: FormatConversion, value: int, digits: int | None) -> tuple[bytes, bytes]:
    """Return (sign or base, digits) of an integer or a pointer."""
    kind = conversion.kind
    size = 64 if kind == "p" else _BITS[conversion.length]
    number = value & ((1 << size) - 1)
    prefix = ""
    if kind in "di":
        number = _signed(number, size)
        prefix = _sign(conversion, negative=number < 0)
    text = format(abs(number), {"i": "d", "u": "d", "p": "x"}.get(kind, kind))
    if digits is not None:
        text = text.rjust(digits, "0") if number or digits else ""
    if kind == "p":
        prefix = _sign(conversion, negative=False) + "0x"
    elif "#" in conversion.flags and kind in "xX" and number:
        prefix = f"0{kind}"
    elif "#" in conversion.flags and kind == "o" and not text.startswith("0"):
        text = f"0{text}"
    return prefix.encode(), text.encode()


def _float(conversion: FormatConversion, value: int, digits: int) -> tuple[bytes, bytes, bool]:
    """Return (sign, digits, whether zeros may pad it) of the bits of a double."""
    (number,) = struct.unpack("<d", struct.pack("<Q", value))
    sign = _sign(conversion, negative=math.copysign(1, number) < 0)
    finite = math.isfinite(number)
    form = f"{'#' if '#' in conversion.flags else ''}.{digits}{conversion.kind}"
    return sign.encode(), format(abs(number), form if finite else conversion.kind).encode(), finite


def _sign(conversion: FormatConversion, *, negative: bool) -> str:
    if negative:
        return "-"
    return "+" if "+" in conversion.flags else " " if " " in conversion.flags else ""


def _signed(bits: int, size: int) -> int:
    bits &= (1 << size) - 1
    return bits - (1 << size) if bits >> size - 1 else bits


def _not_supported(text: str) -> EmulationError:
    return EmulationError(
        f"printf: the conversion {shorten(text)!r} is not supported; "
        "use d i u o x X c s p e f g or %, with l, ll, h or hh before an integer"
    )
