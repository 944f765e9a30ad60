"""A or B of a product by cooperative matrices: buffer -> workgroup memory -> matrices."""

from __future__ import annotations

from kgen.targets.vulkan.plan.base import log2
from kgen.targets.vulkan.plan.matmul.matrix import Matrix
from kgen_runtime.values import frozen


@frozen
class Copy:
    """One access that an invocation copies per K-tile, by number: its distance from the first, in
    outer and inner places, and in workgroup memory, in elements."""

    index: int
    outer: int
    inner: int
    shared: int


@frozen
class CooperativeOperand:
    """A or B: rows of `inner_block` accesses, `pitch` elements apart in workgroup memory, from
    element `start` of a stage on."""

    matrix: Matrix
    edge_block: int
    block_k: int
    num_threads: int
    start: int

    @property
    def name(self) -> str:
        return self.matrix.name

    @property
    def inner_block(self) -> int:
        inner = self.block_k if self.matrix.k_inner else self.edge_block
        return inner // self.matrix.width

    @property
    def outer_block(self) -> int:
        return self.edge_block if self.matrix.k_inner else self.block_k

    @property
    def pitch(self) -> int:
        """One more keeps neighbouring rows off the same banks."""
        return self.inner_block + 1

    @property
    def elements(self) -> int:
        return self.outer_block * self.pitch

    @property
    def inner_mask(self) -> int:
        return self.inner_block - 1

    @property
    def inner_log2(self) -> int:
        return log2(self.inner_block)

    @property
    def copies(self) -> tuple[Copy, ...]:
        step = self.num_threads // self.inner_block
        return tuple(
            Copy(index=i, outer=outer, inner=0, shared=outer * self.pitch)
            for i, outer in enumerate(range(0, self.outer_block, step))
        )

    @property
    def clamped(self) -> bool:
        return self.matrix.size % self.edge_block != 0

    @property
    def edge_start(self) -> int:
        """Accesses along the edge from one block tile to the next."""
        return self.edge_block // self.matrix.edge_width

    @property
    def k_tile(self) -> int:
        """Accesses along k of a K-tile."""
        return self.block_k // self.matrix.k_width

    @property
    def k_step(self) -> int:
        """From a K-tile to the next, in the buffer."""
        return self.k_tile * (1 if self.matrix.k_inner else self.matrix.outer_stride)

    @property
    def k_accesses(self) -> int:
        """Accesses along all of k."""
        return self.matrix.k // self.matrix.k_width

    # Matrices, as they are loaded from workgroup memory

    @property
    def layout(self) -> str:
        """The id of row-major (0) or column-major (1)."""
        row_major = self.matrix.k_inner == (self.matrix.edge == "m")
        return "uint_0" if row_major else "uint_1"

    def place(self, edge: int, k: int) -> int:
        """The element of workgroup memory that holds this place, a whole access."""
        outer, inner = (edge, k) if self.matrix.k_inner else (k, edge)
        return self.start + outer * self.pitch + inner // self.matrix.width

    def word(self, edge: int, k: int) -> int:
        """The word of that element in which the place begins."""
        inner = k if self.matrix.k_inner else edge
        return inner % self.matrix.width * self.words // self.matrix.width

    @property
    def words(self) -> int:
        """Words of an access."""
        return self.matrix.tensor.vector

    @property
    def word_pitch(self) -> int:
        return self.pitch * self.words

    def step(self, edge: int) -> int:
        """Elements from a place to one so far along the edge."""
        return self.place(edge, 0) - self.start
