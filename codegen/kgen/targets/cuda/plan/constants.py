"""Numbers that the templates' arithmetic needs, as PTX literals of the nearest f32."""

from __future__ import annotations

import math
import struct

from kgen_runtime.values import frozen

#: erfc(z) / 2 = exp(-z^2) P(t) with t = 1 / (1 + ERFC_SLOPE z), for 0 <= z <= 10.3, beyond which
#: the result is below the smallest f32. The form is that of Abramowitz and Stegun 7.1.26; the
#: coefficients, lowest power first, were fitted by reweighted least squares to the smallest
#: relative error, 4.1e-8 before rounding. A unit test compares them with math.erfc.
ERFC_SLOPE = 0.42
ERFC_COEFFICIENTS = (
    1.2972781652595344e-05,
    0.11816333174531216,
    0.121786175390429,
    0.08865130165220758,
    0.15710722104128333,
    -0.10160662199248915,
    0.2551676553337983,
    -0.1784770437684254,
    0.03919502793749717,
)
#: The largest finite f32.
F32_MAX = 2.0**128 - 2.0**104


def float_bits(value: float) -> str:
    """A PTX literal of the f32 nearest to `value`."""
    return f"0f{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"


@frozen
class Constants:
    """PTX literals by meaning."""

    zero: str = float_bits(0.0)
    one: str = float_bits(1.0)
    minus_infinity: str = float_bits(-math.inf)
    lowest: str = float_bits(-F32_MAX)
    log2_e: str = float_bits(math.log2(math.e))
    minus_log2_e: str = float_bits(-math.log2(math.e))
    ln_2: str = float_bits(math.log(2.0))
    #: erfc's argument is |x| / sqrt(2), and exp(-x^2 / 2) = 2^(-x^2 log2(e) / 2).
    erfc_slope: str = float_bits(ERFC_SLOPE / math.sqrt(2.0))
    minus_half_log2_e: str = float_bits(-math.log2(math.e) / 2.0)
    #: Horner's scheme: the highest power first.
    erfc_leading: str = float_bits(ERFC_COEFFICIENTS[-1])
    erfc_rest: tuple[str, ...] = tuple(map(float_bits, ERFC_COEFFICIENTS[-2::-1]))
    #: The tanh form of gelu is x sigmoid(2 u) with u = sqrt(2/pi) (x + 0.044715 x^3).
    gelu_linear: str = float_bits(2.0 * math.sqrt(2.0 / math.pi))
    gelu_cubic: str = float_bits(2.0 * math.sqrt(2.0 / math.pi) * 0.044715)


CONSTANTS = Constants()
