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
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer, access
from kgen.targets.cpu.plan.kernels import gemv_strips
from kgen.targets.cpu.plan.kernels.dot import rounds_bf16
from kgen.targets.cpu.plan.matmul import MatmulPlan, check_multiple, check_stack, padded
from kgen.targets.cpu.plan.packing.compensation import Starts
from kgen.targets.cpu.plan.packing.lanes import Interleaving, Unpack
from kgen.targets.cpu.plan.tiles.dots import DotOperands
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Stores wait with loads whose addresses have the same lower bits: sums begin half as far from B.
ALIAS_BYTES = 4096


@frozen
class OuterPlan(MatmulPlan):
    schedule: OuterMatmul
    rows_of_b: gemv_strips.RowsOfB

    @property
    def fetches(self) -> bool:
        return True

    # -- the scratch block of sums -------------------------------------------------------------

    @property
    def strips_whole(self) -> int:
        """Columns of the block of sums, all in whole strips."""
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

    @property
    def page(self) -> gemv_strips.SumsInPage:
        return gemv_strips.SumsInPage(distance=ALIAS_BYTES // 2, mask=ALIAS_BYTES - LINE_BYTES)

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

    # -- A and B as they are multiplied --------------------------------------------------------

    @cached_property
    def dots(self) -> DotOperands | None:
        if self.dot is None:
            return None
        count = self.sum_vector.count * self.dot.group
        stored = Vector(count=count, scalar=self.interleaving.row.stored.scalar)
        return DotOperands(dot=self.dot, sums=self.sum_vector, stored=stored)

    @property
    def words(self) -> Vector | None:
        """Vector of words, each of two columns, if bf16 is multiplied so."""
        return self.sum_vector.integers if self.rows_of_b.taken is gemv_strips.Taken.WORDS else None

    @property
    def a_scalar(self) -> str:
        """An element of A, as it is stored."""
        stored = self.dot or self.words
        return self.interleaving.row.stored.scalar if stored else self.sum_vector.scalar

    def unpacks(self, b: str, group: gemv_strips.OuterGroup) -> tuple[Unpack, ...]:
        """Return the shuffles from rows `b`.<row> to vectors of groups, `b`_v0.stored and so on."""
        return self.interleaving.unpacks(
            ["zeroinitializer" if row.absent else f"{b}.{row.name}" for row in group.rows],
            [f"{b}_v{v}.stored" for v in range(self.rows_of_b.group)],
        )

    # -- the sums' first values, if B is taken for unsigned ------------------------------------

    @property
    def rows_of_a(self) -> tuple[gemv_strips.RowOfA, ...]:
        row = self.tensors.a_strides[1]
        return tuple(
            gemv_strips.RowOfA(index=m, a=m * row, sums=m * self.acc.row)
            for m in range(self.schedule.mr)
        )

    @cached_property
    def starts(self) -> Starts | None:
        if self.dots is None or not self.dots.dot.b_is_unsigned:
            return None
        run_k = self.dots.factors.count
        tail = self.spec.k % run_k
        return Starts(
            blocking=self.blocking,
            dot=self.dots.dot,
            run=Access(dtype=self.spec.dtype, compute=Vector(count=run_k, scalar="float")),
            pointer=self.tensors.a_origin.base,
            a_row=self.tensors.a_strides[1],
            sums=self.sum_vector,
            depth=str(self.spec.k - tail),
            tail=tail,
        )

    # -- K: blocks of parts, then shorter parts, then single rows -------------------------------

    @property
    def depth(self) -> gemv_strips.OuterDepth:
        k, kc, parts = self.spec.k, self.schedule.kc, self.schedule.parts
        return gemv_strips.OuterDepth(
            part=kc // parts,
            blocks=k - k % kc,
            rest_part=k % kc // parts,
            rest_end=k - k % kc + k % kc // parts,
            left=k % kc % parts,
            left_from=k - k % kc % parts,
        )

    @property
    def whole_products(self) -> gemv_strips.OuterProducts:
        return gemv_strips.outer_products(self.schedule.parts, self.rows_of_b.group)

    @property
    def left_products(self) -> gemv_strips.OuterProducts:
        return gemv_strips.outer_products(self.depth.left, self.rows_of_b.group)

    @property
    def products(self) -> tuple[gemv_strips.OuterProducts, ...]:
        whole = (self.whole_products,) if self.spec.k >= self.schedule.parts else ()
        return (*whole, self.left_products) if self.depth.left else whole

    def fetches_row(self, strip: gemv_strips.OuterStrip) -> bool:
        """The strip fetches the rows behind: the first of a line."""
        return strip.first * self.spec.b_type.itemsize % LINE_BYTES == 0

    @property
    def fetch_offsets(self) -> tuple[int, ...]:
        """Bytes from a row of B to those that are fetched meanwhile."""
        row = self.tensors.b_strides[1] * self.schedule.apart
        offsets = (i * row for i in range(1, self.schedule.prefetch + 1))
        return tuple(offset for offset in offsets if self.reaches(ConstantOperand.B, offset))

    # -- columns: of tasks that are one pass; steps of nr, and those left over at the right -----

    @property
    def strips(self) -> tuple[gemv_strips.OuterStrip, ...]:
        return gemv_strips.strips(self.schedule.nr, self.rows_of_b.strip)

    @property
    def edge_strips(self) -> tuple[gemv_strips.OuterStrip, ...]:
        return gemv_strips.strips(self.spec.n % self.schedule.nr, self.rows_of_b.strip)

    @property
    def columns_stepped(self) -> str:
        if self.blocking.columns_vary and self.blocking.has_edge_panel:
            return "%columns.stepped"
        return self.blocking.panels_whole

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.spec.n % self.rows_of_b.strip > 1:
            types = types | {self.interleaving.row.stored}
        if self.starts and self.starts.tail > 1:
            types = types | {self.starts.run.stored}
        return tuple(sorted(types, key=str))


def plan_outer(spec: Matmul, target: Target, schedule: OuterMatmul) -> OuterPlan:
    """Raises ScheduleError if the schedule does not fit the operands, the vectors or the stack."""
    rows = gemv_strips.rows_of_b(spec, target, words=schedule.words)
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
    if schedule.words and rows.taken is not gemv_strips.Taken.WORDS:
        raise ScheduleError(f"words=1 requires bf16 operands, not {spec.key}; try words=0")
    if schedule.halves:
        if rows.sums.bytes < LINE_BYTES:
            raise ScheduleError(
                f"halves=1 requires vectors of {LINE_BYTES} bytes; {spec.key} on {target.name} "
                f"uses {rows.sums.bytes}; try halves=0"
            )
        rows = rows.halved
    rounded = rows.dot is not None and rounds_bf16(spec, rows.dot)
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
    limit = target.limits["vector_registers"]
    if needed > limit:
        raise ScheduleError(
            f"parts={schedule.parts} with mr={schedule.mr} and nr={schedule.nr} needs {needed} "
            f"vector registers; {target.name} has {limit}; try nr={width}, parts={rows.group}"
        )
    check_stack(target, schedule, plan.scratch_bytes)
    return plan
