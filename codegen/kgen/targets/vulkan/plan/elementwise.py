"""Element-wise kernels: a stream of vectors over the output, on 32-bit floats or on bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import GpuStream
from kgen.spec import DType, Elementwise
from kgen.targets.base import Target, launch_of
from kgen.targets.expressions import Rendered
from kgen.targets.powers_of_two import check_powers_of_two
from kgen.targets.stream import StreamCondition, StreamOperand, StreamPlan, tile_of, widest_vector
from kgen.targets.vulkan.expressions import (
    SpirvBitsRenderer,
    SpirvRenderer,
    SpirvWholeRenderer,
    renderer_for,
)
from kgen.targets.vulkan.plan.checks import check_threads
from kgen.targets.vulkan.plan.index import Index, coordinate_names, index_of
from kgen.targets.vulkan.plan.memory import VECTOR_WIDTHS, Tensor, buffer_of
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan, fold_grid
from kgen_runtime.values import frozen


@frozen
class ResultScalar:
    """Scalar of the output `name`: its value is the id `value`, its bits are %<bits>."""

    name: str
    value: str
    bits: str

    @property
    def is_copied(self) -> bool:
        """Whether the scalar is a copy of an input's or another output's scalar."""
        return self.value != f"%{self.bits}"


@frozen
class ElementwisePlan(VulkanPlan):
    """Plan of an element-wise kernel. Indices count vectors. With `guarded`, some invocations have
    no vector."""

    renderer: SpirvRenderer | SpirvBitsRenderer | SpirvWholeRenderer

    schedule: GpuStream
    spec: Elementwise
    folded: bool
    guarded: bool

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.stream.note,)

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=self.schedule.vector)

    @property
    def block_vectors(self) -> int:
        return self.schedule.num_threads * self.schedule.unroll

    @property
    def accesses(self) -> tuple[tuple[int, int], ...]:
        """Accesses of an invocation: the number of each, and its distance from the first."""
        return tuple((u, u * self.num_threads) for u in range(self.schedule.unroll))

    @property
    def components(self) -> range:
        """Scalars of a vector."""
        return range(self.schedule.vector)

    def index(self, access: int, of: StreamOperand) -> Index:
        """Return the index of an operand's access, in elements of its buffer, modulo 2^32."""
        at = f"at{access}"
        buffer = self.tensor(of.tensor)
        if of.linear:
            return index_of(f"{of.name}{access}_at", [(at, self.schedule.vector // buffer.width)])
        names = coordinate_names(at, self.stream.dimensions)

        def counted(elements: int) -> int:
            return elements * words_of(buffer) // buffer.width % 2**32

        terms = [(names[d], counted(stride)) for d, stride in of.terms]
        terms += [(f"{name}_{access}_place", counted(stride)) for name, stride in of.indices]
        if of.offset:
            terms.append((f"uint_{counted(of.offset)}", 1))
        return index_of(f"{of.name}{access}_at", terms)

    def guards(self, access: int, of: StreamOperand) -> tuple[str, ...]:
        """Return the conditions under which an operand is read; otherwise `of.spare` is read."""
        return tuple(f"{guard}_{access}" for guard in of.guards)

    def apart(self, of: StreamOperand) -> tuple[tuple[int, int], ...]:
        """Return the scalars of a vector that are read one by one, and the distance of each from
        the first."""
        if of.single or self.tensor(of.tensor).width > 1 or self.schedule.vector == 1:
            return ()
        return tuple((c, c * of.lane % 2**32) for c in self.components)

    def coordinate(self, access: int, of: StreamCondition) -> str:
        return coordinate_names(f"at{access}", self.stream.dimensions)[of.dimension]

    @property
    def on_bits(self) -> bool:
        """Whether the kernel computes on the bits that are loaded and stored."""
        return isinstance(self.renderer, SpirvBitsRenderer)

    @property
    def on_integers(self) -> bool:
        return isinstance(self.renderer, SpirvWholeRenderer)

    def conversions(self, name: str) -> tuple[Conversion, ...]:
        """Return the functions between the tensor's stored bits and the values computed with."""
        return conversions(self.tensor(name), self.renderer)

    @property
    def suffix(self) -> str:
        """Suffix of the names of values that the kernel computes with."""
        return self.renderer.suffix

    @property
    def scalar_type(self) -> str:
        """Type of the values that the kernel computes with."""
        return self.renderer.scalar

    @property
    def ordered(self) -> tuple[str, ...]:
        each = itertools.product(range(self.schedule.unroll), self.components)
        return tuple(name for at in each for name in self.element(*at).ordered)

    def element(self, access: int, component: int) -> Rendered:
        """Return the lines that compute the outputs of one scalar, in
        %<output><access>_<component><suffix>."""
        suffix = self.suffix
        inputs = {
            i.name: f"%{i.name}{access}_{0 if i.single else component}{suffix}"
            for i in self.stream.inputs
        } | {c.name: f"%{c.name}_{access}" for c in self.stream.conditions}
        names = [f"%{name}{access}_{component}{suffix}" for name in self.spec.outputs]
        return self.renderer.render_all(self.spec.result_calls, inputs, names[-1], names)

    def results(self, access: int, component: int) -> list[ResultScalar]:
        """Return one scalar of each output."""
        values = self.element(access, component).results
        return [
            ResultScalar(name=name, value=value, bits=f"{name}{access}_{component}")
            for name, value in zip(self.spec.outputs, values, strict=True)
        ]


def plan_elementwise(spec: Elementwise, target: Target, schedule: GpuStream) -> ElementwisePlan:
    """Return the plan. Raises ScheduleError if the schedule does not fit the shapes or the
    target."""
    check_powers_of_two(schedule, "num_threads", "vector", "unroll")
    check_threads(schedule.num_threads, target, "num_threads=128")
    widest = vector_of(spec)
    if schedule.vector > widest:
        raise ScheduleError(
            f"vector={schedule.vector} is more than {widest}: an access has at most "
            f"{VECTOR_WIDTHS[0]} elements and divides a row of each input; try vector={widest}"
        )
    blocks = -(-spec.elements // schedule.block_elements)
    grid = fold_grid(blocks)
    covered = grid[0] * grid[1] * schedule.block_elements
    folded = grid[1] > 1
    if covered >= 2**32:
        raise ScheduleError(
            f"num_threads={schedule.num_threads}, vector={schedule.vector} and "
            f"unroll={schedule.unroll} make the grid cover {covered} elements, and 32-bit indices "
            f"allow {2**32 - 1}; try unroll=1"
        )
    tile = None if folded else tile_of(spec, schedule.block_elements)
    launch = launch_of(spec, grid, schedule.num_threads, tile)
    buffers = tuple(_buffers(spec, target, schedule.vector))
    renderer = renderer_for(spec)
    read = [b for b in buffers if b.name not in spec.index_inputs]
    needed = [each.name for buffer in read for each in conversions(buffer, renderer)]
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


@frozen
class Conversion:
    """Function of the module with one parameter, and the type of its result."""

    name: str

    @property
    def type(self) -> str:
        return "uvec2" if self.name in ("extend_s32", "narrow_s64") else "uint"


def conversions(
    tensor: Tensor, renderer: SpirvRenderer | SpirvBitsRenderer | SpirvWholeRenderer
) -> tuple[Conversion, ...]:
    """Return the functions between the tensor's stored bits and the values computed with."""
    return tuple(Conversion(name=name) for name in _conversions(tensor, renderer))


def _conversions(
    tensor: Tensor, renderer: SpirvRenderer | SpirvBitsRenderer | SpirvWholeRenderer
) -> Iterator[str]:
    dtype, computed = tensor.dtype, renderer.computes_in
    if not computed.is_integer:
        if not isinstance(renderer, SpirvBitsRenderer) and dtype is not DType.F32:
            yield f"{'widen' if tensor.read_only else 'narrow'}_{dtype}"
    elif tensor.read_only:
        if dtype is DType.S8:
            yield "extend_s8"
        if computed is DType.S64 and dtype is not DType.S64:
            yield "extend_s32"
    elif not dtype.is_integer:
        # Convert to the bits of f32, and from there to 16 bits.
        yield f"widen_{computed}"
        if dtype is not DType.F32:
            yield f"narrow_{dtype}"
    elif dtype is DType.S64:
        if computed is DType.S32:
            yield "extend_s32"
    else:
        if computed is DType.S64:
            yield "saturate_s32"
        if dtype in (DType.S8, DType.U8):
            yield f"saturate_{dtype}"


def vector_of(spec: Elementwise) -> int:
    """Return the widest vector that divides the output and every row of these shapes; one element
    if some tensor has elements of two words."""
    if DType.S64 in spec.needed_dtypes:
        return 1
    widest = widest_vector(spec, VECTOR_WIDTHS[0])
    return next(v for v in VECTOR_WIDTHS if v <= widest and spec.elements % v == 0)


def words_of(buffer: Tensor) -> int:
    """Return the buffer elements per tensor element: an s64 index is two words, the lower one
    first."""
    return 2 if buffer.dtype is DType.S64 and buffer.scalar == "uint" else 1


def _buffers(spec: Elementwise, target: Target, vector: int) -> Iterator[Tensor]:
    """Yield the buffers, as tensors of bits. A tensor is read by scalars if one element serves a
    vector, or if its elements are not contiguous or not aligned to vectors."""
    operands = StreamPlan(spec=spec, vector=vector).inputs
    scalars = {i.tensor for i in operands if i.single or not i.whole}
    for binding, p in enumerate(spec.parameters):
        scalar = "uint" if p.name in spec.index_inputs else ""
        yield buffer_of(p, binding, target, 1 if p.name in scalars else vector, scalar)
