"""The plan of elementwise.ll.j2: rows in vectors; one row for all if nothing broadcasts."""

from __future__ import annotations

import math
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import OUT, Expression
from kgen.ops.registry import call_of
from kgen.schedule import CpuStream
from kgen.spec import DType, Elementwise
from kgen.targets.base import Target
from kgen.targets.cpu.expressions import (
    CpuBitsRenderer,
    CpuRenderer,
    CpuWholeRenderer,
    on_bits,
)
from kgen.targets.cpu.plan.base import (
    AHEAD_BYTES,
    LINE_BYTES,
    FormulaPlan,
    Run,
    access,
    check_task,
    vector_for,
)
from kgen.targets.cpu.plan.math.functions import Functions, functions_for
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.expressions import Rendered
from kgen.targets.llvm_ir import FloatType
from kgen.targets.stream import Dimension, StreamInput, StreamPlan
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen


@frozen
class ElementwisePlan(FormulaPlan):
    spec: Elementwise

    def access(self, name: str) -> Access:
        """How an input is read."""
        return access(self.target, self.spec.parameter(name).dtype, self.compute)

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
    def renderer(self) -> CpuRenderer | CpuBitsRenderer | CpuWholeRenderer:
        if on_bits(self.spec):
            return CpuBitsRenderer(dtype=self.spec.dtype, type=self.compute)
        type_ = FloatType(dtype=self.spec.compute, lanes=self.compute.count)
        if self.spec.compute.is_integer:
            return CpuWholeRenderer(type=type_)
        return CpuRenderer(type=type_, target=self.target)

    @property
    def calls(self) -> tuple[Expression, ...]:
        """The expressions in calls; for outputs of whole words they are rounded."""
        calls = self.spec.result_calls
        return tuple(call_of("round", c) for c in calls) if self.out.is_whole_words else calls

    def rendered(self, prefix: str) -> Rendered:
        """On vectors %<prefix>.<input>, or %<input>.all of one that is the same for a row."""
        inputs = {
            i.name: f"%{i.name}.all" if i.single else f"%{prefix}.{i.name}"
            for i in self.stream.inputs
        }
        names = [
            f"%{prefix}.result" if name == OUT else f"%{prefix}.{name}.result"
            for name in self.spec.outputs
        ]
        return self.renderer.render_all(self.calls, inputs, names[-1], names)

    @property
    def module_functions(self) -> tuple[str, ...]:
        """Functions of the module that the expression calls."""
        renderer = self.renderer
        return renderer.functions(*self.calls) if isinstance(renderer, CpuRenderer) else ()

    @property
    def declarations(self) -> tuple[str, ...]:
        renderer = self.renderer
        if isinstance(renderer, CpuBitsRenderer):
            return ()
        found = list(renderer.declarations(*self.calls))
        if self.out.is_whole_words:
            t, whole = self.compute, self.out.stored
            found.append(f"{whole} @llvm.fptosi.sat.{whole.suffix}.{t.suffix}({t})")
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
        itemsize = self.access(of.name).itemsize
        if of.linear:
            return (("%r", self.cols * itemsize),)
        return tuple(
            ("%r" if rows == 1 else f"%r.at{d}", stride * itemsize)
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
        accesses = [self.out, *(self.access(name) for name in self.streamed)]
        types = {a.stored for a in accesses} if self.run.tail > 1 else set()
        return tuple(sorted(types, key=str))

    def ahead(self, name: str) -> tuple[int, ...]:
        """Bytes from a step's first element to the lines of an input that it fetches, those of a
        later step (relu: 48 instead of 43 GB/s, Zen 4)."""
        nbytes = self.schedule.unroll * self.access(name).stored.bytes
        return tuple(range(AHEAD_BYTES, AHEAD_BYTES + nbytes, LINE_BYTES))


def vector_of(spec: Elementwise, target: Target) -> Vector:
    """What is computed with: floats, or the bits of elements."""
    cols = StreamPlan(spec=spec, vector=1).sizes[-1]
    if on_bits(spec):
        # As many as there are of f16.
        return vector_for(target, DType.F16, cols).integers
    return vector_for(target, spec.compute, cols)


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
    if schedule.nontemporal and len(spec.outputs) > 1:
        raise ScheduleError("nontemporal=1 aligns to one output; with several try nontemporal=0")
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
