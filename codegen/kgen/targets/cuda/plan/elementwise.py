"""Element-wise kernels: a stream over the output in vectors, whose loads all come first."""

from __future__ import annotations

from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import GpuRelu
from kgen.spec import Elementwise
from kgen.targets.base import Target
from kgen.targets.cuda.expressions import PtxRenderer
from kgen.targets.cuda.plan import base
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.expressions import Rendered
from kgen.targets.stream import StreamInput, StreamPlan, widest_vector
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: Vectors that 32-bit arithmetic can number.
MAX_VECTORS = 2**32 - 1


@frozen
class Load:
    """An access' elements of one input. `nbytes` is from the thread's first of a linear one;
    `terms` are (coordinate, bytes for each step of it) of another."""

    name: str
    registers: tuple[str, ...]
    linear: bool
    nbytes: int
    terms: tuple[tuple[int, int], ...]


@frozen
class Access:
    """One vector of a thread: `vectors` after its first one. `elements` are its results."""

    index: int
    vectors: int
    guard: str
    loads: tuple[Load, ...]
    elements: tuple[Rendered, ...]
    out_bytes: int

    @property
    def results(self) -> tuple[str, ...]:
        """The results' registers without %."""
        return tuple(e.result.removeprefix("%") for e in self.elements)


@frozen
class ElementwisePlan(base.CudaPlan):
    spec: Elementwise
    schedule: GpuRelu

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=self.schedule.vector)

    @property
    def constants_of_call(self) -> tuple[StreamInput, ...]:
        """Inputs of one element, which a thread loads once."""
        return tuple(i for i in self.stream.inputs if not any(i.strides))

    @property
    def itemsize(self) -> int:
        """Of the inputs."""
        return self.spec.dtype.itemsize

    @property
    def vector_bytes(self) -> int:
        return self.schedule.vector * self.itemsize

    @property
    def out_vector_bytes(self) -> int:
        return self.schedule.vector * self.spec.out.itemsize

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(self._access(i) for i in range(self.schedule.unroll))

    def _access(self, index: int) -> Access:
        vectors = index * self.num_threads
        loads = tuple(self._load(i, index, vectors) for i in self.stream.inputs if any(i.strides))
        return Access(
            index=index,
            vectors=vectors,
            guard=f"@%inside{index} " if self.guarded else "",
            loads=loads,
            elements=tuple(self._element(loads, index, e) for e in range(self.schedule.vector)),
            out_bytes=vectors * self.out_vector_bytes,
        )

    def _load(self, of: StreamInput, index: int, vectors: int) -> Load:
        count = 1 if of.single else self.schedule.vector
        return Load(
            name=of.name,
            registers=tuple(f"{of.name}{index}_{e}" for e in range(count)),
            linear=of.linear,
            nbytes=vectors * self.vector_bytes,
            terms=tuple((d, s * self.itemsize) for d, s in enumerate(of.strides) if s),
        )

    def _element(self, loads: tuple[Load, ...], access: int, element: int) -> Rendered:
        operands = {i.name: f"%{i.name}_once" for i in self.constants_of_call}
        for load in loads:
            operands[load.name] = f"%{load.registers[element % len(load.registers)]}"
        return self._render(operands, f"%out{access}_{element}")

    def _render(self, operands: dict[str, str], result: str) -> Rendered:
        renderer = PtxRenderer(target=self.target)
        return renderer.render(self.spec.formula_calls, operands, result)

    @cached_property
    def rest_element(self) -> Rendered:
        """The element of a thread behind the last whole vector."""
        once = {i.name for i in self.constants_of_call}
        operands = {
            i.name: f"%{i.name}_once" if i.name in once else f"%{i.name}_rest"
            for i in self.stream.inputs
        }
        return self._render(operands, "%out_rest")

    @property
    def block_vectors(self) -> int:
        return self.num_threads * self.schedule.unroll

    @property
    def guarded(self) -> bool:
        """Whether the last CTA has fewer vectors than its threads could take."""
        return self.stream.vectors != (self.last_block + 1) * self.block_vectors

    @property
    def rest_start(self) -> int:
        return self.spec.elements - self.stream.rest

    @property
    def rest_inputs(self) -> tuple[str, ...]:
        """Inputs that the rest loads, all of them linear."""
        return tuple(i.name for i in self.stream.inputs if any(i.strides))

    @property
    def last_block(self) -> int:
        return self.launches[0].grid[0] - 1


def plan_elementwise(spec: Elementwise, target: Target, schedule: GpuRelu) -> ElementwisePlan:
    """Raises ScheduleError if a vector is no legal access or the grid is too long."""
    base.check_powers_of_two(schedule)
    base.check_threads(schedule.num_threads, target, "num_threads=256")
    widest = widest_vector(spec, MAX_ACCESS_BYTES // max(spec.dtype.itemsize, spec.out.itemsize))
    if schedule.vector > widest:
        raise ScheduleError(
            f"vector={schedule.vector} is more than one access of {MAX_ACCESS_BYTES} bytes or a "
            f"row of these shapes allows; try vector={widest}"
        )
    blocks = -(-spec.elements // schedule.block_elements)
    limit = target.limits["grid_x"]
    most = (
        limit
        if len(StreamPlan(spec=spec, vector=1).sizes) == 1
        else MAX_VECTORS // (schedule.num_threads * schedule.unroll)
    )
    most = min(limit, most)
    if blocks > most:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} x vector={schedule.vector} x "
            f"unroll={schedule.unroll} needs {blocks} blocks; {target.name} allows {most}; "
            f"try unroll={schedule.unroll << (blocks // most).bit_length()}"
        )
    launch = Launch(
        entry_point=spec.key,
        grid=(blocks, 1, 1),
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(shape=(spec.elements,), extent=(schedule.block_elements,), axes=(0,)),
    )
    features = ["max_nan"] if target.has("max_nan") else []
    return ElementwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/elementwise.ptx.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        ptx_version=base.ptx_version(target, *features),
    )
