"""The plan of elementwise.ll.j2: rows in vectors; one row for all if nothing broadcasts."""

from __future__ import annotations

import math
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import CpuStream
from kgen.spec import DType, Elementwise
from kgen.targets.base import Target
from kgen.targets.cpu.expressions import CpuBitsRenderer, CpuRenderer, on_bits
from kgen.targets.cpu.plan.base import FormulaPlan, Run, access, check_task, vector_for
from kgen.targets.cpu.plan.math.functions import Functions, functions_for
from kgen.targets.cpu.plan.matmul import LINE_BYTES
from kgen.targets.cpu.plan.vectors import Vector
from kgen.targets.expressions import Rendered
from kgen.targets.llvm_ir import FloatType
from kgen.targets.stream import Dimension, StreamInput, StreamPlan
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: From a load that streams to the line that is fetched meanwhile.
AHEAD_BYTES = 2048


@frozen
class ElementwisePlan(FormulaPlan):
    spec: Elementwise
    schedule: CpuStream
    run: Run

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=1)

    @property
    def task_words(self) -> str:
        return f"{self.schedule.task} {'rows' if self.by_rows else 'elements'}"

    @property
    def functions(self) -> Functions:
        """The constants of exp2 and log2."""
        return functions_for(self.target, self.compute, DType.F32)

    # -- the expression ------------------------------------------------------------------------

    @property
    def renderer(self) -> CpuRenderer | CpuBitsRenderer:
        if on_bits(self.spec):
            return CpuBitsRenderer(dtype=self.spec.dtype, type=self.compute)
        type_ = FloatType(dtype=DType.F32, lanes=self.compute.count)
        return CpuRenderer(type=type_, target=self.target)

    def rendered(self, prefix: str) -> Rendered:
        """On vectors %<prefix>.<input>, or %<input>.all of one that is the same for a row."""
        inputs = {
            i.name: f"%{i.name}.all" if i.single else f"%{prefix}.{i.name}"
            for i in self.stream.inputs
        }
        return self.renderer.render(self.spec.calls, inputs, f"%{prefix}.result")

    @property
    def module_functions(self) -> tuple[str, ...]:
        """Functions of the module that the expression calls."""
        renderer, calls = self.renderer, self.spec.calls
        return renderer.functions(calls) if isinstance(renderer, CpuRenderer) else ()

    @property
    def declarations(self) -> tuple[str, ...]:
        renderer = self.renderer
        if not isinstance(renderer, CpuRenderer):
            return ()
        found = list(renderer.declarations(self.spec.calls))
        if self.module_functions:
            found += self.functions.declarations(self.compute)
        return tuple(dict.fromkeys(found))

    # -- where things lie ----------------------------------------------------------------------

    @property
    def by_rows(self) -> bool:
        """An input broadcasts: the output is taken row by row."""
        return len(self.stream.sizes) > 1

    @property
    def rows(self) -> int:
        return math.prod(self.stream.sizes[:-1])

    @property
    def cols(self) -> int:
        return self.stream.sizes[-1]

    @property
    def out_row(self) -> int:
        """Bytes of a row of the output."""
        return self.cols * self.out.itemsize

    @property
    def row_dimensions(self) -> tuple[Dimension, ...]:
        """How a row's number gives the coordinates that some input needs; it is the only one
        itself."""
        outer = self.stream.sizes[:-1]
        return self.stream.coordinates(outer) if len(outer) > 1 else ()

    def row_terms(self, of: StreamInput) -> tuple[tuple[str, int], ...]:
        """Where an input's row is: operands, and the bytes for each step of them."""
        rows = len(self.stream.sizes) - 1
        if of.linear:
            return (("%r", self.cols * self.x.itemsize),)
        return tuple(
            ("%r" if rows == 1 else f"%r.at{d}", stride * self.x.itemsize)
            for d, stride in of.terms
            if d < rows
        )

    @property
    def streamed(self) -> tuple[str, ...]:
        """Inputs that are read vector by vector."""
        return tuple(i.name for i in self.stream.inputs if not i.single)

    @property
    def last_task_is_short(self) -> bool:
        return (self.rows if self.by_rows else self.cols) % self.schedule.task != 0

    @property
    def units(self) -> int:
        """What tasks divide between them: rows, or elements."""
        return self.rows if self.by_rows else self.cols

    # -- steps ---------------------------------------------------------------------------------

    @property
    def unrolled(self) -> tuple[tuple[str, int], ...]:
        """Each vector of a step: what its values' names start with, and its first element."""
        return tuple((f"u{u}", u * self.compute.count) for u in range(self.schedule.unroll))

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        """One element alone goes as a scalar."""
        types = {self.x.stored, self.out.stored} if self.run.tail > 1 else set()
        return tuple(sorted(types, key=str))

    @property
    def vector_mask(self) -> int:
        return -self.compute.count

    @property
    def step_mask(self) -> int:
        """A mask, where a step is a power of two."""
        return -self.run.step

    # -- out written past the caches -----------------------------------------------------------

    @property
    def out_mask(self) -> int:
        """What an address has beyond a whole vector, by `and`."""
        return self.out.stored.bytes - 1

    @property
    def item_shift(self) -> int:
        """Divides bytes by those of an element."""
        return (self.out.itemsize - 1).bit_length()

    @property
    def ahead(self) -> tuple[int, ...]:
        """Bytes from a step's first element to the lines of an input that it fetches, those of a
        later step (relu: 48 instead of 43 GB/s, Zen 4)."""
        nbytes = self.schedule.unroll * self.x.stored.bytes
        return tuple(range(AHEAD_BYTES, AHEAD_BYTES + nbytes, LINE_BYTES))


def vector_of(spec: Elementwise, target: Target) -> Vector:
    """What is computed with: floats, or the bits of elements."""
    cols = StreamPlan(spec=spec, vector=1).sizes[-1]
    if on_bits(spec):
        # As many as there are of f16.
        return vector_for(target, DType.F16, cols).integers
    return vector_for(target, DType.F32, cols)


def has_whole_tasks(spec: Elementwise, target: Target, task: int) -> bool:
    """The last task has a vector of elements too."""
    return (spec.elements % task or task) >= vector_of(spec, target).count


def plan_elementwise(spec: Elementwise, target: Target, schedule: CpuStream) -> ElementwisePlan:
    """Raises ScheduleError if a task is no multiple of the vectors that it is done in."""
    stream = StreamPlan(spec=spec, vector=1)
    by_rows = len(stream.sizes) > 1
    cols = stream.sizes[-1]
    compute = vector_of(spec, target)
    run = Run(length=cols, vector=compute.count, unroll=schedule.unroll)
    units = spec.elements // cols if by_rows else cols
    tasks = -(-units // schedule.task)
    if tasks > 1 and not by_rows:
        check_task(schedule, run.step)
    if schedule.nontemporal and (by_rows or not has_whole_tasks(spec, target, schedule.task)):
        raise ScheduleError(
            f"nontemporal=1 needs inputs that do not broadcast, and {compute.count} elements in "
            f"every task, not {spec.elements} in tasks of {schedule.task}; try nontemporal=0"
        )
    extent = schedule.task * (cols if by_rows else 1)
    launch = Launch(
        entry_point=spec.key,
        grid=(tasks, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(shape=(spec.elements,), extent=(extent,), axes=(0,)),
    )
    return ElementwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/elementwise.ll.j2",
        launches=(launch,),
        compute=compute,
        # Not by VCVTNEPS2BF16, which makes zero of subnormal numbers.
        out=access(target, spec.out, compute),
        x=access(target, spec.dtype, compute),
        run=run,
    )
