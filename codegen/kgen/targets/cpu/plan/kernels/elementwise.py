"""The plan of elementwise.ll.j2: rows in vectors; one row for all if nothing broadcasts."""

from __future__ import annotations

import itertools
import math
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import OUT, Expression
from kgen.ops.expression import assuming, inputs
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
from kgen.targets.llvm_ir import ELEMENT, FloatType
from kgen.targets.stream import Dimension, StreamCondition, StreamOperand, StreamPlan, tile_of
from kgen_runtime.manifest import Launch
from kgen_runtime.values import frozen


@frozen
class Segment:
    """Elements [start, stop) of a row, in which the conditions that are about places in a row are
    known. `prefix` starts the names of what is computed in it."""

    prefix: str
    start: int
    stop: int
    run: Run
    known: tuple[tuple[str, bool], ...]

    @property
    def unrolled(self) -> tuple[tuple[str, int], ...]:
        """Each vector of a step: what its values' names start with, and its first element."""
        return tuple((f"{self.prefix}u{u}", u * self.run.vector) for u in range(self.run.unroll))


@frozen
class ElementwisePlan(FormulaPlan):
    spec: Elementwise

    def access(self, name: str) -> Access:
        """How a tensor is read or written."""
        return access(self.target, self.spec.dtype_of(name), self.compute)

    # -- floats of 16 bits, by pairs of vectors ------------------------------------------------

    @property
    def paired_outputs(self) -> tuple[str, ...]:
        """Outputs of which two vectors are written at once."""
        return pairs(self.spec, self.target, self.schedule) if self._has_steps else ()

    @property
    def single_outputs(self) -> tuple[str, ...]:
        """The other outputs."""
        return tuple(n for n in self.spec.outputs if n not in self.paired_outputs)

    @property
    def rounded_by_cpu(self) -> tuple[str, ...]:
        """Where a step has no subnormal number (leaky_relu of 1024 x 1024: 0.7 instead of 0.37 of
        copying, Zen 4)."""
        return self.paired_outputs if rounds_pairs(self.spec, self.target) else ()

    @property
    def _has_steps(self) -> bool:
        return any(segment.run.has_unrolled for segment in self.segments)

    @property
    def written_vectors(self) -> int:
        return 2 if self.paired_outputs else 1

    @property
    def first_vectors(self) -> tuple[tuple[str, int], ...]:
        """Those of a range that what is aligned begins in: what its values' names start with, and
        its first element."""
        return (("f", 0), ("f1", self.compute.count))[: self.written_vectors]

    @property
    def classify(self) -> str:
        """The intrinsic that finds numbers of a class (VFPCLASSPS)."""
        return f"llvm.x86.avx512.fpclass.ps.{8 * self.compute.bytes}"

    @property
    def subnormal(self) -> int:
        """Its class of subnormal numbers (Intel SDM, VFPCLASSPS)."""
        return 1 << 5

    @property
    def written(self) -> tuple[Access, ...]:
        """How each output is."""
        return tuple(map(self.access, self.spec.outputs))

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=1)

    @property
    def task_words(self) -> str:
        return f"{self.schedule.task} {'rows' if self.by_rows else 'elements'}"

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.schedule.nontemporal:
            return ()
        return (
            "outputs are written past the caches, which wants whole vectors of memory: the first "
            "and the last of a range go through the caches and overlap with their neighbours",
        )

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
    def whole_calls(self) -> tuple[Expression, ...]:
        """The expressions in calls; for outputs of whole words they are rounded."""
        found = zip(self.spec.result_calls, self.written, strict=True)
        return tuple(call_of("round", c) if to.is_whole_words else c for c, to in found)

    def calls(self, segment: Segment) -> tuple[Expression, ...]:
        """The expressions in a segment."""
        known = dict(segment.known)
        return tuple(assuming(calls, known) for calls in self.whole_calls)

    def rendered(self, segment: Segment, prefix: str) -> Rendered:
        """On vectors %<prefix>.<operand>, or %<operand>.all of one that is the same for a row."""
        operands = {
            i.name: f"%{i.name}.all" if i.single else f"%{prefix}.{i.name}"
            for i in self.stream.inputs
        } | {c.name: f"%{c.name}.all" for c in self.row_conditions}
        names = self._result_names(prefix)
        return self.renderer.render_all(
            self.calls(segment), operands, next(reversed(names.values())), list(names.values())
        )

    def vectors(
        self, segment: Segment, units: tuple[tuple[str, int], ...]
    ) -> tuple[tuple[str, Rendered], ...]:
        """Those of a step: what the names of each begin with, and what is computed."""
        return tuple((prefix, self.rendered(segment, prefix)) for prefix, _ in units)

    def _result_names(self, prefix: str) -> dict[str, str]:
        """What each output's value is called, unless it is another's, a constant or read so."""
        return {
            name: f"%{prefix}.result" if name == OUT else f"%{prefix}.{name}.result"
            for name in self.spec.outputs
        }

    def stem(self, rendered: Rendered, prefix: str, output: str) -> str:
        """What the names begin with of what is made of an output's vector: that of the value, if no
        other vector or output has the same."""
        names = self._result_names(prefix)
        own = names.pop(output)
        result = self.result(rendered, output)
        alone = result.startswith(f"%{prefix}.") and result not in names.values()
        return result if output == OUT and alone else own

    def result(self, rendered: Rendered, output: str) -> str:
        """An output's vector."""
        return rendered.results[self.spec.outputs.index(output)]

    @property
    def module_functions(self) -> tuple[str, ...]:
        """Functions of the module that the expression calls."""
        renderer, calls = self.renderer, self.whole_calls
        return renderer.functions(*calls) if isinstance(renderer, CpuRenderer) else ()

    @property
    def declarations(self) -> tuple[str, ...]:
        renderer = self.renderer
        if isinstance(renderer, CpuBitsRenderer):
            return ()
        found = list(renderer.declarations(*self.whole_calls))
        for to in self.written:
            if to.is_whole_words:
                t, whole = self.compute, to.stored
                found.append(f"{whole} @llvm.fptosi.sat.{whole.suffix}.{t.suffix}({t})")
        if self.rounded_by_cpu:
            t, pair = self.compute, self.access(self.rounded_by_cpu[0])
            found.append(f"{t.mask} @{self.classify}({t}, i32 immarg)")
            found.append(f"i1 @llvm.vector.reduce.or.{t.mask.suffix}({t.mask})")
            found.append(f"{pair.pair.of('bfloat')} @{pair.round_pair}({t}, {t})")
        if self.module_functions:
            found += self.functions.declarations(self.compute)
        return tuple(dict.fromkeys(found))

    # -- where things lie ----------------------------------------------------------------------

    @property
    def by_rows(self) -> bool:
        """The output is taken row by row."""
        return takes_rows(self.stream)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """A row, cut where a condition begins or ends to hold along it."""
        inner = [c for c in self.stream.conditions if not self.is_of_row(c)]
        ends = sorted({0, self.cols, *(end for c in inner for end in (c.low, c.high))})
        return tuple(
            Segment(
                prefix=f"s{i}." if len(ends) > 2 else "",
                start=start,
                stop=stop,
                run=Run(length=stop - start, vector=self.run.vector, unroll=self.run.unroll),
                known=tuple((c.name, c.low <= start < c.high) for c in inner),
            )
            for i, (start, stop) in enumerate(itertools.pairwise(ends))
        )

    def is_of_row(self, condition: StreamCondition) -> bool:
        """It holds for a whole row, or for none of it."""
        return bool(condition.index) or condition.dimension < len(self.stream.sizes) - 1

    @property
    def row_conditions(self) -> tuple[StreamCondition, ...]:
        return tuple(c for c in self.stream.conditions if self.is_of_row(c))

    def row_guards(self, of: StreamOperand) -> tuple[str, ...]:
        """Conditions without which an operand has no such row."""
        return tuple(c.name for c in self.row_conditions if c.name in of.guards)

    def branches(self, of: StreamOperand) -> bool:
        """It is read element by element, and only in rows where its guards hold: a row is of one
        part of a concatenation, as of one place of a convolution's window."""
        return of.lane != 1 and not of.single and bool(self.row_guards(of))

    def guards_together(self, of: StreamOperand) -> tuple[tuple[str, str, str], ...]:
        """Of several guards: one or those before, the next, and what both give."""
        holds = [f"%{name}.holds" for name in self.row_guards(of)]
        both = [holds[0], *(f"%{of.name}.holds{i}" for i in range(1, len(holds)))]
        return tuple(zip(both, holds[1:], both[1:], strict=False))

    def holds(self, of: StreamOperand) -> str:
        """Whether all its guards hold."""
        together = self.guards_together(of)
        return together[-1][-1] if together else f"%{self.row_guards(of)[0]}.holds"

    def is_plain(self, of: StreamOperand) -> bool:
        """It begins at the first element of its tensor, or of a row of it."""
        return not (of.offset or of.indices or of.guards) and min(of.strides) >= 0

    def start(self, of: StreamOperand) -> str:
        """The operand for the address that a row's elements are counted from."""
        in_place = not self.by_rows and self.is_plain(of)
        return self.pointer(of.tensor) if in_place else f"%{of.name}.row"

    def places(self, of: StreamOperand) -> tuple[tuple[str, int], ...]:
        """What a row's place is summed of: values, and bytes for each step of them."""
        at = self.row_terms(of) if self.by_rows else ()
        itemsize = self._itemsize(of)
        return (*at, *((f"%{name}.place", stride * itemsize) for name, stride in of.indices))

    def offset_bytes(self, of: StreamOperand) -> int:
        return of.offset * self._itemsize(of)

    def _itemsize(self, of: StreamOperand) -> int:
        return self.spec.dtype_of(of.tensor).itemsize

    def spare_bytes(self, of: StreamOperand) -> int:
        """Where a row is if a guard does not hold: the lowest element that is read of it is then
        the tensor's first."""
        inside = [s for s in self.segments if dict(s.known).items() >= self._held(of).items()]
        places = [i for s in inside for i in (s.start, s.stop - 1)]
        return -min((i * of.lane for i in places), default=0) * self._itemsize(of)

    def _held(self, of: StreamOperand) -> dict[str, bool]:
        """The conditions about places in a row that it is guarded by."""
        found = (c.name for c in self.stream.conditions if not self.is_of_row(c))
        return {name: True for name in found if name in of.guards}

    def lanes(self, of: StreamOperand, valid: int) -> tuple[int, ...]:
        """Bytes from an operand's first element to those of a vector, or of its `valid` first."""
        return tuple(e * of.lane * self._itemsize(of) for e in range(valid or self.compute.count))

    @property
    def rows(self) -> int:
        return math.prod(self.stream.sizes[:-1])

    @property
    def cols(self) -> int:
        return self.stream.sizes[-1]

    @property
    def out_rows(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Bytes of a row of outputs, and the names of those."""
        found: dict[int, list[str]] = {}
        for name in self.spec.outputs:
            found.setdefault(self.cols * self.spec.dtype_of(name).itemsize, []).append(name)
        return tuple((nbytes, tuple(names)) for nbytes, names in found.items())

    @property
    def row_dimensions(self) -> tuple[Dimension, ...]:
        """How a row's number gives the coordinates that some input needs; it is the only one
        itself."""
        outer = self.stream.sizes[:-1]
        return self.stream.coordinates(outer) if len(outer) > 1 else ()

    def row_terms(self, of: StreamOperand) -> tuple[tuple[str, int], ...]:
        """Where an operand's row is: values, and the bytes for each step of them."""
        rows = len(self.stream.sizes) - 1
        itemsize = self._itemsize(of)
        if of.linear:
            return (("%r", self.cols * itemsize),)
        return tuple((self.coordinate(d), stride * itemsize) for d, stride in of.terms if d < rows)

    def coordinate(self, dimension: int) -> str:
        """A row's coordinate."""
        return "%r" if len(self.stream.sizes) == 2 else f"%r.at{dimension}"

    @property
    def operands(self) -> tuple[StreamOperand, ...]:
        """Operands of the expression."""
        return tuple(i for i in self.stream.inputs if not i.is_index)

    def index_type(self, of: StreamOperand) -> str:
        """LLVM's type of an index' elements."""
        return ELEMENT[self.spec.dtype_of(of.tensor)]

    def streamed(self, segment: Segment) -> tuple[StreamOperand, ...]:
        """Operands that are read vector by vector."""
        names = inputs(*self.calls(segment))
        return tuple(i for i in self.operands if not i.single and i.name in names)

    # -- several tasks side by side ------------------------------------------------------------

    @property
    def walks_tasks(self) -> bool:
        """Past the caches, vectors of a step are of as many tasks, so that several pages of memory
        are read and written at once (relu of 8192 x 4096 in f32: 0.95 instead of 0.90 of copying,
        Zen 4). Of half lines at a time, hard_swish in bf16 would lose 20 %."""
        lines = self.out.stored.bytes % LINE_BYTES == 0
        return self.schedule.nontemporal and self.schedule.unroll > 1 and lines

    @property
    def block(self) -> int:
        """Elements of the tasks that are walked side by side."""
        return self.schedule.unroll * self.schedule.task

    @property
    def tasks_of_block(self) -> tuple[tuple[str, int], ...]:
        """Each task: what its values' names start with, and its first element."""
        return tuple((f"a{u}", u * self.schedule.task) for u in range(self.schedule.unroll))

    @property
    def last_task_is_short(self) -> bool:
        return (self.rows if self.by_rows else self.cols) % self.schedule.task != 0

    @property
    def units(self) -> int:
        """What tasks divide between them: rows, or elements."""
        return self.rows if self.by_rows else self.cols

    # -- steps ---------------------------------------------------------------------------------

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        """One element alone goes as a scalar."""
        accesses = [*self.written, *(self.access(i.tensor) for i in self.operands if not i.single)]
        types = {a.stored for a in accesses} if self._has_masks else set()
        return tuple(sorted(types, key=str))

    @property
    def _has_masks(self) -> bool:
        return any(segment.run.tail > 1 for segment in self.segments)

    def ahead(self, name: str) -> tuple[int, ...]:
        """Bytes from a step's first element to the lines of an input that it fetches, those of a
        later step (relu: 48 instead of 43 GB/s, Zen 4)."""
        nbytes = self.schedule.unroll * self.access(name).stored.bytes
        return tuple(range(AHEAD_BYTES, AHEAD_BYTES + nbytes, LINE_BYTES))


def takes_rows(stream: StreamPlan) -> bool:
    """An input broadcasts, or what is read depends on the place in a row."""
    return len(stream.sizes) > 1 or bool(stream.conditions)


def vector_of(spec: Elementwise, target: Target) -> Vector:
    """What is computed with: floats, or the bits of elements."""
    cols = StreamPlan(spec=spec, vector=1).sizes[-1]
    if on_bits(spec):
        # As many as there are of f16.
        return vector_for(target, DType.F16, cols).integers
    return vector_for(target, spec.compute, cols)


def rounds_pairs(spec: Elementwise, target: Target) -> bool:
    """An instruction rounds two vectors at once."""
    floats = vector_of(spec, target).scalar == "float"
    return floats and DType.BF16 in spec.output_dtypes and target.has("avx512_bf16")


def pairs(spec: Elementwise, target: Target, schedule: CpuStream) -> tuple[str, ...]:
    """Outputs of which two vectors are written at once: those that an instruction rounds so, and
    past the caches, where LLVM makes ordinary stores of rounded halves (leaky_relu of 8192 x 4096
    in f16: 0.98 instead of 0.62 of copying, Zen 4)."""
    halves = {DType.BF16} if rounds_pairs(spec, target) else set()
    if schedule.nontemporal and vector_of(spec, target).scalar == "float":
        halves = {DType.BF16, DType.F16}
    if schedule.unroll % 2:
        return ()
    return tuple(name for name in spec.outputs if spec.dtype_of(name) in halves)


def has_whole_tasks(spec: Elementwise, target: Target, schedule: CpuStream) -> bool:
    """The last task has as many elements as are written at once, too."""
    least = vector_of(spec, target).count * (2 if pairs(spec, target, schedule) else 1)
    return (spec.elements % schedule.task or schedule.task) >= least


def plan_elementwise(spec: Elementwise, target: Target, schedule: CpuStream) -> ElementwisePlan:
    """Raises ScheduleError if a task is no multiple of the vectors that it is done in."""
    stream = StreamPlan(spec=spec, vector=1)
    by_rows = takes_rows(stream)
    cols = stream.sizes[-1]
    compute = vector_of(spec, target)
    run = Run(length=cols, vector=compute.count, unroll=schedule.unroll)
    units = spec.elements // cols if by_rows else cols
    tasks = -(-units // schedule.task)
    if tasks > 1 and not by_rows:
        check_task(schedule, run.step)
    if schedule.nontemporal and len(spec.outputs) > 1:
        raise ScheduleError("nontemporal=1 aligns to one output; with several try nontemporal=0")
    if schedule.nontemporal and (by_rows or not has_whole_tasks(spec, target, schedule)):
        raise ScheduleError(
            f"nontemporal=1 needs inputs that do not broadcast, and {compute.count} elements in "
            f"every task, not {spec.elements} in tasks of {schedule.task}; try nontemporal=0"
        )
    extent = schedule.task * (cols if by_rows else 1)
    launch = Launch(
        entry_point=spec.key,
        grid=(tasks, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=tile_of(spec, extent),
    )
    return ElementwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/elementwise.ll.j2",
        launches=(launch,),
        compute=compute,
        out=access(target, spec.out, compute),
        run=run,
    )
