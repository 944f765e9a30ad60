"""The plan of relu.ll.j2: a stream of bits, negative numbers replaced by zero."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import CpuStream
from kgen.spec import DType, Relu
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import CpuPlan, Run, check_task
from kgen.targets.cpu.plan.blocks import LINE_BYTES
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: From a load that streams to the line that is fetched meanwhile.
AHEAD_BYTES = 2048
#: The bits of +infinity.
INFINITY = {DType.F32: 0x7F800000, DType.F16: 0x7C00, DType.BF16: 0x7F80}


@frozen
class ReluPlan(CpuPlan):
    spec: Relu
    schedule: CpuStream
    run: Run

    @property
    def task_words(self) -> str:
        return f"{self.schedule.task} elements"

    @property
    def infinity(self) -> int:
        return INFINITY[self.spec.dtype]

    @property
    def sign(self) -> int:
        """The sign bit alone, as a signed integer."""
        return -(1 << (self.compute.bits - 1))

    @property
    def unrolled_offsets(self) -> tuple[int, ...]:
        """Bytes from the first vector of a step to each of its vectors."""
        nbytes = self.compute.count * self.out.itemsize
        return tuple(u * nbytes for u in range(self.schedule.unroll))

    @property
    def last_task_is_short(self) -> bool:
        return self.spec.elements % self.schedule.task != 0

    @property
    def has_masked_tail(self) -> bool:
        """One element alone goes as a scalar."""
        return self.run.tail > 1

    @property
    def vector_mask(self) -> int:
        return -self.compute.count

    @property
    def step_mask(self) -> int:
        return -self.run.step

    # -- out written past the caches -----------------------------------------------------------

    @property
    def out_mask(self) -> int:
        """What an address has beyond a whole vector, by `and`."""
        return self.compute.bytes - 1

    @property
    def item_shift(self) -> int:
        """Divides bytes by those of an element."""
        return (self.out.itemsize - 1).bit_length()

    @property
    def ahead(self) -> tuple[int, ...]:
        """Bytes from a step's first element to the lines of x that it fetches: those of a later
        step (48 instead of 43 GB/s, Zen 4)."""
        nbytes = self.schedule.unroll * self.compute.bytes
        return tuple(range(AHEAD_BYTES, AHEAD_BYTES + nbytes, LINE_BYTES))


def has_whole_tasks(spec: Relu, target: Target, task: int) -> bool:
    """The last task has a vector of elements too."""
    count = target.limits["vector_bytes"] // spec.dtype.itemsize
    return (spec.elements % task or task) >= count


def plan_relu(spec: Relu, target: Target, schedule: CpuStream) -> ReluPlan:
    """Raises ScheduleError if a task is no multiple of the vectors that it is done in."""
    count = target.limits["vector_bytes"] // spec.dtype.itemsize
    compute = Vector(count=count, scalar=f"i{spec.dtype.itemsize * 8}")
    run = Run(length=spec.elements, vector=count, unroll=schedule.unroll)
    tasks = -(-spec.elements // schedule.task)
    if tasks > 1:
        check_task(schedule, run.step)
    if schedule.nontemporal and not has_whole_tasks(spec, target, schedule.task):
        raise ScheduleError(
            f"nontemporal=1 needs {count} elements in every task, a vector of {target.name}, not "
            f"{spec.elements} in tasks of {schedule.task}; try nontemporal=0"
        )
    launch = Launch(
        entry_point=spec.key,
        grid=(tasks, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(shape=(spec.elements,), extent=(schedule.task,), axes=(0,)),
    )
    return ReluPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/relu.ll.j2",
        launches=(launch,),
        compute=compute,
        out=Access(dtype=spec.dtype, compute=compute),
        run=run,
    )
