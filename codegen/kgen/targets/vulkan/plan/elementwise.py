"""Element-wise kernels: a stream of vectors over the output, on 32-bit floats or on bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import GpuStream
from kgen.spec import Elementwise
from kgen.targets.base import Target
from kgen.targets.expressions import Rendered
from kgen.targets.stream import StreamInput, StreamPlan, widest_vector
from kgen.targets.vulkan.expressions import SpirvBitsRenderer, SpirvRenderer, renderer_for
from kgen.targets.vulkan.plan.base import (
    VECTOR_WIDTHS,
    Tensor,
    VulkanPlan,
    bits_of,
    check_powers_of_two,
    check_threads,
    fold_grid,
)
from kgen.targets.vulkan.plan.index import Index, coordinate_names, index_of
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen


@frozen
class ElementwisePlan(VulkanPlan):
    """Indices count vectors. `guarded`: some invocation has a vector beyond the last."""

    renderer: SpirvRenderer | SpirvBitsRenderer

    schedule: GpuStream
    spec: Elementwise
    folded: bool
    guarded: bool

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=self.schedule.vector)

    @property
    def block_vectors(self) -> int:
        return self.schedule.num_threads * self.schedule.unroll

    @property
    def accesses(self) -> tuple[tuple[int, int], ...]:
        """Each access of an invocation: its number, and how far from the first it is."""
        return tuple((u, u * self.num_threads) for u in range(self.schedule.unroll))

    @property
    def components(self) -> range:
        """Scalars of a vector."""
        return range(self.schedule.vector)

    def index(self, access: int, of: StreamInput) -> Index:
        """Where an input is read, in the elements of its buffer."""
        at = f"at{access}"
        if of.linear:
            return index_of(at, [(at, 1)])
        names = coordinate_names(at, self.stream.dimensions)
        vector = self.tensor(of.name).vector
        return index_of(
            f"{of.name}{access}_at", [(names[d], stride // vector) for d, stride in of.terms]
        )

    @property
    def on_bits(self) -> bool:
        """Scalars are computed on as the integers that are loaded and stored."""
        return isinstance(self.renderer, SpirvBitsRenderer)

    def element(self, access: int, component: int) -> Rendered:
        """The expression of one scalar; the result is %out<access>_<component>, or with _float."""
        suffix = "" if self.on_bits else "_float"
        inputs = {
            i.name: f"%{i.name}{access}_{0 if i.single else component}{suffix}"
            for i in self.stream.inputs
        }
        calls = self.spec.calls
        return self.renderer.render(calls, inputs, f"%out{access}_{component}{suffix}")


def plan_elementwise(spec: Elementwise, target: Target, schedule: GpuStream) -> ElementwisePlan:
    """Raises ScheduleError if the schedule does not fit the shapes or the target."""
    check_powers_of_two(schedule, "num_threads", "vector", "unroll")
    check_threads(schedule.num_threads, target, "num_threads=128")
    widest = vector_of(spec)
    if schedule.vector > widest:
        raise ScheduleError(
            f"vector={schedule.vector} does not divide the {spec.elements} elements or a row of "
            f"these shapes, or is more than {VECTOR_WIDTHS[0]}; try vector={widest}"
        )
    blocks = -(-spec.elements // schedule.block_elements)
    grid = fold_grid(blocks)
    covered = grid[0] * grid[1] * schedule.block_elements
    folded = grid[1] > 1
    if covered >= 2**32:
        raise ScheduleError(
            f"the grid covers {covered} elements, and indices are 32-bit; "
            "try a smaller num_threads or unroll"
        )
    launch = Launch(
        entry_point=spec.key,
        grid=grid,
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=None
        if folded
        else Tile(shape=(spec.elements,), extent=(schedule.block_elements,), axes=(0,)),
    )
    buffers = tuple(_buffers(spec, schedule.vector))
    renderer = renderer_for(spec)
    conversions = [
        f"{'widen' if b.read_only else 'narrow'}_{b.dtype}"
        for b in buffers
        if b.scalar == "ushort" and isinstance(renderer, SpirvRenderer)
    ]
    functions = dict.fromkeys([*conversions, *renderer.functions(spec.calls)])
    return ElementwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="spirv/elementwise.spvasm.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        tensors=buffers,
        functions=tuple(functions),
        renderer=renderer,
        constants=renderer.constants(spec.calls),
        folded=folded,
        guarded=covered != spec.elements,
    )


def vector_of(spec: Elementwise) -> int:
    """The widest vector of which the output, and every row of these shapes, is a whole number."""
    widest = widest_vector(spec, VECTOR_WIDTHS[0])
    return next(v for v in VECTOR_WIDTHS if v <= widest and spec.elements % v == 0)


def _buffers(spec: Elementwise, vector: int) -> Iterator[Tensor]:
    """Tensors of bits; an input of which one element serves a vector is read by scalars."""
    single = {i.name for i in StreamPlan(spec=spec, vector=vector).inputs if i.single}
    for binding, p in enumerate(spec.parameters):
        yield Tensor(
            name=p.name,
            binding=binding,
            dtype=p.dtype,
            scalar=bits_of(p.dtype),
            vector=1 if p.name in single else vector,
            read_only=p.role == "input",
        )
