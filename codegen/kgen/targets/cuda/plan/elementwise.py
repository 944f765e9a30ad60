"""Element-wise kernels: a stream over the output in vectors, whose loads all come first.

An expression without rounding is computed on elements in their stored type, in pairs if PTX has
instructions for pairs. Every other expression is computed in f32.
"""

from __future__ import annotations

from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import GpuStream
from kgen.spec import DType, Elementwise
from kgen.targets.base import Target, launch_of
from kgen.targets.cuda.expressions import PtxRenderer, RegisterType, renderer_of
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.expressions import Rendered
from kgen.targets.stream import StreamCondition, StreamOperand, StreamPlan, tile_of, widest_vector
from kgen_runtime.values import frozen

#: Bytes of a register that may hold two elements.
WORD_BYTES = 4
#: Most vectors of a tensor: their numbers have 32 bits.
MAX_VECTORS = 2**32 - 1


@frozen
class OperandLoad:
    """Load of a thread vector's elements of one operand.

    `nbytes` counts from the thread's first element if the operand is `linear`, else from the
    tensor's start. `terms` and `terms_down` are pairs of a coordinate and the bytes per step of it;
    `places` are pairs of a condition and the bytes per step of its position. With `single`, the
    whole vector has one element. `parts` are the registers that one instruction loads, and their
    distances in bytes from the first. Unless all `guards` hold, the load reads `spare` bytes from
    the tensor's start.
    """

    name: str
    tensor: str
    dtype: DType
    single: bool
    registers: tuple[str, ...]
    parts: tuple[tuple[tuple[str, ...], int], ...]
    linear: bool
    nbytes: int
    terms: tuple[tuple[int, int], ...]
    terms_down: tuple[tuple[int, int], ...]
    places: tuple[tuple[str, int], ...]
    guards: tuple[str, ...]
    spare: int


@frozen
class Condition:
    """Condition of an access, in the predicate %name.

    The condition compares `value` - `low` (u32) with `count`, or compares the position that an
    index gives, in %<name>_place. `indices` are loaded for it.
    """

    name: str
    value: str
    low: int
    count: int
    index: str
    indices: tuple[OperandLoad, ...]


@frozen
class OutputStore:
    """Store of a thread vector's elements of one output; registers are without %.

    The address is `nbytes` from the thread's first element, or that of `at` if its guards hold.
    """

    name: str
    dtype: DType
    registers: tuple[str, ...]
    nbytes: int
    at: OperandLoad | None


@frozen
class ThreadVector:
    """Vector of a thread, `vectors` vectors after its first. `elements` compute its output
    registers."""

    index: int
    vectors: int
    guard: str
    conditions: tuple[Condition, ...]
    loads: tuple[OperandLoad, ...]
    elements: tuple[Rendered, ...]
    stores: tuple[OutputStore, ...]


@frozen
class ElementwisePlan(cuda_plan.FormulaPlan):
    spec: Elementwise
    schedule: GpuStream

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.stream.note,)

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=self.schedule.vector)

    @cached_property
    def type(self) -> RegisterType:
        """Type of a vector's registers."""
        return self._type(self.schedule.vector)

    @cached_property
    def rest_type(self) -> RegisterType:
        """Register type of an element after the last whole vector."""
        return self._type(1)

    def _type(self, elements: int) -> RegisterType:
        # Elements that are loaded one by one stay in registers of their own.
        most = elements if all(i.whole for i in self.stream.inputs) else 1
        stored = (RegisterType(dtype=self.spec.dtype, lanes=n) for n in (2, 1) if n <= most)
        fitting = (
            t
            for t in stored
            if self.spec.is_exact and t.lanes * self.spec.dtype.itemsize <= WORD_BYTES
        )
        number = RegisterType(dtype=self.spec.compute)
        return next((t for t in fitting if self._renderer(t).has(*self.spec.result_calls)), number)

    def _renderer(self, type_: RegisterType) -> PtxRenderer:
        return renderer_of(self.target, type_)

    def dtype(self, name: str) -> DType:
        return self.spec.dtype_of(name)

    @property
    def registers(self) -> tuple[tuple[str, str, str], ...]:
        """Constants of the expression: type, name and bits."""
        types = dict.fromkeys((self.type, self.rest_type) if self.stream.rest else (self.type,))
        return tuple(
            (t.register, name, bits)
            for t in types
            for name, bits in self._renderer(t).constants(*self.spec.result_calls).items()
        )

    @property
    def constants_of_call(self) -> tuple[StreamOperand, ...]:
        """Operands with a single element, which a thread loads once."""
        return tuple(i for i in self.stream.inputs if i.is_constant and not i.is_index)

    def place_of(self, operand: StreamOperand) -> str:
        """Return the address of an operand's only element."""
        nbytes = operand.offset * self.dtype(operand.tensor).itemsize
        return f"%{operand.tensor}_ptr" + (f"+{nbytes}" if nbytes else "")

    @property
    def operands(self) -> tuple[StreamOperand, ...]:
        """Operands that each access loads."""
        return tuple(i for i in self.stream.inputs if i not in self.constants_of_call)

    @property
    def walks(self) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
        """Tensors that are read or written in order, grouped by vector size: bytes of a vector,
        bytes of a CTA's vectors, names of the tensors."""
        found: dict[int, list[str]] = {}
        linear = [i.tensor for i in self.stream.inputs if i.linear]
        written = () if self.stream.write else self.spec.outputs
        for name in (*linear, *written):
            nbytes = self.schedule.vector * self.dtype(name).itemsize
            found.setdefault(nbytes, []).append(name)
        return tuple((n, n * self.block_vectors, tuple(names)) for n, names in found.items())

    @property
    def results(self) -> int:
        """Registers of a vector."""
        return self.schedule.vector // self.type.lanes

    @cached_property
    def accesses(self) -> tuple[ThreadVector, ...]:
        return tuple(self._access(i) for i in range(self.schedule.unroll))

    def _access(self, index: int) -> ThreadVector:
        vectors = index * self.num_threads
        loads = tuple(self._load(i, index, vectors) for i in self.operands if not i.is_index)
        elements = tuple(self._element(loads, index, e) for e in range(self.results))
        return ThreadVector(
            index=index,
            vectors=vectors,
            guard=f"@%inside{index} " if self.guarded else "",
            conditions=tuple(self._condition(c, index, vectors) for c in self.stream.conditions),
            loads=loads,
            elements=elements,
            stores=tuple(
                OutputStore(
                    name=name,
                    dtype=self.dtype(name),
                    registers=tuple(e.results[i].removeprefix("%") for e in elements),
                    nbytes=vectors * self.schedule.vector * self.dtype(name).itemsize,
                    at=self._load(self.stream.write, index, 0) if self.stream.write else None,
                )
                for i, name in enumerate(self.spec.outputs)
            ),
        )

    def _load(self, of: StreamOperand, index: int, vectors: int) -> OperandLoad:
        dtype = self.spec.dtype_of(of.tensor)
        count = 1 if of.single else self.results
        registers = tuple(f"{of.name}{index}_{e}" for e in range(count))
        lanes = enumerate(registers)
        apart = tuple(((r,), e * of.lane * dtype.itemsize) for e, r in lanes)
        terms = [(d, stride * dtype.itemsize) for d, stride in of.terms]
        return OperandLoad(
            name=of.name,
            tensor=of.tensor,
            dtype=dtype,
            single=of.single,
            registers=registers,
            parts=((registers, 0),) if of.whole else apart,
            linear=of.linear,
            nbytes=(vectors * self.schedule.vector if of.linear else of.offset) * dtype.itemsize,
            terms=tuple(term for term in terms if term[1] > 0),
            terms_down=tuple(term for term in terms if term[1] < 0),
            places=tuple((f"{name}_{index}", n * dtype.itemsize) for name, n in of.indices),
            guards=tuple(f"{guard}_{index}" for guard in of.guards),
            spare=of.spare * dtype.itemsize,
        )

    def _condition(self, of: StreamCondition, access: int, vectors: int) -> Condition:
        return Condition(
            name=f"{of.name}_{access}",
            value=f"%at{access}_{of.dimension}",
            low=of.low,
            count=of.count,
            index=f"{of.index}{access}_0" if of.index else "",
            indices=tuple(self._load(i, access, vectors) for i in of.loads),
        )

    def _element(self, loads: tuple[OperandLoad, ...], access: int, element: int) -> Rendered:
        operands = {i.name: f"%{i.name}_once" for i in self.constants_of_call}
        operands |= {c.name: f"%{c.name}_{access}" for c in self.stream.conditions}
        for load in loads:
            operands[load.name] = f"%{load.registers[element % len(load.registers)]}"
        return self._render(self.type, operands, f"{access}_{element}")

    def _render(self, type_: RegisterType, operands: dict[str, str], suffix: str) -> Rendered:
        """Return the lines that compute the outputs into registers with their names and
        `suffix`."""
        names = [f"%{name}{suffix}" for name in self.spec.outputs]
        return self._renderer(type_).render_all(self.spec.result_calls, operands, names[-1], names)

    @property
    def rest_is_unpacked(self) -> bool:
        """Whether vectors are computed in pairs, and elements after the last whole vector one by
        one."""
        return self.rest_type != self.type

    @cached_property
    def rest_element(self) -> Rendered:
        """Lines that compute a thread's element after the last whole vector."""
        once = {i.name for i in self.constants_of_call if not self.rest_is_unpacked}
        operands = {
            i.name: f"%{i.name}_once" if i.name in once else f"%{i.name}_rest"
            for i in self.stream.inputs
        }
        return self._render(self.rest_type, operands, "_rest")

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
    def last_block(self) -> int:
        return self.launches[0].grid[0] - 1


def plan_elementwise(spec: Elementwise, target: Target, schedule: GpuStream) -> ElementwisePlan:
    """Return the plan. Raises ScheduleError if a vector is not a legal access, or the grid is too
    long."""
    cuda_plan.check_powers_of_two(schedule)
    cuda_plan.check_threads(schedule.num_threads, target, "num_threads=256")
    widest = widest_vector(spec, MAX_ACCESS_BYTES // spec.widest_itemsize)
    if schedule.vector > widest:
        raise ScheduleError(
            f"vector={schedule.vector} is more than {widest}: an access has at most "
            f"{MAX_ACCESS_BYTES} bytes and divides a row of each input; try vector={widest}"
        )
    blocks = -(-spec.elements // schedule.block_elements)
    limit = target.limits["grid_x"]
    most = (
        limit
        if not StreamPlan(spec=spec, vector=1).dimensions
        else MAX_VECTORS // (schedule.num_threads * schedule.unroll)
    )
    most = min(limit, most)
    if blocks > most:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} x vector={schedule.vector} x "
            f"unroll={schedule.unroll} needs {blocks} blocks; {target.name} allows {most}; "
            f"try unroll={schedule.unroll << (blocks // most).bit_length()}"
        )
    tile = tile_of(spec, schedule.block_elements)
    launch = launch_of(spec, (blocks, 1, 1), schedule.num_threads, tile)
    features = ["max_nan"] if target.has("max_nan") else []
    return ElementwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/elementwise.ptx.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        ptx_version=cuda_plan.ptx_version(target, spec, *features),
    )
