"""Plan of matmul_outer.ll.j2: a skinny GEMM with a B that comes from memory.

Several rows of B at once are multiplied from one end of a block of columns to the other. The
accumulators stay in the first-level cache, and the elements of A in registers. The rows are far
apart in B: each is a stream of its own for the hardware prefetcher, which continues in the next
row.
"""

from __future__ import annotations

from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import OuterMatmul
from kgen.spec import ConstantOperand, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, access, locality
from kgen.targets.cpu.plan.checks import check_multiple, check_stack
from kgen.targets.cpu.plan.kernels.dot import rounds_bf16
from kgen.targets.cpu.plan.kernels.gemv_strips import (
    OuterGroup,
    OuterProducts,
    OuterStrip,
    RowOfA,
    RowsOfB,
    Taken,
    outer_products,
    rows_of_b,
    strips,
)
from kgen.targets.cpu.plan.matmul import MatmulPlan, matmul_launch, padded
from kgen.targets.cpu.plan.packing.compensation import Starts
from kgen.targets.cpu.plan.packing.interleaved import Interleaving
from kgen.targets.cpu.plan.packing.lanes import Unpack
from kgen.targets.cpu.plan.vectors import UPPER_HALF, Access, Vector
from kgen_runtime.values import frozen

#: Stores wait with loads whose addresses have the same lower bits: sums begin half as far from B.
ALIAS_BYTES = 4096


@frozen
class OuterPlan(MatmulPlan):
    schedule: OuterMatmul
    rows_of_b: RowsOfB

    @property
    def fetches(self) -> bool:
        return True

    # -- the scratch block of sums -------------------------------------------------------------

    @property
    def sums(self) -> Vector:
        return self.sum_vector

    @property
    def strip(self) -> int:
        """Columns of a strip."""
        return self.rows_of_b.strip

    @property
    def strip_vectors(self) -> int:
        return self.rows_of_b.vectors

    @property
    def takes_words(self) -> bool:
        return self.rows_of_b.taken is Taken.WORDS

    @property
    def words(self) -> Vector:
        """Two columns of each, as many as sums."""
        return self.sums.integers

    @property
    def upper(self) -> str:
        """The mask of a word's upper half."""
        return self.words.splat(UPPER_HALF)

    @property
    def strips_whole(self) -> str:
        """Columns of the block of sums, all in whole strips."""
        columns = min(self.schedule.nc * self.schedule.tasks_per_pass, self.spec.n)
        return str(-(-columns // self.strip) * self.strip)

    @property
    def scratch_row(self) -> int:
        return padded(int(self.strips_whole) * self.spec.accumulate.itemsize)

    @property
    def scratch_bytes(self) -> int:
        return self.acc_room + (self.starts.bytes if self.starts else 0)

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
    def scratch_map(self) -> tuple[str, ...]:
        order = f"{self.sums.scalar} [mc][nc], {self.acc.row} B per row"
        where = "placed half a page from B modulo the page size"
        return (
            f"%acc: {order}, {self.acc.bytes} B, {where}",
            *((self.starts.memory,) if self.starts else ()),
        )

    @property
    def acc_room(self) -> int:
        """Bytes in which the block of sums may begin anywhere in a page."""
        return self.acc.bytes + ALIAS_BYTES

    @property
    def acc_distance(self) -> int:
        """Bytes from B to the sums, but for whole pages."""
        return ALIAS_BYTES // 2

    @property
    def acc_mask(self) -> int:
        return ALIAS_BYTES - LINE_BYTES

    @property
    def group(self) -> int:
        """Rows of B that are multiplied together."""
        return self.rows_of_b.group

    @cached_property
    def interleaving(self) -> Interleaving:
        scalar = "float" if self.dot else self.compute.scalar
        strip = Vector(count=self.strip, scalar=scalar)
        return Interleaving(
            row=access(self.target, self.spec.b_type, strip),
            scalar=self.sums.scalar,
            group=self.group,
            word_columns=self.strip_vectors if self.takes_words else 1,
        )

    # -- A and B as they are multiplied --------------------------------------------------------

    @property
    def factors(self) -> Vector:
        """Groups of A or B for all sums of a vector."""
        if self.dot is None:
            return self.sums
        return Vector(count=self.sums.count * self.group, scalar=self.dot.factor)

    @property
    def b_packed(self) -> Vector:
        """The same, as B is stored."""
        return self.factors.of(self.interleaving.row.stored.scalar)

    @property
    def a_scalar(self) -> str:
        """An element of A, as it is stored."""
        stored = self.dot or self.takes_words
        return self.interleaving.row.stored.scalar if stored else self.sums.scalar

    @property
    def b_widens(self) -> bool:
        return self.b_packed.bits < self.factors.bits

    @property
    def group_of_a(self) -> Vector:
        """A group for each sum, as integers."""
        return self.sums.of("i32")

    @property
    def a_elements(self) -> Vector:
        """The elements of a group of A, as integers and as wide as they are multiplied."""
        return Vector(count=self.group, scalar=f"i{self.factors.bits}")

    def unpacks(self, b: str, group: OuterGroup) -> tuple[Unpack, ...]:
        """From rows `b`.<row> to vectors of groups, `b`_v0.stored and so on."""
        return self.interleaving.unpacks(
            ["zeroinitializer" if row.absent else f"{b}.{row.name}" for row in group.rows],
            [f"{b}_v{v}.stored" for v in range(self.group)],
        )

    # -- the sums' first values, if B is taken for unsigned ------------------------------------

    @property
    def a_m(self) -> int:
        return self.tensors.a_strides[1]

    @property
    def rows_of_a(self) -> tuple[RowOfA, ...]:
        return tuple(
            RowOfA(index=m, a=m * self.a_m, sums=m * self.acc.row) for m in range(self.schedule.mr)
        )

    @cached_property
    def starts(self) -> Starts | None:
        if self.dot is None or not self.dot.b_is_unsigned:
            return None
        run_k = self.factors.count
        tail = self.spec.k % run_k
        return Starts(
            blocking=self.blocking,
            dot=self.dot,
            run=Access(dtype=self.spec.dtype, compute=Vector(count=run_k, scalar="float")),
            pointer=self.tensors.a_origin.base,
            a_row=self.a_m,
            sums=self.sums,
            depth=str(self.spec.k - tail),
            tail=tail,
        )

    # -- K: blocks of parts, the rest of it in shorter parts, and what is left of that ---------

    @property
    def part(self) -> int:
        """Rows of B from one of those at once to the next."""
        return self.schedule.kc // self.schedule.parts

    @property
    def blocks_depth(self) -> int:
        """K in whole blocks."""
        return self.spec.k - self.spec.k % self.schedule.kc

    @property
    def rest_part(self) -> int:
        return self.spec.k % self.schedule.kc // self.schedule.parts

    @property
    def rest_end(self) -> int:
        """Behind the rows of the first of its parts."""
        return self.blocks_depth + self.rest_part

    @property
    def left(self) -> int:
        """Rows of B at the end, fewer than are taken at once."""
        return self.spec.k % self.schedule.kc % self.schedule.parts

    @property
    def left_from(self) -> int:
        return self.spec.k - self.left

    @property
    def whole_products(self) -> OuterProducts:
        return outer_products(self.schedule.parts, self.group)

    @property
    def left_products(self) -> OuterProducts:
        return outer_products(self.left, self.group)

    @property
    def products(self) -> tuple[OuterProducts, ...]:
        whole = (self.whole_products,) if self.spec.k >= self.schedule.parts else ()
        return (*whole, self.left_products) if self.left else whole

    def fetches_row(self, strip: OuterStrip) -> bool:
        """The strip fetches the rows behind: the first of a line."""
        return strip.first * self.spec.b_type.itemsize % LINE_BYTES == 0

    @property
    def fetch_offsets(self) -> tuple[int, ...]:
        """Bytes from a row of B to those that are fetched meanwhile."""
        row = self.tensors.b_strides[1] * self.schedule.apart
        offsets = (i * row for i in range(1, self.schedule.prefetch + 1))
        return tuple(offset for offset in offsets if self.reaches(ConstantOperand.B, offset))

    @property
    def fetch_locality(self) -> int:
        return locality(self.schedule.level)

    # -- columns: of tasks that are one pass; steps of nr, and those left over at the right -----

    @property
    def strips(self) -> tuple[OuterStrip, ...]:
        return strips(self.schedule.nr, self.strip)

    @property
    def edge_strips(self) -> tuple[OuterStrip, ...]:
        return strips(self.spec.n % self.schedule.nr, self.strip)

    @property
    def columns_stepped(self) -> str:
        """Columns of the block in whole steps."""
        if self.blocking.columns_vary and self.blocking.has_edge_panel:
            return "%columns.stepped"
        return self.blocking.panels_whole

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.spec.n % self.strip > 1:
            types = types | {self.interleaving.row.stored}
        if self.starts and self.starts.tail > 1:
            types = types | {self.starts.run.stored}
        return tuple(sorted(types, key=str))


def plan_outer(spec: Matmul, target: Target, schedule: OuterMatmul) -> OuterPlan:
    """Raises ScheduleError if the schedule does not fit the operands, the vectors or the stack."""
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
    if schedule.words and rows.taken is not Taken.WORDS:
        raise ScheduleError(f"words=1 requires bf16 operands, not {spec.key}; try words=0")
    if schedule.halves:
        if rows.sums.bytes < LINE_BYTES:
            raise ScheduleError(
                f"halves=1 requires vectors of {LINE_BYTES} bytes; {spec.key} on {target.name} "
                f"uses {rows.sums.bytes}; try halves=0"
            )
        rows = rows.halved
    rounded = rows.dot is not None and rounds_bf16(spec, rows.dot)
    plan = OuterPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_outer.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=rows.sums,
        out=access(target, spec.out, rows.sums, rounded_by_cpu=rounded),
        dot=rows.dot,
        rows_of_b=rows,
    )
    width = rows.strip
    check_multiple(schedule, "nr", width, "the columns of a strip")
    needed = rows.registers(spec.m, schedule.parts, schedule.nr // width)
    limit = target.limits["vector_registers"]
    if needed > limit:
        raise ScheduleError(
            f"parts={schedule.parts} with mr={schedule.mr} and nr={schedule.nr} needs {needed} "
            f"vector registers; {target.name} has {limit}; try nr={width}, parts={plan.group}"
        )
    check_stack(target, schedule, plan.scratch_bytes)
    return plan
