"""8-bit floats: e4m3 and e5m2, and their FNUZ variants.

Sources: PTX ISA 5.2.3; OCP 8-bit floating point specification 1.0. The FNUZ variants of gfx942 have
a bias that is larger by one, no infinity, and a single NaN in place of -0 (CDNA3 instruction set
manual, "Data types").
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.floats import Array
from kgen_runtime.values import frozen


@frozen
class Minifloat:
    """Format with `fraction` bits of fraction; the remaining bits of seven are the exponent.

    `largest` is the code of the largest finite number. The codes of positive numbers are in the
    order of their values, so that a table of all values converts both ways.
    """

    fraction: int
    bias: int
    largest: int
    #: Whether codes beyond the largest begin with infinity, as in IEEE 754.
    infinity: bool = False
    #: Whether the code of -0 is NaN.
    fnuz: bool = False

    def values(self) -> Array:
        """Return the values of all 256 codes, as f32."""
        code = np.arange(128)
        exponent, fraction = code >> self.fraction, code & ((1 << self.fraction) - 1)
        significand = np.where(exponent > 0, 1, 0) + fraction / (1 << self.fraction)
        value = np.ldexp(significand, np.maximum(exponent, 1) - self.bias)
        value[self.largest + 1 :] = np.nan
        if self.infinity:
            value[self.largest + 1] = np.inf
        both = np.concatenate([value, -value]).astype(np.float32)
        if self.fnuz:
            both[128] = np.nan
        return both


FORMATS = {
    "e4m3": Minifloat(fraction=3, bias=7, largest=0x7E),
    "e5m2": Minifloat(fraction=2, bias=15, largest=0x7B, infinity=True),
    "e4m3fnuz": Minifloat(fraction=3, bias=8, largest=0x7F, fnuz=True),
    "e5m2fnuz": Minifloat(fraction=2, bias=16, largest=0x7F, fnuz=True),
}
VALUES = {name: format_.values() for name, format_ in FORMATS.items()}


def decode(name: str, codes: Array) -> Array:
    """Convert codes to f32, exactly."""
    return VALUES[name].take(codes)


def encode(name: str, number: Array, *, saturate: bool = True) -> Array:
    """Round numbers to codes, to nearest even. NaN becomes the positive NaN.

    A number that rounds above the largest finite one becomes the largest, or without ``saturate``
    the next code: infinity or NaN.
    """
    format_ = FORMATS[name]
    magnitude = np.abs(number.astype(np.float64))
    _, exponent = np.frexp(magnitude)
    lowest = 1 - format_.bias
    step = np.ldexp(1.0, np.maximum(exponent - 1, lowest) - format_.fraction)
    largest = VALUES[name][format_.largest]
    with np.errstate(invalid="ignore"):  # NaN and infinity are handled below
        exact = np.where(np.isinf(magnitude), np.inf, np.rint(magnitude / step) * step)
    code = np.searchsorted(VALUES[name][: format_.largest + 1], np.fmin(exact, largest))
    nan = 0x80 if format_.fnuz else 0x7F
    if not saturate:
        beyond = nan if format_.fnuz else format_.largest + 1
        code = np.where(exact > largest, beyond, code)
    sign = np.signbit(number) & (code != 0) if format_.fnuz else np.signbit(number)
    signed = code | sign.astype(np.int64) << 7
    return np.where(np.isnan(number), nan, signed).astype(np.uint8)
