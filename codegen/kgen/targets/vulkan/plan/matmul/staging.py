"""A and B of a matmul on their way: buffer -> f32 in workgroup memory -> multiply-adds."""

from __future__ import annotations

from itertools import product

from kgen.targets.vulkan.plan.base import Shared, log2
from kgen.targets.vulkan.plan.matmul.matrix import Matrix
from kgen.targets.vulkan.plan.matmul.outputs import Side
from kgen_runtime.values import frozen


@frozen
class Piece:
    """What one store puts into workgroup memory of an access: element `number` or, of a group, the
    elements from there on. `distance` is that from the access's place, in groups; `component` that
    of the element within its group, from the access's first."""

    number: int
    members: tuple[int, ...]
    distance: int
    component: int


@frozen
class Copy:
    """One access that an invocation copies per K-tile: its places along the edge and along k, by
    number, and its distance in workgroup memory from the invocation's first k, in groups."""

    index: int
    edge: int
    k: int
    shared: int


@frozen
class StagedOperand:
    """A or B, of which a workgroup copies a K-tile of `side.block` x `block_k`.

    In workgroup memory neighbours along the edge are next to one another, in groups as an
    invocation reads them; a k has `pitch` groups.
    """

    matrix: Matrix
    side: Side
    block_k: int
    num_threads: int
    stages: int

    @property
    def name(self) -> str:
        return self.matrix.name

    @property
    def edge(self) -> str:
        return self.matrix.edge

    # From memory

    @property
    def inner_block(self) -> int:
        """Accesses of a K-tile along the contiguous dimension."""
        inner = self.block_k if self.matrix.k_inner else self.side.block
        return inner // self.matrix.width

    @property
    def outer_block(self) -> int:
        return self.side.block if self.matrix.k_inner else self.block_k

    @property
    def inner_mask(self) -> int:
        """An invocation's first access along the contiguous dimension is its number and this."""
        return min(self.inner_block, self.num_threads) - 1

    @property
    def outer_shift(self) -> int:
        return log2(min(self.inner_block, self.num_threads))

    @property
    def outer_mask(self) -> int:
        return self.outer_block - 1

    @property
    def accesses(self) -> int:
        return self.inner_block * self.outer_block

    @property
    def idle(self) -> bool:
        """There are more invocations than accesses in a K-tile."""
        return self.num_threads > self.accesses

    @property
    def _offsets(self) -> tuple[tuple[int, int], ...]:
        """(edge, k) of each copied access, from the invocation's first; accesses along the
        contiguous dimension."""
        inner_step = min(self.inner_block, self.num_threads)
        outer_step = max(1, self.num_threads // self.inner_block)
        pairs = product(
            range(0, self.outer_block, outer_step), range(0, self.inner_block, inner_step)
        )
        return tuple(pairs) if self.matrix.k_inner else tuple((i, o) for o, i in pairs)

    @property
    def edge_places(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(edge for edge, _ in self._offsets))

    @property
    def edge_elements(self) -> tuple[int, ...]:
        """The edge places in elements."""
        return tuple(place * self.matrix.edge_width for place in self.edge_places)

    @property
    def tail_start(self) -> int:
        """The first access along k behind the whole K-tiles."""
        return self.matrix.k // self.block_k * self.block_k // self.matrix.k_width

    @property
    def k_places(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(k for _, k in self._offsets))

    @property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(
            Copy(
                index=index,
                edge=self.edge_places.index(edge),
                k=self.k_places.index(k),
                shared=k * self.matrix.k_width * self.pitch,
            )
            for index, (edge, k) in enumerate(self._offsets)
        )

    @property
    def edge_start(self) -> int:
        """Accesses along the edge from one block tile to the next."""
        return self.side.block // self.matrix.edge_width

    @property
    def k_step(self) -> int:
        """From a K-tile to the next, in the buffer."""
        if self.matrix.k_inner:
            return self.block_k // self.matrix.width
        return self.block_k * self.matrix.outer_stride

    @property
    def clamped(self) -> bool:
        return self.side.clamped

    # Into workgroup memory

    @property
    def group(self) -> int:
        return self.side.group

    @property
    def group_log2(self) -> int:
        return log2(self.group)

    @property
    def group_mask(self) -> int:
        return self.group - 1

    @property
    def pitch(self) -> int:
        """Groups of a k. One more keeps the copies along k, which are written a pitch apart, off
        one bank."""
        return self.side.block // self.group + (1 if self.matrix.k_inner else 0)

    @property
    def k_pitch(self) -> int:
        """From one access along k to the next."""
        return self.matrix.k_width * self.pitch

    @property
    def in_groups(self) -> bool:
        """Accesses are whole groups, and stored as such."""
        return self.matrix.edge_width >= self.group

    @property
    def as_loaded(self) -> bool:
        """An access is a group of f32, which goes to workgroup memory as it is."""
        tensor = self.matrix.tensor
        return self.in_groups and tensor.scalar == "float" and tensor.width == self.group

    @property
    def by_component(self) -> bool:
        """Elements are stored one by one into groups."""
        return not self.in_groups

    @property
    def pieces(self) -> tuple[Piece, ...]:
        if self.matrix.k_inner:
            return tuple(
                Piece(number=i, members=(i,), distance=i * self.pitch, component=0)
                for i in range(self.matrix.width)
            )
        step = self.group if self.in_groups else 1
        return tuple(
            Piece(
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
