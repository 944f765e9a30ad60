"""Plan of elementwise.ll.j2: an element-wise kernel that computes rows in vectors.

If no input broadcasts, all elements are one row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.ops import OUT, Expression
from kgen.ops.expression import assuming, inputs
from kgen.ops.registry import call_of
from kgen.schedule import CpuStream, CpuTransposed
from kgen.spec import DType, Elementwise
from kgen.targets.base import Target
from kgen.targets.cpu.expressions import (
    CpuBitsRenderer,
    CpuRenderer,
    CpuWholeRenderer,
    on_bits,
    renderer_of,
)
from kgen.targets.cpu.plan.cpu_plan import (
    LINE_BYTES,
    Run,
    access,
    check_task,
    check_unroll,
    vector_for,
)
from kgen.targets.cpu.plan.kernels.elementwise_blocks import Blocks, blocks_of
from kgen.targets.cpu.plan.kernels.elementwise_rows import RowAddresses, Segment, takes_rows
from kgen.targets.cpu.plan.math.functions import Functions, functions_for
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.expressions import Rendered
from kgen.targets.stream import StreamOperand, StreamPlan, tile_of
from kgen_runtime.values import frozen


@frozen
class ElementwisePlan(RowAddresses):
    """Plan of an element-wise kernel. Pairs of vectors may write outputs of 16 bits."""

    #: VFPCLASSPS's bit for the class of subnormal numbers (Intel SDM).
    subnormal: ClassVar[int] = 1 << 5

    def access(self, name: str) -> Access:
        return access(self.target, self.spec.dtype_of(name), self.compute)

    # -- floats of 16 bits, by pairs of vectors ------------------------------------------------

    @property
    def paired_outputs(self) -> tuple[str, ...]:
        has_steps = any(segment.run.has_unrolled for segment in self.segments)
        return pairs(self.spec, self.target, self.schedule) if has_steps else ()

    @property
    def single_outputs(self) -> tuple[str, ...]:
        return tuple(n for n in self.spec.outputs if n not in self.paired_outputs)

    @property
    def rounded_by_cpu(self) -> tuple[str, ...]:
        return self.paired_outputs if rounds_pairs(self.spec, self.target) else ()

    @property
    def written_vectors(self) -> int:
        return 2 if self.paired_outputs else 1

    @property
    def first_vectors(self) -> tuple[tuple[str, int], ...]:
        """Vectors before the aligned part of a range: prefix of names, and first element."""
        return (("f", 0), ("f1", self.compute.count))[: self.written_vectors]

    @property
    def classify(self) -> str:
        """Intrinsic that tests the class of numbers (VFPCLASSPS)."""
        return f"llvm.x86.avx512.fpclass.ps.{8 * self.compute.bytes}"

    @property
    def written(self) -> tuple[Access, ...]:
        return tuple(map(self.access, self.spec.outputs))

    # -- blocks that are transposed ------------------------------------------------------------

    @cached_property
    def blocks(self) -> Blocks | None:
        if not isinstance(self.schedule, CpuTransposed):
            return None
        return blocks_of(self.stream, self.compute.count)

    @property
    def beside(self) -> tuple[StreamOperand, ...]:
        """Operands that have the same elements in all rows of a block."""
        turned = self.blocks.turned if self.blocks else ()
        return tuple(i for i in self.operands if not i.single and i.name not in turned)

    @property
    def turned(self) -> tuple[StreamOperand, ...]:
        turned = self.blocks.turned if self.blocks else ()
        return tuple(i for i in self.operands if i.name in turned)

    def lane_bytes(self, of: StreamOperand) -> int:
        """Return the bytes from one element of a row to the next one."""
        return of.lane * self._itemsize(of)

    @property
    def block_rows(self) -> tuple[tuple[str, int, Rendered], ...]:
        """Vectors of a block: prefix of names, first element in the block, and computation."""
        blocks = self.blocks
        assert blocks is not None
        shared = {i.name: f"%b.{i.name}" for i in self.beside}
        shared |= {i.name: f"%{i.name}.all" for i in self.operands if i.single}
        last_stage = blocks.columns - 1 if blocks.is_narrow else len(blocks.stages)
        found = []
        for row in range(blocks.width):
            own = {i.name: f"%b.{i.name}.{last_stage}.r{row}" for i in self.turned}
            rendered = self._computed(self.segments[0], f"b{row}", shared | own)
            found.append((f"b{row}", row * blocks.vector_apart, rendered))
        return tuple(found)

    @property
    def unit_words(self) -> tuple[str, ...]:
        return ("block",) if self.blocks else ("row",) if self.by_rows else ("element",)

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.schedule.nontemporal:
            return ()
        return (
            "non-temporal stores of aligned vectors; the first and the last vector of a range are "
            "ordinary stores that overlap their neighbours",
        )

    @property
    def functions(self) -> Functions:
        return functions_for(self.target, self.compute, DType.F32)

    # -- the expression ------------------------------------------------------------------------

    @property
    def renderer(self) -> CpuRenderer | CpuBitsRenderer | CpuWholeRenderer:
        if on_bits(self.spec):
            return CpuBitsRenderer(dtype=self.spec.dtype, type=self.compute)
        return renderer_of(self.spec.compute, self.compute.count, self.target)

    def calls(self, segment: Segment) -> tuple[Expression, ...]:
        """Return each output's expression as function calls. Integers of 32 or 64 bits are rounded
        first."""
        known, found = dict(segment.known), zip(self.spec.result_calls, self.written, strict=True)
        whole = (call_of("round", c) if to.is_whole_words else c for c, to in found)
        return tuple(assuming(calls, known) for calls in whole)

    @property
    def rendered_calls(self) -> tuple[Expression, ...]:
        """Function calls of all segments. A condition that is known in a segment may fold
        constants. So a segment may call other functions than the whole expression."""
        return tuple(dict.fromkeys(call for s in self.segments for call in self.calls(s)))

    def rendered(self, segment: Segment, prefix: str) -> Rendered:
        """Return the computation on vectors %<prefix>.<operand>, or %<operand>.all for an operand
        with a single element."""
        operands = {
            i.name: f"%{i.name}.all" if i.single else f"%{prefix}.{i.name}"
            for i in self.stream.inputs
        } | {c.name: f"%{c.name}.all" for c in self.row_conditions}
        return self._computed(segment, prefix, operands)

    def _computed(self, segment: Segment, prefix: str, operands: Mapping[str, str]) -> Rendered:
        names = list(self._result_names(prefix).values())
        return self.renderer.render_all(self.calls(segment), operands, names[-1], names)

    def vectors(
        self, segment: Segment, units: tuple[tuple[str, int], ...]
    ) -> tuple[tuple[str, Rendered], ...]:
        """Return the prefix of names and the computation of each vector of a step."""
        return tuple((prefix, self.rendered(segment, prefix)) for prefix, _ in units)

    def _result_names(self, prefix: str) -> dict[str, str]:
        return {
            name: f"%{prefix}.result" if name == OUT else f"%{prefix}.{name}.result"
            for name in self.spec.outputs
        }

    def stem(self, rendered: Rendered, prefix: str, output: str) -> str:
        """Return the name prefix of values that are computed from an output's result. The prefix is
        the name of the result itself, unless another vector or output shares it."""
        names = self._result_names(prefix)
        own = names.pop(output)
        result = self.result(rendered, output)
        alone = result.startswith(f"%{prefix}.") and result not in names.values()
        return result if output == OUT and alone else own

    def result(self, rendered: Rendered, output: str) -> str:
        return rendered.results[self.spec.outputs.index(output)]

    @property
    def module_functions(self) -> tuple[str, ...]:
        renderer, calls = self.renderer, self.rendered_calls
        return renderer.functions(*calls) if isinstance(renderer, CpuRenderer) else ()

    @property
    def declarations(self) -> tuple[str, ...]:
        renderer = self.renderer
        if isinstance(renderer, CpuBitsRenderer):
            return ()
        found = list(renderer.declarations(*self.rendered_calls))
        found += [to.saturating for to in self.written if to.is_whole_words]
        if self.rounded_by_cpu:
            t, out = self.compute, self.access(self.rounded_by_cpu[0])
            found.append(f"{t.mask} @{self.classify}({t}, i32 immarg)")
            found.append(f"i1 @llvm.vector.reduce.or.{t.mask.suffix}({t.mask})")
            found.append(f"{out.stored.doubled.of('bfloat')} @{out.round_pair}({t}, {t})")
        if self.module_functions:
            found += self.functions.declarations(self.compute)
        return tuple(dict.fromkeys(found))

    def streamed(self, segment: Segment) -> tuple[StreamOperand, ...]:
        """Return the operands that are read vector by vector."""
        names = inputs(*self.calls(segment))
        return tuple(i for i in self.operands if not i.single and i.name in names)

    @property
    def walks_tasks(self) -> bool:
        """Whether each vector of a step belongs to another task. With non-temporal stores, a step
        then reads and writes several pages of memory. Stores of half a cache line are excluded,
        because two tasks would write to one line."""
        lines = self.out.stored.bytes % LINE_BYTES == 0
        return self.schedule.nontemporal and self.schedule.unroll > 1 and lines

    @property
    def block(self) -> int:
        """Elements of all tasks that are computed together."""
        return self.schedule.unroll * self.schedule.task

    @property
    def tasks_of_block(self) -> tuple[tuple[str, int], ...]:
        """Prefix of names and first element of each task."""
        return tuple((f"a{u}", u * self.schedule.task) for u in range(self.schedule.unroll))

    @property
    def units(self) -> int:
        """Number of units that are divided among tasks: rows, elements, or blocks."""
        if self.blocks:
            return self.blocks.count_of(self.rows)
        return self.rows if self.by_rows else self.cols

    @property
    def masked_accesses(self) -> set[Vector]:
        accesses = [*self.written, *(self.access(i.tensor) for i in self.operands if not i.single)]
        has_masks = any(segment.run.tail > 1 for segment in self.segments)
        return {a.stored for a in accesses if has_masks}

    def ahead(self, name: str) -> tuple[int, ...]:
        """Return the byte offsets of prefetched lines from a step's first element of an input."""
        ahead = self.schedule.prefetch
        nbytes = self.schedule.unroll * self.access(name).stored.bytes * bool(ahead)
        lines = range(ahead, ahead + nbytes, LINE_BYTES)
        return tuple(line for line in lines if self.reaches(name, line))


def vector_of(spec: Elementwise, target: Target) -> Vector:
    """Return the type of vectors in the computation: floats, or bits of 16-bit elements."""
    cols = StreamPlan(spec=spec, vector=1).sizes[-1]
    if on_bits(spec):
        return vector_for(target, DType.F16, cols).integers
    return vector_for(target, spec.compute, cols)


def rounds_pairs(spec: Elementwise, target: Target) -> bool:
    """Return whether an instruction rounds two vectors at once."""
    floats = vector_of(spec, target).scalar == "float"
    return floats and DType.BF16 in spec.output_dtypes and target.has("avx512_bf16")


def pairs(
    spec: Elementwise, target: Target, schedule: CpuStream | CpuTransposed
) -> tuple[str, ...]:
    """Return the outputs that are written in pairs of vectors. An instruction rounds pairs of
    vectors to bf16. Non-temporal stores of f16 and bf16 need pairs, too: LLVM makes normal stores
    of half vectors."""
    halves = {DType.BF16} if rounds_pairs(spec, target) else set()
    if schedule.nontemporal and vector_of(spec, target).scalar == "float":
        halves = {DType.BF16, DType.F16}
    if schedule.unroll % 2:
        return ()
    return tuple(name for name in spec.outputs if spec.dtype_of(name) in halves)


def has_whole_tasks(spec: Elementwise, target: Target, schedule: CpuStream) -> bool:
    """Return whether even the last task has as many elements as one store writes."""
    least = vector_of(spec, target).count * (2 if pairs(spec, target, schedule) else 1)
    return (spec.elements % schedule.task or schedule.task) >= least


def plan_transposed(spec: Elementwise, target: Target, schedule: CpuTransposed) -> ElementwisePlan:
    """Plan a kernel of blocks. Raises ScheduleError unless the inputs allow it."""
    stream, compute = StreamPlan(spec=spec, vector=1), vector_of(spec, target)
    blocks = blocks_of(stream, compute.count)
    if blocks is None:
        raise ScheduleError(
            f"mainloop=transposed requires a matrix of at least {compute.count} rows and two "
            "columns that is contiguous along its columns, beside inputs that are equal in all "
            "rows; use mainloop=stream"
        )
    units = blocks.count_of(math.prod(stream.sizes[:-1]))
    run = Run(length=blocks.columns, vector=compute.count)
    tasks = -(-units // schedule.task)
    return ElementwisePlan.single(
        spec, target, schedule, compute, template="elementwise", tasks=tasks, run=run
    )


def plan_elementwise(spec: Elementwise, target: Target, schedule: CpuStream) -> ElementwisePlan:
    """Plan the kernel. Raises ScheduleError for fields that do not fit."""
    check_unroll(schedule)
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
        raise ScheduleError(
            f"nontemporal=1 supports one output, not {len(spec.outputs)}; try nontemporal=0"
        )
    if schedule.nontemporal and (by_rows or not has_whole_tasks(spec, target, schedule)):
        raise ScheduleError(
            f"nontemporal=1 requires inputs that do not broadcast and at least {compute.count} "
            f"elements in each task; {spec.elements} elements, task={schedule.task}; "
            "try nontemporal=0"
        )
    tile = tile_of(spec, schedule.task * (cols if by_rows else 1))
    return ElementwisePlan.single(
        spec, target, schedule, compute, template="elementwise", tasks=tasks, tile=tile, run=run
    )
