"""Attention by cooperative matrices: online softmax with both products on matrix units.

A block of K and of V (transposed) is copied to workgroup memory while the previous block is
multiplied. Subgroups compute scores and write them to workgroup memory. The invocations of each
query read its scores and write back its weights. So the kernel does not depend on which elements of
a matrix a lane holds. Queries stay in matrices; results do until the end.

As in matmuls, one launch serves devices with matrices of different sizes: the artifact has a module
for each size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import CooperativeAttention
from kgen.spec import Attention, DType
from kgen.targets.base import Target
from kgen.targets.powers_of_two import check_powers_of_two
from kgen.targets.vulkan.limits import BFLOAT16
from kgen.targets.vulkan.plan.attention.head_accesses import buffers, width_of
from kgen.targets.vulkan.plan.attention.invocation import FusedStep, HeadColumn
from kgen.targets.vulkan.plan.attention.staged_heads import (
    PAIR,
    WIDTH,
    StagedKeys,
    StagedQueries,
    StagedValues,
)
from kgen.targets.vulkan.plan.attention.unstaged_attention import (
    UnstagedAttentionPlan,
    common_fields,
    partials,
    with_helpers,
)
from kgen.targets.vulkan.plan.checks import check_shared, check_threads
from kgen.targets.vulkan.plan.coopmat_module import CooperativeModule
from kgen.targets.vulkan.plan.matmul.coopmat import TRANSPOSE
from kgen.targets.vulkan.plan.matmul.coopmat_types import TYPES, Size, SubgroupGrid
from kgen.targets.vulkan.plan.matmul.matrix import WIDEST
from kgen.targets.vulkan.plan.matmul.operand import Transpose
from kgen.targets.vulkan.plan.memory import WORD, Shared, vector_type
from kgen_runtime.values import frozen

#: Numbers of 32 bits in an element of 16 bytes.
FLOATS = WIDEST // WORD
#: Most elements of a head, and most words of results, queries and copies that an invocation holds;
#: more would spill.
MAX_HEAD, MAX_WORDS = 128, 160
#: Elements of which the heads in workgroup memory are multiples: the largest extent of a matrix
#: along the elements of a head, of any size.
UNIT = 16


@frozen
class SubgroupMatrices(SubgroupGrid):
    """Division of a block's queries, and of its keys or of the results' columns, among the
    subgroups of a workgroup."""

    schedule: CooperativeAttention

    @property
    def block(self) -> tuple[int, int, int]:
        return self.schedule.block_q, self.schedule.block_k, self.schedule.thread_k

    @property
    def m(self) -> int:
        """Number of subgroups along queries."""
        return min(self.number, max(1, self.schedule.block_q // self.size.m))


@frozen
class PlacedMatrix:
    """Matrix number `row` along queries and `column` along keys or results; `place` is its distance
    in workgroup memory from the subgroup's first one, in elements of 16 bytes."""

    row: int
    column: int
    place: int


@frozen
class FactorMatrix:
    """Matrix of keys or values, and the products with it; `place` is like that of PlacedMatrix."""

    name: str
    place: int
    products: tuple[FusedStep, ...]


@frozen
class ResultTurn:
    """Columns of results that are stored together. `matrices` are pairs: number of the matrix among
    all columns of the subgroup, and its place. `columns` are pairs: number of a column that an
    invocation stores, and its distance from the turn's first column."""

    number: int
    matrices: tuple[tuple[int, PlacedMatrix], ...]
    columns: tuple[tuple[int, int], ...]

    @property
    def is_first(self) -> bool:
        return self.number == 0


@frozen
class CooperativeAttentionPlan(CooperativeModule, UnstagedAttentionPlan):
    """Plan of attention_coopmat.spvasm.j2. Places and distances count elements of the array `tiles`
    in workgroup memory, which have 16 bytes."""

    spec: Attention
    schedule: CooperativeAttention
    others: tuple[CooperativeAttentionPlan, ...] = ()
    #: Plan of stores that bypass workgroup memory. Attention has no such stores.
    direct: None = None

    # -- the module ----------------------------------------------------------------------------

    @property
    def further_requirements(self) -> dict[str, object]:
        return self.size.requirements(self.spec.dtype, DType.F32)

    @property
    def notes(self) -> tuple[str, ...]:
        s = self.subgroups
        return (
            *super().notes,
            f"matrices of {self.size.text}, {s.m} x {s.n} subgroups of {self.size.lanes} lanes "
            f"(queries x keys), {s.warp_m} x {s.warp_n} scores each",
        )

    # -- workgroup memory ----------------------------------------------------------------------

    @property
    def subgroups(self) -> SubgroupMatrices:
        return SubgroupMatrices(schedule=self.schedule, size=self.size)

    @property
    def padded_head(self) -> int:
        return _padded(self.spec.head)

    @property
    def queries(self) -> StagedQueries:
        return StagedQueries(
            head=self.spec.head, padded_head=self.padded_head, lanes=self.schedule.lanes
        )

    @property
    def staged_keys(self) -> StagedKeys:
        return StagedKeys(
            head=self.spec.head,
            padded_head=self.padded_head,
            block_k=self.schedule.block_k,
            num_threads=self.num_threads,
        )

    @property
    def staged_values(self) -> StagedValues:
        return StagedValues(
            start=self.staged_keys.elements,
            head=self.spec.out_head,
            block_k=self.schedule.block_k,
            num_threads=self.num_threads,
        )

    @property
    def scores_start(self) -> int:
        return self.staged_values.start + self.staged_values.elements

    @property
    def weight_pitch(self) -> int:
        """Distance between rows of scores; odd, so that rows begin in different banks."""
        return self.schedule.block_k // FLOATS + 1

    @property
    def block_elements(self) -> int:
        """Elements of `tiles` that the keys, values and scores of a block take."""
        return self.scores_start + self.schedule.block_q * self.weight_pitch

    @property
    def queries_are_most(self) -> bool:
        """Whether queries, which use `tiles` before the first block, need more than a block."""
        return self.schedule.block_q * self.queries.pitch > self.block_elements

    @property
    def elements(self) -> int:
        """Elements of `tiles`."""
        return max(self.block_elements, self.schedule.block_q * self.queries.pitch)

    @property
    def warp_query_step(self) -> int:
        """Distance from a subgroup's queries to those of the next one."""
        return self.subgroups.warp_m * self.queries.pitch

    @property
    def warp_row_step(self) -> int:
        """Distance from a subgroup's rows of scores to those of the next one."""
        return self.subgroups.warp_m * self.weight_pitch

    @property
    def warp_score_step(self) -> int:
        """Distance from a subgroup's columns of scores to those of the next one."""
        return self.subgroups.warp_n // FLOATS

    @property
    def warp_key_step(self) -> int:
        """Distance from a subgroup's keys to those of the next one."""
        return self.subgroups.warp_n * self.staged_keys.pitch

    @property
    def warp_value_step(self) -> int:
        """Distance from a subgroup's columns of values to those of the next one."""
        return self.subgroups.warp_n * self.staged_values.pitch

    @property
    def first_block(self) -> str:
        """Id of the first block's first key; empty if that is 0."""
        return self.range.first_key if self.spec.has_window else ""

    @property
    def last_key_number(self) -> int:
        return self.spec.keys - 1

    @property
    def last_read(self) -> str:
        """Id of the last key that is read: copies of later keys read this one instead."""
        return "last_read" if self.spec.kv_length else f"uint_{self.last_key_number}"

    # -- the first product ---------------------------------------------------------------------

    @property
    def head_steps(self) -> range:
        return range(self.padded_head // self.size.k)

    @property
    def query_matrices(self) -> tuple[PlacedMatrix, ...]:
        """Matrices of queries; `column` is the step along the elements of a head."""
        pitch, size = self.queries.pitch, self.size
        return tuple(
            PlacedMatrix(row=r, column=s, place=r * size.m * pitch + s * size.k // WIDTH)
            for r in self.subgroups.rows
            for s in self.head_steps
        )

    @property
    def key_matrices(self) -> tuple[FactorMatrix, ...]:
        return tuple(
            FactorMatrix(
                name=f"keys_{column}_{step}",
                place=column * self.size.n * self.staged_keys.pitch + step * self.size.k // WIDTH,
                products=tuple(
                    FusedStep(
                        result=f"scores{step}_{row}_{column}",
                        a=f"queries_{row}_{step}",
                        b=f"keys_{column}_{step}",
                        before=f"scores{step - 1}_{row}_{column}" if step else "matrix_zero",
                    )
                    for row in self.subgroups.rows
                ),
            )
            for column in self.subgroups.columns
            for step in self.head_steps
        )

    @property
    def last_head_step(self) -> int:
        return self.head_steps[-1]

    @property
    def score_matrices(self) -> tuple[PlacedMatrix, ...]:
        size = self.size
        return tuple(
            PlacedMatrix(
                row=r, column=c, place=r * size.m * self.weight_pitch + c * size.n // FLOATS
            )
            for r in self.subgroups.rows
            for c in self.subgroups.columns
        )

    # -- scores of an invocation ---------------------------------------------------------------

    @property
    def by_matrices(self) -> bool:
        return True

    @property
    def lane_key(self) -> str:
        return "lane_key_first"

    @property
    def keys(self) -> tuple[tuple[int, int], ...]:
        return tuple((j, j) for j in range(self.schedule.thread_k))

    @property
    def score_elements(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Elements of an invocation's scores, with the ids of the numbers in each."""
        return _elements([f"dot_{score.name}_next" for score in self.scores])

    @property
    def lane_elements(self) -> int:
        """Elements from an invocation's scores to those of the next one of the query."""
        return self.schedule.thread_k // FLOATS

    @property
    def weight_words(self) -> tuple[tuple[int, str, str], ...]:
        """Words of an invocation's weights: number, and the ids of both weights."""
        names = [f"weight_{score.name}" for score in self.scores]
        return tuple((i, names[2 * i], names[2 * i + 1]) for i in range(len(names) // 2))

    @property
    def weight_elements(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Elements of an invocation's weights, with the numbers of their words."""
        words = WIDEST // WORD
        count = len(self.weight_words) // words
        return tuple((i, tuple(range(i * words, (i + 1) * words))) for i in range(count))

    @property
    def transpose(self) -> Transpose:
        """Transposition of the numbers of two keys."""
        element = self.types.element
        return Transpose(
            name=TRANSPOSE, number=PAIR, element=element, vector=vector_type(element, PAIR)
        )

    @property
    def is_f16(self) -> bool:
        return self.spec.dtype is DType.F16

    # -- the second product --------------------------------------------------------------------

    @property
    def key_steps(self) -> range:
        """Numbers of the matrices of a block along keys."""
        return range(self.schedule.block_k // self.size.k)

    def weight_place(self, row: int, step: int) -> int:
        """Return the place of a matrix of weights.

        An invocation's weights are where its scores were, in half of their bytes.
        """
        lane, within = divmod(step * self.size.k, self.schedule.thread_k)
        rows = row * self.size.m * self.weight_pitch
        return rows + lane * self.lane_elements + within // WIDTH

    def factor_place(self, row: int) -> int:
        """Return the place of the factors by which a row of matrices of results is rescaled."""
        return row * self.size.m

    @cached_property
    def result_matrices(self) -> tuple[tuple[int, int, int], ...]:
        """Matrices of results along columns: number, turn, and number in the turn. The subgroups
        together have `block_k` columns per turn."""
        found: list[tuple[int, int, int]] = []
        for turn in range(-(-self.spec.out_head // self.schedule.block_k)):
            for c in self.subgroups.columns:
                if turn * self.schedule.block_k + c * self.size.n < self.spec.out_head:
                    found.append((len(found), turn, c))
        return tuple(found)

    def values_of(self, number: int, turn: int, column: int) -> tuple[FactorMatrix, ...]:
        """Return the matrices of values that are multiplied into one of `result_matrices`."""
        pitch, size = self.staged_values.pitch, self.size
        first = (turn * self.schedule.block_k + column * size.n) * pitch
        return tuple(
            FactorMatrix(
                name=f"values_{number}_{step}",
                place=first + step * size.k // WIDTH,
                products=tuple(self._added(row, number, step) for row in self.subgroups.rows),
            )
            for step in self.key_steps
        )

    def _added(self, row: int, number: int, step: int) -> FusedStep:
        """Return the product of weights and values in a step along keys."""
        is_last = step == self.key_steps[-1]
        before = f"added{step - 1}" if step else "scaled"
        return FusedStep(
            result=f"results_{row}_{number}_next" if is_last else f"added{step}_{row}_{number}",
            a=f"weights_{row}_{step}",
            b=f"values_{number}_{step}",
            before=f"{before}_{row}_{number}",
        )

    @property
    def takes_elements(self) -> bool:
        """Whether invocations take whole elements of results."""
        return self.tensor("out").width >= FLOATS

    def sum_elements(self, column: HeadColumn) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Return the elements of an access of results, with the names of the sums in each."""
        return _elements(self.sums_of(self.rows[0], column))

    @property
    def result_turns(self) -> tuple[ResultTurn, ...]:
        """Turns in which results go through the memory of scores to the invocations that store
        them."""
        width = self.tensor("out").width
        found = []
        for turn in range(-(-self.spec.out_head // self.schedule.block_k)):
            first = turn * self.schedule.block_k
            matrices = tuple(
                (column, PlacedMatrix(row=m.row, column=m.column, place=m.place))
                for m in self.score_matrices
                for column, own, c in self.result_matrices
                if (own, c) == (turn, m.column)
            )
            columns = tuple(
                (column.number, column.distance * width - first)
                for column in self.columns
                if first <= column.distance * width < first + self.schedule.block_k
            )
            found.append(ResultTurn(number=turn, matrices=matrices, columns=columns))
        return tuple(found)


def _elements(names: Sequence[str]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the names in the elements of an array of f32, with the elements' numbers."""
    return tuple(
        (i, tuple(names[i * FLOATS : (i + 1) * FLOATS])) for i in range(len(names) // FLOATS)
    )


def _padded(head: int) -> int:
    return -(-head // UNIT) * UNIT


def words_of(spec: Attention, schedule: CooperativeAttention) -> int:
    """Return the words of results, queries and copies of the next block that an invocation holds.

    A query counts as 32 bits per element, because AMD holds each 16-bit element twice.
    """
    heads = spec.head + spec.out_head
    held = schedule.block_q * heads + schedule.block_k * heads // 2
    return held // schedule.num_threads


def is_cooperative(spec: Attention, target: Target) -> bool:
    """Return whether the target multiplies this attention by cooperative matrices."""
    return obstacle(spec, target) is None


def obstacle(spec: Attention, target: Target) -> str | None:
    """Return why attention does not use cooperative matrices; None if it may."""
    needs_bf16 = spec.dtype is DType.BF16 and not target.has(BFLOAT16)
    if not target.has("coopmat") or spec.dtype not in TYPES or needs_bf16:
        return f"{target.name} has no cooperative matrices of {spec.dtype}"
    if (most := max(spec.head, spec.out_head)) > MAX_HEAD:
        return f"a head has {most} elements, more than {MAX_HEAD}"
    if any(width_of(spec, name, WIDTH) < WIDTH for name in ("q", "k", "v")):
        return f"heads and strides of q, k and v are not all multiples of {WIDTH}"
    return None


def plan_cooperative_attention(
    spec: Attention, target: Target, schedule: CooperativeAttention
) -> CooperativeAttentionPlan:
    """Return the plan of the first size, with those of other sizes as its variants. Raises
    ScheduleError if the schedule does not fit the target."""
    check_powers_of_two(schedule, *schedule.names)
    if (reason := obstacle(spec, target)) is not None:
        raise ScheduleError(f"mainloop=coopmat does not fit: {reason}; leave mainloop out")
    check_threads(schedule.num_threads, target, "num_threads=128")
    if schedule.thread_k < UNIT or _padded(spec.head) // WIDTH % schedule.lanes:
        most = min(schedule.block_k, _padded(spec.head)) // UNIT * schedule.block_q
        raise ScheduleError(
            f"num_threads={schedule.num_threads} are {schedule.lanes} for each query; each needs "
            f"{UNIT} of block_k={schedule.block_k} keys and an equal part of the {spec.head} "
            f"elements of a head; try num_threads={min(most, 2 * schedule.block_q)}"
        )
    if (words := words_of(spec, schedule)) > MAX_WORDS:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} gives an invocation {words} words of queries, "
            f"keys and results; the limit is {MAX_WORDS}; try "
            f"num_threads={2 * schedule.num_threads}"
        )
    types = TYPES[spec.dtype]
    fitting = [s for s in types.sizes if SubgroupMatrices(schedule=schedule, size=s).fits]
    found = [_plan(spec, target, schedule, size) for size in fitting]
    if not found:
        raise ScheduleError(
            f"block_q={schedule.block_q} and block_k={schedule.block_k} do not divide into "
            "cooperative matrices for each subgroup; try block_q=64,block_k=32,num_threads=128"
        )
    return replace(found[0], others=tuple(found[1:]))


def _plan(
    spec: Attention, target: Target, schedule: CooperativeAttention, size: Size
) -> CooperativeAttentionPlan:
    share = min(spec.out_head, schedule.block_k) // schedule.lanes
    widths = dict.fromkeys(("q", "k", "v"), WIDTH) | {"out": width_of(spec, "out", share)}
    plan = CooperativeAttentionPlan(
        **common_fields(spec, target, schedule),
        schedule=schedule,
        template="spirv/attention_coopmat.spvasm.j2",
        tensors=tuple(buffers(spec, target, widths)),
        functions=(TRANSPOSE,) if spec.dtype is DType.F16 else (TRANSPOSE, f"narrow_{spec.dtype}"),
        size=size,
        types=TYPES[spec.dtype],
    )
    tiles = Shared(
        name="tiles", scalar="uint", vector=FLOATS, length=plan.elements, by_component=True
    )
    factors = Shared(name="factors", scalar="float", length=schedule.num_threads)
    plan = replace(plan, shared=(tiles, partials(schedule), factors))
    check_shared(plan, "block_q" if plan.queries_are_most else "block_k")
    return with_helpers(plan)
