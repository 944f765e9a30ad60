"""Matmul by multiply-adds: tiles in workgroup memory, thread_m x thread_n sums per invocation.

The block tile advances over K in K-tiles of block_k. Invocations copy a K-tile of A and B to
workgroup memory as f32, k by k, and multiply from there. What is left of K below a whole K-tile is
a K-tile of its own after the loop, with exactly as many steps.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import FmaMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.batch import BatchCoordinate, BatchTerm, batch_coordinates, batch_terms
from kgen.targets.epilogue import FusedEpilogue
from kgen.targets.header import counted
from kgen.targets.vulkan.limits import CEILING
from kgen.targets.vulkan.plan.base import (
    VulkanPlan,
    bits_of,
    check_blocks,
    check_powers_of_two,
    check_threads,
    log2,
    tensors,
)
from kgen.targets.vulkan.plan.epilogue import Epilogue
from kgen.targets.vulkan.plan.operand import Operand, plan_operands
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: How a buffer holds A and B: f16 widens by OpFConvert, others on their bits.
_OPERAND_SCALARS = {
    DType.F32: "float",
    DType.F16: "half",
    DType.BF16: "ushort",
    DType.S8: "uchar",
}


@frozen
class Element:
    """One output of an invocation: its m and n by number."""

    m: int
    n: int

    @property
    def name(self) -> str:
        return f"m{self.m}_n{self.n}"


@frozen
class Phase:
    """K-tiles of the same number of k steps.

    Before a k step a sum is `<name>_sum_<m>_<n>`, after it `<name>_total_<m>_<n>`; `before` is the
    stem of the first sums, None where they are 0. `partial`: not all places of a K-tile are inside
    K, whose last is `last_k`. `overwrites`: workgroup memory still holds the K-tile before.
    """

    name: str
    steps: int
    k_tiles: int
    before: str | None
    partial: bool
    last_k: int
    overwrites: bool

    def initial(self, element: Element) -> str:
        """The id of the first sum."""
        return f"{self.before}_{element.name}" if self.before else "float_0"


@frozen
class MatmulPlan(VulkanPlan):
    schedule: FmaMatmul
    spec: Matmul
    a: Operand
    b: Operand
    epilogue: Epilogue

    @property
    def operands(self) -> tuple[Operand, Operand]:
        return (self.a, self.b)

    @property
    def notes(self) -> tuple[str, ...]:
        threads = f"{self.a.threads} x {self.b.threads} invocations (m x n)"
        full, rest = divmod(self.spec.k, self.schedule.block_k)
        return (
            f"{counted(full, 'whole tile')} along k{f' and a remainder of {rest}' if rest else ''}",
            f"{threads}, {self.schedule.thread_m} x {self.schedule.thread_n} outputs each",
        )

    @property
    def batched(self) -> bool:
        return self.spec.batch > 1

    @property
    def main(self) -> Phase | None:
        """The loop over whole K-tiles; None if K has none."""
        k_tiles = self.spec.k // self.schedule.block_k
        if k_tiles == 0:
            return None
        return Phase(
            name="main",
            steps=self.schedule.block_k,
            k_tiles=k_tiles,
            before="acc",
            partial=False,
            last_k=self.spec.k - 1,
            overwrites=k_tiles > 1,
        )

    @property
    def tail(self) -> Phase | None:
        """The last K-tile if it is not a whole one."""
        steps = self.spec.k % self.schedule.block_k
        if steps == 0:
            return None
        return Phase(
            name="tail",
            steps=steps,
            k_tiles=1,
            before="main_total" if self.main else None,
            partial=True,
            last_k=self.spec.k - 1,
            overwrites=self.main is not None,
        )

    @property
    def tail_start(self) -> int:
        """The first k of the tail."""
        return self.spec.k - self.spec.k % self.schedule.block_k

    @property
    def elements(self) -> tuple[Element, ...]:
        return tuple(
            Element(m=m, n=n)
            for m in range(self.schedule.thread_m)
            for n in range(self.schedule.thread_n)
        )

    @property
    def threads_n_mask(self) -> int:
        return self.b.threads - 1

    @property
    def threads_n_log2(self) -> int:
        return log2(self.b.threads)

    @property
    def guarded(self) -> bool:
        return self.a.clamped or self.b.clamped

    @property
    def totals(self) -> str:
        """The stem of the ids that hold the final sums."""
        return "tail_total" if self.spec.k % self.schedule.block_k else "main_total"

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)

    @property
    def out_batch_terms(self) -> tuple[BatchTerm, ...]:
        return batch_terms(self.spec, "c")

    @property
    def out_row_stride(self) -> int:
        return self.spec.out_strides[1]


def plan_matmul(spec: Matmul, target: Target, schedule: FmaMatmul) -> MatmulPlan:
    """Raises ScheduleError if the schedule does not fit the target."""
    _check(spec, target, schedule)
    scalars = {
        p.name: "float" if p.dtype is DType.F32 else bits_of(p.dtype) for p in spec.parameters
    }
    scalars |= {"a": _OPERAND_SCALARS[spec.dtype], "b": _OPERAND_SCALARS[spec.b_type]}
    buffers = tensors(spec, scalars)
    a, b = plan_operands(spec, schedule, buffers[0], buffers[1])
    epilogue = Epilogue(fused=FusedEpilogue(spec=spec))
    launch = Launch(
        entry_point=spec.key,
        grid=(-(-spec.n // schedule.block_n), -(-spec.m // schedule.block_m), spec.batch),
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(
            shape=(spec.batch, spec.m, spec.n),
            extent=(1, schedule.block_m, schedule.block_n),
            axes=(2, 1, 0),
        ),
    )
    plan = MatmulPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="spirv/matmul_fma.spvasm.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        tensors=buffers,
        shared=(a.shared, b.shared),
        functions=epilogue.functions(buffers),
        constants=epilogue.constants,
        a=a,
        b=b,
        epilogue=epilogue,
    )
    _check_shared(plan)
    return plan


def _check(spec: Matmul, target: Target, schedule: FmaMatmul) -> None:
    check_powers_of_two(schedule, "block_m", "block_n", "block_k", "thread_m", "thread_n")
    if schedule.num_stages != 1:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not 1; {target.name} kernels hold one K-tile in "
            "workgroup memory; try num_stages=1"
        )
    check_threads(
        schedule.num_threads,
        target,
        f"thread_m={2 * schedule.thread_m}, thread_n={2 * schedule.thread_n}",
    )
    check_blocks(-(-spec.m // schedule.block_m), "block_m", schedule.block_m, target)
    check_blocks(-(-spec.n // schedule.block_n), "block_n", schedule.block_n, target)


def _check_shared(plan: MatmulPlan) -> None:
    limit = CEILING["maxComputeSharedMemorySize"]
    if plan.shared_bytes > limit:
        block_k = plan.schedule.block_k
        # Memory is as large as block_k: the largest power of two that fits.
        fitting = 1 << ((limit * block_k // plan.shared_bytes).bit_length() - 1)
        raise ScheduleError(
            f"block_k={block_k} needs {plan.shared_bytes} B of workgroup memory; "
            f"{plan.target.name} allows {limit}; try block_k={fitting}"
        )
