"""Packing for products of groups: two bf16 or s16, four s8, or as many as 32 bits hold, at a time.

A lies in runs of K, B in groups: (k, k + 1, ...) of each column side by side, as dot products of
vectors and of AMX tiles take them.
"""

from __future__ import annotations

from kgen.targets.base import Target
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.packing.packed_windows import WindowedA, windows_of
from kgen.targets.cpu.plan.packing.panel import (
    PanelsOfB,
    PanelVector,
    RegisterTranspose,
    index_list,
    interleave,
    panel,
    register_transpose,
)
from kgen.targets.cpu.plan.packing.widened import ROW_PADDING
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen


def rounded(extent: int, unit: int) -> int:
    """Up to a multiple of `unit`."""
    return -(-extent // unit) * unit


@frozen
class RunsOfA:
    """A packed in runs of K, [mc][kc], zero past K.

    `run` is a run as it is stored, `packed` as it is packed: equal or wider. `k_stride` is the
    bytes of A from one k to the next.
    """

    blocking: Blocking
    run: Access
    packed: Vector
    k_stride: int

    @property
    def is_gathered(self) -> bool:
        """K does not lie side by side in A."""
        return self.blocking.spec.layout.a_transposed

    @property
    def transpose(self) -> RegisterTranspose | None:
        """Transposition by which a transposed A is packed; None if a block of it lacks the room."""
        if not self.is_gathered:
            return None
        found = register_transpose(
            self.blocking.spec.dtype,
            packed=self.packed.scalar,
            stride=self.k_stride,
            pack_row=self.pack_row,
        )
        last = min(self.blocking.last_rows, self.blocking.last_depth)
        return found if last >= found.size else None

    @property
    def widens(self) -> bool:
        return self.packed != self.run.stored

    @property
    def itemsize(self) -> int:
        return self.packed.bits // 8

    @property
    def pack_row(self) -> int:
        return rounded(self.blocking.schedule.kc, self.run_k) * self.itemsize + ROW_PADDING

    @property
    def pack_bytes(self) -> int:
        return self.blocking.schedule.mc * self.pack_row

    def windows(self, target: Target) -> WindowedA | None:
        """Return how the windows of a convolution are packed, if A is these."""
        return windows_of(
            self.blocking, target, self.run, self.packed, self.pack_row, clears_end=self.k_tail > 0
        )

    @property
    def run_k(self) -> int:
        return self.run.compute.count

    @property
    def depth_whole(self) -> str:
        if self.blocking.depth_varies:
            return "%depth.whole"
        depth = self.blocking.first_depth
        return str(depth - depth % self.run_k)

    @property
    def depth_padded(self) -> str:
        if self.blocking.depth_varies:
            return "%depth.padded"
        return str(rounded(self.blocking.first_depth, self.run_k))

    @property
    def has_whole_depth(self) -> bool:
        return self.blocking.spec.k >= self.run_k

    @property
    def k_tail(self) -> int:
        """K of the last, partial run; the rest of it is zero."""
        return self.blocking.spec.k % self.run_k


@frozen
class LastGroups:
    """End of a panel in the last block of K, which begins at `k0`: byte offsets of the group that
    is not whole, in B and packed, and of the zeros behind it."""

    k0: int
    start: int
    to: int
    pad_from: int
    pad_to: int

    @property
    def is_padded(self) -> bool:
        return self.pad_to > self.pad_from


@frozen
class GroupsOfB(PanelsOfB):
    """B packed in panels of nr columns in groups of K, [kc / group][nr] groups, zero past K and N.

    `row` is a vector's columns of a row of B. A panel's depth is a multiple of `k_unit`. `k_stride`
    is the bytes of B from one k to the next.
    """

    group: int
    row: Access
    k_unit: int
    k_stride: int

    @property
    def width(self) -> int:
        return self.row.compute.count

    @property
    def packed(self) -> Vector:
        """Groups of a vector's columns, as they are stored."""
        return Vector(count=self.width * self.group, scalar=self.row.stored.scalar)

    @property
    def group_vector(self) -> Vector:
        """Vector with each group as one integer."""
        return Vector(count=self.width, scalar=f"i{8 * self.group_bytes}")

    @property
    def group_bytes(self) -> int:
        return self.group * self.row.itemsize

    @property
    def pack_row(self) -> int:
        return self.blocking.schedule.nr * self.group_bytes

    @property
    def row_stride(self) -> int:
        """Bytes of B, as it is multiplied, from one row of groups to the next."""
        return self.pack_row if self.blocking.schedule.pack_b else self.group_stride

    @property
    def panel_bytes(self) -> int:
        return rounded(self.blocking.schedule.kc, self.k_unit) // self.group * self.pack_row

    @property
    def group_stride(self) -> int:
        """Bytes in B from one group along K to the next."""
        return self.group * self.k_stride

    @property
    def groups(self) -> str:
        """Whole groups along K in the current block."""
        if self.blocking.depth_varies:
            return "%groups"
        return str(self.blocking.first_depth // self.group)

    @property
    def k_left(self) -> int:
        """K of the last group, if it is not whole."""
        return self.blocking.spec.k % self.group

    @property
    def last(self) -> LastGroups:
        depth = self.blocking.last_depth
        return LastGroups(
            k0=self.blocking.spec.k - depth,
            start=depth // self.group * self.group_stride,
            to=depth // self.group * self.pack_row,
            pad_from=-(-depth // self.group) * self.pack_row,
            pad_to=rounded(depth, self.k_unit) // self.group * self.pack_row,
        )

    @property
    def last_block_differs(self) -> bool:
        """Packed B ends with a part of a group, or with zeros."""
        return self.k_left > 0 or self.last.is_padded

    def panel_of(self, columns: int) -> tuple[PanelVector, ...]:
        return panel(
            columns,
            vectors=self.blocking.schedule.nr // self.width,
            count=self.width,
            stride=self.column_stride,
            step=self.packed.bytes,
        )

    @property
    def groups_transposed(self) -> str:
        """Whole groups along K in the current block that whole transposes take."""
        if self.blocking.depth_varies:
            return "%groups.transposed"
        groups = int(self.groups)
        return str(groups - groups % self.width)

    @property
    def transposes_leave_groups(self) -> bool:
        """In some block of K."""
        depths = (self.blocking.first_depth, self.blocking.last_depth)
        return any(depth // self.group % self.width for depth in depths)

    @property
    def interleave(self) -> str:
        """The shuffle mask that makes groups of the rows of B, one after the other."""
        return interleave(self.width, self.group)

    @property
    def are_pairs(self) -> bool:
        return self.group == 2

    def gathers(self, depth: int) -> bool:
        """Return whether groups of `depth` rows are read element by element, each as one."""
        return self.is_gathered and depth == self.group

    def rows(self, depth: int) -> tuple[tuple[int, bool], ...]:
        """Rows of a group that has `depth` of them: bytes in B from the first one, and whether the
        last group of K lacks the row."""
        return tuple((i * self.k_stride, i >= self.k_left) for i in range(depth))

    def row_operands(self, name: str, depth: int) -> tuple[str, ...]:
        """The rows of a group that has only `depth` of them."""
        return tuple(f"{name}.k{i}" if i < depth else "zeroinitializer" for i in range(self.group))

    @property
    def row_pair(self) -> Vector:
        """Two rows of B, one after the other."""
        return Vector(count=2 * self.width, scalar=self.row.stored.scalar)

    @property
    def one_after_the_other(self) -> str:
        """The shuffle mask that makes one vector of two."""
        return index_list(range(2 * self.width))
