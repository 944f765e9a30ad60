"""Operand of a product by cooperative matrices: buffer -> workgroup memory -> matrices."""

from __future__ import annotations

from kgen.targets.vulkan.plan.matmul.matrix import WIDEST
from kgen.targets.vulkan.plan.matmul.operand import CopiedOperand
from kgen.targets.vulkan.plan.memory import WORD
from kgen_runtime.values import frozen


@frozen
class CooperativeOperand(CopiedOperand):
    """Operand A or B in workgroup memory: rows along k of 16-byte elements, `pitch` elements apart,
    from element `start` of a stage on.

    So a lane's part of a matrix is contiguous, as matrix instructions require. If the buffer is
    contiguous along the edge, the copy transposes it in registers.
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
        """Whether neighbouring invocations take neighbours along k. Their words are adjacent in
        workgroup memory, so in different banks; neighbours along the edge are a pitch apart."""
        return self.transposed

    def edge_distance(self, word: int, row: int) -> int:
        """Return the elements of workgroup memory from a copy's first word to the one that holds a
        row of an access's word."""
        return (word * len(self.rows) + row) * self.pitch

    # Workgroup memory

    @property
    def row_elements(self) -> int:
        return self.block_k * self.itemsize // WIDEST

    @property
    def pitch(self) -> int:
        """Elements from one row to the next: one more than a row has, so that neighbouring rows are
        in different banks."""
        return self.row_elements + 1

    @property
    def elements(self) -> int:
        return self.side.block * self.pitch

    def distance(self, inner: int, outer: int) -> int:
        """Return the distance of two copies in elements, without the distance of words along k,
        which the copy's address includes."""
        return inner * self.matrix.width * self.pitch if self.transposed else outer * self.pitch

    # Matrices, as they are loaded from workgroup memory

    @property
    def layout(self) -> str:
        """Id of the layout: row-major (0) or column-major (1)."""
        return "uint_0" if self.edge == "m" else "uint_1"

    def place(self, edge: int, k: int) -> int:
        """Return the element of workgroup memory at a position."""
        return self.start + edge * self.pitch + k * self.itemsize // WIDEST

    def word(self, k: int) -> int:
        """Return the word of the element in which a position begins."""
        return k * self.itemsize % WIDEST // WORD

    @property
    def word_pitch(self) -> int:
        return self.pitch * WIDEST // WORD

    def step(self, edge: int) -> int:
        """Return the elements from one position to the one `edge` further along the edge."""
        return edge * self.pitch
