"""Matmul by scalar multiply-adds: each thread owns thread_m x thread_n outputs in registers."""

from __future__ import annotations

import itertools

from kgen.errors import ScheduleError
from kgen.schedule import FmaMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.partial_sums import PartialSums
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.cuda_plan import plan_launch
from kgen.targets.cuda.plan.epilogue.output import plan_output
from kgen.targets.cuda.plan.matmul import MatmulPlan, order_tiles, plan_pipeline
from kgen.targets.cuda.plan.matrix import matrices
from kgen.targets.cuda.plan.reduction.last_arriving import is_last_arriving, plan_last_arriving
from kgen.targets.cuda.plan.staging.choice import plan_copy
from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.cuda.plan.staging.copy_units import Unit
from kgen.targets.cuda.plan.staging.tiles import PaddedTile
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen

#: f32 elements of the widest shared-memory access.
VECTOR = 4
ITEM_BYTES = 4
#: Elements of f32 in a sector of global memory, and banks of shared memory, each as wide as one.
SECTOR_ELEMENTS, BANKS = 8, 32


@frozen
class SharedLoad:
    """Load of `len(registers)` adjacent f32 of operand `name`."""

    name: str
    registers: tuple[str, ...]
    offset: int


@frozen
class KStep:
    """Loads of a thread for one k, and its multiply-adds as (accumulator, a, b)."""

    k: int
    loads: tuple[SharedLoad, ...]
    fmas: tuple[tuple[str, str, str], ...]


@frozen
class SharedStore:
    """Store of adjacent elements of a unit, at an offset from the thread's first."""

    registers: tuple[str, ...]
    offset: int


@frozen
class FmaOperand:
    """The part of one operand's tile that a thread multiplies: `per_thread` values for each k.

    A thread loads vectors of up to four values. Neighbouring threads load neighbouring vectors, so
    a warp reads without bank conflicts.
    """

    copy: TileCopy
    tile: PaddedTile
    per_thread: int

    @property
    def name(self) -> str:
        return self.copy.name

    @property
    def vector(self) -> int:
        return min(VECTOR, self.per_thread)

    @property
    def vector_bytes(self) -> int:
        return self.vector * ITEM_BYTES

    @property
    def origin(self) -> str:
        """Register with the block tile's first m or n."""
        return "m0" if self.name == "a" else "n0"

    @property
    def runs(self) -> tuple[tuple[int, ...], ...]:
        """Distances of the thread's m (or n) from its first, one tuple per vector."""
        threads = self.tile.width // self.per_thread
        starts = range(0, self.tile.width, threads * self.vector)
        return tuple(tuple(range(start, start + self.vector)) for start in starts)

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(offset for run in self.runs for offset in run)

    def names(self, offsets: tuple[int, ...]) -> tuple[str, ...]:
        """Return register names, a_m<m> or b_n<n>, for distances from the thread's first."""
        letter = "m" if self.name == "a" else "n"
        return tuple(f"{self.name}_{letter}{offset}" for offset in offsets)

    @property
    def vectors(self) -> tuple[tuple[str, ...], ...]:
        """Registers of each vector; every k uses the same ones."""
        return tuple(map(self.names, self.runs))

    def loads(self, k: int) -> tuple[SharedLoad, ...]:
        return tuple(
            SharedLoad(
                name=self.name,
                registers=self.names(run),
                offset=self.tile.base + k * self.tile.pitch + run[0] * ITEM_BYTES,
            )
            for run in self.runs
        )

    @property
    def crossing(self) -> tuple[int, int] | None:
        """Shifts (s, t) of the permutation of rows that avoids bank conflicts of transposed stores.

        A thread copies its unit of E elements from row `row ^ (col >> s << t)`. Transposed units
        that are adjacent in a row of the matrix are stored 4 E banks apart, with the padding of
        the tile. The units of a sector, 8 / E of them, thus take all banks. Units of further
        sectors must come from other rows.

        None if a row has a single sector, or if the rows that all threads copy at once do not
        suffice.
        """
        copy = self.copy
        sector = SECTOR_ELEMENTS // copy.unit_elements
        rows = copy.num_threads // copy.units_per_row
        if not self.tile.transposed or copy.matrix.dtype is not DType.F32:
            return None
        if not sector < copy.units_per_row <= BANKS or rows % (BANKS // sector):
            return None
        return log2(SECTOR_ELEMENTS), log2(BANKS // copy.units_per_row)

    @property
    def elements(self) -> tuple[str, ...]:
        """Registers of a unit's elements, widened to f32."""
        return tuple(f"element{e}" for e in range(self.copy.unit_elements))

    def stores(self, unit: Unit) -> tuple[SharedStore, ...]:
        """Return the stores of a unit to shared memory, one per element if they are transposed."""
        width = 1 if self.tile.transposed else min(VECTOR, len(self.elements))
        stride = self.tile.pitch if self.tile.transposed else ITEM_BYTES
        return tuple(
            SharedStore(registers=self.elements[e : e + width], offset=unit.shared + e * stride)
            for e in range(0, len(self.elements), width)
        )


@frozen
class FmaPlan(MatmulPlan):
    schedule: FmaMatmul
    fma_operands: tuple[FmaOperand, FmaOperand]

    @property
    def operands(self) -> tuple[FmaOperand, FmaOperand]:
        return self.fma_operands

    @property
    def threads_n_log2(self) -> int:
        return log2(self.schedule.block_n // self.schedule.thread_n)

    @property
    def threads_n_mask(self) -> int:
        return self.schedule.block_n // self.schedule.thread_n - 1

    @property
    def k_steps(self) -> tuple[KStep, ...]:
        a, b = self.operands
        fmas = tuple((f"acc_m{m}_n{n}", f"a_m{m}", f"b_n{n}") for m in a.offsets for n in b.offsets)
        return tuple(
            KStep(k=k, loads=a.loads(k) + b.loads(k), fmas=fmas)
            for k in range(self.schedule.block_k)
        )


def plan_fma(
    spec: Matmul, target: Target, schedule: FmaMatmul, whole: Matmul | None = None
) -> FmaPlan:
    """Return the plan.

    If the batch of `spec` consists of split-k slices, `whole` is the product that they belong to.
    The kernel stores that product if the schedule adds slices in the same kernel, and the slices
    otherwise. Raises ScheduleError if the schedule does not fit the target.
    """
    num_threads = schedule.num_threads
    _check(schedule, target)
    a, b = matrices(whole or spec)
    depth = schedule.block_k
    a_tile = PaddedTile(depth=depth, width=schedule.block_m, transposed=a.k_inner)
    b_tile = PaddedTile(
        depth=depth, width=schedule.block_n, transposed=b.k_inner, base=a_tile.nbytes
    )
    tiles = (a_tile, b_tile)
    copies = [
        plan_copy(
            matrix,
            rows=tile.width if tile.transposed else tile.depth,
            cols=tile.depth if tile.transposed else tile.width,
            num_threads=num_threads,
            target=target,
            allow_async=False,  # elements are widened and transposed in registers
            place=tile.place,
            stages=schedule.num_stages,
            part_k=spec.k if whole else 0,
        )
        for matrix, tile in zip((a, b), tiles, strict=True)
    ]
    copies = order_tiles(spec.k, depth, copies)
    operands = (
        FmaOperand(copy=copies[0], tile=tiles[0], per_thread=schedule.thread_m),
        FmaOperand(copy=copies[1], tile=tiles[1], per_thread=schedule.thread_n),
    )
    cuda_plan.check_registers(
        schedule.thread_m * schedule.thread_n
        + schedule.thread_m
        + schedule.thread_n
        + sum(copy.held_registers for copy in copies),
        f"a thread tile of {schedule.thread_m}x{schedule.thread_n}",
        num_threads,
        target,
        f"thread_m={max(1, schedule.thread_m // 2)}",
    )
    stage_bytes = sum(tile.nbytes for tile in tiles)
    cuda_plan.check_shared(schedule, stage_bytes, target)
    pipeline = plan_pipeline(spec.k, schedule, stage_bytes)
    stored = whole if whole is not None and is_last_arriving(schedule) else spec
    output = plan_output(
        stored, schedule, rows=operands[0].offsets, cols=operands[1].offsets, run=operands[1].vector
    )
    launch = plan_launch(stored, schedule, num_threads, pipeline.nbytes, target)
    sums = PartialSums(names=output.names, dtype=stored.accumulate, threads=num_threads)
    last_arriving = plan_last_arriving(schedule, sums, launch)
    return FmaPlan(
        spec=stored,
        target=target,
        schedule=schedule,
        template="ptx/matmul_fma.ptx.j2",
        launches=(last_arriving.launch(launch) if last_arriving else launch,),
        workspaces=last_arriving.workspaces if last_arriving else (),
        num_threads=num_threads,
        shared_bytes=pipeline.nbytes,
        ptx_version=cuda_plan.ptx_version(target, stored),
        pipeline=pipeline,
        output=output,
        last_arriving=last_arriving,
        fma_operands=operands,
    )


def _check(schedule: FmaMatmul, target: Target) -> None:
    cuda_plan.check_powers_of_two(schedule)
    if schedule.num_stages != 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not 2; mainloop=fma loads tiles through "
            "registers, exactly one ahead; try num_stages=2"
        )
    cuda_plan.check_threads(schedule.num_threads, target, _threads_remedy(schedule, target))


def _threads_remedy(schedule: FmaMatmul, target: Target) -> str:
    """Return advice: the largest thread tile, the squarest first, with a legal number of
    threads."""
    fitting = range(target.subgroup, target.limits["threads_per_block"] + 1, target.subgroup)
    for thread_m, thread_n in itertools.product((8, 4, 2, 1), repeat=2):
        along_m, uneven_m = divmod(schedule.block_m, thread_m)
        along_n, uneven_n = divmod(schedule.block_n, thread_n)
        if along_m * along_n in fitting and not (uneven_m or uneven_n):
            return f"thread_m={thread_m},thread_n={thread_n}"
    return "block_m=64,block_n=64,thread_m=4,thread_n=4"
