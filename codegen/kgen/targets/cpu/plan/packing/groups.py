"""Packing for products of groups: two bf16 or s16, four s8, or as many as 32 bits hold, at a time.

A lies in runs of K, B in groups: (k, k + 1, ...) of each column side by side, as dot products of
vectors and of AMX tiles take them.
"""

from __future__ import annotations

from kgen.targets.cpu.plan.matmul import MatmulPlan
from kgen.targets.cpu.plan.packing.panel import (
    PanelTranspose,
    PanelVector,
    index_list,
    interleave,
    panel,
)
from kgen.targets.cpu.plan.packing.prepacked import PanelFormat
from kgen.targets.cpu.plan.packing.transpose import RegisterTranspose, register_transpose
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Added to a row of packed A, so that rows a power of two apart do not share a cache set.
ROW_PADDING = 64


def rounded(extent: int, unit: int) -> int:
    """Up to a multiple of `unit`."""
    return -(-extent // unit) * unit


@frozen
class GroupsPlan(MatmulPlan):
    #: Elements of K in a group.
    group: int
    #: A vector's columns of a row of B, and K of a run of A.
    row: Access
    run: Access

    @property
    def b_width(self) -> int:
        """Columns of a packed panel."""
        return self.row.compute.count

    @property
    def k_unit(self) -> int:
        """K of packed panels is a multiple of it."""
        return self.group

    @property
    def b_format(self) -> PanelFormat:
        return PanelFormat(width=self.b_width, depth=self.group, k_unit=self.k_unit)

    @property
    def group_shift(self) -> int:
        """Divides K by whole groups."""
        return self.group.bit_length() - 1

    @property
    def group_round(self) -> int:
        """Added to K before, it rounds up."""
        return self.group - 1

    # -- packed A: [mc][kc], zero past K -------------------------------------------------------

    @property
    def a_gathered(self) -> bool:
        """K does not lie side by side in A."""
        return self.spec.layout.a_transposed

    @property
    def a_transpose(self) -> RegisterTranspose | None:
        """What a transposed A is packed by, where every block of it has room for one."""
        if not self.a_gathered:
            return None
        found = register_transpose(
            self.spec.dtype,
            packed=self.a_packed.scalar,
            stride=self.tensors.a_strides[2],
            pack_row=self.a_pack_row,
        )
        last_rows = self.spec.m - (self.spec.m - 1) // self.schedule.mc * self.schedule.mc
        return found if min(last_rows, self._last_depth) >= found.size else None

    @property
    def a_packed(self) -> Vector:
        """A run of A, packed: as it is stored, or wider."""
        return self.run.stored

    @property
    def a_widens(self) -> bool:
        return self.a_packed != self.run.stored

    @property
    def a_itemsize(self) -> int:
        """Bytes of an element of packed A."""
        return self.a_packed.bits // 8

    @property
    def a_pack_row(self) -> int:
        return rounded(self.schedule.kc, self.run_k) * self.a_itemsize + ROW_PADDING

    @property
    def a_pack_bytes(self) -> int:
        return self.schedule.mc * self.a_pack_row

    @property
    def run_k(self) -> int:
        """K of a run."""
        return self.run.compute.count

    @property
    def run_round(self) -> int:
        """Added to K before `k_mask`, it rounds up."""
        return self.run_k - 1

    @property
    def k_mask(self) -> int:
        """Rounds a depth down to whole runs, by `and`."""
        return -self.run_k

    @property
    def depth_whole(self) -> str:
        """Depth in whole runs."""
        if self.blocking.depth_varies:
            return "%depth.whole"
        depth = min(self.spec.k, self.schedule.kc)
        return str(depth - depth % self.run_k)

    @property
    def depth_padded(self) -> str:
        """Depth up to whole runs."""
        if self.blocking.depth_varies:
            return "%depth.padded"
        return str(rounded(min(self.spec.k, self.schedule.kc), self.run_k))

    @property
    def has_whole_depth(self) -> bool:
        return self.spec.k >= self.run_k

    @property
    def k_tail(self) -> int:
        """K of the last, partial run; the rest of it is zero."""
        return self.spec.k % self.run_k

    # -- packed B: [kc / group][nr] groups, zero past K and N ----------------------------------

    @property
    def b_gathered(self) -> bool:
        """The columns of a row of B do not lie side by side; groups along K do."""
        return self.spec.layout.b_transposed and not self.b_is_packed

    @property
    def b_packed(self) -> Vector:
        """Groups of a vector's columns, as they are stored."""
        return Vector(count=self.b_width * self.group, scalar=self.row.stored.scalar)

    @property
    def group_vector(self) -> Vector:
        """The same, each group as one integer."""
        return Vector(count=self.b_width, scalar=f"i{8 * self.group_bytes}")

    @property
    def group_bytes(self) -> int:
        return self.group * self.row.itemsize

    @property
    def b_pack_row(self) -> int:
        """Bytes of a row of groups."""
        return self.schedule.nr * self.group_bytes

    @property
    def group_row(self) -> int:
        """Bytes of B, as it is multiplied, from one row of groups to the next."""
        return self.b_pack_row if self.schedule.pack_b else self.group_stride

    @property
    def b_panel_bytes(self) -> int:
        return rounded(self.schedule.kc, self.k_unit) // self.group * self.b_pack_row

    @property
    def group_stride(self) -> int:
        """Bytes in B from one group along K to the next."""
        return self.group * self.tensors.b_strides[1]

    @property
    def groups(self) -> str:
        """Whole groups along K in the current block."""
        if self.blocking.depth_varies:
            return "%groups"
        return str(min(self.spec.k, self.schedule.kc) // self.group)

    @property
    def k_left(self) -> int:
        """K of the last group, if it is not whole."""
        return self.spec.k % self.group

    @property
    def left_offset(self) -> int:
        """Where that lies in a panel of B, from the last block on."""
        return self._last_depth // self.group * self.group_stride

    @property
    def left_to(self) -> int:
        """Where it goes in packed B."""
        return self._last_depth // self.group * self.b_pack_row

    @property
    def pad_from(self) -> int:
        """The bytes [pad_from, pad_to) of packed B are zero in the last block."""
        return -(-self._last_depth // self.group) * self.b_pack_row

    @property
    def pad_to(self) -> int:
        return rounded(self._last_depth, self.k_unit) // self.group * self.b_pack_row

    @property
    def groups_are_padded(self) -> bool:
        return self.pad_to > self.pad_from

    @property
    def last_block_differs(self) -> bool:
        """Packed B ends with a part of a group, or with zeros."""
        return self.k_left > 0 or self.groups_are_padded

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
            vectors=self.schedule.nr // self.b_width,
            count=self.b_width,
            stride=self.tensors.b_strides[2],
            step=self.b_packed.bytes,
        )

    def b_transpose(self, column: PanelVector) -> PanelTranspose:
        """Of groups, where they lie side by side along K."""
        return column.transpose(self.tensors.b_strides[2], self.b_pack_row)

    @property
    def groups_transposed(self) -> str:
        """Whole groups along K in the current block that whole transposes take."""
        if self.blocking.depth_varies:
            return "%groups.transposed"
        groups = int(self.groups)
        return str(groups - groups % self.b_width)

    @property
    def transposes_leave_groups(self) -> bool:
        """In some block of K."""
        depths = (min(self.spec.k, self.schedule.kc), self._last_depth)
        return any(depth // self.group % self.b_width for depth in depths)

    @property
    def transpose_mask(self) -> int:
        """Rounds groups down to whole transposes, by `and`."""
        return -self.b_width

    @property
    def interleave(self) -> str:
        """The shuffle mask that makes groups of the rows of B, one after the other."""
        return interleave(self.b_width, self.group)

    @property
    def row_offsets(self) -> tuple[int, ...]:
        """Bytes in B from the first row of a group to each."""
        return tuple(i * self.tensors.b_strides[1] for i in range(self.group))

    def row_operands(self, name: str, depth: int) -> tuple[str, ...]:
        """The rows of a group that has only `depth` of them."""
        return tuple(f"{name}.k{i}" if i < depth else "zeroinitializer" for i in range(self.group))

    @property
    def row_pair(self) -> Vector:
        """Two rows of B, one after the other."""
        return Vector(count=2 * self.b_width, scalar=self.row.stored.scalar)

    @property
    def one_after_the_other(self) -> str:
        """The shuffle mask that makes one vector of two."""
        return index_list(range(2 * self.b_width))
