"""Numbers that the templates' arithmetic needs, as PTX literals of the nearest f32."""

from __future__ import annotations

import math
import struct

from kgen_runtime.values import frozen

#: The largest finite f32.
F32_MAX = 2.0**128 - 2.0**104


def float_bits(value: float) -> str:
    """Return the PTX literal of the f32 nearest to `value`."""
    return f"0f{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"


@frozen
class Constants:
    """PTX literals by meaning."""

    zero: str = float_bits(0.0)
    one: str = float_bits(1.0)
    minus_infinity: str = float_bits(-math.inf)
    lowest: str = float_bits(-F32_MAX)
    log2_e: str = float_bits(math.log2(math.e))
    ln_2: str = float_bits(math.log(2.0))


CONSTANTS = Constants()
