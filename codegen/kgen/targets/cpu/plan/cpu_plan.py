"""Common part of all CPU kernels: the function's signature, and runs of elements."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Self

from kgen.errors import ScheduleError
from kgen.schedule import CpuStream, CpuTransposed, Schedule
from kgen.spec import Attention, DType, Elementwise, Matmul, Rowwise
from kgen.targets.base import Plan, Target
from kgen.targets.cpu.limits import BF16_FEATURES, PRODUCT_FEATURES
from kgen.targets.cpu.plan.tiles.dots import Dot
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart, scalar_type, vector_parts
from kgen.targets.header import counted
from kgen.targets.powers_of_two import RoundingUnit
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: Bytes of a cache line of Intel, AMD and most of Arm.
LINE_BYTES = 64


@frozen
class Buffer:
    """Memory of a kernel on a thread's stack, or in a workspace; `holds` says what is in it."""

    name: str
    holds: str
    bytes: int
    is_on_stack: bool = True
    #: LLVM's type; bytes if empty.
    elements: str = ""

    @property
    def line(self) -> str:
        where = "" if self.is_on_stack else ", in a workspace"
        return f"{self.name}: {self.holds}, {self.bytes} B{where}"

    @property
    def type(self) -> str:
        return self.elements or f"[{self.bytes} x i8]"


@frozen
class CpuPlan(Plan):
    """Plan of `define void @key(ptr a, ..., ptr out, i64 begin, i64 end)`, the last launch, which
    does tasks [begin, end)."""

    compute: Vector
    out: Access

    @classmethod
    def single(
        cls,
        spec: Matmul | Elementwise | Rowwise | Attention,
        target: Target,
        schedule: Schedule,
        compute: Vector,
        *,
        template: str,
        tasks: int,
        tile: Tile | None = None,
        rounded_by_cpu: bool = False,
        **fields: Any,
    ) -> Self:
        """Return the plan of a template's kernel with one launch of `tasks` tasks."""
        launch = Launch(
            entry_point=spec.key,
            grid=(tasks, 1, 1),
            arguments=tuple(p.name for p in spec.parameters),
            tile=tile,
        )
        return cls(
            spec=spec,
            target=target,
            schedule=schedule,
            template=f"cpu/{template}.ll.j2",
            launches=(launch,),
            compute=compute,
            out=access(target, spec.out, compute, rounded_by_cpu=rounded_by_cpu),
            **fields,
        )

    @property
    def entry_point(self) -> str:
        return self.launches[-1].entry_point

    @property
    def signature(self) -> str:
        """Parameters of the last launch's function."""
        return self.signature_of(self.launches[-1])

    def signature_of(self, launch: Launch) -> str:
        pointers = [f"ptr {self.pointer(name)}" for name in launch.arguments]
        return ", ".join([*pointers, "i64 %begin", "i64 %end"])

    def pointer(self, name: str) -> str:
        return f"%{name}"

    @property
    def target_line(self) -> str:
        return f"{self.target.name}, {self.target.arch}; requires {' '.join(self.features)}"

    def launch_line(self, launch: Launch) -> str:
        tasks = counted(launch.grid[0], "task")
        return f"{tasks} of {self.task_words}" if launch is self.launches[-1] else tasks

    @property
    def task_words(self) -> str:
        """Work of a task, for the header."""
        raise NotImplementedError

    def reaches(self, argument: str, distance: int) -> bool:
        """Return whether an argument has a byte `distance` after one of its elements."""
        return distance < next(p.nbytes for p in self.parameters if p.name == argument)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return ()

    @property
    def memory_map(self) -> tuple[str, ...]:
        lines = [buffer.line for buffer in self.buffers]
        return (f"stack, {self.scratch_bytes} B", *lines) if lines else ()

    @property
    def scratch_bytes(self) -> int:
        return sum(buffer.bytes for buffer in self.buffers if buffer.is_on_stack)

    @property
    def masked_accesses(self) -> set[Vector]:
        """Vector types that are loaded or stored in part; a single element is a scalar access."""
        return set()

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        return tuple(sorted(self.masked_accesses, key=str))

    @property
    def vector_bits(self) -> int:
        """Width up to which LLVM must keep vectors whole."""
        return self.target.limits["vector_bytes"] * 8

    @property
    def multiply_add(self) -> str:
        return multiply_add(self.target)

    @staticmethod
    def locality(level: int) -> int:
        """Return the locality argument of llvm.prefetch for a cache level (LLVM Language Reference:
        3 keeps the line in the first level, 2 in the second)."""
        return 4 - level

    def converts(self, sums: Vector) -> bool:
        """Return whether the type of `sums` differs from the type of the epilogue."""
        return sums != self.compute

    @property
    def dot(self) -> Dot | None:
        """Instruction that adds the products of a group along K to each sum, or None."""
        return None

    @property
    def own_features(self) -> Collection[str]:
        """Features for products and rounding that the kernel uses."""
        return self.dot.features if self.dot else ()

    @property
    def features(self) -> tuple[str, ...]:
        """Features of the CPU that the code requires: the kernel's own and the target's, except
        those for products of other kernels."""
        others = self.target.features.difference(PRODUCT_FEATURES)
        return tuple(sorted({*others, *self.own_features}))


@frozen
class Run:
    """`length` consecutive elements, taken as unrolled vectors, single vectors and a masked tail.
    All counts are elements: [0, unrolled) by `step`, [unrolled, whole) by `vector`, then `tail`."""

    length: int
    vector: int
    unroll: int = 1

    @property
    def step(self) -> RoundingUnit:
        return RoundingUnit(self.vector * self.unroll)

    @property
    def unrolled(self) -> int:
        return self.length - self.length % self.step

    @property
    def whole(self) -> int:
        return self.length - self.length % self.vector

    @property
    def tail(self) -> int:
        return self.length % self.vector

    @property
    def step_vectors(self) -> tuple[VectorPart, ...]:
        return vector_parts(self.step, self.vector)

    @property
    def last_vectors(self) -> tuple[VectorPart, ...]:
        """Vectors after the unrolled steps."""
        return vector_parts(self.length - self.unrolled, self.vector, self.unrolled)

    @property
    def has_unrolled(self) -> bool:
        return self.unrolled > 0

    @property
    def has_single(self) -> bool:
        return self.whole > self.unrolled


@frozen
class FormulaPlan(CpuPlan):
    """Plan of an expression, whose inputs users name; elements come in runs."""

    schedule: CpuStream | CpuTransposed
    run: Run

    def pointer(self, name: str) -> str:
        return f"%{name}.ptr"

    @property
    def rounded_by_cpu(self) -> tuple[str, ...]:
        return ()

    @property
    def own_features(self) -> Collection[str]:
        return BF16_FEATURES if self.rounded_by_cpu else ()

    @property
    def units(self) -> int:
        raise NotImplementedError

    @property
    def unit_words(self) -> tuple[str, ...]:
        """Name of a unit, and of several if it is not regular."""
        return ("row",)

    @property
    def task_words(self) -> str:
        return f"up to {counted(min(self.schedule.task, self.units), *self.unit_words)}"

    @property
    def last_task_is_short(self) -> bool:
        return self.units % self.schedule.task != 0

    @property
    def written_vectors(self) -> int:
        return 1

    @property
    def written_bytes(self) -> RoundingUnit:
        """Bytes that are written at once; `less_one` is the mask of an address modulo them."""
        return RoundingUnit(self.written_vectors * self.out.stored.bytes)


def vector_for(target: Target, dtype: DType, elements: int) -> Vector:
    """Return the target's widest vector of `dtype`, or a narrower one of at least 16 bytes if fewer
    than half of its elements would be used."""
    count = target.limits["vector_bytes"] // dtype.itemsize
    while count * dtype.itemsize > 16 and elements <= count // 2:
        count //= 2
    return Vector(count=count, scalar=scalar_type(dtype))


def fuses(target: Target) -> bool:
    """Return whether a product and its sum are rounded once."""
    return bool(target.features & {"fma", "asimd"})


def multiply_add(target: Target) -> str:
    """Return the intrinsic for a product and its sum. Without an instruction llvm.fma calls a
    library; llvm.fmuladd rounds the product (LLVM Language Reference)."""
    return "llvm.fma" if fuses(target) else "llvm.fmuladd"


def access(
    target: Target, dtype: DType, compute: Vector, *, rounded_by_cpu: bool = False
) -> Access:
    has_f16 = bool(target.features & {"f16c", "asimd"})
    return Access(dtype=dtype, compute=compute, rounded_by_cpu=rounded_by_cpu, f16_by_cpu=has_f16)


def check_registers(target: Target, needed: int, fields: str, remedy: str) -> None:
    """Raise ScheduleError if values of `fields` need more vector registers than the target has."""
    limit = target.limits["vector_registers"]
    if needed > limit:
        raise ScheduleError(
            f"{fields} needs {needed} vector registers; {target.name} has {limit}; try {remedy}"
        )


def check_multiple(schedule: Schedule, field: str, unit: int, reason: str) -> None:
    value = getattr(schedule, field)
    if value % unit:
        raise ScheduleError(
            f"{field}={value} is not a multiple of {unit}, {reason}; "
            f"try {field}={-(-value // unit) * unit}"
        )


def check_task(schedule: CpuStream, unit: int) -> None:
    check_multiple(schedule, "task", unit, f"the elements of unroll={schedule.unroll} vectors")


def check_unroll(schedule: CpuStream | CpuTransposed, why: str = "") -> None:
    """Raise ScheduleError unless a mask can count the elements of whole steps."""
    if schedule.unroll.bit_count() > 1:
        raise ScheduleError(
            f"unroll={schedule.unroll} is not a power of two{why}; "
            f"try unroll={1 << schedule.unroll.bit_length() - 1}"
        )
