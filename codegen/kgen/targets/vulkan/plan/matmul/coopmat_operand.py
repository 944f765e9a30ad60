"""A or B of a product by cooperative matrices: buffer -> workgroup memory -> matrices."""

from __future__ import annotations

from kgen.targets.vulkan.plan.matmul.operand import CopiedOperand
from kgen_runtime.values import frozen


@frozen
class CooperativeOperand(CopiedOperand):
    """A or B: rows of `inner_block` accesses, `pitch` elements apart in workgroup memory, from
    element `start` of a stage on."""

    start: int

    @property
    def pitch(self) -> int:
        """One more keeps neighbouring rows off the same banks."""
        return self.inner_block + 1

    @property
    def elements(self) -> int:
        return self.outer_block * self.pitch

    def distance(self, inner: int, outer: int) -> int:
        """In elements."""
        return outer * self.pitch + inner

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
