"""How long a SIMD is busy with a matrix instruction.

From AMD's matrix instruction calculator, as what a SIMD does in a clock. gfx950 has no page there:
its peaks are published, and its instructions of half the depth, which older processors have too,
run at half of them (LLVM's wait states).
"""

from __future__ import annotations

import re

from kgen.targets.base import Target

#: Bits of xf32, which is f32 with fewer of fraction.
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
#: The depth, in bytes, from which on gfx950's instructions run at the full rate, by their rows.
_FULL_DEPTH = {32: 32, 16: 64}


def matrix_cycles(target: Target, opcode: str) -> float | None:
    """Clocks; None of what is no matrix instruction, or one of no known rate."""
    match = _OPCODE.match(opcode)
    rates = RATES.get(target.arch, {})
    if match is None or (bits := _BITS.get(match[4])) not in rates:
        return None
    m, n, k = map(int, match.groups()[:3])
    rate = rates[bits]
    if target.has("mfma-double-k") and bits < XF32 and k * bits // 8 < _FULL_DEPTH[m]:
        rate //= 2
    return 2 * m * n * k / rate
