"""Keys that queries attend to: by position, by length and by the mask."""

from __future__ import annotations

import math

from kgen.spec import Attention, DType
from kgen.targets.batch import BatchTerm
from kgen.targets.cuda.expressions import RegisterType
from kgen.targets.cuda.plan.mma.score_rows import ScoreRow
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen


@frozen
class KeyLimits:
    """Limits of the keys of a warp's `warp_m` queries, in at most `blocks` blocks of `block_n`."""

    spec: Attention
    warp_m: int
    block_n: int
    blocks: int
    #: Whether keys can end inside a block.
    keys_end_inside: bool

    @property
    def last_reach(self) -> int:
        """Distance from the position behind the last query to the end of its keys."""
        return self.spec.reach - 1

    @property
    def last_start(self) -> int:
        """Distance from the position of a warp's first row to the first key of its last row."""
        return self.warp_m - 1 - self.spec.window_before

    @property
    def position_registers(self) -> tuple[str, ...]:
        """Registers that count from the first key of a block."""
        found = ["warp_stop"]
        found += ["length_at"] if self.keys_end_inside else []
        found += ["reach_at"] if self.spec.limits_keys else []
        return (*found, *(("window_at", "warp_start") if self.spec.has_window else ()))

    @property
    def masks_positions(self) -> bool:
        return self.spec.limits_keys or self.keys_end_inside

    @property
    def last_block(self) -> int:
        """First key of the last block."""
        return (self.blocks - 1) * self.block_n

    @property
    def block_n_log2(self) -> int:
        return log2(self.block_n)

    @property
    def block_round(self) -> int:
        return self.block_n - 1

    @property
    def block_mask(self) -> int:
        return -self.block_n


@frozen
class MaskPiece:
    """Load of elements of the mask, `column` columns and `nbytes` from the lane's first, and the
    scores that each register is for."""

    registers: tuple[str, ...]
    scores: tuple[tuple[str, str], ...]
    column: int
    nbytes: int


@frozen
class MaskAccess:
    """Addresses of the mask's elements; `terms` are those of the batch, in bytes."""

    spec: Attention
    block_m: int
    block_n: int
    terms: tuple[BatchTerm, ...]

    @property
    def type(self) -> RegisterType:
        return RegisterType(dtype=DType.F32)

    @property
    def strides(self) -> tuple[int, int, int, int]:
        """Bytes from one batch element, head, query and key to the next."""
        assert self.spec.mask_dtype is not None
        b, h, q, k = (step * self.spec.mask_dtype.itemsize for step in self.spec.mask_strides)
        return b, h, q, k

    @property
    def row_bytes(self) -> int:
        return self.strides[2]

    @property
    def key_bytes(self) -> int:
        return self.strides[3]

    @property
    def step(self) -> int:
        """Bytes from a block of keys to the next."""
        return self.block_n * self.key_bytes

    @property
    def has_edge(self) -> bool:
        """Whether rows or keys of a block can be beyond the mask."""
        rows = self.spec.queries % self.block_m != 0
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
