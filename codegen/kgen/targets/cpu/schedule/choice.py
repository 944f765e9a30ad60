"""Choose CPU schedules by the cost model, and complete those of which a user set some fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from kgen.schedule import BlockedMatmul, CpuStream, Schedule
from kgen.spec import Elementwise, Matmul, Rowwise, Spec
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.schedule import adapt, cost_model
from kgen.targets.cpu.schedule.row_choices import row_choices
from kgen.targets.cpu.schedule.row_schedules import elementwise_schedule, rowwise_schedule

#: Candidates that are listed, the best of all that the model ranks.
LISTED = 64


def choose(spec: Spec, target: Target) -> Schedule:
    """Return the schedule of the least predicted time; it always fits."""
    if isinstance(spec, Matmul):
        found = cost_model.best(spec, target)
        assert found is not None, f"no main loop of {target.name} fits {spec.key}"
        return found
    if isinstance(spec, Elementwise):
        return elementwise_schedule(spec, target)
    assert isinstance(spec, Rowwise)
    return completed(spec, target, rowwise_schedule(spec, target))


def completed(
    spec: Spec, target: Target, schedule: Schedule, given: Collection[str] = ()
) -> Schedule:
    """Return the schedule with the fields that follow from others, but for those in `given`.

    A schedule that does not fit is not refused here: its plan names a value that fits.
    """
    if isinstance(spec, Matmul) and isinstance(schedule, BlockedMatmul):
        return adapt.completed(spec, target, schedule, given)
    if isinstance(spec, Rowwise) and isinstance(schedule, CpuStream):
        names = set(schedule.names) - set(given)
        chosen = row_choices(spec, target, schedule)
        fields = {name: value for name, value in chosen.items() if name in names}
        return dataclasses.replace(schedule, **fields)  # type: ignore[arg-type]
    return schedule


def candidates(spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
    """Return the schedules of the least predicted time, best first; none for rows and streams,
    which have one candidate."""
    return cost_model.candidates(spec, target, most=LISTED) if isinstance(spec, Matmul) else ()


def alternatives(spec: Spec, target: Target) -> tuple[Schedule, ...]:
    """Return the best schedule of each main loop and way of packing, the best first."""
    return cost_model.alternatives(spec, target) if isinstance(spec, Matmul) else ()
