"""Accesses to the mask of attention."""

from __future__ import annotations

import math

from kgen.spec import DType
from kgen.targets.attention.head_mask import HeadMask
from kgen.targets.cuda.expressions import RegisterType
from kgen.targets.cuda.plan.mma.score_rows import ScoreRow
from kgen_runtime.values import frozen


@frozen
class MaskPiece:
    """Load of mask elements, `column` columns (`nbytes` bytes) after the lane's first one.

    `scores` are pairs of a score and the register with its mask element.
    """

    registers: tuple[str, ...]
    scores: tuple[tuple[str, str], ...]
    column: int
    nbytes: int


@frozen
class MaskAccess(HeadMask):
    """Addresses of the mask's elements; registers hold the distances of divided rows."""

    block_m: int
    block_n: int

    @property
    def type(self) -> RegisterType:
        return RegisterType(dtype=DType.F32)

    @property
    def step(self) -> int:
        """Bytes from a block of keys to the next."""
        return self.block_n * self.key_bytes

    @property
    def has_edge(self) -> bool:
        """Whether rows or keys of a block can be beyond the mask."""
        rows = self.matrices.rows % self.block_m != 0
        return rows or self.spec.keys % self.block_n != 0

    def pieces(self, row: ScoreRow) -> tuple[MaskPiece, ...]:
        """Loads of the mask's elements for a row: pairs where they are aligned."""
        start, step = row.offset * self.row_bytes, self.key_bytes
        if not step:
            scores = tuple((score, "mask0") for score in row.scores)
            return (MaskPiece(registers=("mask0",), scores=scores, column=0, nbytes=start),)
        width = math.gcd(2, self.spec.keys, *self.spec.mask_strides[:3])
        found = []
        for first in range(0, len(row.placed), width):
            placed = row.placed[first : first + width]
            names = tuple(f"mask{number}" for number in range(width))
            found.append(
                MaskPiece(
                    registers=names,
                    scores=tuple(zip((score for score, _ in placed), names, strict=True)),
                    column=placed[0][1],
                    nbytes=start + placed[0][1] * step,
                )
            )
        return tuple(found)
