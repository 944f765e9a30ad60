"""Local search: schedules that differ from a given one in one field, and other main loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kgen import targets
from kgen.errors import ScheduleError
from kgen.schedule import (
    BlockedMatmul,
    CpuMatmul,
    CpuStream,
    InnerMatmul,
    OuterMatmul,
    Schedule,
    ScheduleOrigin,
)
from kgen.schedule.matmul import A_AHEAD, PANELS_AHEAD
from kgen.targets.base import Plan
from kgen.targets.cpu.plan.cpu_plan import CpuPlan
from kgen.targets.cpu.plan.kernels.gemv import OuterPlan

#: Steps of the rows and vectors of a register tile, and factors of blocks and tasks.
TILE_STEPS = (-2, -1, 1, 2)
FACTORS = (0.5, 2.0)
#: Prefetch fields, with the first value to try where nothing is prefetched.
FETCHES = {
    "ahead": PANELS_AHEAD,
    "prefetch": 1,
    "apart": 1,
    "prefetch_a": A_AHEAD,
    "packing_ahead": 8,
    "packing_ahead_narrow": 32,
}
#: Boolean fields of blocked matmuls.
SWITCHES = ("prefetch_panel", "sums_in_out", "keep_b", "a_in_workspace")


def neighbours(plan: Plan) -> Iterator[Schedule]:
    """Yield schedules that differ in one field, and in fields that follow from it.

    Some trade rows of a register tile for vectors. Not all of them fit the target.
    """
    schedule, family = plan.schedule, targets.family(plan.target.family)
    for fields in _changes(plan):
        try:
            near = dataclasses.replace(schedule, **fields, origin=ScheduleOrigin.TUNED)
        except ScheduleError:
            continue
        yield near
        yield family.complete(plan.operation, plan.target, near, fields)


def _changes(plan: Plan) -> Iterator[dict[str, int]]:
    schedule = plan.schedule
    if isinstance(plan, CpuPlan) and isinstance(schedule, BlockedMatmul):
        unit = 1 if isinstance(schedule, InnerMatmul) else plan.compute.count
        unit = plan.rows_of_b.strip if isinstance(plan, OuterPlan) else unit
        return _products(schedule, unit, plan.target.limits["vector_registers"])
    if isinstance(schedule, CpuStream):
        return _streams(schedule)
    return _any(schedule)


def _any(schedule: Schedule) -> Iterator[dict[str, int]]:
    """Yield each field of any schedule doubled, halved or inverted."""
    for name in schedule.names:
        value: int = getattr(schedule, name)
        if isinstance(value, bool):
            yield {name: not value}
        elif isinstance(value, int):
            yield from ({name: int(value * factor)} for factor in FACTORS if value)


def distinct_neighbours(plan: Plan) -> list[Schedule]:
    """Return the neighbours without repetitions and without the plan's own schedule."""
    here = dataclasses.replace(plan.schedule, origin=ScheduleOrigin.TUNED)
    return [s for s in dict.fromkeys(neighbours(plan)) if s != here]


def other_kinds(plan: Plan) -> Iterator[Schedule]:
    """Yield the best alternative of each main loop, packing and panel width."""
    kinds = {_kind(plan.schedule)}
    for schedule in targets.family(plan.target.family).alternatives(plan.operation, plan.target):
        if (kind := _kind(schedule)) not in kinds:
            kinds.add(kind)
            yield dataclasses.replace(schedule, origin=ScheduleOrigin.TUNED)


def _kind(schedule: Schedule) -> tuple[int | str, ...]:
    names = ("pack_a", "pack_b", "nr")
    return schedule.mainloop, *(getattr(schedule, name, 0) for name in names)


def _products(schedule: BlockedMatmul, unit: int, registers: int) -> Iterator[dict[str, int]]:
    for step in TILE_STEPS:
        if (mr := schedule.mr + step) > 0:
            yield {"mr": mr, "mc": _multiple(schedule.mc, mr)}
        if (nr := schedule.nr + step * unit) > 0:
            yield {"nr": nr, "nc": _multiple(schedule.nc, nr)}
            most = (registers - 2) // (nr // unit) - 1
            if (mr := min(most, schedule.mc)) > 0:
                blocks = {"mc": _multiple(schedule.mc, mr), "nc": _multiple(schedule.nc, nr)}
                yield {"mr": mr, "nr": nr, **blocks}
    for factor in FACTORS:
        yield {"mc": _multiple(int(schedule.mc * factor), schedule.mr)}
        yield {"nc": _multiple(int(schedule.nc * factor), schedule.nr)}
        yield {"kc": int(schedule.kc * factor)}
    if isinstance(schedule, InnerMatmul):
        yield from ({"unroll": int(schedule.unroll * factor)} for factor in FACTORS)
    elif isinstance(schedule, OuterMatmul):
        yield from ({"parts": int(schedule.parts * factor)} for factor in FACTORS)
    else:
        yield {"pack_a": not schedule.pack_a}
        yield {"pack_b": not schedule.pack_b}
    yield from _fetches(schedule)
    yield from _passes(schedule)


def _fetches(schedule: BlockedMatmul) -> Iterator[dict[str, int]]:
    """Yield other prefetch distances, numbers of lines and cache levels."""
    fields = {field.name for field in dataclasses.fields(schedule)}
    for name, first in FETCHES.items():
        if name in fields:
            value: int = getattr(schedule, name)
            steps = [int(value * factor) for factor in FACTORS] if value else [first]
            yield from ({name: step} for step in steps)
    if level := getattr(schedule, "level", 0):
        yield {"level": 3 - level}


def _passes(schedule: BlockedMatmul) -> Iterator[dict[str, int]]:
    """Yield other places for partial sums, other prefetched panels, and other tasks per pass."""
    for name in (n for n in SWITCHES if n in schedule.names):
        yield {name: not getattr(schedule, name)}
    if isinstance(schedule, CpuMatmul | OuterMatmul):
        yield from ({"tasks_per_pass": int(schedule.tasks_per_pass * f)} for f in FACTORS)


def _streams(schedule: CpuStream) -> Iterator[dict[str, int]]:
    for factor in FACTORS:
        yield {"task": int(schedule.task * factor)}
        yield {"unroll": int(schedule.unroll * factor)}
        yield {"prefetch": int(schedule.prefetch * factor)}
    yield {"nontemporal": not schedule.nontemporal}


def _multiple(extent: int, unit: int) -> int:
    """Return the nearest multiple of `unit` at or above `extent`; at least one unit."""
    return max(-(-extent // unit), 1) * unit
