"""A or B of a product of s8: buffer -> four steps of k in a word of workgroup memory."""

from __future__ import annotations

from kgen.targets.vulkan.plan.base import Shared, log2
from kgen.targets.vulkan.plan.matmul.matrix import Matrix
from kgen.targets.vulkan.plan.matmul.outputs import Side
from kgen_runtime.values import frozen

#: Steps of k in a word, a byte each: a quad.
QUAD = 4


@frozen
class QuadCopy:
    """One of an invocation's copies per K-tile, by number: its distance from the first along the
    dimension that is not contiguous, in edge places or in quads, and in workgroup memory."""

    index: int
    outer: int
    shared: int


@frozen
class DotOperand:
    """A or B, of which a workgroup copies a K-tile of `side.block` x `block_k`.

    A copy is one access along k, which is quads; or one access of four along the edge from each of
    four steps, whose bytes are transposed; or single bytes of four steps. In workgroup memory a
    quad has `pitch` groups of four neighbours along the edge.
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

    # A copy

    @property
    def wide(self) -> bool:
        """Accesses are of whole words."""
        return self.matrix.width > 1

    @property
    def words(self) -> range:
        """Numbers of the words of an access."""
        return range(self.matrix.tensor.vector)

    @property
    def is_vector(self) -> bool:
        """An access is of several words."""
        return len(self.words) > 1

    @property
    def along_k(self) -> bool:
        """An access is whole quads."""
        return self.wide and self.matrix.k_inner

    @property
    def transposed(self) -> bool:
        """An access is of four neighbours along the edge."""
        return self.wide and not self.matrix.k_inner

    @property
    def quads(self) -> range:
        """Numbers of the quads along k of a copy."""
        return range(self.matrix.width // QUAD if self.along_k else 1)

    @property
    def rows(self) -> range:
        """Numbers of the steps of k that a copy loads one by one."""
        return range(1 if self.along_k else QUAD)

    def row_distance(self, row: int) -> int:
        """From the first of these to another, in the buffer."""
        return row * (1 if self.matrix.k_inner else self.matrix.outer_stride)

    @property
    def k_places(self) -> int:
        """Places along k of a copy's access: accesses, or steps."""
        return 1 if self.along_k else QUAD

    # Which copies an invocation has

    @property
    def inner_copies(self) -> int:
        """Copies of a K-tile along the contiguous dimension."""
        if self.matrix.k_inner:
            return self.block_k // (QUAD * len(self.quads))
        return self.side.block // self.matrix.width

    @property
    def outer_copies(self) -> int:
        return self.side.block if self.matrix.k_inner else self.block_k // QUAD

    @property
    def inner_mask(self) -> int:
        return self.inner_copies - 1

    @property
    def inner_log2(self) -> int:
        return log2(self.inner_copies)

    @property
    def copies(self) -> tuple[QuadCopy, ...]:
        def distance(outer: int) -> int:
            return outer // self.group if self.matrix.k_inner else outer * self.pitch

        step = self.num_threads // self.inner_copies
        return tuple(
            QuadCopy(index=i, outer=outer, shared=distance(outer))
            for i, outer in enumerate(range(0, self.outer_copies, step))
        )

    @property
    def is_shared_out(self) -> bool:
        """Each invocation has copies, at the same place of a group."""
        if not 0 < self.inner_copies <= self.num_threads:
            return False
        step = self.num_threads // self.inner_copies
        return step <= self.outer_copies and (not self.matrix.k_inner or step % self.group == 0)

    # From memory

    @property
    def clamped(self) -> bool:
        return self.side.clamped

    @property
    def edge_start(self) -> int:
        """Accesses along the edge from one block tile to the next."""
        return self.side.block // self.matrix.edge_width

    @property
    def k_tile(self) -> int:
        """Places along k of a K-tile."""
        return self.block_k // self.matrix.k_width

    @property
    def k_step(self) -> int:
        """From a K-tile to the next, in the buffer."""
        return self.k_tile * (1 if self.matrix.k_inner else self.matrix.outer_stride)

    @property
    def all_places(self) -> int:
        """Places along all of k."""
        return self.matrix.k // self.matrix.k_width

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
        """Groups of a quad. One more keeps the copies along k off one bank."""
        return self.side.block // self.group + (1 if self.matrix.k_inner else 0)

    def quad_distance(self, quad: int) -> int:
        """Groups from a copy's first quad to another."""
        return quad * self.pitch

    @property
    def zero(self) -> str:
        """The id of an access of zeros."""
        vector = self.matrix.tensor.vector
        return "uint_0" if vector == 1 else f"uvec{vector}_zero"

    @property
    def shared(self) -> Shared:
        return Shared(
            name=f"tile_{self.name}",
            scalar="uint",
            vector=self.group,
            length=self.block_k // QUAD * self.pitch,
            stages=self.stages,
            by_component=not self.transposed,
        )
