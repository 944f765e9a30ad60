"""The plan of softmax.ll.j2: a row at a time, in three passes."""

from __future__ import annotations

import math

from kgen.errors import ScheduleError
from kgen.schedule import CpuStream
from kgen.spec import DType, Softmax
from kgen.targets.base import Target
from kgen.targets.cpu.limits import BF16_FEATURES
from kgen.targets.cpu.plan.base import CpuPlan, Run, access, vector_for
from kgen.targets.cpu.plan.functions import Functions, functions_for
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: A row's exponentials are kept on the stack between passes up to this many bytes.
ROW_BUFFER_BYTES = 128 * 1024


@frozen
class SoftmaxPlan(CpuPlan):
    spec: Softmax
    schedule: CpuStream
    x: Access
    run: Run

    @property
    def features(self) -> tuple[str, ...]:
        features = super().features
        if self.out.rounded_by_cpu:
            return tuple(sorted({*features, *BF16_FEATURES}))
        return features

    @property
    def task_words(self) -> str:
        return f"{self.schedule.task} rows"

    @property
    def functions(self) -> Functions:
        return functions_for(self.target, self.compute, self.spec.out)

    @property
    def last_task_is_short(self) -> bool:
        return self.spec.rows % self.schedule.task != 0

    @property
    def x_row(self) -> int:
        """Bytes of a row of x."""
        return self.spec.cols * self.x.itemsize

    @property
    def out_row(self) -> int:
        return self.spec.cols * self.out.itemsize

    # -- the exponentials between the second and the third pass --------------------------------

    @property
    def staged(self) -> bool:
        """They are stored, not computed again. The logarithm does not need them."""
        return not self.spec.log and (self.staged_in_out or self.row_bytes <= ROW_BUFFER_BYTES)

    @property
    def staged_in_out(self) -> bool:
        """They lie in out's row, which has their type: where it is too long for the stack, and
        where it comes from memory, which the exponentials do not wait for. In a cache, or if its
        vectors straddle lines, it is better written once (1.2x to 1.3x, Zen 4)."""
        far = self.spec.bytes_moved > self.target.limits["l3_bytes"]
        straddles = self.out_row % self.compute.bytes
        long = self.row_bytes > ROW_BUFFER_BYTES
        return not self.spec.log and self.out.is_wide and (long or (far and not straddles))

    @property
    def row_bytes(self) -> int:
        """A row of floats, in whole vectors."""
        vectors = -(-self.spec.cols // self.compute.count)
        return vectors * self.compute.count * 4

    @property
    def stage(self) -> Access:
        return Access(dtype=DType.F32, compute=self.compute)

    @property
    def has_row_buffer(self) -> bool:
        return self.staged and not self.staged_in_out

    @property
    def scratch_bytes(self) -> int:
        return self.row_bytes if self.has_row_buffer else 0

    @property
    def stage_pointer(self) -> str:
        return "%out.row" if self.staged_in_out else "%row"

    # -- reductions ----------------------------------------------------------------------------

    @property
    def lowest(self) -> float:
        return -math.inf

    @property
    def chains(self) -> dict[str, tuple[str, ...]]:
        """The names of the partial results of each reduction's unrolled loop."""
        units = range(self.schedule.unroll)
        return {name: tuple(f"{name}.v{u}" for u in units) for name in ("max", "sum")}

    @property
    def chain_offsets(self) -> tuple[int, ...]:
        """Elements from a step's start to the vector of each chain."""
        return tuple(u * self.compute.count for u in range(self.schedule.unroll))

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        if self.run.tail <= 1:
            return ()
        types = {self.x.stored, self.out.stored}
        if self.staged:
            types.add(self.stage.stored)
        return tuple(sorted(types, key=str))


def rounds_bf16(spec: Softmax, target: Target) -> bool:
    """By an instruction: subnormal numbers, which become zero, are under 1e-38 of a row's sum."""
    return spec.out is DType.BF16 and target.has("avx512_bf16")


def plan_softmax(spec: Softmax, target: Target, schedule: CpuStream) -> SoftmaxPlan:
    compute = vector_for(target, DType.F32, spec.cols)
    launch = Launch(
        entry_point=spec.key,
        grid=(-(-spec.rows // schedule.task), 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(shape=(spec.rows, spec.cols), extent=(schedule.task, spec.cols), axes=(0, -1)),
    )
    if schedule.nontemporal:
        raise ScheduleError("nontemporal=1 is for element-wise operations; try nontemporal=0")
    return SoftmaxPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/softmax.ll.j2",
        launches=(launch,),
        compute=compute,
        out=access(target, spec.out, compute, rounded_by_cpu=rounds_bf16(spec, target)),
        x=access(target, spec.dtype, compute),
        run=Run(length=spec.cols, vector=compute.count, unroll=schedule.unroll),
    )
