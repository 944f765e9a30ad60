"""Attention by multiply-adds: scores of a block of keys, an online softmax, weights times values.

The invocations with the same queries divide the keys of a block in the first product and the
elements of the result in the second. Weights go through workgroup memory between both. Q, K and V
are read directly from the buffers. T. Dao, FlashAttention-2, arXiv 2307.08691, section 3.1.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

from kgen.errors import ScheduleError
from kgen.ops import parse
from kgen.ops.expression import Expression
from kgen.schedule import UnstagedAttention
from kgen.spec import Attention, DType
from kgen.spec.attention import EmptyRows
from kgen.spec.spec import F32_MAX
from kgen.targets.base import Target
from kgen.targets.batch import BatchCoordinate
from kgen.targets.expressions import Rendered
from kgen.targets.header import counted
from kgen.targets.powers_of_two import check_powers_of_two, log2
from kgen.targets.vulkan.expressions import SpirvRenderer
from kgen.targets.vulkan.limits import MAX_TURNS
from kgen.targets.vulkan.plan.attention.head_accesses import attention_tensors
from kgen.targets.vulkan.plan.attention.invocation import (
    Conjunction,
    FusedStep,
    HeadColumn,
    Score,
)
from kgen.targets.vulkan.plan.attention.key_range import KeyRange
from kgen.targets.vulkan.plan.attention.query_rows import (
    AttentionSchedule,
    QueryRow,
    block_sizes,
    coordinate_ids,
    coordinates,
    row_count,
)
from kgen.targets.vulkan.plan.checks import check_shared, check_threads
from kgen.targets.vulkan.plan.index import Index, index_of
from kgen.targets.vulkan.plan.memory import Shared
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan, fold_grid
from kgen_runtime.manifest import Launch
from kgen_runtime.values import frozen

LOG2_E, LN_2 = math.log2(math.e), math.log(2.0)
#: Maximum of a row before its first block: finite, so that a score of -infinity has the weight 0.
LOWEST = -F32_MAX
#: Most sums of scores and results that an invocation holds; more would spill.
MAX_SUMS = 128


@frozen
class UnstagedAttentionPlan(VulkanPlan):
    """Plan of attention.spvasm.j2. With `guarded`, some workgroups have no rows."""

    spec: Attention
    schedule: AttentionSchedule
    folded: bool
    guarded: bool
    renderer = SpirvRenderer()

    @property
    def notes(self) -> tuple[str, ...]:
        blocks = counted(-(-self.spec.keys // self.schedule.block_k), "block")
        most = "up to " if self.spec.kv_length or self.spec.limits_keys else ""
        lanes = counted(self.lanes, "invocation")
        return (
            f"online softmax over {most}{blocks} of {self.schedule.block_k} keys; {lanes} for "
            f"{counted(self.schedule.thread_q, 'query', 'queries')}",
        )

    # -- the grid ------------------------------------------------------------------------------

    @property
    def blocks(self) -> int:
        return math.prod(block_sizes(self.spec, self.schedule).values())

    @property
    def last_block(self) -> int:
        return self.blocks - 1

    @property
    def block_read(self) -> str:
        """Id of the block that is computed: the last one if the workgroup's own does not exist."""
        return "block_read" if self.guarded else "block"

    @property
    def block_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return coordinates(block_sizes(self.spec, self.schedule))

    @cached_property
    def block_names(self) -> Mapping[str, str]:
        """Ids of a block's coordinates, without those that are always 0."""
        return coordinate_ids(block_sizes(self.spec, self.schedule), self.block_read)

    @property
    def block_number(self) -> str:
        """Id of the block's number among those of its K/V head."""
        return self.block_names.get("row_block", "uint_0")

    # -- rows ----------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        return self.schedule.lanes

    @property
    def lane_mask(self) -> int:
        return self.lanes - 1

    @property
    def lane_bits(self) -> int:
        return log2(self.lanes)

    @property
    def total_rows(self) -> int:
        return row_count(self.spec)

    @property
    def last_row(self) -> int:
        return self.total_rows - 1

    @property
    def rows_end_inside(self) -> bool:
        """Whether rows of a block may not exist."""
        return self.total_rows % self.schedule.block_q != 0

    @property
    def stores_some(self) -> bool:
        """Whether some rows are computed and not stored."""
        return self.rows_end_inside or self.guarded

    def row_read(self, number: int) -> str:
        """Id of the row that is read: the last one if the invocation's own does not exist."""
        return f"row{number}_read" if self.rows_end_inside else f"row{number}"

    @cached_property
    def rows(self) -> tuple[QueryRow, ...]:
        return tuple(self._row(i) for i in range(self.schedule.thread_q))

    def _row(self, number: int) -> QueryRow:
        sizes = {"in_group": self.spec.group, "query": self.spec.queries}
        names = coordinate_ids(sizes, self.row_read(number), str(number))
        places = {
            name: index_of(f"{name}{number}_row", self._terms(steps, width, names))
            for name, (steps, width) in self._row_strides.items()
        }
        return QueryRow(
            number=number,
            coordinates=coordinates(sizes, str(number)),
            query=names.get("query", "uint_0"),
            places=places,
        )

    @property
    def _row_strides(self) -> dict[str, tuple[tuple[int, ...], int]]:
        """Strides for batch, heads and queries, and elements of an access, of tensors with a row
        for each query."""
        spec = self.spec
        found: dict[str, tuple[tuple[int, ...], int]] = {
            name: (spec.strides(name), self.tensor(name).width) for name in ("q", "out")
        }
        if spec.mask is not None:
            found["mask"] = (spec.mask_strides[:3], 1)
        if spec.lse:
            found["lse"] = ((spec.heads * spec.queries, spec.queries, 1), 1)
        return found

    def _terms(
        self, strides: tuple[int, ...], width: int, names: Mapping[str, str]
    ) -> list[tuple[str, int]]:
        b, h, row = strides
        steps = {"batch": b, "kv_head": h * self.spec.group, "in_group": h, "query": row}
        known = {**self.block_names, **names}
        return [(known[dim], n // width) for dim, n in steps.items() if dim in known and n]

    @property
    def operands(self) -> tuple[tuple[str, Index], ...]:
        """K and V, with the index of the first key of the workgroup's head: in the tensor, or in a
        page if keys are paged."""
        found = []
        for name in ("k", "v"):
            b, h, _ = self.spec.strides(name)
            steps, width = {"batch": b, "kv_head": h}, self.tensor(name).width
            if self.spec.is_paged:
                del steps["batch"]
            terms = [(self.block_names[d], n // width) for d, n in steps.items() if self._has(d, n)]
            found.append((name, index_of(f"{name}_head", terms)))
        return tuple(found)

    @property
    def head_places(self) -> Mapping[str, Index]:
        return dict(self.operands)

    @property
    def table_place(self) -> Index:
        """Place of the batch element's row in the page table."""
        batch, row = self.block_names.get("batch"), self.spec.most_pages
        return index_of("table_row", [(batch, row)] if batch is not None else [])

    @property
    def has_blocks_in_pages(self) -> bool:
        """Whether a block of keys is always in one page."""
        return self.spec.page_size is None or self.spec.page_size % self.schedule.block_k == 0

    def page_stride(self, name: str) -> int:
        """Accesses from one page of K or V to the next."""
        return self.spec.strides(name)[0] // self.tensor(name).width

    def _has(self, dim: str, stride: int) -> bool:
        return dim in self.block_names and stride > 0

    def key_stride(self, name: str) -> int:
        """Accesses from one key of K or V to the next."""
        return self.spec.strides(name)[2] // self.tensor(name).width if self.spec.keys > 1 else 0

    @cached_property
    def range(self) -> KeyRange:
        place = self.block_names.get("batch", "uint_0")
        return KeyRange(
            spec=self.spec,
            block_q=self.schedule.block_q,
            block_k=self.schedule.block_k,
            length_place=place,
        )

    # -- scores --------------------------------------------------------------------------------

    @property
    def lane_key(self) -> str:
        """Id of the distance from a block's first key to the invocation's first one."""
        return "lane"

    @property
    def by_matrices(self) -> bool:
        """Whether scores are read from workgroup memory, and weights are packed there."""
        return False

    @property
    def keys(self) -> tuple[tuple[int, int], ...]:
        """Keys of an invocation in a block: number, and distance from the first."""
        return tuple((j, j * self.lanes) for j in range(self.schedule.thread_k))

    def key_read(self, number: int) -> str:
        """Id of the key that is read: the last one if the invocation's own does not exist."""
        return f"key{number}_read" if self.range.keys_end_inside else f"key{number}"

    @property
    def scores(self) -> tuple[Score, ...]:
        rows, keys = range(self.schedule.thread_q), range(self.schedule.thread_k)
        return tuple(Score(row=i, key=j) for i in rows for j in keys)

    def scores_of(self, row: QueryRow) -> tuple[Score, ...]:
        return tuple(score for score in self.scores if score.row == row.number)

    @property
    def head_accesses(self) -> int:
        """Accesses of a query or a key."""
        return self.spec.head // self.tensor("q").width

    @property
    def score_steps(self) -> tuple[FusedStep, ...]:
        """Multiply-adds of one access of each query and key."""
        last = self.tensor("q").width - 1
        return tuple(
            FusedStep(
                result=f"dot_{s.name}_{'next' if n == last else n}",
                a=f"q{s.row}_{n}",
                b=f"k{s.key}_{n}",
                before=f"dot_{s.name}_{n - 1}" if n else f"dot_{s.name}",
            )
            for n in range(last + 1)
            for s in self.scores
        )

    @property
    def scale(self) -> str:
        return self._constant(self.spec.factor)

    @property
    def cap(self) -> Expression | None:
        """Scale and soft cap of a score."""
        cap = self.spec.softcap
        return parse(f"tanh(x * ({self.spec.factor / cap!r})) * {cap!r}") if cap else None

    def capped(self, score: Score) -> Rendered:
        """Return the lines that give %scaled_<score> its value."""
        assert self.cap is not None
        return self.renderer.render(
            self.cap, {"x": f"%dot_{score.name}_next"}, f"%scaled_{score.name}"
        )

    @property
    def adds_mask(self) -> bool:
        return self.spec.mask is not None and not self.spec.has_boolean_mask

    @property
    def masks_rows(self) -> bool:
        """Whether the mask has one element for all keys of a query."""
        return self.spec.mask is not None and not self.masks_keys

    @property
    def masks_keys(self) -> bool:
        """Whether the mask has an element for each key, and not one for all keys."""
        return self.spec.mask_strides[3] > 0

    @property
    def replaces_scores(self) -> bool:
        """Whether keys that the mask hides have a score of their own."""
        return self.spec.mask_value is not None

    @property
    def hidden_score(self) -> str:
        return self._constant(self.spec.hidden_score)

    def mask_of(self, score: Score) -> str:
        """Prefix of the ids of a score's element of the mask."""
        return f"mask_{score.name}" if self.masks_keys else f"mask_q{score.row}"

    def shown(self, score: Score) -> str:
        """Id of a score's element of a boolean mask."""
        return f"shown_{score.name}" if self.masks_keys else f"shown_q{score.row}"

    def score_id(self, score: Score) -> str:
        is_masked = self.adds_mask or self.replaces_scores
        return f"{'masked' if is_masked else 'scaled'}_{score.name}"

    def attends(self, score: Score) -> Conjunction:
        """Return the conditions under which a query attends to a key."""
        found = []
        if self.spec.limits_keys:
            found.append(f"before_{score.name}")
        elif self.range.keys_end_inside:
            found.append(f"inside_k{score.key}")
        if self.spec.has_window:
            found.append(f"behind_{score.name}")
        if self.spec.has_boolean_mask and not self.replaces_scores:
            found.append(self.shown(score))
        return Conjunction(name=f"attends_{score.name}", conditions=tuple(found))

    @property
    def hides_keys(self) -> bool:
        return bool(self.attends(self.scores[0]).conditions)

    def kept(self, score: Score) -> str:
        """Id of the score, or of the lowest number if the query does not attend to the key."""
        return f"kept_{score.name}" if self.hides_keys else self.score_id(score)

    @property
    def ordered(self) -> tuple[str, ...]:
        below = (f"%below_{score.name}" for score in self.scores)
        shrinks = (f"%shrinks_q{row.number}" for row in self.rows)
        caps = (each for s in self.scores for each in self.capped(s).ordered) if self.cap else ()
        return (*below, *shrinks, *caps)

    # -- the softmax ---------------------------------------------------------------------------

    @property
    def lane_pitch(self) -> int:
        """Distance between rows of `partials`; odd, so that rows begin in different banks."""
        return self.lanes + 1

    @property
    def weight_pitch(self) -> int:
        """Distance between rows of `weights`; odd, so that rows begin in different banks."""
        return self.schedule.block_k + 1

    @property
    def maxima(self) -> tuple[str, ...]:
        """Ids of the rows' maxima before a block."""
        return tuple(f"max_q{row.number}" for row in self.rows)

    @property
    def no_sums(self) -> tuple[str, ...]:
        return tuple("float_0" for _ in self.rows)

    def _constant(self, number: float) -> str:
        """Id of a constant, without its %."""
        return self.renderer.constant(number)[1:]

    @property
    def lowest(self) -> str:
        return self._constant(LOWEST)

    @property
    def log2_e(self) -> str:
        return self._constant(LOG2_E)

    @property
    def ln_2(self) -> str:
        return self._constant(LN_2)

    @property
    def minus_infinity(self) -> str:
        return self._constant(-math.inf)

    @property
    def without_weights(self) -> str:
        """Id of the result of a row without weights."""
        is_nan = self.spec.empty_rows is EmptyRows.NAN
        return self._constant(math.nan) if is_nan else "float_0"

    @property
    def drops_nan(self) -> bool:
        """Whether a row whose sum of weights is NaN counts as one without weights."""
        return self.spec.empty_rows is EmptyRows.NO_NAN

    # -- results -------------------------------------------------------------------------------

    @property
    def row_accesses(self) -> int:
        """Accesses of a value."""
        return self.spec.out_head // self.tensor("out").width

    @property
    def last_column(self) -> int:
        return self.row_accesses - 1

    @property
    def columns(self) -> tuple[HeadColumn, ...]:
        count = -(-self.row_accesses // self.lanes)
        return tuple(
            HeadColumn(
                number=c,
                distance=c * self.lanes,
                is_partial=(c + 1) * self.lanes > self.row_accesses,
            )
            for c in range(count)
        )

    def column_read(self, column: HeadColumn) -> str:
        """Id of the access that is read: the last one if the invocation's own does not exist."""
        return f"column{column.number}_read" if column.is_partial else f"column{column.number}"

    def sums_of(self, row: QueryRow, column: HeadColumn) -> tuple[str, ...]:
        """Names of the results of an access."""
        return tuple(f"q{row.number}_c{column.number}_{n}" for n in range(self.tensor("out").width))

    @property
    def sums(self) -> tuple[tuple[QueryRow, str], ...]:
        """Names of all results of an invocation, with their rows."""
        return tuple(
            (row, name)
            for row in self.rows
            for column in self.columns
            for name in self.sums_of(row, column)
        )

    @property
    def value_steps(self) -> tuple[FusedStep, ...]:
        """Multiply-adds of one key's weights and values."""
        return tuple(
            FusedStep(
                result=f"sum_{name}_next",
                a=f"weight_q{row.number}",
                b=f"v{column.number}_{n}",
                before=f"sum_{name}",
            )
            for row in self.rows
            for column in self.columns
            for n, name in enumerate(self.sums_of(row, column))
        )

    def stored(self, row: QueryRow, column: HeadColumn) -> Conjunction:
        """Return the conditions under which an access of the result is stored."""
        found: tuple[str, ...] = (f"row{row.number}_inside",) if self.stores_some else ()
        found += (f"column{column.number}_inside",) if column.is_partial else ()
        return Conjunction(name=f"store_q{row.number}_c{column.number}", conditions=found)

    def lse_stored(self, row: QueryRow) -> Conjunction:
        found = (f"row{row.number}_inside",) if self.stores_some else ()
        return Conjunction(name=f"store_lse_q{row.number}", conditions=("is_first_lane", *found))

    def results(self, row: QueryRow, column: HeadColumn) -> tuple[str, ...]:
        """Return the ids of the values that an access stores."""
        return tuple(f"out_{name}" for name in self.sums_of(row, column))


P = TypeVar("P", bound=UnstagedAttentionPlan)


def plan_attention(
    spec: Attention, target: Target, schedule: UnstagedAttention
) -> UnstagedAttentionPlan:
    """Return the plan. Raises ScheduleError if the schedule does not fit the target."""
    check_powers_of_two(schedule, *schedule.names)
    check_threads(schedule.num_threads, target, f"thread_k={schedule.thread_k * 2}")
    fields = common_fields(spec, target, schedule)
    weights = schedule.block_q * (schedule.block_k + 1)
    plan = UnstagedAttentionPlan(
        **fields,
        schedule=schedule,
        template="spirv/attention.spvasm.j2",
        tensors=tuple(attention_tensors(spec, target, schedule)),
        shared=(partials(schedule), Shared(name="weights", scalar="float", length=weights)),
    )
    check_shared(plan, "block_q")
    sums = len(plan.sums) + len(plan.scores)
    if sums > MAX_SUMS:
        smaller = "thread_q" if schedule.thread_q > 1 else "thread_k"
        value = getattr(schedule, smaller)
        raise ScheduleError(
            f"{smaller}={value} gives an invocation {sums} sums; the limit is {MAX_SUMS}; try "
            f"{smaller}={max(1, value // 2)}"
        )
    return with_helpers(plan)


def common_fields(spec: Attention, target: Target, schedule: AttentionSchedule) -> dict[str, Any]:
    """Return the fields of plans of both schedules. Raises ScheduleError."""
    _check_loops(spec, target, schedule)
    blocks = math.prod(block_sizes(spec, schedule).values())
    grid = fold_grid(blocks)
    launch = Launch(
        entry_point=spec.key,
        grid=grid,
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
    )
    return {
        "spec": spec,
        "target": target,
        "launches": (launch,),
        "num_threads": schedule.num_threads,
        "folded": grid[1] > 1,
        "guarded": grid[0] * grid[1] != blocks,
    }


def partials(schedule: AttentionSchedule) -> Shared:
    """Return the memory of each invocation's maximum, and of its sum of weights."""
    length = schedule.block_q * (schedule.lanes + 1)
    return Shared(name="partials", scalar="float", length=length)


def with_helpers(plan: P) -> P:
    """Return the plan with its helper functions and constants."""
    mask = "mask" if plan.adds_mask else ""
    names = [
        f"{'widen' if t.read_only else 'narrow'}_{t.dtype}"
        for t in plan.tensors
        if t.dtype in (DType.F16, DType.BF16)
        and (t.is_narrow or t.name == mask or (t.packed > 1 and not t.read_only))
    ]
    caps = (plan.cap,) if plan.cap else ()
    names += [*plan.renderer.functions(*caps), "exp2", *(("log2",) if plan.spec.lse else ())]
    numbers = (plan.spec.factor, LOG2_E, LOWEST, LN_2, -math.inf, math.nan, plan.spec.hidden_score)
    return dataclasses.replace(
        plan,
        functions=tuple(dict.fromkeys((*plan.functions, *names))),
        constants=plan.renderer.constants(*caps, further=numbers),
    )


def _check_loops(spec: Attention, target: Target, schedule: AttentionSchedule) -> None:
    blocks = -(-spec.keys // schedule.block_k)
    if blocks > MAX_TURNS:
        fitting = 1 << (-(-spec.keys // MAX_TURNS) - 1).bit_length()
        raise ScheduleError(
            f"block_k={schedule.block_k} cuts {spec.keys} keys into {blocks} blocks; "
            f"{target.name} allows {MAX_TURNS}; try block_k={fitting}"
        )
