"""Matmul of s8 by dot products: four steps of k in a word of workgroup memory, sums in s32.

The block tile advances over K in K-tiles of block_k; the last one is padded with zeros. Loads of
the next K-tile are in flight while one is multiplied.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import FmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen.targets.powers_of_two import check_powers_of_two
from kgen.targets.vulkan.limits import DOT_PRODUCT
from kgen.targets.vulkan.plan.checks import check_shared, check_stages
from kgen.targets.vulkan.plan.matmul.dot_operand import QUAD, DotOperand
from kgen.targets.vulkan.plan.matmul.matmul_plan import (
    PaddedPlan,
    check_grid,
    check_thread_tiles,
    common_fields,
    sides_of,
)
from kgen.targets.vulkan.plan.matmul.matrix import WIDEST, plan_matrix
from kgen.targets.vulkan.plan.matmul.operand import Transpose
from kgen.targets.vulkan.plan.matmul.outputs import MAX_GROUP, ThreadOutputs
from kgen_runtime.values import frozen


@frozen
class Byte:
    """Byte of a word, by number."""

    number: int

    @property
    def is_first(self) -> bool:
        return self.number == 0

    @property
    def bit(self) -> int:
        """First bit of the byte."""
        return 8 * self.number

    @property
    def bits_from(self) -> int:
        """Bits from the byte's first to the end of the word."""
        return 8 * QUAD - self.bit


@frozen
class DotStep:
    """Step along k of four packed elements, in stage `stage`; its ids begin with `name`."""

    name: str
    stage: str


@frozen
class DotPlan(PaddedPlan):
    schedule: FmaMatmul
    a: DotOperand
    b: DotOperand

    @property
    def notes(self) -> tuple[str, ...]:
        words = "workgroup memory packs four steps of k in a word"
        return (self.k_note, self.invocations_note, words)

    # What the module needs

    @property
    def has_dot(self) -> bool:
        """Whether four products and their sum are one instruction, not a function of the module."""
        return self.target.has(DOT_PRODUCT)

    @property
    def uses_options(self) -> bool:
        return super().uses_options or self.has_dot

    @property
    def capabilities(self) -> tuple[str, ...]:
        dot = ("DotProduct", "DotProductInput4x8BitPacked") if self.has_dot else ()
        return (*super().capabilities, *dot)

    @property
    def further_requirements(self) -> dict[str, object]:
        return {"features": ["shaderIntegerDotProduct"]} if self.has_dot else {}

    # K

    @property
    def quads(self) -> int:
        """Number of quads of a K-tile."""
        return self.schedule.block_k // QUAD

    @property
    def step(self) -> DotStep:
        return DotStep(name="main", stage="main_stage" if self.double_buffered else "uint_0")

    @property
    def next_stage(self) -> str:
        return "next_stage" if self.double_buffered else "uint_0"

    @property
    def bytes(self) -> tuple[Byte, ...]:
        """Bytes of a quad."""
        return tuple(Byte(number=number) for number in range(QUAD))

    @property
    def transpose(self) -> Transpose:
        """Transposition of the bytes of four steps into quads."""
        return Transpose(name="transpose_bytes", number=QUAD)

    # Sums

    @property
    def dots(self) -> tuple[tuple[str, str, str], ...]:
        """Names of each accumulator, and of the row of A and the column of B that it multiplies."""
        return tuple(
            (f"m{m.number}_n{n.number}", f"m{m.number}", f"n{n.number}")
            for m in self.outputs.m.numbers
            for n in self.outputs.n.numbers
        )

    def members(self, m: int, group: int) -> tuple[str, ...]:
        """Return the names of a row's accumulators in a group of columns."""
        first = group * self.outputs.n.group
        return tuple(f"m{m}_n{first + i}" for i in self.outputs.n.members)

    @property
    def totals(self) -> str:
        return "total"


def plan_dot(spec: Matmul, target: Target, schedule: FmaMatmul) -> DotPlan:
    """Return the plan. Raises ScheduleError if the schedule does not fit the target."""
    _check(spec, target, schedule)
    a, b = (
        _operand(spec, target, schedule, access, side)
        for access, side in zip(access_maps(spec), sides_of(spec, schedule), strict=True)
    )
    fields = common_fields(spec, target, schedule, (a, b))
    # The main loop takes the bytes of A and B out of words itself.
    converted = tuple(t for t in fields["tensors"] if t.name not in "ab")
    own = ["transpose_bytes"] if a.transposed or b.transposed else []
    own += [] if target.has(DOT_PRODUCT) else ["dot_s8"]
    fields["functions"] = (*own, *fields["epilogue"].functions(converted))
    plan = DotPlan(template="spirv/matmul_dot.spvasm.j2", shared=(a.shared, b.shared), **fields)
    check_shared(plan, "block_k")
    return plan


def _operand(
    spec: Matmul, target: Target, schedule: FmaMatmul, access: AccessMap, side: ThreadOutputs
) -> DotOperand:
    """Return an operand with the widest accesses that leave a copy for each invocation."""

    def operand(most: int) -> DotOperand:
        return DotOperand(
            matrix=plan_matrix(spec, target, access, most),
            side=side,
            block_k=schedule.block_k,
            num_threads=schedule.num_threads,
            stages=schedule.num_stages,
        )

    widths = (WIDEST, WIDEST // 2, QUAD, 1) if access.inner == "k" else (QUAD, 1)
    found = next((o for o in map(operand, widths) if o.is_shared_out), None)
    if found is None:
        # With the narrowest accesses, a K-tile has the most copies along k.
        too_long = operand(1).inner_block > schedule.num_threads
        fitting = schedule.block_k // 2 if too_long else 2 * schedule.block_k
        raise ScheduleError(
            f"a tile of {access.name} with block_k={schedule.block_k} does not divide evenly among "
            f"{schedule.num_threads} invocations; try block_k={fitting}"
        )
    return found


def _check(spec: Matmul, target: Target, schedule: FmaMatmul) -> None:
    check_powers_of_two(schedule, "block_m", "block_n", "block_k", "thread_m", "thread_n")
    if min(schedule.thread_m, schedule.thread_n) < MAX_GROUP:
        raise ScheduleError(
            f"thread_m={schedule.thread_m} or thread_n={schedule.thread_n} is less than "
            f"{MAX_GROUP}, the words that an invocation reads at once; "
            f"try thread_m={max(MAX_GROUP, schedule.thread_m)},"
            f"thread_n={max(MAX_GROUP, schedule.thread_n)}"
        )
    if schedule.block_k < QUAD:
        raise ScheduleError(
            f"block_k={schedule.block_k} is less than {QUAD}, the bytes of one dot product; "
            f"try block_k={QUAD}"
        )
    check_stages(schedule)
    check_thread_tiles(schedule, target)
    check_grid(spec, target, schedule)
