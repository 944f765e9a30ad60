"""Packing for products of pairs: bf16 of K two by two, as TDPBF16PS and VDPBF16PS take them.

A lies in runs of K, B as pairs (k, k + 1) of each column side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.targets.cpu.plan.blocks import MatmulPlan
from kgen.targets.cpu.plan.panel import PanelVector, interleave, panel
from kgen.targets.cpu.plan.vectors import Access, Vector

#: bf16 in 64 bytes: what is copied of A at a time.
RUN = 32
#: Columns whose pairs take 64 bytes.
ROW = 16
VECTOR_BYTES = 64
#: Added to a row of packed A, so that rows a power of two apart do not share a cache set.
ROW_PADDING = 64


def rounded(extent: int, unit: int) -> int:
    """Up to a multiple of `unit`."""
    return -(-extent // unit) * unit


@dataclass(frozen=True, kw_only=True)
class PairsPlan(MatmulPlan):
    #: 16 columns of a row of B, and 32 of K of a row of A.
    row: Access
    run: Access

    @property
    def b_width(self) -> int:
        return ROW

    @property
    def b_depth(self) -> int:
        return 2

    @property
    def k_unit(self) -> int:
        return 2

    @property
    def pair_vector(self) -> Vector:
        """Pairs (k, k + 1) of 16 columns."""
        return Vector(count=ROW, scalar="i32")

    # -- packed A: [mc][kc] bf16, zero past K --------------------------------------------------

    @property
    def a_gathered(self) -> bool:
        """K does not lie side by side in A."""
        return self.spec.layout.a_transposed

    @property
    def a_pack_row(self) -> int:
        return rounded(self.schedule.kc, RUN) * 2 + ROW_PADDING

    @property
    def a_pack_bytes(self) -> int:
        return self.schedule.mc * self.a_pack_row

    @property
    def k_mask(self) -> int:
        """Rounds a depth down to whole runs, by `and`."""
        return -RUN

    @property
    def depth_whole(self) -> str:
        """Depth in whole runs."""
        if self.depth_varies:
            return "%depth.whole"
        depth = min(self.spec.k, self.schedule.kc)
        return str(depth - depth % RUN)

    @property
    def depth_padded(self) -> str:
        """Depth up to whole runs."""
        if self.depth_varies:
            return "%depth.padded"
        return str(rounded(min(self.spec.k, self.schedule.kc), RUN))

    @property
    def has_whole_depth(self) -> bool:
        return self.spec.k >= RUN

    @property
    def k_tail(self) -> int:
        """K of the last, partial run; the rest of it is zero."""
        return self.spec.k % RUN

    # -- packed B: [kc / 2][nr] pairs, zero past K and N ---------------------------------------

    @property
    def b_gathered(self) -> bool:
        """The columns of a row of B do not lie side by side; pairs along K do."""
        return self.spec.layout.b_transposed and not self.b_is_packed

    @property
    def b_pack_row(self) -> int:
        """Bytes of a row of pairs."""
        return self.schedule.nr * 4

    @property
    def pair_row(self) -> int:
        """Bytes of B, as it is multiplied, from one row of pairs to the next."""
        return self.b_pack_row if self.schedule.pack_b else self.pair_stride

    @property
    def b_pack_bytes(self) -> int:
        return rounded(self.schedule.kc, self.k_unit) // 2 * self.b_pack_row

    @property
    def pair_stride(self) -> int:
        """Bytes in B from one pair along K to the next."""
        return 2 * self.b_strides[1]

    @property
    def pairs(self) -> str:
        """Whole pairs along K in the current block."""
        return "%pairs" if self.depth_varies else str(min(self.spec.k, self.schedule.kc) // 2)

    @property
    def k_odd(self) -> bool:
        return self.spec.k % 2 != 0

    @property
    def odd_offset(self) -> int:
        """Where the single k of the last block lies in a panel of B."""
        return self._last_depth // 2 * self.pair_stride

    @property
    def odd_to(self) -> int:
        """Where it goes in packed B."""
        return self._last_depth // 2 * self.b_pack_row

    @property
    def pad_from(self) -> int:
        """The bytes [pad_from, pad_to) of packed B are zero in the last block."""
        return -(-self._last_depth // 2) * self.b_pack_row

    @property
    def pad_to(self) -> int:
        return rounded(self._last_depth, self.k_unit) // 2 * self.b_pack_row

    @property
    def pairs_are_padded(self) -> bool:
        return self.pad_to > self.pad_from

    @property
    def last_k0(self) -> int:
        """Where the last block of K begins."""
        return self.spec.k - self._last_depth

    @property
    def _last_depth(self) -> int:
        return self.spec.k - (self.spec.k - 1) // self.schedule.kc * self.schedule.kc

    @property
    def panel(self) -> tuple[PanelVector, ...]:
        return self._panel(self.schedule.nr)

    @property
    def edge_panel(self) -> tuple[PanelVector, ...]:
        return self._panel(self.spec.n % self.schedule.nr)

    def _panel(self, columns: int) -> tuple[PanelVector, ...]:
        return panel(
            columns,
            vectors=self.schedule.nr // ROW,
            count=ROW,
            stride=self.b_strides[2],
            step=VECTOR_BYTES,
        )

    @property
    def interleave(self) -> str:
        """The shuffle mask that pairs the elements of two rows of 16 columns."""
        return interleave(ROW)
