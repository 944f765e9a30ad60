"""Complete a schedule of rows: readings, places of kept values and prefetches."""

from __future__ import annotations

import dataclasses

from kgen.schedule import CpuRows, CpuSplitRows, CpuStream
from kgen.spec import DType, Rowwise, Spec
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import AHEAD_BYTES
from kgen.targets.cpu.plan.kernels.rows.interleaved import unchecked_interleaved
from kgen.targets.cpu.plan.kernels.rows.kept import EXPENSIVE
from kgen.targets.cpu.plan.kernels.rows.rowwise import RowwisePlan, unchecked_rows
from kgen.targets.rows.split import is_interleaved

#: Fields about the readings of a row.
READINGS = ("online", "one_pass_variance")


def leaves_caches(spec: Spec, target: Target, caches: int = 1) -> bool:
    """Whether a kernel moves more bytes than `caches` last-level caches hold."""
    return spec.bytes_moved > caches * target.limits["l3_bytes"]


def fills_caches(spec: Spec, target: Target) -> bool:
    """Whether a kernel moves over half of the last-level cache, which other cores use too."""
    return 2 * spec.bytes_moved > target.limits["l3_bytes"]


def row_stays(plan: RowwisePlan) -> bool:
    """Whether a row, or the next row, is in the second-level cache when the next phase reads it.

    Computing exponentials twice costs more than reading such a row again."""
    return 2 * plan.row_bytes_read <= plan.target.limits["l2_bytes"]


def row_choices(spec: Rowwise, target: Target, schedule: CpuStream) -> dict[str, int]:
    """Return the fields that follow from the length of a row, from the expression and the caches.

    A reduction of rows from memory prefetches a few lines ahead. It prefetches the next row
    instead if the last reading of a row takes longer than memory does. A kernel that writes an
    output with exponentials needs no prefetch.
    """
    is_far = leaves_caches(spec, target)
    if isinstance(schedule, CpuSplitRows):
        return {"prefetch": AHEAD_BYTES * is_far}
    if not isinstance(schedule, CpuRows):
        return {}
    unchecked = unchecked_interleaved if is_interleaved(spec) else unchecked_rows
    plan = _in_fewest_readings(unchecked(spec, target, schedule), is_far=is_far)
    plan = _with(plan, keep_in_output=is_far and _suits_output(plan), prefetch_next_row=False)
    last = plan.row.phases[-1].number
    fields = {name: getattr(plan.choices, name) for name in (*READINGS, "keep_in_output")}
    if not plan.may_prefetch:
        return {**fields, "prefetch": 0, "prefetch_next_row": False}
    if plan.row.whole_outputs:
        next_row = row_stays(plan) and fills_caches(spec, target) and not plan.keeps_in_output
        return {**fields, "prefetch": 0, "prefetch_next_row": next_row}
    computes = last > 1 and any(
        s.primitive in EXPENSIVE for s in plan.row.elements(plan.row.phases[-2].wanted)
    )
    next_row = is_far and computes and row_stays(plan)
    ahead = AHEAD_BYTES * (is_far and not next_row)
    return {**fields, "prefetch": ahead, "prefetch_next_row": next_row}


def _in_fewest_readings(plan: RowwisePlan, *, is_far: bool) -> RowwisePlan:
    """Return the plan that reads each row as few times as is worth it.

    Variances take two passes where a row stays in a cache or is short, else one. A fold is computed
    together with its extreme where the row does not stay. Fields that make no difference are 0."""
    if plan.spec.compute is not DType.F32:
        return _with(plan, **dict.fromkeys(READINGS, False))
    read_once = not row_stays(plan) or (is_far and all(plan.spec.reduced.values()))
    wanted = {
        "online": not row_stays(plan),
        "one_pass_variance": read_once and plan.may_shift,
    }
    plan = _with(plan, **wanted)
    for name in READINGS:
        without = _with(plan, **{name: False})
        plan = without if without.row.phases == plan.row.phases else plan
    return plan


def _suits_output(plan: RowwisePlan) -> bool:
    """Whether kept values go to the output's row, which comes from memory: stores do not wait.

    A row in a cache, or one whose vectors straddle cache lines, is better written once."""
    straddles = plan.spec.cols * plan.spec.compute.itemsize % plan.compute.bytes
    return bool(plan.row_as_place and not plan.schedule.nontemporal and not straddles)


def _with(plan: RowwisePlan, **fields: bool) -> RowwisePlan:
    schedule = dataclasses.replace(plan.choices, **fields)  # type: ignore[arg-type]
    return dataclasses.replace(plan, schedule=schedule)
