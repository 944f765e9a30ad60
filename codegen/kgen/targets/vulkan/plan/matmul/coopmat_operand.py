"""A or B of a product by cooperative matrices: buffer -> workgroup memory -> matrices."""

from __future__ import annotations

from kgen.targets.vulkan.plan.matmul.matrix import WIDEST
from kgen.targets.vulkan.plan.matmul.operand import CopiedOperand
from kgen.targets.vulkan.plan.memory import WORD
from kgen_runtime.values import frozen


@frozen
class CooperativeOperand(CopiedOperand):
    """A or B in workgroup memory: along k in rows of 16-byte elements, `pitch` apart, from element
    `start` of a stage on. So a lane's part of a matrix is contiguous, as matrix instructions take
    it. What is contiguous along the edge in the buffer is transposed on its way, in registers.
    """

    start: int

    # A copy

    @property
    def itemsize(self) -> int:
        return self.matrix.tensor.dtype.itemsize

    @property
    def rows(self) -> range:
        return range(1 if self.matrix.k_inner else WORD // self.itemsize)

    @property
    def outer_first(self) -> bool:
        """Words of neighbours along k are next to one another in workgroup memory, and in banks of
        their own; those along the edge are a pitch apart for each element."""
        return self.transposed

    def edge_distance(self, word: int, row: int) -> int:
        """Elements from a copy's first word in workgroup memory to the one that an access's word
        and the number of its element there become."""
        return (word * len(self.rows) + row) * self.pitch

    # Workgroup memory

    @property
    def row_elements(self) -> int:
        return self.block_k * self.itemsize // WIDEST

    @property
    def pitch(self) -> int:
        """Elements from one row to the next. One more than a row keeps neighbouring rows off the
        same banks."""
        return self.row_elements + 1

    @property
    def elements(self) -> int:
        return self.side.block * self.pitch

    def distance(self, inner: int, outer: int) -> int:
        """In elements; that of words along k is in the copy's own address."""
        return inner * self.matrix.width * self.pitch if self.transposed else outer * self.pitch

    # Matrices, as they are loaded from workgroup memory

    @property
    def layout(self) -> str:
        """The id of row-major (0) or column-major (1)."""
        return "uint_0" if self.edge == "m" else "uint_1"

    def place(self, edge: int, k: int) -> int:
        """The element of workgroup memory that holds this place."""
        return self.start + edge * self.pitch + k * self.itemsize // WIDEST

    def word(self, k: int) -> int:
        """The word of that element in which the place begins."""
        return k * self.itemsize % WIDEST // WORD

    @property
    def word_pitch(self) -> int:
        return self.pitch * WIDEST // WORD

    def step(self, edge: int) -> int:
        """Elements from a place to one so far along the edge."""
        return edge * self.pitch
