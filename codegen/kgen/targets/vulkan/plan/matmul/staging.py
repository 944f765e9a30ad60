"""Staging of A and B: buffer -> f32 in workgroup memory -> multiply-adds."""

from __future__ import annotations

from kgen.targets.vulkan.plan.matmul.operand import GroupedOperand, OperandCopy
from kgen.targets.vulkan.plan.memory import Shared
from kgen_runtime.values import frozen


@frozen
class StagedElements:
    """Elements of an access that one store writes to workgroup memory.

    The store writes element `number` or, for a group, the `members` from it on. `distance` counts
    groups from the access's address; `component` is the position of the element in its group.
    """

    number: int
    members: tuple[int, ...]
    distance: int
    component: int


@frozen
class StagedOperand(GroupedOperand):
    """Operand A or B as f32 in workgroup memory, with `pitch` groups per k."""

    # From memory

    @property
    def outer_mask(self) -> int:
        return self.outer_block - 1

    @property
    def accesses(self) -> int:
        return self.inner_block * self.outer_block

    @property
    def idle(self) -> bool:
        """Whether a K-tile has fewer accesses than the workgroup has invocations."""
        return self.num_threads > self.accesses

    @property
    def edge_places(self) -> tuple[int, ...]:
        """Distinct distances along the edge of an invocation's copies."""
        return tuple(dict.fromkeys(self.edge_place(copy) for copy in self.copies))

    @property
    def k_places(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.k_place(copy) for copy in self.copies))

    def edge_number(self, copy: OperandCopy) -> int:
        """Return the number of a copy's distance among `edge_places`."""
        return self.edge_places.index(self.edge_place(copy))

    def k_number(self, copy: OperandCopy) -> int:
        return self.k_places.index(self.k_place(copy))

    @property
    def edge_elements(self) -> tuple[int, ...]:
        """Distances of `edge_places` in elements."""
        return tuple(place * self.matrix.edge_width for place in self.edge_places)

    @property
    def tail_start(self) -> int:
        """First access along k after the whole K-tiles."""
        return self.matrix.access.depth // self.block_k * self.block_k // self.matrix.k_width

    # Into workgroup memory

    def distance(self, inner: int, outer: int) -> int:
        """Return the distance in groups along k; each of `edge_places` has an address of its
        own."""
        return (inner if self.matrix.k_inner else outer) * self.k_pitch

    @property
    def k_pitch(self) -> int:
        """Distance in workgroup memory between neighbouring accesses along k."""
        return self.matrix.k_width * self.pitch

    @property
    def in_groups(self) -> bool:
        """Whether accesses are whole groups, which are stored as vectors."""
        return self.matrix.edge_width >= self.group

    @property
    def as_loaded(self) -> bool:
        """Whether an access is a group of f32, which is stored without conversion."""
        tensor = self.matrix.tensor
        return (
            not self.is_guarded
            and self.in_groups
            and tensor.scalar == "float"
            and tensor.width == self.group
        )

    @property
    def elements(self) -> range:
        """Numbers of the elements of an access."""
        return range(self.matrix.width)

    @property
    def by_component(self) -> bool:
        """Whether elements are stored one by one into groups."""
        return not self.in_groups

    @property
    def pieces(self) -> tuple[StagedElements, ...]:
        if self.matrix.k_inner:
            return tuple(
                StagedElements(number=i, members=(i,), distance=i * self.pitch, component=0)
                for i in range(self.matrix.width)
            )
        step = self.group if self.in_groups else 1
        return tuple(
            StagedElements(
                number=i,
                members=tuple(range(i, i + step)),
                distance=i // self.group,
                component=i % self.group,
            )
            for i in range(0, self.matrix.width, step)
        )

    @property
    def shared(self) -> Shared:
        return Shared(
            name=f"tile_{self.name}",
            scalar="float",
            vector=self.group,
            length=self.block_k * self.pitch,
            stages=self.stages,
            by_component=self.by_component,
        )
