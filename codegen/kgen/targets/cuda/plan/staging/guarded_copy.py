"""Copy of an operand whose elements exist under guards, such as a padded convolution's input.

Before the main loop, a thread computes the offset of each of its rows, and a mask of the filter
positions that exist for the row. A table has an entry for each K-tile: the offset of its first k
and the bit of its filter position. Where a K-tile spans several filter positions, each unit of a
row has an entry. Units that do not exist are zero.
"""

from __future__ import annotations

from functools import cached_property

from kgen.errors import ScheduleError
from kgen.targets.contraction.row_masks import RowMasks
from kgen.targets.contraction.step_table import WORD_BYTES, StepTable
from kgen.targets.cuda.plan.matrix import MAX_IMMEDIATE
from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.cuda.plan.staging.copy_units import Unit
from kgen_runtime.values import frozen

#: Words of 32 bits that one load reads at most.
LOAD_WORDS = 4


@frozen
class DigitOfRow:
    """Digit of a row's number: its extent, and the distance of neighbours in units."""

    register: str
    extent: int
    stride: int


@frozen
class GuardValue:
    """Part of a guard's linear form that depends on the row: `start` plus the sum of `terms`, which
    are pairs of a digit's register and its coefficient."""

    register: str
    start: int
    terms: tuple[tuple[str, int], ...]


@frozen
class GuardedRow:
    """Row of a thread, `along` rows from its first, with the registers of its offset and mask."""

    along: int
    at: str
    mask: tuple[str, ...]


@frozen
class EntryLoad:
    """Load of words of a table entry, `offset` bytes from the entry's first word."""

    registers: tuple[str, ...]
    offset: int


@frozen
class EntryColumn:
    """k of a thread's units, `along` elements from its first, with its table entry.

    The registers hold the offset of k, the bits of the filter position, and the address of k.
    """

    along: int
    move: str
    bits: tuple[str, ...]
    now: str
    loads: tuple[EntryLoad, ...]


@frozen
class GuardedCopy(TileCopy):
    """Copy under guards. `stages` is the number of K-tiles by which loads of the table may run past
    the end of k."""

    stages: int

    @cached_property
    def masks(self) -> RowMasks:
        return RowMasks(access=self.access)

    @property
    def is_guarded(self) -> bool:
        return True

    @property
    def has_table(self) -> bool:
        """Whether the copy reads a table; otherwise k is contiguous, and all steps are equal."""
        (last, *others) = reversed(self.access.k)
        return bool(others or self.access.guards) or self.k_edge or last.stride != 1

    @property
    def is_masked(self) -> bool:
        """Whether rows have masks."""
        return self.has_table and (bool(self.access.guards) or self.free_edge or self.k_edge)

    @cached_property
    def steps(self) -> StepTable:
        """Table of the K-tiles of all slices of K, and of those past the end that loads run ahead
        to."""
        part = self.part_k or self.k_extent
        return StepTable(
            access=self.access,
            masks=self.masks if self.is_masked else None,
            depth=self.k_extent,
            vector=self.unit_elements,
            unit_bytes=self.unit_bytes,
            tiles=-(-self.access.depth // part) * (part // self.k_extent) + self.stages,
            first_k=self.first_k,
        )

    @property
    def mask_words(self) -> int:
        return self.steps.mask_words

    @property
    def table(self) -> str:
        """Name of the table."""
        return f"{self.name}_steps"

    @property
    def table_lines(self) -> tuple[str, ...]:
        return self.steps.lines("{}")

    @property
    def line_words(self) -> tuple[str, ...]:
        """Registers of the bits of a line of filter positions."""
        return tuple(f"line{word}" for word in range(self.masks.line_words))

    @property
    def rows_of_thread(self) -> tuple[GuardedRow, ...]:
        return tuple(
            GuardedRow(
                along=along,
                at=f"{self.name}_row{along}_at",
                mask=tuple(f"{self.name}_row{along}_mask{w}" for w in range(self.mask_words)),
            )
            for along in sorted({self._free(unit) for unit in self.units})
        )

    def row_of(self, unit: Unit) -> GuardedRow:
        return next(row for row in self.rows_of_thread if row.along == self._free(unit))

    @property
    def entry_columns(self) -> tuple[EntryColumn, ...]:
        return tuple(self._column(along) for along in sorted({self._k(u) for u in self.units}))

    def column_of(self, unit: Unit) -> EntryColumn:
        return self._column(self._k(unit))

    def _k(self, unit: Unit) -> int:
        return self._indices(unit.row, unit.col)[1]

    def _column(self, along: int) -> EntryColumn:
        stem = f"{self.name}_col{along}"
        words = (f"{stem}_move", *(f"{stem}_bits{w}" for w in range(self.mask_words)))
        # All columns share the entry if the K-tile has only one.
        entry = 0 if self.steps.shares_position else along // self.unit_elements
        return EntryColumn(
            along=along,
            move=words[0],
            bits=words[1:],
            now=f"{stem}_now",
            loads=tuple(
                EntryLoad(
                    registers=self._padded(stem, words[i : i + LOAD_WORDS], i),
                    offset=entry * self.steps.entry_bytes + i * WORD_BYTES,
                )
                for i in range(0, len(words), LOAD_WORDS)
            ),
        )

    def _padded(self, stem: str, words: tuple[str, ...], begin: int) -> tuple[str, ...]:
        """Return the registers of one load, one per word that it reads; the last may be unused."""
        count = min(LOAD_WORDS, self.steps.entry_words - begin)
        return (*words, *(f"{stem}_unused{i}" for i in range(count - len(words))))

    def begins_column(self, unit: Unit) -> bool:
        """Return whether a unit is the first of its column, which computes the address of k."""
        return unit == next(each for each in self.units if self._k(each) == self._k(unit))

    @property
    def digits_of_row(self) -> tuple[DigitOfRow, ...]:
        """Digits of a row's number, innermost first."""
        found = (
            DigitOfRow(
                register=f"digit{number}",
                extent=digit.extent,
                stride=digit.stride // self.unit_elements,
            )
            for number, digit in enumerate(self.access.row)
        )
        return tuple(reversed(tuple(found)))

    @property
    def guard_values(self) -> tuple[GuardValue, ...]:
        return tuple(
            GuardValue(
                register=f"value{number}",
                start=guard.start,
                terms=tuple((f"digit{d}", c) for d, c in enumerate(guard.row) if c),
            )
            for number, guard in enumerate(self.access.guards)
        )

    @property
    def start_bytes(self) -> int:
        """Bytes from the tensor's first element to the one whose digits are zero."""
        return self.access.start * self.matrix.dtype.itemsize

    @property
    def k_tile_log2(self) -> int:
        return self.k_extent.bit_length() - 1

    @property
    def k_step(self) -> int:
        """Bytes from a K-tile to the next one, if all steps are equal."""
        return 0 if self.has_table else super().k_step

    @property
    def held_registers(self) -> int:
        rows = len(self.rows_of_thread) * (1 + self.mask_words)
        entries = len(self.entry_columns) * (3 + self.mask_words)
        return self.staging_registers + rows + entries + 2

    def check(self) -> None:
        """Raise ScheduleError if 32 bits do not hold the offsets of units."""
        last = self.access.offset(self.access.rows - 1, self.access.depth - 1)
        if last // self.unit_elements > MAX_IMMEDIATE:
            raise ScheduleError(
                f"operand {self.name} has {last // self.unit_elements} accesses of "
                f"{self.unit_bytes} B; the limit is {MAX_IMMEDIATE}; split the batch"
            )
