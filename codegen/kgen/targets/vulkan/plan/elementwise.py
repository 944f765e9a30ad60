"""Element-wise kernels: a stream of vectors over the output, on 32-bit floats or on bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import GpuStream
from kgen.spec import DType, Elementwise
from kgen.targets.base import Target
from kgen.targets.expressions import Rendered
from kgen.targets.stream import StreamInput, StreamPlan, widest_vector
from kgen.targets.vulkan.expressions import (
    SpirvBitsRenderer,
    SpirvRenderer,
    SpirvWholeRenderer,
    renderer_for,
)
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

    renderer: SpirvRenderer | SpirvBitsRenderer | SpirvWholeRenderer

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

    @property
    def on_integers(self) -> bool:
        return isinstance(self.renderer, SpirvWholeRenderer)

    def conversions(self, name: str) -> tuple[str, ...]:
        """Functions that make what is computed with of a tensor's bits, or the other way round."""
        return conversions(self.tensor(name), self.renderer)

    @property
    def suffix(self) -> str:
        """The end of the names of what is computed with."""
        return "" if self.on_bits else "_whole" if self.on_integers else "_float"

    def element(self, access: int, component: int) -> Rendered:
        """The expressions of one scalar; the results are %<output><access>_<component> and the
        suffix."""
        suffix = self.suffix
        inputs = {
            i.name: f"%{i.name}{access}_{0 if i.single else component}{suffix}"
            for i in self.stream.inputs
        }
        names = [f"%{name}{access}_{component}{suffix}" for name in self.spec.outputs]
        return self.renderer.render_all(self.spec.result_calls, inputs, names[-1], names)


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
    needed = [name for buffer in buffers for name in conversions(buffer, renderer)]
    functions = dict.fromkeys([*needed, *renderer.functions(*spec.result_calls)])
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
        constants=renderer.constants(*spec.result_calls),
        folded=folded,
        guarded=covered != spec.elements,
    )


def conversions(
    tensor: Tensor, renderer: SpirvRenderer | SpirvBitsRenderer | SpirvWholeRenderer
) -> tuple[str, ...]:
    """Functions that make what is computed with of a tensor's bits, or the other way round."""
    dtype = tensor.dtype
    if isinstance(renderer, SpirvWholeRenderer):
        if tensor.read_only:
            return ("extend_s8",) if dtype is DType.S8 else ()
        if not dtype.is_integer:
            # To the bits of f32, and from there to those of 16 bits.
            return ("widen_s32", *(() if dtype is DType.F32 else (f"narrow_{dtype}",)))
        return (f"saturate_{dtype}",) if dtype in (DType.S8, DType.U8) else ()
    if isinstance(renderer, SpirvBitsRenderer) or dtype is DType.F32:
        return ()
    return (f"{'widen' if tensor.read_only else 'narrow'}_{dtype}",)


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
