"""Search for the fastest schedule of one kernel: candidates, local search, confirmation.

The first step compares the current choice with the model's best candidates, measured neighbours and
the other main loops. Further steps compare the best schedule with its neighbours in one field. A
winner must also be faster when it is timed again against the current choice alone, on fresh
buffers, under all conditions: among twenty equal kernels one is the fastest by chance.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import Schedule, ScheduleOrigin
from kgen.spec import Spec
from kgen.targets.base import Plan, Target
from kgen.tune.local_search import distinct_neighbours, other_kinds
from kgen.tune.pairing import ONE_THREAD, Race, TimingCondition, confirming
from kgen_runtime.values import frozen

#: Candidates of the model in the first step, and most steps of the local search.
CANDIDATES, STEPS = 12, 4
#: Factor that a step must gain; less is noise.
STEP_GAIN = 1.02
#: Least geometric mean of a winner's gains, and least gain under any condition.
GAIN, LEAST = 1.03, 0.97

#: Function that is called with the number of each step.
Report = Callable[[int], None]


@frozen
class Point:
    """Kernel to measure: its current schedule, and others to compare first."""

    spec: Spec
    target: Target
    current: Schedule
    starts: tuple[Schedule, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.target.name}/{self.spec.key}"


@frozen
class SearchResult:
    """Result of a search.

    `gains` are times of the current choice divided by those of `schedule`, by condition.
    `over_model` is the same ratio for the model's choice, as a geometric mean. `seconds` is the
    time under the last condition of the search, and `machine` the device.
    """

    schedule: Schedule
    gains: Mapping[str, float]
    over_model: float
    seconds: float
    steps: int
    machine: str = ""

    @property
    def gain(self) -> float:
        return geometric_mean(list(self.gains.values()))

    @property
    def is_better(self) -> bool:
        """Whether the schedule is clearly faster than the current choice."""
        return self.gain >= GAIN and min(self.gains.values()) >= LEAST


def search(
    point: Point,
    race: Race,
    report: Report = lambda _: None,
    *,
    conditions: Sequence[TimingCondition] = ONE_THREAD,
) -> SearchResult:
    """Search for the fastest schedule of a kernel. Raises TargetError if its current one fails."""
    spec, target = point.spec, point.target
    current = pipeline.plan(spec, target, point.current)
    found, steps = current, 0
    for steps in range(1, STEPS + 1):
        report(steps)
        others = first_schedules(point, current) if steps == 1 else distinct_neighbours(found)
        plans = planned(spec, target, [found.schedule, *others])
        best = min_index(scores(plans, race, conditions))
        if best is None:
            if steps > 1:
                break
        else:
            found = plans[best]
    return confirmed(point, current, found, race, conditions, steps)


def first_schedules(point: Point, current: Plan) -> list[Schedule]:
    """Return the schedules that the first step compares with the current one."""
    family = targets.family(point.target.family)
    ranked = [each.schedule for each in family.candidates(point.spec, point.target)[:CANDIDATES]]
    return [family.choose(point.spec, point.target), *point.starts, *ranked, *other_kinds(current)]


def planned(spec: Spec, target: Target, schedules: Iterable[Schedule]) -> list[Plan]:
    """Return the plans of the schedules that fit, without repetitions; the first one must fit."""
    plans = []
    for schedule in dict.fromkeys(without_origin(each) for each in schedules):
        try:
            plans.append(pipeline.plan(spec, target, schedule))
        except ScheduleError:
            if not plans:
                raise
    return plans


def scores(plans: Sequence[Plan], race: Race, conditions: Sequence[TimingCondition]) -> list[float]:
    """Return the time of each plan over that of the first, as a geometric mean of conditions."""
    ratios = []
    for condition in conditions:
        seconds = race(plans, condition)
        ratios.append([each / seconds[0] for each in seconds])
    return [geometric_mean(own) for own in zip(*ratios, strict=True)]


def min_index(found: Sequence[float]) -> int | None:
    """Return the number of the least score if it clearly beats the first one, else None."""
    best = min(range(len(found)), key=found.__getitem__)
    return best if found[best] * STEP_GAIN < found[0] else None


def confirmed(
    point: Point,
    current: Plan,
    best: Plan,
    race: Race,
    conditions: Sequence[TimingCondition],
    steps: int,
) -> SearchResult:
    """Time the best plan, the current one and the model's again, alone, under all conditions.

    The best plan comes first, where a race measures kernels slowest.
    """
    family = targets.family(point.target.family)
    model = family.choose(point.spec, point.target)
    plans = planned(point.spec, point.target, [best.schedule, current.schedule, model])
    at = [without_origin(plan.schedule) for plan in plans]
    now, first = at.index(without_origin(current.schedule)), at.index(without_origin(model))
    gains, over_model, seconds = {}, [], 0.0
    for condition in confirming(conditions):
        times = race(plans, condition)
        gains[condition.name] = times[now] / times[0]
        over_model.append(times[first] / times[0])
        if condition == conditions[-1]:
            seconds = times[0]
    return SearchResult(
        schedule=dataclasses.replace(best.schedule, origin=ScheduleOrigin.TUNED),
        gains=gains,
        over_model=geometric_mean(over_model),
        seconds=seconds,
        steps=steps,
    )


def without_origin(schedule: Schedule) -> Schedule:
    return dataclasses.replace(schedule, origin=ScheduleOrigin.TUNED)


def geometric_mean(values: Sequence[float]) -> float:
    if math.inf in values:
        return math.inf
    return math.exp(sum(map(math.log, values)) / len(values))
