"""Operand of a matmul: the K-tile that a workgroup multiplies at a time, and its copies to
workgroup memory."""

from __future__ import annotations

from itertools import product

from kgen.targets.powers_of_two import log2
from kgen.targets.vulkan.plan.matmul.guarded_indices import GuardedIndices
from kgen.targets.vulkan.plan.matmul.matrix import Matrix
from kgen.targets.vulkan.plan.matmul.outputs import ThreadOutputs
from kgen_runtime.values import frozen


@frozen
class TiledOperand:
    """Operand A or B, of which a workgroup multiplies a K-tile of `side.block` x `block_k` at a
    time."""

    matrix: Matrix
    side: ThreadOutputs
    block_k: int

    @property
    def name(self) -> str:
        return self.matrix.name

    @property
    def edge(self) -> str:
        return self.matrix.edge

    @property
    def is_guarded(self) -> bool:
        """Whether the operand is not a matrix: its elements have guards, or several digits."""
        return not self.matrix.access.is_affine

    @property
    def indices(self) -> GuardedIndices:
        return GuardedIndices(access=self.matrix.access, width=self.matrix.width)

    @property
    def clamped(self) -> bool:
        """Whether block tiles extend past the edge of the matrix."""
        return self.matrix.access.rows % self.side.block != 0

    @property
    def edge_start(self) -> int:
        """Accesses along the edge from one block tile to the next."""
        return self.side.block // self.matrix.edge_width

    @property
    def k_tile(self) -> int:
        """Accesses along k of a K-tile."""
        return self.block_k // self.matrix.k_width

    @property
    def k_step(self) -> int:
        """Accesses from a K-tile to the next one, in the buffer."""
        (step,) = self.matrix.access.steps(self.block_k)
        return step // self.matrix.width

    @property
    def all_k(self) -> int:
        """Accesses along all of k."""
        return self.matrix.all_k


@frozen
class Transpose:
    """Function `name` of a module that transposes as many words as a word has elements.

    `vector` is the vector type of a word's elements, if the function extracts them as a vector.
    """

    name: str
    number: int
    element: str = ""
    vector: str = ""

    @property
    def type(self) -> str:
        """Vector type of all words."""
        return f"uvec{self.number}"

    @property
    def numbers(self) -> range:
        return range(self.number)


@frozen
class OperandCopy:
    """Copy of an invocation, one of several per K-tile.

    Distances count from the first copy: `inner` along the contiguous dimension and `outer` along
    the other one, both in copies, and the distance in workgroup memory.
    """

    index: int
    inner: int
    outer: int
    shared: int


@frozen
class CopiedOperand(TiledOperand):
    """Operand A or B, whose K-tiles all invocations of a workgroup copy to workgroup memory.

    Neighbouring invocations copy neighbours along the contiguous dimension, or along the other one
    if `outer_first`.
    """

    num_threads: int

    # A copy

    @property
    def rows(self) -> range:
        """Numbers of the steps of k of a copy, each of which is one access."""
        return range(1)

    @property
    def has_rows(self) -> bool:
        """Whether a copy has several accesses."""
        return len(self.rows) > 1

    def row_distance(self, row: int) -> int:
        """Return the accesses from a copy's first step of k to another, in the buffer."""
        return self.matrix.access.offset(0, row) // self.matrix.width

    @property
    def run_tiles(self) -> int:
        """K-tiles of a run, such as a filter position; 0 if a K-tile spans several runs, or a copy
        has several accesses."""
        tiles, rest = divmod(self.matrix.access.run, self.block_k)
        return 0 if rest or self.has_rows or not self.matrix.k_inner else tiles

    @property
    def words(self) -> range:
        """Numbers of the words of an access."""
        return range(self.matrix.tensor.vector)

    @property
    def is_vector(self) -> bool:
        """Whether an access has several words."""
        return len(self.words) > 1

    @property
    def wide(self) -> bool:
        """Whether accesses are whole words."""
        return self.matrix.width > 1

    @property
    def transposed(self) -> bool:
        """Whether a copy loads elements along the edge of several steps of k, and stores words
        along k."""
        return self.wide and not self.matrix.k_inner and self.has_rows

    @property
    def zero(self) -> str:
        """Id of an access of zeros."""
        return f"uvec{len(self.words)}_zero" if self.is_vector else "uint_0"

    # Copies of an invocation

    @property
    def outer_first(self) -> bool:
        return False

    @property
    def inner_block(self) -> int:
        """Copies of a K-tile along the contiguous dimension."""
        inner = self.block_k if self.matrix.k_inner else self.side.block
        return inner // self.matrix.width

    @property
    def outer_block(self) -> int:
        """Copies of a K-tile along the other dimension."""
        return self.side.block if self.matrix.k_inner else self.block_k // len(self.rows)

    @property
    def inner_step(self) -> int:
        """Number of neighbouring invocations along the contiguous dimension."""
        if self.outer_first:
            return max(1, self.num_threads // self.outer_block)
        return min(self.inner_block, self.num_threads)

    @property
    def outer_step(self) -> int:
        if self.outer_first:
            return min(self.outer_block, self.num_threads)
        return max(1, self.num_threads // self.inner_block)

    @property
    def first_mask(self) -> int:
        """Mask that extracts an invocation's first copy along the dimension of neighbours from its
        number."""
        return (1 << self.first_log2) - 1

    @property
    def first_log2(self) -> int:
        return log2(self.outer_step if self.outer_first else self.inner_step)

    def distance(self, inner: int, outer: int) -> int:
        """Return the distance in workgroup memory from an invocation's first copy to another."""
        raise NotImplementedError

    @property
    def copies(self) -> tuple[OperandCopy, ...]:
        outer = range(0, self.outer_block, self.outer_step)
        inner = range(0, self.inner_block, self.inner_step)
        return tuple(
            OperandCopy(index=index, inner=i, outer=o, shared=self.distance(i, o))
            for index, (o, i) in enumerate(product(outer, inner))
        )

    def edge_place(self, copy: OperandCopy) -> int:
        """Return a copy's distance along the edge from an invocation's first copy."""
        return copy.outer if self.matrix.k_inner else copy.inner

    def k_place(self, copy: OperandCopy) -> int:
        """Return a copy's distance along k from an invocation's first copy."""
        return copy.inner if self.matrix.k_inner else copy.outer


@frozen
class GroupedOperand(CopiedOperand):
    """Operand in `stages` stages of workgroup memory. Neighbours along the edge are adjacent, in
    the groups that an invocation reads."""

    stages: int

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
        """Groups of a row along the edge: one more than are used, so that copies along k, which are
        a pitch apart, are in different banks."""
        return self.side.block // self.group + (1 if self.matrix.k_inner else 0)
