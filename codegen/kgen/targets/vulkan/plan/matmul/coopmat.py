"""Matmul by cooperative matrices.

K-tiles are copied to workgroup memory, from which subgroups load matrices and multiply them. The
accumulators are stored directly, or go through the epilogue.

Devices support different sizes of matrices. One launch serves all sizes: the artifact has a module
for each size, whose subgroups divide the block tile by their number and by the size.
"""

from __future__ import annotations

from dataclasses import replace

from kgen.errors import ScheduleError
from kgen.schedule import CooperativeMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen.targets.powers_of_two import check_powers_of_two
from kgen.targets.vulkan.limits import BFLOAT16
from kgen.targets.vulkan.plan.checks import check_shared, check_stages, check_threads
from kgen.targets.vulkan.plan.coopmat_module import CooperativeModule
from kgen.targets.vulkan.plan.matmul.coopmat_operand import CooperativeOperand
from kgen.targets.vulkan.plan.matmul.coopmat_output import (
    ELEMENT,
    WORD,
    DirectSums,
    StagedSums,
    Subgroups,
    is_direct,
)
from kgen.targets.vulkan.plan.matmul.coopmat_types import (
    TYPES,
    Size,
)
from kgen.targets.vulkan.plan.matmul.matmul_plan import PaddedPlan, check_grid, common_fields
from kgen.targets.vulkan.plan.matmul.matrix import WIDEST, plan_matrix
from kgen.targets.vulkan.plan.matmul.operand import Transpose
from kgen.targets.vulkan.plan.matmul.outputs import MAX_GROUP, ThreadOutputs
from kgen.targets.vulkan.plan.memory import Shared, vector_type
from kgen_runtime.values import frozen

#: Name of the function that transposes elements of a word.
TRANSPOSE = "transpose_elements"


@frozen
class MatrixLoad:
    """Load of matrix `number` along the edge in step `step` along k, and its first element in the
    subgroup's part of the K-tile."""

    operand: CooperativeOperand
    step: int
    number: int
    edge: int
    k: int

    @property
    def name(self) -> str:
        return f"{self.operand.name}{self.step}_{self.number}"

    @property
    def place(self) -> int:
        return self.operand.place(self.edge, self.k)

    @property
    def word(self) -> int:
        return self.operand.word(self.k)


@frozen
class KTileRuns:
    """Runs of K-tiles: `count` runs of `tiles` K-tiles each."""

    count: int
    tiles: int

    @property
    def last(self) -> int:
        """Number of a run's last K-tile."""
        return self.tiles - 1

    @property
    def are_even(self) -> bool:
        """Whether each run has an even number of K-tiles, so that all begin in the same stage."""
        return self.tiles % 2 == 0


@frozen
class CooperativePlan(CooperativeModule, PaddedPlan):
    """Plan of a matmul by cooperative matrices. `direct` describes the stores from accumulators;
    None if sums pass through workgroup memory."""

    spec: Matmul
    schedule: CooperativeMatmul
    a: CooperativeOperand
    b: CooperativeOperand
    direct: DirectSums | None
    others: tuple[CooperativePlan, ...] = ()

    @property
    def further_requirements(self) -> dict[str, object]:
        dtype = self.spec.dtype
        found = self.size.requirements(dtype, self.spec.accumulate)
        if self.direct and self.direct.has_halves:
            found["cooperative_matrix_out"] = self.size.product(dtype, DType.F16)
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        shared = self.subgroups
        return (
            self.k_note,
            f"matrices of {self.size.text}, {shared.m} x {shared.n} subgroups of "
            f"{self.size.lanes} lanes (m x n), {shared.warp_m} x {shared.warp_n} outputs each",
        )

    # Subgroups and their matrices

    @property
    def subgroups(self) -> Subgroups:
        return Subgroups(schedule=self.schedule, size=self.size)

    @property
    def warp_a_step(self) -> int:
        """Elements of workgroup memory from a subgroup's rows of A to those of the next one."""
        return self.a.step(self.subgroups.warp_m)

    @property
    def warp_b_step(self) -> int:
        return self.b.step(self.subgroups.warp_n)

    @property
    def by_word(self) -> bool:
        """Whether rows of a matrix are shorter than an element of workgroup memory, so that some
        begin within an element."""
        return self.size.k * self.spec.dtype.itemsize < WIDEST

    @property
    def transpose(self) -> Transpose:
        """Transposition of the elements of steps of k that share a word."""
        number = WORD // self.spec.dtype.itemsize
        return Transpose(
            name=TRANSPOSE,
            number=number,
            element=self.types.element,
            vector=vector_type(self.types.element, number),
        )

    def loads(self, step: int) -> tuple[MatrixLoad, ...]:
        """Return the loads of a subgroup for a step of a K-tile."""
        sides = (
            (self.a, self.subgroups.rows, self.size.m),
            (self.b, self.subgroups.columns, self.size.n),
        )
        return tuple(
            MatrixLoad(
                operand=o, step=step, number=number, edge=number * each, k=step * self.size.k
            )
            for o, numbers, each in sides
            for number in numbers
        )

    def before(self, step: int, row: int, column: int) -> str:
        """Return the id of a matrix of sums before a step that is not the first."""
        return f"sum{step - 1}_{row}_{column}"

    def after(self, step: int, row: int, column: int) -> str:
        last = step == len(self.subgroups.steps) - 1
        return f"next_acc_{row}_{column}" if last else f"sum{step}_{row}_{column}"

    # K

    @property
    def runs(self) -> KTileRuns | None:
        """Runs of A with several K-tiles, if it has any. A nested loop processes a run, in which
        only the offset changes."""
        tiles = self.a.run_tiles if self.a.is_guarded else 0
        return KTileRuns(count=self.k_tiles // tiles, tiles=tiles) if tiles > 1 else None

    @property
    def stage_elements(self) -> int:
        return self.a.elements + self.b.elements

    # Sums

    @property
    def staged(self) -> StagedSums:
        return StagedSums(subgroups=self.subgroups, outputs=self.outputs)

    @property
    def totals(self) -> str:
        return "total"


def is_cooperative(spec: Matmul, target: Target) -> bool:
    """Return whether the target supports matrices of this type, and all accesses have 16 bytes,
    which they require."""
    if not target.has("coopmat") or spec.dtype not in TYPES or spec.b_dtype is not None:
        return False
    if spec.dtype is DType.BF16 and not target.has(BFLOAT16):
        return False
    width = WIDEST // spec.dtype.itemsize
    return all(
        plan_matrix(spec, target, access, width).width == width for access in access_maps(spec)
    )


def plan_cooperative(spec: Matmul, target: Target, schedule: CooperativeMatmul) -> CooperativePlan:
    """Return the plan of the first size, with those of other sizes as its variants. Raises
    ScheduleError if no size fits the schedule."""
    _check(spec, target, schedule)
    sizes = TYPES[spec.dtype].sizes
    fitting = [size for size in sizes if Subgroups(schedule=schedule, size=size).fits]
    found = [_plan(spec, target, schedule, size) for size in fitting]
    if not found:
        raise ScheduleError(
            f"block_m={schedule.block_m} and block_n={schedule.block_n} do not divide into "
            "cooperative matrices for each subgroup; try block_m=64,block_n=64"
        )
    return replace(found[0], others=tuple(found[1:]))


def _plan(spec: Matmul, target: Target, schedule: CooperativeMatmul, size: Size) -> CooperativePlan:
    n = ThreadOutputs(size=spec.n, block=schedule.block_n, per_thread=MAX_GROUP)
    rows = schedule.num_threads // n.threads
    m = ThreadOutputs(size=spec.m, block=schedule.block_m, per_thread=schedule.block_m // rows)
    a_map, b_map = access_maps(spec)
    a = _operand(spec, target, schedule, a_map, m, 0)
    b = _operand(spec, target, schedule, b_map, n, a.elements)
    fields = common_fields(spec, target, schedule, (a, b))
    outputs, epilogue = fields["outputs"], fields["epilogue"]
    subgroups = Subgroups(schedule=schedule, size=size)
    direct = None
    transposes = a.transposed or b.transposed
    functions = (TRANSPOSE, *fields["functions"]) if transposes else fields["functions"]
    sums = StagedSums(subgroups=subgroups, outputs=outputs).elements
    if is_direct(spec, size, outputs, epilogue):
        direct = DirectSums(subgroups=subgroups, outputs=outputs, epilogue=epilogue)
        functions = tuple(dict.fromkeys((*functions, *direct.functions)))
        sums = 0
    tiles = Shared(
        name="tiles",
        scalar="uint",
        vector=ELEMENT // WORD,
        length=max(schedule.num_stages * (a.elements + b.elements), sums),
        by_component=transposes or size.k * spec.dtype.itemsize < WIDEST,
    )
    fields["functions"] = functions
    plan = CooperativePlan(
        template="spirv/matmul_coopmat.spvasm.j2",
        shared=(tiles,),
        **fields,
        size=size,
        types=TYPES[spec.dtype],
        direct=direct,
    )
    check_shared(plan, "block_m")
    return plan


def _operand(
    spec: Matmul,
    target: Target,
    schedule: CooperativeMatmul,
    access: AccessMap,
    side: ThreadOutputs,
    start: int,
) -> CooperativeOperand:
    """Return an operand with accesses of 16 bytes.

    An operand that is transposed may have narrower ones: an invocation transposes as many accesses
    as a word has elements, so it must have that many.
    """
    most = WIDEST // spec.dtype.itemsize
    if access.inner == "row":
        each = side.block * schedule.block_k // schedule.num_threads
        most = min(most, each * spec.dtype.itemsize // WORD)
    return CooperativeOperand(
        matrix=plan_matrix(spec, target, access, most),
        side=side,
        block_k=schedule.block_k,
        num_threads=schedule.num_threads,
        start=start,
    )


def _check(spec: Matmul, target: Target, schedule: CooperativeMatmul) -> None:
    check_powers_of_two(schedule, "block_m", "block_n", "block_k", "num_threads", "num_stages")
    if not is_cooperative(spec, target):
        raise ScheduleError(
            f"mainloop=coopmat needs a target with cooperative matrices of {spec.dtype}, such as "
            f"vulkan1.3+coopmat, and rows of whole 16 bytes; {target.name} with {spec.key} lacks "
            "one of them; leave mainloop out"
        )
    check_stages(schedule)
    check_threads(schedule.num_threads, target, "num_threads=128")
    narrower = min(schedule.block_m, schedule.block_n) * schedule.block_k
    if (has := narrower * spec.dtype.itemsize) < (needs := WIDEST * schedule.num_threads):
        fits = schedule.block_k << (-(-needs // has) - 1).bit_length()
        raise ScheduleError(
            f"block_k={schedule.block_k} gives some of num_threads={schedule.num_threads} less "
            f"than {WIDEST} bytes of a K-tile to copy; try block_k={fits}"
        )
    least = max(MAX_GROUP, WIDEST // spec.dtype.itemsize)
    if schedule.block_n < least or schedule.block_n > MAX_GROUP * schedule.num_threads:
        most = MAX_GROUP * schedule.num_threads
        raise ScheduleError(
            f"block_n={schedule.block_n} is out of range; num_threads={schedule.num_threads} copy "
            f"{least} to {most} columns; try block_n={min(64, most)}"
        )
    if schedule.block_m * schedule.block_n < MAX_GROUP * schedule.num_threads:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} is more than a block tile of "
            f"{schedule.block_m}x{schedule.block_n} has work for; "
            f"try num_threads={schedule.block_m * schedule.block_n // MAX_GROUP}"
        )
    check_grid(spec, target, schedule)
