"""wgmma accumulator fragments: element of each register of each lane (PTX ISA 9.7.15.5.1).

Warp w of a warpgroup holds the rows 16 w to 16 w + 15 of D. With g = lane / 4 and t = lane % 4,
element (g + 8 h, 8 j + 2 t + e) is register 4 j + 2 h + e; for f16 it is half e of register 2 j +
h.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.floats import F16_TO_F32
from kgen.emulate.ptx.types import TYPES, Array, PtxType, canonical, narrow, pack, unpack
from kgen_runtime.values import frozen

_GROUPS, _IN_GROUP, _HEIGHTS, _PAIR = 8, 4, 2, 2
_F16 = TYPES["f16"]


@frozen
class FragmentLayout:
    """Element type of a fragment's registers; `packed`: two elements per register."""

    type: PtxType
    packed: bool = False

    def registers(self, columns: int) -> int:
        return columns // 4 if self.packed else columns // 2

    def matrix(self, registers: Sequence[Array], shape: tuple[int, int]) -> Array:
        """Assemble the matrix [C, W, 16, columns] from each lane's registers."""
        if self.packed:
            registers = [F16_TO_F32.take(half) for word in registers for half in unpack(word)]
        ctas, warps = shape
        whole = np.stack([np.broadcast_to(part, (ctas, warps, 32)) for part in registers])
        blocks = whole.reshape(-1, _HEIGHTS, _PAIR, ctas, warps, _GROUPS, _IN_GROUP)
        by_row = blocks.transpose(3, 4, 1, 5, 0, 6, 2)
        return by_row.reshape(ctas, warps, _HEIGHTS * _GROUPS, -1)

    def registers_of(self, matrix: Array) -> list[Array]:
        """Return each lane's registers [C, W, 32] from a matrix [C, W, 16, columns]."""
        ctas, warps, _, columns = matrix.shape
        blocks = matrix.reshape(
            ctas, warps, _HEIGHTS, _GROUPS, columns // 8, _IN_GROUP, _PAIR
        ).transpose(4, 2, 6, 0, 1, 3, 5)
        parts = np.ascontiguousarray(blocks).reshape(-1, ctas, warps, 32)
        if not self.packed:
            return list(parts)
        halves = narrow(_F16, parts)
        return list(pack(halves[::2], halves[1::2]))

    def rounded(self, matrix: Array) -> Array:
        """Round an f32 sum to the accumulator's type."""
        if self.packed:
            return matrix.astype(np.float16).astype(np.float32)
        return canonical(matrix)


LAYOUTS = {
    "f32": FragmentLayout(type=TYPES["f32"]),
    "s32": FragmentLayout(type=TYPES["s32"]),
    "f16": FragmentLayout(type=TYPES["b32"], packed=True),
}
