"""Queries, keys and values in workgroup memory, for cooperative matrices.

Each is an array of rows of 16-bit numbers, in elements of 16 bytes. One unused element at the end
of each row puts neighbouring rows in different banks.
"""

from __future__ import annotations

from typing import ClassVar

from kgen.targets.powers_of_two import log2
from kgen.targets.vulkan.plan.matmul.matrix import WIDEST
from kgen.targets.vulkan.plan.memory import WORD
from kgen_runtime.values import frozen

#: Numbers in an element, and in a word of it.
WIDTH, PAIR = WIDEST // 2, WORD // 2


@frozen
class StagedHead:
    """Rows of the numbers of a head; those from `head` to `padded_head` are zeros."""

    head: int
    padded_head: int

    @property
    def row_accesses(self) -> int:
        """Accesses of a row in workgroup memory."""
        return self.padded_head // WIDTH

    @property
    def pitch(self) -> int:
        return self.row_accesses + 1

    @property
    def is_padded(self) -> bool:
        return self.padded_head != self.head

    @property
    def accesses(self) -> int:
        """Accesses of a head in memory."""
        return self.head // WIDTH

    @property
    def last_access(self) -> int:
        return self.accesses - 1


@frozen
class StagedQueries(StagedHead):
    """Rows of queries, each of which the `lanes` invocations of the query copy."""

    lanes: int

    @property
    def copies(self) -> tuple[tuple[int, int], ...]:
        """Copies of an invocation: number, and distance from the first access."""
        return tuple((i, i * self.lanes) for i in range(self.row_accesses // self.lanes))


@frozen
class StagedKeys(StagedHead):
    """Rows of a block's keys. The last copies may write rows that no product reads."""

    block_k: int
    num_threads: int

    @property
    def copies(self) -> tuple[tuple[int, int], ...]:
        """Copies of an invocation: number, and distance from the number of the first."""
        count = -(-self.block_k * self.row_accesses // self.num_threads)
        return tuple((i, i * self.num_threads) for i in range(count))

    @property
    def elements(self) -> int:
        rows = -(-len(self.copies) * self.num_threads // self.row_accesses)
        return max(self.block_k, rows) * self.pitch


@frozen
class StagedValues:
    """Transposed values, from element `start` on: a row for each number of a value, with a column
    for each key of a block. A copy reads one access from the values of two keys, and stores the
    two numbers of each row as a word."""

    start: int
    head: int
    block_k: int
    num_threads: int

    @property
    def pitch(self) -> int:
        return self.block_k // WIDTH + 1

    @property
    def pairs(self) -> int:
        """Pairs of keys."""
        return self.block_k // PAIR

    @property
    def pair_mask(self) -> int:
        return self.pairs - 1

    @property
    def pair_bits(self) -> int:
        return log2(self.pairs)

    @property
    def words_bits(self) -> int:
        return log2(WIDEST // WORD)

    @property
    def words_mask(self) -> int:
        return WIDEST // WORD - 1

    @property
    def last_access(self) -> int:
        return self.head // WIDTH - 1

    @property
    def copies(self) -> tuple[tuple[int, int], ...]:
        """Copies of an invocation: number, and distance from the number of the first."""
        count = -(-self.pairs * self.head // WIDTH // self.num_threads)
        return tuple((i, i * self.num_threads) for i in range(count))

    @property
    def has_more_copies(self) -> bool:
        """Whether some of the last copies have nothing to read."""
        return len(self.copies) * self.num_threads > self.pairs * (self.last_access + 1)

    @property
    def access_step(self) -> int:
        """Elements of workgroup memory from the rows of one access to the rows of the next."""
        return WIDTH * self.pitch

    #: Whether an access is several words.
    is_vector: ClassVar[bool] = True

    @property
    def rows(self) -> range:
        """Numbers of a copy's keys, and of the numbers in a word."""
        return range(PAIR)

    @property
    def words(self) -> range:
        """Numbers of the words of an access."""
        return range(WIDEST // WORD)

    def distance(self, word: int, number: int) -> int:
        """Return the elements from a copy's first row to that of a number of a word."""
        return (word * PAIR + number) * self.pitch

    @property
    def elements(self) -> int:
        copied = (len(self.copies) * self.num_threads - 1 >> self.pair_bits) + 1
        turns = -(-self.head // self.block_k)
        return max(copied * WIDTH, turns * self.block_k) * self.pitch
