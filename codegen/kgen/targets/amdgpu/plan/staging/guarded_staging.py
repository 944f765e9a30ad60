"""Staging of an operand whose elements exist under guards, such as a padded convolution's input.

Before the main loop, a thread computes the offset of each chunk's row from the tile's first row,
and a mask of the filter positions that do not exist for the row. A table has an entry for each
K-tile: the offset of its first k and the bit of its filter position. Loads of a buffer return zero
if the offset is out of range. A block tile spans few bytes, so the bits above its offsets stand for
filter positions: a set bit of the mask makes the offset out of range.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.targets.amdgpu.plan.staging.chunks import ChunkLoad
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.contraction.access import NumberDigit, innermost_first
from kgen.targets.contraction.row_masks import WORD_BITS, GuardTest, RowMasks
from kgen.targets.contraction.step_table import StepTable
from kgen_runtime.values import frozen

#: Most bits of the offsets of a block tile, without the sign: negative offsets are out of range.
MAX_OFFSET_BITS = 30
#: Instructions that move the bit of a position to the sign of an offset and combine both.
SIGN_INSTRUCTIONS = 2
#: Address space of constants (AMDGPUUsage, "Address Spaces").
CONSTANT = 4


@frozen
class ChunkRow:
    """Row of a chunk, `along` rows from its first. Its values have the chunk's names with a
    suffix."""

    along: int
    suffix: str


@frozen
class GuardTerm:
    """Term of a guard's linear form: a digit of the row times `coefficient`."""

    digit: int
    coefficient: int


@frozen
class GuardForm:
    """Part of a guard's linear form that depends on the row: `start` plus the sum of the terms."""

    number: int
    start: int
    terms: tuple[GuardTerm, ...]


@frozen
class MaskStep:
    """Step of the computation of a row's mask: value `name` is `before` with bits added.

    The bits are `value`, or the value `moved` shifted left, if all `tests` hold.
    """

    name: str
    before: str
    tests: tuple[GuardTest, ...]
    value: int = 0
    moved: str = ""
    shift: int = 0


@frozen
class GuardedStaging(Staging):
    """Staging under guards. The values of a row have the row's name with a suffix."""

    #: Offset out of range of every buffer: the sign bit.
    OUTSIDE: ClassVar[int] = -(2**31)

    @property
    def is_guarded(self) -> bool:
        return True

    @cached_property
    def table(self) -> StepTable:
        """Table of K-tiles. Each K-tile loads the entry of the next one."""
        has_ragged_k = self.access.depth % self.block_k != 0
        is_masked = bool(self.access.guards) or self.ragged_rows or has_ragged_k
        return StepTable(
            access=self.access,
            masks=self.masks if is_masked else None,
            depth=self.block_k,
            vector=self.vector,
            unit_bytes=1,
            tiles=-(-self.access.depth // self.block_k) + 1,
            by_sign=is_masked and self.by_sign,
            end=2**31,
        )

    @cached_property
    def masks(self) -> RowMasks:
        """Masks of rows: one word whose bits are moved to the sign, if that takes fewer
        instructions than bits above an offset."""
        at_sign, above = RowMasks(access=self.access), self._masks_above
        fits = at_sign.words == 1 and at_sign.lines * at_sign.line < WORD_BITS
        return at_sign if fits and above.words > SIGN_INSTRUCTIONS else above

    @cached_property
    def _masks_above(self) -> RowMasks:
        """Masks whose bits are above those of an offset and below its sign."""
        bits = min(self.offset_bits, MAX_OFFSET_BITS)
        return RowMasks(access=self.access, first_bit=bits, word_bits=WORD_BITS - 1 - bits)

    @property
    def by_sign(self) -> bool:
        return self.masks.first_bit == 0

    @property
    def offset_bits(self) -> int:
        """Bits of the byte offsets of a block tile's elements from the lowest one of its first
        row."""
        low, high = self.access.row_span(self.block_rows)
        elements = high - low + self.access.k_span + 1
        return (elements * self.memory.itemsize).bit_length()

    @property
    def line_steps(self) -> tuple[MaskStep, ...]:
        """Steps that compute the bits of a line of filter positions."""
        found, words = [], [""] * self.masks.line_words
        for number, bit in enumerate(self.masks.bit_tests):
            name = f".bit{number}"
            found.append(
                MaskStep(
                    name=name, before=words[bit.word], tests=bit.tests, value=_signed(bit.value)
                )
            )
            words[bit.word] = name
        return tuple(found)

    @property
    def mask_steps(self) -> tuple[MaskStep, ...]:
        """Steps that compute a mask from the bits of a line."""
        lines = {bit.word: f".bit{number}" for number, bit in enumerate(self.masks.bit_tests)}
        found, words = [], [""] * self.masks.words
        for number, case in enumerate(self.masks.line_cases):
            for bits in case.bits:
                name = f".line{number}.{bits.word}"
                found.append(
                    MaskStep(
                        name=name,
                        before=words[bits.word],
                        tests=case.tests,
                        moved=lines[bits.source],
                        shift=bits.shift,
                    )
                )
                words[bits.word] = name
        return tuple(found)

    def mask_name(self, word: int) -> str:
        """Return the name of the value with a word of a row's mask."""
        steps = zip(
            (bits.word for case in self.masks.line_cases for bits in case.bits),
            self.mask_steps,
            strict=True,
        )
        return [step.name for number, step in steps if number == word][-1]

    @property
    def row_masks(self) -> range:
        """Numbers of the words of a row's mask."""
        return range(self.table.mask_words)

    @property
    def is_vector_entry(self) -> bool:
        """Whether an entry has several words."""
        return self.table.entry_words > 1

    @property
    def table_lines(self) -> tuple[str, ...]:
        return self.table.lines("i32 {}")

    @property
    def tile_element(self) -> str:
        return "i32"

    @property
    def tile_space(self) -> int:
        return CONSTANT

    @property
    def entry_type(self) -> str:
        words = self.table.entry_words
        return f"<{words} x i32>" if words > 1 else "i32"

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the entries that a thread reads per K-tile: one, or one for each load."""
        if self.table.shares_position:
            return (".entry",)
        return tuple(
            f".entry.c{chunk}.l{load.index}"
            for chunk in range(len(self.chunks))
            for load in self.loads
        )

    def entry_of(self, chunk: int, load: ChunkLoad) -> str:
        """Return the name of a load's entry."""
        if self.table.shares_position:
            return ".entry"
        return f".entry.c{chunk}.l{load.index}"

    def load_bytes(self, load: ChunkLoad) -> int:
        """Return the bytes from a chunk's first element to a load, if all loads share one entry."""
        return load.k * self.memory.itemsize if self.table.shares_position else 0

    def entry_words(self, load: ChunkLoad, tiles: int) -> int:
        """Return the words of the table from a chunk's first entry to a load's entry, `tiles`
        K-tiles later."""
        own = 0 if self.table.shares_position else load.k // self.vector
        return own * self.table.entry_words + self.steps(tiles)

    def row_of(self, load: ChunkLoad) -> ChunkRow:
        return ChunkRow(along=load.row, suffix=f".row{load.row}")

    @property
    def rows_of_chunk(self) -> tuple[ChunkRow, ...]:
        """Distinct rows of a chunk's loads."""
        return tuple(dict.fromkeys(self.row_of(load) for load in self.loads))

    @property
    def row_digits(self) -> tuple[NumberDigit, ...]:
        """Digits of a row's number, innermost first."""
        return innermost_first(self.access.row, self.memory.itemsize)

    @property
    def guard_forms(self) -> tuple[GuardForm, ...]:
        return tuple(
            GuardForm(
                number=number,
                start=guard.start,
                terms=tuple(
                    GuardTerm(digit=digit, coefficient=coefficient)
                    for digit, coefficient in enumerate(guard.row)
                    if coefficient
                ),
            )
            for number, guard in enumerate(self.access.guards)
        )

    @property
    def zero_bytes(self) -> int:
        """Bytes from the tensor's first element to the one whose digits are zero."""
        return self.access.start * self.memory.itemsize

    @property
    def start_bytes(self) -> int:
        """Bytes from the tensor's first element to the origin of the tile whose first row is 0."""
        lowest, _ = self.access.row_span(self.block_rows)
        return self.zero_bytes + lowest * self.memory.itemsize

    @property
    def buffer_bytes(self) -> int:
        return 1 << self.offset_bits

    @property
    def raw_type(self) -> str:
        """IR type of a load as integers: words, or one smaller integer."""
        words = self.load_type.nbytes // 4
        if words > 1:
            return f"<{words} x i32>"
        return f"i{8 * self.load_type.nbytes}"

    @property
    def load_intrinsic(self) -> str:
        words = self.load_type.nbytes // 4
        suffix = f"v{words}i32" if words > 1 else f"i{8 * self.load_type.nbytes}"
        return f"llvm.amdgcn.raw.ptr.buffer.load.{suffix}"

    @property
    def declarations(self) -> tuple[str, ...]:
        """Declarations of the intrinsics that loads of the buffer call."""
        return (
            "ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)",
            f"{self.raw_type} @{self.load_intrinsic}(ptr addrspace(8), i32, i32, i32 immarg)",
        )

    @property
    def has_far_loads(self) -> bool:
        return False

    @property
    def cuts_depth(self) -> bool:
        """Whether the partial K-tile needs tests: never, because the table excludes its missing
        k."""
        return False

    @property
    def in_pieces(self) -> bool:
        return False

    def steps(self, count: int) -> int:
        """Return the words of the table from one K-tile to the one `count` later."""
        return count * self.table.tile_words

    def check(self, target: str) -> None:
        """Check that a block tile is not larger than a buffer. Raises ScheduleError."""
        if self.offset_bits > MAX_OFFSET_BITS:
            raise ScheduleError(
                f"a block tile of operand {self.name} spans up to 2^{self.offset_bits} B; {target} "
                f"allows 2^{MAX_OFFSET_BITS} B; try a smaller block_m, or split the batch"
            )


def _signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word
