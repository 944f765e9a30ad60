"""Results of one byte each: vectors of sums that are rounded, packed and stored together.

Conversion to integers rounds, and packing saturates, so that neither needs instructions of its own.
A function of one byte, such as a quantised SiLU, is looked up in a table of 256 results. A launch
fills the table by the function itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.ops.expression import inputs, rebuilt, variable
from kgen.spec import DType
from kgen.targets.cpu.expressions import function_of
from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.finishing import Finish
from kgen.targets.cpu.plan.tiles.tile import Sum
from kgen.targets.cpu.plan.vectors import Vector, index_list
from kgen.targets.expressions import Rendered
from kgen_runtime.values import frozen

#: Input of a function of one byte.
BYTE = "%byte"
#: Bytes of a vector, and vectors of sums whose results fill it.
BYTES, VECTORS = 32, 4
#: Largest sum of a zero point and an integer of 16 bits that stays outside of a byte's range.
MOST_OFFSET = 2**15 - 2**9


@frozen
class Lookup:
    """Step of a look-up: 16 entries of the table at byte `at`. The entry is the exclusive or of the
    results of all steps up to its own. `index` names the vector of indices before 16 is subtracted;
    the first step of a half of the table subtracts nothing."""

    name: str
    index: str
    at: int
    is_first: bool


@frozen
class ByteTable:
    """Table of a function of the whole numbers from `low` to `high`, at most 256."""

    function: Expression
    low: int
    high: int

    part: ClassVar[int] = BYTES // 2
    entries: ClassVar[int] = 256
    #: Bytes from the start of the buffer to the result for NaN, and to the results in their order.
    nan: ClassVar[int] = entries // part * BYTES
    plain: ClassVar[int] = nan + BYTES
    plain_nan: ClassVar[int] = plain + entries

    def filled(self, vector: Vector) -> int:
        """Return the number of results in their order; the last vector is that of NaN."""
        return self.entries + vector.count

    @property
    def is_limited(self) -> bool:
        return self.high - self.low < self.entries - 1

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        count = self.entries // self.part
        return tuple(
            Lookup(
                name=f"part{n}",
                index=("index" if n else "lower") if n % (count // 2) == 0 else f"part{n - 1}",
                at=n * BYTES,
                is_first=n % (count // 2) == 0,
            )
            for n in range(count)
        )

    def plain_at(self, lookup: Lookup) -> int:
        return self.plain + lookup.at // 2

    @property
    def doubled(self) -> str:
        """Shuffle mask that repeats 16 entries for both halves of a vector."""
        return index_list([*range(self.part)] * 2)


@dataclass(frozen=True)
class ByteGroup:
    """Vectors of sums, at most `VECTORS`, whose results are packed together."""

    sums: Sequence[Sum]

    @property
    def name(self) -> str:
        return f"%{self.sums[0].name}.bytes"

    def operands(self, suffix: str) -> list[str]:
        """Return the operands of all vectors; zeros replace missing ones."""
        found = [f"%{sum_.name}.{suffix}" for sum_ in self.sums]
        return [*found, *["zeroinitializer"] * (VECTORS - len(found))]


@frozen
class ByteResults:
    """Results round(value) + offset, limited to the range of a byte, or the entries of a table
    there."""

    finish: Finish

    #: Numbers from here on are out of range in any case; larger ones do not fit in a s32.
    largest: ClassVar[float] = 2.0**30
    #: Limits of words and of bytes, which are results or indices of the table.
    words: ClassVar[tuple[int, int]] = (-(2**15), 2**15 - 1)
    limits: ClassVar[tuple[int, int]] = (-(2**7), 2**7 - 1)

    @cached_property
    def _parts(self) -> tuple[Expression, int, ByteTable | None]:
        result = self.finish.lowered
        numbers = [a.name for a in self.finish.epilogue.numbers]
        for step, value, low, high in limited(result):
            rest = with_byte(result, step)
            if {*inputs(rest)} <= {BYTE, *numbers} and any(map(function_of, steps(rest))):
                return value, self.limits[0] - low, ByteTable(function=rest, low=low, high=high)
        if result.primitive is P.ADD and is_whole(result.arguments[1], MOST_OFFSET):
            rounded, offset = result.arguments
            if rounded.primitive is P.ROUND:
                return rounded.arguments[0], int(offset.number), None
        return result, 0, None

    @property
    def offset(self) -> int:
        return self._parts[1]

    @property
    def table(self) -> ByteTable | None:
        return self._parts[2]

    def value(self, prefix: str, sums: str, loaded: dict[str, str]) -> Rendered:
        """Return the lines that compute the numbers to round, as `Finish.finished`."""
        return self.finish.finished(prefix, sums, loaded, self._parts[0])

    def entry(self, byte: str, result: str) -> Rendered:
        """Return the lines that compute the table's function of a vector of whole numbers."""
        assert self.table
        return self.finish.of_numbers(self.table.function, {BYTE: byte}, result)

    def groups(self, sums: Sequence[Sum]) -> Iterator[ByteGroup]:
        for first in range(0, len(sums), VECTORS):
            yield ByteGroup(sums=sums[first : first + VECTORS])

    # -- types ---------------------------------------------------------------------------------

    @property
    def bytes(self) -> Vector:
        return Vector(count=BYTES, scalar="i8")

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        if self.table is None:
            return ()
        size = self.table.plain + self.table.filled(self.finish.compute)
        return (Buffer(name="%table", holds="results by byte, in parts of 16", bytes=size),)

    def part(self, index: int) -> str:
        """Return the shuffle mask of a vector's results among those of its group."""
        count = self.finish.compute.count
        return index_list(range(index * count, (index + 1) * count))

    @property
    def declarations(self) -> Iterator[str]:
        numbers, b = self.finish.compute, self.bytes
        yield f"{numbers.of('i32')} @llvm.x86.avx.cvt.ps2dq.256({numbers})"
        limited_types = [b.of("i32")]
        if self.offset:
            limited_types.append(b.of("i16"))
            yield self._of_two("sadd.sat", b.of("i16"))
        for vector in limited_types:
            yield self._of_two("smin", vector)
            yield self._of_two("smax", vector)
        if self.table:
            yield self._of_two("ssub.sat", b)
            yield f"{b} @llvm.x86.avx2.pshuf.b({b}, {b})"

    @staticmethod
    def _of_two(name: str, vector: Vector) -> str:
        return f"{vector} @llvm.{name}.{vector.suffix}({vector}, {vector})"


def byte_results(finish: Finish) -> ByteResults | None:
    """Return how results are packed; None for other results, and where 8 numbers are not a vector
    of the instruction set."""
    of_bytes = finish.out.dtype is DType.S8 and finish.compute.scalar == "float"
    fits = finish.target.has("avx2") and finish.compute.bytes == BYTES
    return ByteResults(finish=finish) if of_bytes and fits else None


def limited(result: Expression) -> Iterator[tuple[Expression, Expression, int, int]]:
    """Yield the steps that limit a rounded value to a byte's range, with this value and limits."""
    for step in steps(result):
        if step.primitive is P.MIN and step.arguments[0].primitive is P.MAX:
            (rounded, low), high = step.arguments[0].arguments, step.arguments[1]
            whole = is_whole(low, MOST_OFFSET) and is_whole(high, MOST_OFFSET)
            if rounded.primitive is P.ROUND and whole and 0 <= high.number - low.number < 256:
                yield step, rounded.arguments[0], int(low.number), int(high.number)


def with_byte(result: Expression, limited_step: Expression) -> Expression:
    """Return the result as a function of BYTE, which replaces a step."""
    return rebuilt(result, lambda x: variable(BYTE) if x is limited_step else x)


def is_whole(x: Expression, most: int) -> bool:
    """Return whether x is a whole constant of at most this magnitude."""
    return x.primitive is P.CONSTANT and abs(x.number) <= most and x.number.is_integer()
