"""Matmul on Hopper: one warpgroup loads with TMA, others multiply with wgmma.

The stages of shared memory are a ring. A stage is *full* when its bytes have come and *empty* when
every warp that multiplies is done with it: two barriers in shared memory each, whose phases
alternate from one turn of the ring to the next.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import WgmmaMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan import base
from kgen.targets.cuda.plan.copy import MAX_ACCESS_BYTES, Matrix
from kgen.targets.cuda.plan.matmul import formula, matrices, plan_launch
from kgen.targets.cuda.plan.output import OutputTile, plan_output
from kgen.targets.cuda.plan.tma import GROUP_BYTES, ROW_BYTES, TmaOperand

WARPGROUP = 128
WARPS = WARPGROUP // WARP_SIZE
#: Rows of one instruction, its most columns, and what they are multiples of.
WGMMA_M, MAX_N, WGMMA_N = 64, 256, 8
BARRIER_BYTES = 8
#: Registers per thread of the loading warpgroup and of the others, by how many others there are;
#: multiples of 8 (PTX ISA, "setmaxnreg"). With one there are enough for all.
REGISTERS = {2: (40, 232), 3: (32, 160)}
MAX_CONSUMERS = 3
#: What addresses, the ring and the epilogue take beside a multiplying thread's accumulators.
OTHER_REGISTERS = 40


@dataclass(frozen=True, kw_only=True)
class Product:
    """One wgmma: `d` += A B over a step of k; `a` and `b` are what to add to the descriptors."""

    d: tuple[str, ...]
    a: int
    b: int
    first: bool


@dataclass(frozen=True, kw_only=True)
class WgmmaPlan(base.CudaPlan):
    """`stage_bytes` hold A's and B's tile."""

    spec: Matmul
    schedule: WgmmaMatmul
    operands: tuple[TmaOperand, TmaOperand]
    output: OutputTile
    k_tiles: int
    num_stages: int

    @property
    def shared_alignment(self) -> int:
        """Eight rows of a box, or the swizzle would begin in the middle."""
        return GROUP_BYTES

    @property
    def stage_bytes(self) -> int:
        return sum(operand.nbytes for operand in self.operands)

    @property
    def full_barriers(self) -> int:
        """The first of the stages' full barriers; the empty ones follow."""
        return self.num_stages * self.stage_bytes

    @property
    def barrier_bytes(self) -> int:
        return self.num_stages * BARRIER_BYTES

    @property
    def barriers(self) -> tuple[tuple[int, int], ...]:
        """Each barrier's byte and how many arrivals complete a phase: the loading thread's, and
        those of every warp that multiplies."""
        full = range(self.full_barriers, self.full_barriers + self.barrier_bytes, BARRIER_BYTES)
        arrivals = self.schedule.consumers * WARPS
        return (
            *((at, 1) for at in full),
            *((at + self.barrier_bytes, arrivals) for at in full),
        )

    @property
    def registers(self) -> tuple[int, int] | None:
        """What the loading warpgroup keeps and the others get; None if that need not change."""
        return REGISTERS.get(self.schedule.consumers)

    @property
    def stage_words(self) -> int:
        """From a stage to the next one, in the 16 bytes that descriptors count."""
        return self.stage_bytes // MAX_ACCESS_BYTES

    @property
    def group_words(self) -> int:
        """From the rows of A of a warpgroup to those of the next."""
        return self.schedule.rows * ROW_BYTES // MAX_ACCESS_BYTES

    @property
    def instruction(self) -> str:
        dtype = self.spec.dtype
        return f"wgmma.mma_async.sync.aligned.m64n{self.schedule.block_n}k16.f32.{dtype}.{dtype}"

    @property
    def products(self) -> tuple[Product, ...]:
        """A tile's, in the order of k."""
        a, b = self.operands
        steps = self.schedule.block_k * self.spec.dtype.itemsize // 32
        rows = WGMMA_M * ROW_BYTES // MAX_ACCESS_BYTES
        return tuple(
            Product(
                d=self._sums(m),
                a=step * a.step_words + m // WGMMA_M * rows,
                b=step * b.step_words,
                first=step == 0,
            )
            for step in range(steps)
            for m in range(0, self.schedule.rows, WGMMA_M)
        )

    def _sums(self, m: int) -> tuple[str, ...]:
        """The accumulators in the instruction's order (PTX ISA, "Matrix Fragments for
        wgmma.mma_async.m64nNk16", D)."""
        return tuple(
            f"acc_m{m + i}_n{n + j}"
            for n in range(0, self.schedule.block_n, WGMMA_N)
            for i in (0, 8)
            for j in (0, 1)
        )

    @property
    def batched(self) -> bool:
        return any(o.batched for o in self.operands) or self.output.batch_stride != 0

    @property
    def formula(self) -> str:
        return formula(self.spec, self.output)

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(operand.description for operand in self.operands)

    @property
    def notes(self) -> tuple[str, ...]:
        """The map of shared memory, for the header."""
        kind = "dynamic" if self.dynamic_shared else "static"
        return (
            f"{self.k_tiles} tiles along k",
            f"shared memory ({kind}): {self.num_stages} stages of {self.stage_bytes} bytes, "
            f"A at 0, B at {self.operands[1].base} of each;",
            f"  barriers full[{self.num_stages}] at {self.full_barriers}, empty[{self.num_stages}] "
            f"at {self.full_barriers + self.barrier_bytes}",
        )


def obstacle(spec: Matmul, target: Target) -> str | None:
    """Why TMA and wgmma cannot multiply these operands here, or None if they can."""
    if not target.has("wgmma"):
        return f"{target.name} has no wgmma"
    if spec.dtype not in (DType.F16, DType.BF16):
        return f"wgmma takes f16 and bf16 here, not {spec.dtype}"
    for matrix in matrices(spec):
        if matrix.aligned_bytes < MAX_ACCESS_BYTES:
            return (
                f"{matrix.name}'s rows are multiples of {matrix.aligned_bytes} bytes, and TMA "
                f"needs {MAX_ACCESS_BYTES}"
            )
    return None


def plan_wgmma(spec: Matmul, target: Target, schedule: WgmmaMatmul) -> WgmmaPlan:
    """Raises ScheduleError if the schedule does not fit the operands or the target."""
    if (why := obstacle(spec, target)) is not None:
        raise ScheduleError(f"mainloop={schedule.mainloop} cannot run: {why}; try another mainloop")
    a, b = matrices(spec)
    _check(schedule, b)
    num_threads = (1 + schedule.consumers) * WARPGROUP
    base.check_threads(num_threads, target, f"consumers={MAX_CONSUMERS}")
    _check_registers(schedule)
    operands = _operands(spec, schedule, a, b)
    stage_bytes = sum(operand.nbytes for operand in operands)
    base.check_shared(schedule, stage_bytes + 2 * BARRIER_BYTES, target)
    k_tiles = -(-spec.k // schedule.block_k)
    num_stages = min(schedule.num_stages, k_tiles)
    shared_bytes = num_stages * (stage_bytes + 2 * BARRIER_BYTES)
    launch = plan_launch(spec, schedule, num_threads, shared_bytes, target)
    maps = tuple(operand.tensor_map for operand in operands)
    names = {map_.tensor: map_.name for map_ in maps}
    launch = dataclasses.replace(
        launch, arguments=tuple(names.get(name, name) for name in launch.arguments)
    )
    return WgmmaPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/matmul_wgmma.ptx.j2",
        launches=(launch,),
        tensor_maps=maps,
        num_threads=num_threads,
        shared_bytes=shared_bytes,
        ptx_version=base.ptx_version(target, "wgmma"),
        operands=operands,
        output=plan_output(
            spec,
            schedule,
            rows=tuple(m + i for m in range(0, schedule.rows, WGMMA_M) for i in (0, 8)),
            cols=tuple(n + j for n in range(0, schedule.block_n, WGMMA_N) for j in (0, 1)),
            run=2,
        ),
        k_tiles=k_tiles,
        num_stages=num_stages,
    )


def _operands(
    spec: Matmul, schedule: WgmmaMatmul, a: Matrix, b: Matrix
) -> tuple[TmaOperand, TmaOperand]:
    depth = schedule.block_k
    first = TmaOperand(matrix=a, batch=spec.batch, extent=schedule.block_m, depth=depth, base=0)
    return first, TmaOperand(
        matrix=b, batch=spec.batch, extent=schedule.block_n, depth=depth, base=first.nbytes
    )


def _check(schedule: WgmmaMatmul, b: Matrix) -> None:
    depth = ROW_BYTES // b.dtype.itemsize
    if schedule.block_k != depth:
        raise ScheduleError(
            f"block_k={schedule.block_k} is not the {depth} elements of a row of "
            f"{ROW_BYTES} bytes, over which TMA and wgmma swizzle; try {depth}"
        )
    if schedule.consumers > MAX_CONSUMERS:
        raise ScheduleError(
            f"consumers={schedule.consumers} leaves them too few registers; try {MAX_CONSUMERS}"
        )
    if schedule.rows % WGMMA_M:
        raise ScheduleError(
            f"block_m={schedule.block_m} does not give each of {schedule.consumers} consumers "
            f"multiples of {WGMMA_M} rows; try {WGMMA_M * schedule.consumers}"
        )
    if schedule.num_stages < 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} leaves no stage to load while one computes; try 2"
        )
    unit = WGMMA_N if b.k_inner else depth
    if schedule.block_n % unit or schedule.block_n > MAX_N:
        raise ScheduleError(
            f"block_n={schedule.block_n} is no multiple of {unit} up to {MAX_N}; "
            f"try {min(MAX_N, max(1, schedule.block_n // unit) * unit)}"
        )


def _check_registers(schedule: WgmmaMatmul) -> None:
    held = schedule.rows * schedule.block_n // WARPGROUP
    limit = REGISTERS.get(schedule.consumers, (0, 255))[1] - OTHER_REGISTERS
    if held > limit:
        raise ScheduleError(
            f"{schedule.rows} rows of {schedule.block_n} columns need {held} registers per thread; "
            f"{limit} are left with consumers={schedule.consumers}; "
            f"try block_n={limit * WARPGROUP // schedule.rows // WARPGROUP * WARPGROUP or WGMMA_M}"
        )
