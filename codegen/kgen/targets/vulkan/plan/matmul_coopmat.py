"""Matmul by cooperative matrices: K-tiles in workgroup memory as they lie in the buffers, matrices
that a subgroup loads from there and multiplies, sums that go through workgroup memory to the
epilogue.

A device multiplies matrices of the sizes that it says. One launch serves all sizes: there is a
module for each, and its subgroups share the block tile as their number and the size ask for.
"""

from __future__ import annotations

from dataclasses import replace

from kgen.errors import ScheduleError
from kgen.schedule import CooperativeMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.vulkan.limits import CEILING
from kgen.targets.vulkan.plan.base import Shared, check_powers_of_two, check_threads, log2
from kgen.targets.vulkan.plan.matmul import (
    MatmulPlan,
    check_grid,
    matmul_tensors,
    plan_epilogue,
    plan_launch,
)
from kgen.targets.vulkan.plan.matrix import WIDEST, Matrix, output_width, plan_matrix
from kgen.targets.vulkan.plan.outputs import MAX_GROUP, Outputs, Side
from kgen_runtime.values import frozen

#: Bytes of a scalar of workgroup memory, and of an element of it, which is an access.
WORD, ELEMENT = 4, WIDEST
#: Features that all modules need; lanes of a subgroup are counted on.
FEATURES = (
    "cooperativeMatrix",
    "vulkanMemoryModel",
    "subgroupSizeControl",
    "computeFullSubgroups",
)


@frozen
class Size:
    """Matrices of m x k by k x n, and the lanes of a subgroup that multiplies them."""

    m: int
    n: int
    k: int
    lanes: int

    @property
    def text(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


#: What devices have, the one to take first: AMD from RDNA3 on and NVIDIA; NVIDIA; lavapipe.
SIZES = (
    Size(m=16, n=16, k=16, lanes=32),
    Size(m=32, n=8, k=16, lanes=32),
    Size(m=16, n=8, k=16, lanes=32),
    Size(m=8, n=8, k=8, lanes=8),
)


@frozen
class CooperativeTypes:
    """The component of A and B in SPIR-V, and what it takes of a module and of a device."""

    component: str
    capability: str
    feature: str


TYPES = {
    DType.F16: CooperativeTypes(component="half", capability="Float16", feature="shaderFloat16")
}


@frozen
class Copy:
    """One access that an invocation copies per K-tile, by number: its distance from the first, in
    outer and inner places, and in workgroup memory, in elements."""

    index: int
    outer: int
    inner: int
    shared: int


@frozen
class CooperativeOperand:
    """A or B: rows of `inner_block` accesses, `pitch` elements apart in workgroup memory, from
    element `start` of a stage on."""

    matrix: Matrix
    edge_block: int
    block_k: int
    num_threads: int
    start: int

    @property
    def name(self) -> str:
        return self.matrix.name

    @property
    def inner_block(self) -> int:
        inner = self.block_k if self.matrix.k_inner else self.edge_block
        return inner // self.matrix.width

    @property
    def outer_block(self) -> int:
        return self.edge_block if self.matrix.k_inner else self.block_k

    @property
    def pitch(self) -> int:
        """One more keeps neighbouring rows off the same banks."""
        return self.inner_block + 1

    @property
    def elements(self) -> int:
        return self.outer_block * self.pitch

    @property
    def inner_mask(self) -> int:
        return self.inner_block - 1

    @property
    def inner_log2(self) -> int:
        return log2(self.inner_block)

    @property
    def copies(self) -> tuple[Copy, ...]:
        step = self.num_threads // self.inner_block
        return tuple(
            Copy(index=i, outer=outer, inner=0, shared=outer * self.pitch)
            for i, outer in enumerate(range(0, self.outer_block, step))
        )

    @property
    def clamped(self) -> bool:
        return self.matrix.size % self.edge_block != 0

    @property
    def edge_start(self) -> int:
        """Accesses along the edge from one block tile to the next."""
        return self.edge_block // self.matrix.edge_width

    @property
    def k_tile(self) -> int:
        """Accesses along k of a K-tile."""
        return self.block_k // self.matrix.k_width

    @property
    def k_step(self) -> int:
        """From a K-tile to the next, in the buffer."""
        return self.k_tile * (1 if self.matrix.k_inner else self.matrix.outer_stride)

    @property
    def k_accesses(self) -> int:
        """Accesses along all of k."""
        return self.matrix.k // self.matrix.k_width

    # Matrices, as they are loaded from workgroup memory

    @property
    def layout(self) -> str:
        """The id of row-major (0) or column-major (1)."""
        row_major = self.matrix.k_inner == (self.matrix.edge == "m")
        return "uint_0" if row_major else "uint_1"

    def place(self, edge: int, k: int) -> int:
        """The element of workgroup memory that holds this place, a whole access."""
        outer, inner = (edge, k) if self.matrix.k_inner else (k, edge)
        return self.start + outer * self.pitch + inner // self.matrix.width

    def step(self, edge: int) -> int:
        """Elements from a place to one so far along the edge."""
        return self.place(edge, 0) - self.start


@frozen
class CooperativePlan(MatmulPlan):
    schedule: CooperativeMatmul
    a: CooperativeOperand
    b: CooperativeOperand
    size: Size
    types: CooperativeTypes
    others: tuple[CooperativePlan, ...] = ()

    @property
    def operands(self) -> tuple[CooperativeOperand, CooperativeOperand]:
        return (self.a, self.b)

    @property
    def variants(self) -> tuple[CooperativePlan, ...]:
        return self.others

    @property
    def extension(self) -> str:
        return f"{self.size.text}.spv"

    # What the module needs

    @property
    def memory_model(self) -> str:
        return "Vulkan"

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*super().inputs, "subgroup_id")

    @property
    def capabilities(self) -> tuple[str, ...]:
        own = ("CooperativeMatrixKHR", "VulkanMemoryModel", "GroupNonUniform")
        return (*super().capabilities, *own, self.types.capability)

    @property
    def extensions(self) -> tuple[str, ...]:
        return (*super().extensions, "SPV_KHR_cooperative_matrix")

    @property
    def further_requirements(self) -> dict[str, object]:
        dtype, size = self.spec.dtype, self.size
        return {
            "features": [*FEATURES, self.types.feature],
            "cooperative_matrix": {
                "m": size.m,
                "n": size.n,
                "k": size.k,
                "a": dtype.value,
                "b": dtype.value,
                "c": DType.F32.value,
                "result": DType.F32.value,
            },
            "subgroup_size": size.lanes,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            self.k_note,
            f"matrices of {self.size.text}, {self.warps_m} x {self.warps_n} subgroups of "
            f"{self.size.lanes} lanes (m x n), {self.warp_m} x {self.warp_n} outputs each",
        )

    # Subgroups

    @property
    def subgroups(self) -> int:
        return self.num_threads // self.size.lanes

    @property
    def warps_n(self) -> int:
        return 1 << (log2(self.subgroups) // 2)

    @property
    def warps_m(self) -> int:
        return self.subgroups // self.warps_n

    @property
    def warp_m(self) -> int:
        return self.schedule.block_m // self.warps_m

    @property
    def warp_n(self) -> int:
        return self.schedule.block_n // self.warps_n

    @property
    def warps_n_mask(self) -> int:
        return self.warps_n - 1

    @property
    def warps_n_log2(self) -> int:
        return log2(self.warps_n)

    @property
    def warp_a_step(self) -> int:
        """Elements of workgroup memory from a subgroup's rows of A to those of the next."""
        return self.a.step(self.warp_m)

    @property
    def warp_b_step(self) -> int:
        return self.b.step(self.warp_n)

    @property
    def rows(self) -> range:
        """Numbers of a subgroup's matrices along m."""
        return range(self.warp_m // self.size.m)

    @property
    def columns(self) -> range:
        return range(self.warp_n // self.size.n)

    @property
    def steps(self) -> range:
        """Numbers of the matrices of a K-tile along k."""
        return range(self.schedule.block_k // self.size.k)

    def a_place(self, row: int, step: int) -> int:
        return self.a.place(row * self.size.m, step * self.size.k)

    def b_place(self, column: int, step: int) -> int:
        return self.b.place(column * self.size.n, step * self.size.k)

    def before(self, step: int, row: int, column: int) -> str:
        """The id of a matrix of sums before a step."""
        return f"acc_{row}_{column}" if step == 0 else f"sum{step - 1}_{row}_{column}"

    def after(self, step: int, row: int, column: int) -> str:
        last = step == len(self.steps) - 1
        return f"next_acc_{row}_{column}" if last else f"sum{step}_{row}_{column}"

    # K

    @property
    def k_tiles(self) -> int:
        return -(-self.spec.k // self.schedule.block_k)

    @property
    def last_k_tile(self) -> int:
        return self.k_tiles - 1

    @property
    def has_rest(self) -> bool:
        """The last K-tile is not a whole one; what it lacks is zeros."""
        return self.spec.k % self.schedule.block_k != 0

    @property
    def double_buffered(self) -> bool:
        return self.schedule.num_stages > 1

    @property
    def stage_elements(self) -> int:
        return self.a.elements + self.b.elements

    # The sums, row by row in workgroup memory, four f32 in an element

    @property
    def sums_pitch(self) -> int:
        return self.schedule.block_n * WORD // ELEMENT

    @property
    def warp_row_step(self) -> int:
        """Elements from a subgroup's rows of sums to those of the next."""
        return self.warp_m * self.sums_pitch

    @property
    def warp_column_step(self) -> int:
        return self.warp_n * WORD // ELEMENT

    def sums_place(self, row: int, column: int) -> int:
        across = column * self.size.n * WORD // ELEMENT
        return row * self.size.m * self.sums_pitch + across

    @property
    def sum_rows(self) -> tuple[tuple[int, int], ...]:
        """An invocation's rows of sums by number, and how far they are from the first."""
        return tuple((i, distance * self.sums_pitch) for i, distance in self.outputs.m.values)

    @property
    def thread_row_step(self) -> int:
        return self.outputs.m.group * self.sums_pitch

    @property
    def totals(self) -> str:
        return "total"


def is_cooperative(spec: Matmul) -> bool:
    """Whether all accesses are of 16 bytes, as they must be; others are multiplied one by one."""
    if spec.dtype not in TYPES or spec.b_dtype is not None:
        return False
    width = WIDEST // spec.dtype.itemsize
    return all(plan_matrix(spec, name, width).width == width for name in "ab")


def plan_cooperative(spec: Matmul, target: Target, schedule: CooperativeMatmul) -> CooperativePlan:
    """The plan of the first size, with the others as its variants. Raises ScheduleError if none
    fits the schedule."""
    _check(spec, target, schedule)
    found = [_plan(spec, target, schedule, size) for size in SIZES if _fits(schedule, size)]
    if not found:
        raise ScheduleError(
            f"block_m={schedule.block_m}, block_n={schedule.block_n} are no whole matrices for "
            "each subgroup; try block_m=64, block_n=64"
        )
    return replace(found[0], others=tuple(found[1:]))


def _fits(schedule: CooperativeMatmul, size: Size) -> bool:
    """Each subgroup has whole matrices."""
    if schedule.num_threads < size.lanes or schedule.block_k % size.k:
        return False
    subgroups = schedule.num_threads // size.lanes
    warps_n = 1 << (log2(subgroups) // 2)
    across, down = schedule.block_n // warps_n, schedule.block_m * warps_n // subgroups
    return across % size.n == 0 and down % size.m == 0 and min(across, down) > 0


def _plan(spec: Matmul, target: Target, schedule: CooperativeMatmul, size: Size) -> CooperativePlan:
    width = WIDEST // spec.dtype.itemsize
    a = _operand(spec, schedule, "a", schedule.block_m, width, 0)
    b = _operand(spec, schedule, "b", schedule.block_n, width, a.elements)
    n = Side(size=spec.n, block=schedule.block_n, per_thread=MAX_GROUP)
    rows = schedule.num_threads // n.threads
    m = Side(size=spec.m, block=schedule.block_m, per_thread=schedule.block_m // rows)
    outputs = Outputs(spec=spec, m=m, n=n, width=output_width(spec, n.group))
    buffers = matmul_tensors(spec, a.matrix.tensor, b.matrix.tensor, outputs.width)
    epilogue = plan_epilogue(spec)
    sums = schedule.block_m * schedule.block_n * WORD // ELEMENT
    tiles = Shared(
        name="tiles",
        scalar="uint",
        vector=ELEMENT // WORD,
        length=max(schedule.num_stages * (a.elements + b.elements), sums),
    )
    plan = CooperativePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="spirv/matmul_coopmat.spvasm.j2",
        launches=(plan_launch(spec, schedule, schedule.num_threads),),
        num_threads=schedule.num_threads,
        tensors=buffers,
        shared=(tiles,),
        functions=epilogue.functions(buffers),
        constants=epilogue.constants,
        outputs=outputs,
        epilogue=epilogue,
        a=a,
        b=b,
        size=size,
        types=TYPES[spec.dtype],
    )
    limit = CEILING["maxComputeSharedMemorySize"]
    if plan.shared_bytes > limit:
        raise ScheduleError(
            f"block_m={schedule.block_m}, block_n={schedule.block_n} need {plan.shared_bytes} B of "
            f"workgroup memory; {target.name} allows {limit}; try block_m={schedule.block_m // 2}"
        )
    return plan


def _operand(
    spec: Matmul, schedule: CooperativeMatmul, name: str, edge_block: int, width: int, start: int
) -> CooperativeOperand:
    return CooperativeOperand(
        matrix=plan_matrix(spec, name, width),
        edge_block=edge_block,
        block_k=schedule.block_k,
        num_threads=schedule.num_threads,
        start=start,
    )


def _check(spec: Matmul, target: Target, schedule: CooperativeMatmul) -> None:
    check_powers_of_two(schedule, "block_m", "block_n", "block_k", "num_threads", "num_stages")
    if not is_cooperative(spec):
        raise ScheduleError(
            f"mainloop=coopmat reads 16 bytes at a time, and rows of {spec.key} are no whole "
            "number of them; leave mainloop out"
        )
    if schedule.num_stages > 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not 1 or 2; {target.name} kernels hold one or "
            "two K-tiles in workgroup memory; try num_stages=2"
        )
    check_threads(schedule.num_threads, target, "num_threads=128")
    least = max(MAX_GROUP, WIDEST // spec.dtype.itemsize)
    if schedule.block_n < least or schedule.block_n > MAX_GROUP * schedule.num_threads:
        raise ScheduleError(f"block_n={schedule.block_n} does not suit the copies; try block_n=64")
    if schedule.block_m * schedule.block_n < MAX_GROUP * schedule.num_threads:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} are more than the block tile has work for; "
            f"try num_threads={schedule.num_threads // 2}"
        )
    check_grid(spec, target, schedule)
