"""Tuning of given kernels, here or on an executor's workers.

Each schedule of a kernel is measured, and the fastest is recorded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from kgen import targets
from kgen.errors import KgenError, ScheduleError, TargetError
from kgen.parallel import work
from kgen.schedule import Schedule
from kgen.spec import Spec
from kgen.targets.base import Target
from kgen.targets.choose import (
    Choice,
    How,
    adapted,
    class_of,
    measured_in,
    nearest,
    schedule_of,
    sizes_of,
    tunings_of,
)
from kgen.targets.tuning.file import Tuning
from kgen.tune import local_cpu
from kgen.tune.pairing import DeviceRace, Race, TimingCondition, conditions_of, confirming
from kgen.tune.record import TuningFile
from kgen.tune.search import STEPS, Point, SearchResult, search
from kgen_runtime.values import frozen

Progress = Callable[[str], None]


@frozen
class Tuned:
    """Result for one kernel; `found` is None if the file already has a measured row."""

    spec: Spec
    target: Target
    schedule: Schedule
    how: How
    found: SearchResult | None


@dataclass(kw_only=True)
class Tuner:
    """Tuner of kernels of one target on a device, which keeps the file up to date.

    `race` times plans on the device. With an `executor`, its workers measure instead, each on its
    own machine, whose CPU must be the core of the file. `clock` returns seconds.
    """

    file: TuningFile
    target: Target
    device: str = "cpu"
    executor: Executor | None = None
    progress: Progress = lambda _: None
    race: Race | None = None
    #: Conditions of a search; empty for those of the device.
    conditions: Sequence[TimingCondition] = ()
    clock: Callable[[], float] = time.monotonic
    #: Commit of kgen; empty for that of this checkout.
    commit: str = ""
    #: Time after which no further kernel starts.
    deadline: float = math.inf
    results: list[Tuned] = field(default_factory=list)

    def limit(self, minutes: float | None) -> None:
        """Start no kernel after this many minutes from now."""
        self.deadline = math.inf if minutes is None else self.clock() + 60 * minutes

    @property
    def has_time(self) -> bool:
        return self.clock() < self.deadline

    def tune(self, specs: Sequence[Spec]) -> list[Tuned]:
        """Measure each kernel without a measured row, and add its row.

        Raises TargetError for a target that the device does not run.
        """
        self.check()
        points = {}
        for spec in dict.fromkeys(specs):
            name, sizes = class_of(spec, self.target), sizes_of(spec)
            if (known := self.known(spec)) is not None:
                self.results.append(known)
            elif (name, sizes) not in points:
                points[name, sizes] = spec
        wanted = list(points.values())
        for spec, choice, found in self.measured(wanted):
            self.keep(spec, choice, found, is_needed=True)
        return self.results

    def known(self, spec: Spec) -> Tuned | None:
        """Return the measured row of a kernel; None if there is none, or its fields are unknown."""
        name, sizes = class_of(spec, self.target), sizes_of(spec)
        row = self.file.row(name, sizes)
        if row is None or not self.file.is_done(name, sizes, self.commit):
            return None
        try:
            schedule = schedule_of(spec, self.target, row.fields)
        except ScheduleError:
            return None
        return Tuned(spec=spec, target=self.target, schedule=schedule, how=How.MEASURED, found=None)

    def check(self) -> None:
        """Raise TargetError for a target that the device does not run."""
        if self.executor is None and self.race is None:
            local_cpu.check_runs_here(self.target, self.device)
        self.conditions = self.conditions or conditions_of(self.device)
        self.commit = self.commit or local_cpu.commit()

    def measured(self, specs: Sequence[Spec]) -> Iterator[tuple[Spec, Choice, SearchResult]]:
        """Yield the choice for each kernel without its row, and the result of its search."""
        choices = [self.current(spec) for spec in specs]
        points = [self.point(*each) for each in zip(specs, choices, strict=True)]
        if self.executor is None:
            yield from self._measured_here(specs, choices, points)
            return

        def blame(number: int, why: str) -> TargetError:
            return TargetError(f"{points[number].name}: {why}")

        def told(number: int, done: int, left: int) -> None:
            self.progress(f"tuning {points[number].name}: {done} done, {left} left")

        pieces = [(point, self.device, self.file.core) for point in points]
        for number, found in work.results(self.executor, searched, pieces, blame, told):
            yield specs[number], choices[number], found
            if not self.has_time:
                return

    def _measured_here(
        self, specs: Sequence[Spec], choices: Sequence[Choice], points: Sequence[Point]
    ) -> Iterator[tuple[Spec, Choice, SearchResult]]:
        run = self.race or DeviceRace(device=self.device)
        name = local_cpu.name_of(local_cpu.device_info(self.device))
        for number, point in enumerate(points):
            if number and not self.has_time:
                return
            report = partial(self._report, point, number, len(points) - number)
            found = search(point, run, report, conditions=self.conditions)
            yield specs[number], choices[number], replace(found, machine=name)

    def _report(self, point: Point, done: int, left: int, step: int) -> None:
        self.progress(
            f"tuning {point.name}, step {step} of at most {STEPS}: {done} done, {left} left"
        )

    def current(self, spec: Spec) -> Choice:
        """Choose the schedule of a kernel without the rows of its own sizes."""
        found = measured_in(spec, self.target, self.tunings(spec))
        if found is not None:
            return found
        schedule = targets.family(self.target.family).choose(spec, self.target)
        return Choice(schedule=schedule, how=How.MODEL)

    def tunings(self, spec: Spec) -> tuple[Tuning, ...]:
        """Return the files that a build would read; the own one lacks rows of these sizes."""
        own = self.file.tuning(without=(class_of(spec, self.target), sizes_of(spec)))
        return (own,) if self.file.is_shipped else tunings_of(self.target, own)

    def point(self, spec: Spec, choice: Choice) -> Point:
        """Return the kernel to measure: it starts from its old row and from its neighbours."""
        starts: list[Schedule] = []
        if row := self.file.row(class_of(spec, self.target), sizes_of(spec)):
            with suppress(ScheduleError):  # a row of an older version is replaced
                starts.append(schedule_of(spec, self.target, row.fields))
        near = nearest(spec, self.target, self.tunings(spec))
        starts += [s for each in near if (s := adapted(spec, self.target, each)) is not None]
        return Point(spec=spec, target=self.target, current=choice.schedule, starts=tuple(starts))

    def keep(self, spec: Spec, choice: Choice, found: SearchResult, *, is_needed: bool) -> None:
        """Record a result: a row if the choice without it is clearly slower, or `is_needed`."""
        name, sizes = class_of(spec, self.target), sizes_of(spec)
        source = local_cpu.source_of(found.machine, self.commit, confirming(self.conditions))
        best, gain, seconds = found.schedule, found.over_model, found.seconds
        if not found.is_better:
            best, gain = choice.schedule, found.over_model / found.gain
            seconds *= found.gains[self.conditions[-1].name]
        if found.is_better or is_needed:
            self.file.add(name, sizes, best, source, gain=gain, seconds=seconds)
        else:
            self.file.check(name, sizes, source)
        self.file.save()
        self.results.append(
            Tuned(spec=spec, target=self.target, schedule=best, how=choice.how, found=found)
        )


def searched(point: Point, device: str, core: str) -> SearchResult | str:
    """Search on a worker's device; return the result, or the error's text."""
    try:
        if device.partition(":")[0] == "cpu":
            local_cpu.check_core(core)
        local_cpu.check_runs_here(point.target, device)
        found = search(point, DeviceRace(device=device), conditions=conditions_of(device))
        return replace(found, machine=local_cpu.name_of(local_cpu.device_info(device)))
    except KgenError as error:
        return str(error)


def specs_of_bundle(specs: Iterable[tuple[Spec, Target]], target: Target) -> list[Spec]:
    """Return the kernels of a bundle that a target can be tuned for: those of its family."""
    family = targets.family(target.family)
    found = []
    for spec, built in specs:
        if built.family != target.family or spec in found:
            continue
        with suppress(TargetError):
            family.check_support(spec, target)
            found.append(spec)
    return found
