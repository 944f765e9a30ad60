"""Cycles that a matrix instruction occupies a SIMD.

Source: AMD's matrix instruction calculator, as operations of a SIMD per clock. The calculator lacks
gfx950: its peaks are published, and its instructions of half the depth, which older processors also
have, run at half of these (LLVM's wait states).
"""

from __future__ import annotations

import re

from kgen.targets.base import Target

#: Bits of xf32, which is f32 with a shorter fraction.
XF32 = 19
#: Operations of a SIMD per clock, by the bits of an operand.
RATES = {
    "gfx90a": {8: 256, 16: 256, 32: 64},
    "gfx942": {8: 1024, 16: 512, XF32: 256, 32: 64},
    "gfx950": {8: 2048, 16: 1024, 32: 64},
    "gfx1100": {8: 256, 16: 256},
    "gfx1201": {8: 1024, 16: 512},
}
#: v_mfma_f32_32x32x8f16, v_mfma_i32_16x16x32_i8, v_wmma_i32_16x16x16_iu8, ...
_OPCODE = re.compile(r"v_w?mf?ma_(?:scale_)?[fi]32_(\d+)x(\d+)x(\d+)_?([a-z]+\d+)")
_BITS = {
    "f16": 16,
    "bf16": 16,
    "i8": 8,
    "iu8": 8,
    "fp8": 8,
    "bf8": 8,
    "f8": 8,
    "xf32": XF32,
    "f32": 32,
}
#: Least depth in bytes of gfx950's instructions with the full rate, by their rows.
_FULL_DEPTH = {32: 32, 16: 64}


def matrix_cycles(target: Target, opcode: str) -> float | None:
    """Return the clocks of an opcode; None if it is not a matrix instruction or its rate is
    unknown."""
    match = _OPCODE.match(opcode)
    rates = RATES.get(target.arch, {})
    if match is None or (bits := _BITS.get(match[4])) not in rates:
        return None
    m, n, k = map(int, match.groups()[:3])
    rate = rates[bits]
    if target.has("mfma-double-k") and bits < XF32 and k * bits // 8 < _FULL_DEPTH[m]:
        rate //= 2
    return 2 * m * n * k / rate
