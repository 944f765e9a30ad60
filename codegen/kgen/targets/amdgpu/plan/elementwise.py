"""Element-wise kernels: the output as a stream of vectors, then remaining elements one by one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import steps
from kgen.schedule import GpuStream
from kgen.spec import DType, Elementwise
from kgen.targets.amdgpu.expressions import (
    DIVISION_ULPS,
    INEXACT,
    AmdgpuRenderer,
    exponentials,
    remainders,
    renderer_of,
    rounding,
)
from kgen.targets.amdgpu.plan.amdgpu_plan import AmdgpuPlan, check_grid, check_num_threads
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.base import Target, launch_of
from kgen.targets.expressions import Rendered
from kgen.targets.llvm_expressions import LlvmRenderer
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import Remainder
from kgen.targets.stream import StreamOperand, StreamPlan, tile_of, widest_vector
from kgen_runtime.values import frozen


@frozen
class ElementVectors:
    """Vectors of `lanes` elements that a lane computes: whole vectors, or single elements after
    them.

    `dtype` is the type of the computation.
    """

    lanes: int
    spec: Elementwise
    dtype: DType

    @property
    def value(self) -> FloatType:
        """Type in which the kernel computes."""
        return FloatType(dtype=self.dtype, lanes=self.lanes)

    def access(self, name: str) -> FloatType:
        """Return the type of an access to a tensor."""
        return FloatType(dtype=self.spec.dtype_of(name), lanes=self.lanes)

    def one(self, name: str) -> FloatType:
        """Return the type of an access to an input with one element for all lanes."""
        return FloatType(dtype=self.spec.dtype_of(name))

    @property
    def one_value(self) -> FloatType:
        return FloatType(dtype=self.dtype)

    def result(self, prefix: str, name: str) -> str:
        """Return the prefix of the names of values that lead to an output."""
        return f"%{prefix}" if name == "out" else f"%{prefix}.{name}"

    @property
    def each(self) -> range:
        """Numbers of the lanes."""
        return range(self.lanes)

    @property
    def renderer(self) -> LlvmRenderer:
        return renderer_of(self.value)

    @property
    def declarations(self) -> Iterator[str]:
        """Yield declarations of the intrinsics of the expression and of rounding its results to
        integers."""
        yield from self.renderer.declarations(*self.spec.result_calls)
        for written in map(self.access, self.spec.outputs):
            yield from rounding(self.value, written)

    def rendered(self, prefix: str) -> Rendered:
        """Return the lines that compute the expressions from values %<prefix>.<operand> into
        %<prefix>.<output>."""
        reads, holds = self.spec.reads, "" if self.lanes > 1 else ".holds"
        inputs = {read.name: f"%{prefix}.{read.name}" for read in reads.reads}
        inputs |= {c.name: f"%{prefix}.{c.name}{holds}" for c in reads.conditions}
        names = [f"%{prefix}.{name}" for name in self.spec.outputs]
        return self.renderer.render_all(self.spec.result_calls, inputs, names[-1], names)


def computed_in(spec: Elementwise) -> DType:
    """Return the type of the computation: the elements' type if the expression is exact in it and
    LLVM supports its steps, else the expression's."""
    calls, dtype = spec.calls, spec.dtype
    stored = AmdgpuRenderer(type=FloatType(dtype=dtype))
    return dtype if spec.is_exact and stored.has(*calls) else spec.compute


@frozen
class ElementwisePlan(AmdgpuPlan):
    spec: Elementwise
    schedule: GpuStream

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.stream.note,)

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=self.schedule.vector)

    @property
    def vectors(self) -> ElementVectors:
        return self._part(self.schedule.vector)

    @property
    def rest(self) -> ElementVectors:
        return self._part(1)

    def _part(self, lanes: int) -> ElementVectors:
        return ElementVectors(lanes=lanes, spec=self.spec, dtype=computed_in(self.spec))

    def is_plain(self, of: StreamOperand) -> bool:
        """Return whether an operand's elements are contiguous from the tensor's or a row's first
        element on."""
        up = of.whole and min(of.strides) >= 0
        return up and not (of.offset or of.indices or of.guards)

    def terms(self, prefix: str, of: StreamOperand) -> tuple[tuple[str, int], ...]:
        """Return the terms whose sum is an operand's offset, as pairs of a value and the elements
        per unit of it."""
        at = [(f"%{prefix}.at{d}", stride) for d, stride in of.terms]
        return (*at, *((f"%{prefix}.{name}.place", stride) for name, stride in of.indices))

    @property
    def declarations(self) -> tuple[str, ...]:
        """Declarations of the intrinsics that the expression needs."""
        parts = [self.vectors, self.rest] if self.stream.rest else [self.vectors]
        found = [d for p in parts for d in p.declarations]
        return tuple(dict.fromkeys(found))

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        return remainders({step.primitive for step in steps(*self.spec.primitives())})

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        taken = {step.primitive for step in steps(*self.spec.primitives())}
        return exponentials((self.vectors.value, taken), (self.rest.value, taken))

    @property
    def division_ulps(self) -> str:
        inexact = any(s.primitive in INEXACT for s in steps(*self.spec.primitives()))
        return f"{DIVISION_ULPS:e}" if inexact else ""

    @property
    def accesses(self) -> tuple[int, ...]:
        """Vectors of thread 0 in the workgroup's block; thread t has each of them plus t."""
        return tuple(range(0, self.block_vectors, self.threads))

    @property
    def block_vectors(self) -> int:
        return self.threads * self.schedule.unroll

    @property
    def guarded(self) -> bool:
        """Whether the last workgroup has fewer vectors than its threads could access."""
        return self.stream.vectors != self.launches[0].grid[0] * self.block_vectors

    @property
    def rest_start(self) -> int:
        return self.spec.elements - self.stream.rest

    @property
    def last_block(self) -> int:
        return self.launches[0].grid[0] - 1


def plan(spec: Elementwise, target: Target, schedule: GpuStream) -> ElementwisePlan:
    """Return the plan. Raises ScheduleError, with a value that fits, if the schedule does not."""
    check_num_threads(target, schedule.num_threads)
    widest = widest_vector(spec, WIDEST // spec.widest_itemsize)
    if schedule.vector > widest or schedule.vector & (schedule.vector - 1):
        raise ScheduleError(
            f"vector={schedule.vector} is not a power of two up to {widest}: an access has at most "
            f"{WIDEST} bytes and divides a row of each input; try vector={widest}"
        )
    if schedule.num_threads < schedule.vector:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} is less than vector={schedule.vector}; the "
            f"remainder needs a thread per element; try num_threads={target.subgroup}"
        )
    grid = (-(-spec.elements // schedule.block_elements), 1, 1)
    check_grid(grid, schedule.num_threads, target, f"unroll={schedule.unroll * 2}")
    tile = tile_of(spec, schedule.block_elements)
    launch = launch_of(spec, grid, schedule.num_threads, tile)
    return ElementwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="amdgpu/elementwise.ll.j2",
        launches=(launch,),
    )
