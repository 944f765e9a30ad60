"""Plan of matmul_outer.ll.j2: a skinny GEMM by outer products, with a B that comes from memory.

A pass multiplies several rows of B along a block of columns. Accumulators stay in the first-level
cache, and elements of A in registers. The rows of a pass are far apart in B, so that each is a
separate stream for the hardware prefetcher. The stream continues in the next row.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.schedule import OuterMatmul
from kgen.spec import ConstantOperand, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import (
    LINE_BYTES,
    Buffer,
    access,
    check_multiple,
    check_registers,
)
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.kernels.dot import COLUMNS, rounds_bf16
from kgen.targets.cpu.plan.matmul import MatmulPlan, padded
from kgen.targets.cpu.plan.packing.compensation import Starts
from kgen.targets.cpu.plan.packing.lanes import Interleaving, Unpack
from kgen.targets.cpu.plan.tiles.dots import WORD, Dot, DotOperands, dot_for, has_words
from kgen.targets.cpu.plan.tiles.tile import Row, tile_rows
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart, vector_parts
from kgen_runtime.values import frozen

#: Loads wait for earlier stores whose addresses differ by a multiple of this. The accumulators
#: begin at the middle between two such addresses of B.
ALIAS_BYTES = 4096


@frozen
class RowsOfB:
    """Form in which rows of B are multiplied; `sums` is a vector of accumulators.

    With `dot`, elements of adjacent rows are interleaved to groups for that instruction. With
    `by_words`, B is read as words of two adjacent columns of bf16: a shift widens the lower half to
    f32, a mask the upper half. That needs fewer loads and shuffles than widening vectors of bf16.
    Accumulators of even columns then precede those of odd columns until the end of K.
    """

    dot: Dot | None
    by_words: bool
    sums: Vector

    @property
    def group(self) -> int:
        """Rows that are multiplied together."""
        return self.dot.group if self.dot else 1

    @property
    def vectors(self) -> int:
        """Accumulator vectors per strip: as many as rows of a group or columns of a word."""
        return WORD if self.by_words else self.group

    @property
    def strip(self) -> int:
        return self.vectors * self.sums.count

    @property
    def halved(self) -> RowsOfB:
        dot = self.dot.halved if self.dot else None
        return dataclasses.replace(self, dot=dot, sums=self.sums.half)

    def registers(self, m: int, parts: int, strips: int) -> int:
        """Return the registers that a step with `m` rows of A needs. They hold elements of A,
        accumulators, and rows of B before and after interleaving."""
        if self.by_words:
            # Strips are computed one by one. Registers hold the words, one half of them as a row of
            # B, accumulators, and the mask.
            return m * (parts + 1) + parts + 2
        if self.dot is None:
            return m * (parts + strips) + strips + 1
        groups = -(-parts // self.group)
        mixed = 2 * self.group + self.dot.extra_registers
        return m * (groups + strips * self.group) + mixed


@frozen
class OuterDepth:
    """Division of K into whole blocks, a remainder in parts, and single rows.

    - The first `blocks` elements of K are in whole blocks, whose streams are `part` rows apart.
    - The remainder has one part of `rest_part` rows per stream; the first part ends at `rest_end`.
    - The last `left` rows, from `left_from` on, are fewer than the streams.
    """

    part: int
    blocks: int
    rest_part: int
    rest_end: int
    left: int
    left_from: int


@frozen
class OuterProducts:
    """Function that multiplies `count` rows of B in groups of at most `group`."""

    count: int
    group: int

    @property
    def name(self) -> str:
        return f"outer_{self.count}"

    @property
    def groups(self) -> tuple[range, ...]:
        starts = range(0, self.count, self.group)
        return tuple(range(at, min(at + self.group, self.count)) for at in starts)


def rows_of_b(spec: Matmul, target: Target, *, words: bool = False) -> RowsOfB | None:
    """Return the form of B's rows, or None. Rows must be contiguous, and the target must multiply
    them without conversion. With `words`, or if the target lacks a bf16 dot product, bf16 is read
    by words."""
    dot = None if words else dot_for(spec.dtype, target)
    by_words = dot is None and has_words(spec)
    if spec.constant or spec.b_strides[2] != 1:
        return None
    if dot and dot.b_is_unsigned and spec.layout.a_transposed:
        return None
    if not (dot or by_words or spec.dtype is spec.accumulate):
        return None
    columns = COLUMNS if dot or by_words else spec.n
    sums = finishing_vector(spec, target, columns)
    return RowsOfB(dot=dot, by_words=by_words, sums=sums)


@frozen
class OuterPlan(MatmulPlan):
    #: Distance of the accumulators from B modulo the page, and the mask of a page's cache lines.
    page_distance: ClassVar[int] = ALIAS_BYTES // 2
    page_mask: ClassVar[int] = ALIAS_BYTES - LINE_BYTES

    schedule: OuterMatmul
    rows_of_b: RowsOfB

    @property
    def fetches(self) -> bool:
        return True

    @property
    def strips_whole(self) -> int:
        """Columns of the block of accumulators, rounded up to whole strips."""
        columns = min(self.schedule.nc * self.schedule.tasks_per_pass, self.spec.n)
        return -(-columns // self.rows_of_b.strip) * self.rows_of_b.strip

    @property
    def scratch_row(self) -> int:
        return padded(self.strips_whole * self.spec.accumulate.itemsize)

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            "outer-product GEMV: a task computes nc columns of out for all rows of A; it reads B "
            f"in blocks of kc rows, each as {self.schedule.parts} parallel streams of rows"
            + self.blocking.takes_several
            * f"; a thread merges up to {self.schedule.tasks_per_pass} adjacent tasks",
            *((self.starts.note,) if self.starts else ()),
        )

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        acc = self.acc.buffer
        holds = f"{acc.holds}, half a page from B modulo the page size"
        room = Buffer(name="%acc.room", holds=holds, bytes=acc.bytes + ALIAS_BYTES)
        return (room, self.starts.buffer) if self.starts else (room,)

    @cached_property
    def interleaving(self) -> Interleaving:
        scalar = "float" if self.dot else self.compute.scalar
        strip = Vector(count=self.rows_of_b.strip, scalar=scalar)
        return Interleaving(
            row=access(self.target, self.spec.b_type, strip),
            scalar=self.sum_vector.scalar,
            group=self.rows_of_b.group,
            word_columns=self.rows_of_b.vectors if self.words else 1,
        )

    @cached_property
    def dots(self) -> DotOperands | None:
        if self.dot is None:
            return None
        count = self.sum_vector.count * self.dot.group
        stored = Vector(count=count, scalar=self.interleaving.row.stored.scalar)
        return DotOperands(dot=self.dot, sums=self.sum_vector, stored=stored)

    @property
    def words(self) -> Vector | None:
        """Vector of words, each with two columns of bf16; None unless B is read by words."""
        return self.sum_vector.integers if self.rows_of_b.by_words else None

    @property
    def a_scalar(self) -> str:
        """LLVM type of an element of A in memory."""
        stored = self.dot or self.words
        return self.interleaving.row.stored.scalar if stored else self.sum_vector.scalar

    def unpacks(self, b: str, group: range) -> tuple[Unpack, ...]:
        """Return the shuffles that interleave rows `b`.k<row> to groups `b`_v<n>.stored. Zeros
        replace missing rows of a group."""
        count = self.rows_of_b.group
        lacking = ["zeroinitializer"] * (count - len(group))
        return self.interleaving.unpacks(
            [*(f"{b}.k{row}" for row in group), *lacking],
            [f"{b}_v{v}.stored" for v in range(count)],
        )

    @property
    def rows_of_a(self) -> tuple[Row, ...]:
        return tile_rows(self.schedule.mr, self.tensors.a_strides[1], self.acc.row)

    @cached_property
    def starts(self) -> Starts | None:
        if self.dots is None:
            return None
        factors = Vector(count=self.dots.factors.count, scalar="float")
        return self.starts_along(
            self.spec.k,
            Access(dtype=self.spec.dtype, compute=factors),
            self.sum_vector,
            self.tensors.a_origin.base,
        )

    @property
    def depth(self) -> OuterDepth:
        k, kc, parts = self.spec.k, self.schedule.kc, self.schedule.parts
        return OuterDepth(
            part=kc // parts,
            blocks=k - k % kc,
            rest_part=k % kc // parts,
            rest_end=k - k % kc + k % kc // parts,
            left=k % kc % parts,
            left_from=k - k % kc % parts,
        )

    def products_of(self, count: int) -> OuterProducts:
        return OuterProducts(count=count, group=self.rows_of_b.group)

    @property
    def products(self) -> tuple[OuterProducts, ...]:
        parts, left = self.schedule.parts, self.depth.left
        counts = [*[parts] * (self.spec.k >= parts), *[left] * (left > 0)]
        return tuple(map(self.products_of, counts))

    @property
    def fetch_offsets(self) -> tuple[int, ...]:
        """Prefetch distances in bytes from a row of B."""
        row = self.tensors.b_strides[1] * self.schedule.apart
        offsets = (i * row for i in range(1, self.schedule.prefetch + 1))
        return tuple(offset for offset in offsets if self.reaches(ConstantOperand.B, offset))

    def strips(self, *, is_edge: bool) -> tuple[VectorPart, ...]:
        columns = self.spec.n % self.schedule.nr if is_edge else self.schedule.nr
        return vector_parts(columns, self.rows_of_b.strip)

    @property
    def columns_stepped(self) -> str:
        if self.blocking.n.varies and self.blocking.n.has_edge:
            return "%columns.stepped"
        return self.blocking.n.whole

    @property
    def masked_accesses(self) -> set[Vector]:
        types = super().masked_accesses
        if self.spec.n % self.rows_of_b.strip > 1:
            types.add(self.interleaving.row.stored)
        if self.starts and self.starts.tail > 1:
            types.add(self.starts.run.stored)
        return types


def plan_outer(spec: Matmul, target: Target, schedule: OuterMatmul) -> OuterPlan:
    """Plan the kernel. Raises ScheduleError for fields that do not fit."""
    rows = rows_of_b(spec, target, words=schedule.words)
    if rows is None:
        raise ScheduleError(
            f"mainloop=outer requires an unpacked row-major B of a type that {target.name} "
            f"multiplies without conversion, not {spec.key}; use layout=nn without constant"
        )
    if schedule.pack_a or schedule.pack_b or not schedule.mr == schedule.mc == spec.m:
        raise ScheduleError(
            f"mr={schedule.mr}, mc={schedule.mc}, pack_a={schedule.pack_a:d}, "
            f"pack_b={schedule.pack_b:d}: mainloop=outer packs neither operand and multiplies all "
            f"{spec.m} rows of A at once; try mr={spec.m}, mc={spec.m}, pack_a=0, pack_b=0"
        )
    if schedule.words and not rows.by_words:
        raise ScheduleError(f"words=1 requires bf16 operands, not {spec.key}; try words=0")
    if schedule.halves:
        if rows.sums.bytes < LINE_BYTES:
            raise ScheduleError(
                f"halves=1 requires vectors of {LINE_BYTES} bytes; {spec.key} on {target.name} "
                f"uses {rows.sums.bytes}; try halves=0"
            )
        rows = rows.halved
    rounded = rows.dot is not None and not schedule.halves and rounds_bf16(spec, rows.dot)
    plan = OuterPlan.of(
        spec,
        target,
        schedule,
        rows.sums,
        mainloop="outer",
        rounded_by_cpu=rounded,
        dot=rows.dot,
        rows_of_b=rows,
    )
    width = rows.strip
    check_multiple(schedule, "nr", width, "the columns of a strip")
    needed = rows.registers(spec.m, schedule.parts, schedule.nr // width)
    fields = f"parts={schedule.parts} with mr={schedule.mr} and nr={schedule.nr}"
    check_registers(target, needed, fields, f"nr={width}, parts={rows.group}")
    return plan
