"""B packed in groups along K, for dot-product instructions and AMX tiles.

A group has consecutive k of one column, as many as 32 bits hold.
"""

from __future__ import annotations

from kgen.targets.cpu.plan.addresses import Tensors
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.packing.panel import PanelFormat, PanelsOfB, interleave
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen


def rounded(extent: int, unit: int) -> int:
    return -(-extent // unit) * unit


@frozen
class LastGroups:
    """End of a panel in the last block of K, which begins at `k0`. `start` and `to` are the byte
    offsets of the partial group in B and in the packed panel. Zeros fill the packed panel from byte
    `pad_from` to `pad_to`."""

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
    """B packed in panels of [kc / group][nr] groups along K, with zeros past K and N. `row` is the
    access to a vector of columns in a row of B. A panel's depth is a multiple of `k_unit`.
    `k_stride` is the number of bytes from one k to the next in B."""

    pads = True

    group: int
    row: Access
    k_unit: int
    k_stride: int

    @classmethod
    def of(cls, blocking: Blocking, tensors: Tensors, order: PanelFormat, row: Access) -> GroupsOfB:
        """Return the groups of a B that is prepacked, or that the kernel packs, in this order."""
        _, k_stride, column_stride = tensors.b_strides
        return cls(
            blocking=blocking,
            group=order.depth,
            row=row,
            k_unit=order.k_unit,
            is_prepacked=tensors.packed_b is not None,
            k_stride=k_stride,
            column_stride=column_stride,
        )

    @property
    def width(self) -> int:
        return self.row.compute.count

    @property
    def packed(self) -> Vector:
        """Type in memory of the groups of a vector of columns."""
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
        """Bytes from one row of groups to the next in the B that tiles read, packed or not."""
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
        return self.blocking.k.operand("%groups", self.blocking.k.first // self.group)

    @property
    def k_left(self) -> int:
        """Elements of a partial last group; 0 if the last group is whole."""
        return self.blocking.spec.k % self.group

    @property
    def last(self) -> LastGroups:
        depth = self.blocking.k.last
        return LastGroups(
            k0=self.blocking.spec.k - depth,
            start=depth // self.group * self.group_stride,
            to=depth // self.group * self.pack_row,
            pad_from=-(-depth // self.group) * self.pack_row,
            pad_to=rounded(depth, self.k_unit) // self.group * self.pack_row,
        )

    @property
    def last_block_differs(self) -> bool:
        """Whether packed B ends with a partial group or with padding."""
        return self.k_left > 0 or self.last.is_padded

    @property
    def groups_transposed(self) -> str:
        """Number of groups along K in the current block that whole transposes cover."""
        groups = self.blocking.k.first // self.group
        return self.blocking.k.operand("%groups.transposed", groups - groups % self.width)

    @property
    def transposes_leave_groups(self) -> bool:
        """Whether whole transposes leave remaining groups in some block of K."""
        depths = (self.blocking.k.first, self.blocking.k.last)
        return any(depth // self.group % self.width for depth in depths)

    @property
    def interleave(self) -> str:
        """Shuffle mask that builds groups from consecutive rows of B."""
        return interleave(self.width, self.group)

    @property
    def are_pairs(self) -> bool:
        return self.group == 2

    def gathers(self, depth: int) -> bool:
        """Return whether a group of `depth` rows is gathered as one integer."""
        return self.is_gathered and depth == self.group

    def rows(self, depth: int) -> tuple[tuple[int, bool], ...]:
        """Return, for each row of a group, its byte offset and whether K's last group lacks it."""
        return tuple((i * self.k_stride, i >= self.k_left) for i in range(depth))

    def row_operands(self, name: str, depth: int) -> tuple[str, ...]:
        """Return the operands of a group's rows; rows from `depth` on are zero."""
        return tuple(f"{name}.k{i}" if i < depth else "zeroinitializer" for i in range(self.group))
