"""`kgen build --tune`: schedules measured on this CPU, and a file that remembers what was found.

A search in steps: all neighbours of the best schedule so far, and that one, run in turn, and the
least time of each counts, so that a busy moment hits none of them alone. The first step has other
ways as well: other main loops, packing, panels. It ends when no neighbour is better. Each step goes
into the file: a search that was stopped goes on where it was. All kernels are called on the same
data, which a cache may keep, or *cold*: on the next of so many copies that none does.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgen import bundle, pipeline, render, targets
from kgen.check.bench import cold
from kgen.check.bench.timing import in_turn
from kgen.errors import KgenError, ScheduleError, TargetError
from kgen.parallel import work
from kgen.pipeline import MAINLOOP
from kgen.schedule import Schedule, ScheduleOrigin
from kgen.schedule.base import current_names
from kgen.spec import Spec
from kgen.targets.base import Plan, Target
from kgen.targets.cpu.schedule.neighbours import neighbours, other_ways
from kgen_runtime.backend import Code
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.cpu_features import cpu_name
from kgen_runtime.files import replacing
from kgen_runtime.memory.host import bytes_at
from kgen_runtime.values import frozen

#: Turns of a step; calls of a turn take this many seconds at least, so that the clock's step and a
#: call's cost do not count.
ROUNDS, TURN_SECONDS = 9, 200e-6
#: A neighbour must be better by this factor: less is noise.
GAIN = 1.02
#: Steps of a search at most.
STEPS = 8
#: Every byte of an input: small numbers in each type, no NaN and no subnormals.
INPUT = 0x3A

Call = Callable[[], object]
#: What is known of a search: the schedule's fields, the steps, the gain, whether it has ended.
Record = dict[str, Any]
#: Takes the part of a step that is done, 0 to 1.
Report = Callable[[float], None]
#: Characters of the progress bar.
BAR = 24


@frozen
class Found:
    """Result of a search: `gain` is the time of the model's schedule over that of the best."""

    kernel: str
    steps: int
    gain: float


@dataclass(kw_only=True)
class Tuner:
    """Maps plans to those whose schedules are the best found, of operands that come from memory if
    `is_cold`; `path` is the file of what is known.

    The workers of an `executor` search in its place, each on its own machine, whose CPU the file
    names; a worker should have that machine to itself.
    """

    path: Path
    is_cold: bool = False
    executor: Executor | None = None
    progress: Callable[[str], None] = lambda _: None
    #: Of each kernel in turn: the steps that it took, and the model's time over the best.
    found: list[Found] = dataclasses.field(default_factory=list)

    def __call__(self, plan: Plan) -> Plan:
        """Raises TargetError for a target that this machine does not run."""
        return self.tuned([plan])[0]

    def tuned(self, plans: Sequence[Plan]) -> list[Plan]:
        """Better plans for these, in order. Raises TargetError."""
        if self.executor is None:
            for plan in plans:
                check_runs_here(plan.target)
        self._check_path()
        known = self._read()
        return [self._better(plan, *found) for plan, found in self._found(plans, known)]

    def _check_path(self) -> None:
        if not self.path.parent.is_dir():
            raise TargetError(f"{self.path}: {self.path.parent} is not a directory; make it first")
        if self.path.exists() and not self.path.is_file():
            raise TargetError(f"{self.path} is a device or folder, not a plain file; name another")

    def _found(
        self, plans: Sequence[Plan], known: dict[str, Any]
    ) -> Iterator[tuple[Plan, tuple[str, Record]]]:
        """Each plan, and what its search came to."""
        if self.executor is None:
            for plan in plans:
                for found in search(plan, known, str(self.path), self._show, is_cold=self.is_cold):
                    self._keep(known, *found)
                yield plan, found
            return

        def blame(number: int, why: str) -> TargetError:
            return TargetError(f"{plans[number].target.name}/{plans[number].spec.key}: {why}")

        def told(number: int, done: int, left: int) -> None:
            self.progress(f"tuning {plans[number].spec.key}: {done} done, {left} left")

        pieces = [
            (plan.spec, plan.target, plan.schedule, dict(known), self.is_cold) for plan in plans
        ]
        found_there = {}
        for number, remote in work.results(self.executor, searched, pieces, blame, told):
            self._keep(known, *remote)
            found_there[number] = remote
        yield from ((plan, found_there[number]) for number, plan in enumerate(plans))

    def _keep(self, known: dict[str, Any], key: str, record: Record) -> None:
        if known.get(key) != record:
            known[key] = record
            self._write(known)

    def _better(self, plan: Plan, key: str, record: Record) -> Plan:
        self.found.append(Found(kernel=plan.spec.key, steps=record["steps"], gain=record["gain"]))
        best = resumed(plan, record, str(self.path))
        return with_schedule(best, dataclasses.replace(best.schedule, origin=ScheduleOrigin.TUNED))

    def _show(self, kernel: str, step: int, part: float) -> None:
        bar = ("#" * round(BAR * part)).ljust(BAR, "-")
        self.progress(f"tuning {kernel}, step {step} of at most {STEPS} [{bar}]")

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {}
        try:
            found = json.loads(self.path.read_text())
        except OSError as error:
            raise TargetError(f"{self.path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise TargetError(f"{self.path} is not a tuning file ({error}); remove it") from None
        if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
            raise TargetError(f"{self.path} is not a tuning file; remove it")
        return found

    def _write(self, known: Mapping[str, Any]) -> None:
        """At once: who is stopped here leaves the old file."""
        try:
            with replacing(self.path) as file:
                file.write(json.dumps(known, indent=1, sort_keys=True).encode() + b"\n")
        except OSError as error:
            raise TargetError(f"{self.path} cannot be written: {error.strerror}") from None


def search(
    plan: Plan,
    known: Mapping[str, Any],
    path: str = "",
    show: Callable[[str, int, float], None] = lambda *_: None,
    *,
    is_cold: bool = False,
) -> Iterator[tuple[str, Record]]:
    """The key of a plan on this CPU with what is known of it, then again after each step.

    `path` is the file that `known` is from. Raises TargetError.
    """
    check_runs_here(plan.target)
    key = cache_key(plan, is_cold=is_cold)
    record = {"schedule": {}, "steps": 0, "gain": 1.0, "done": False} | known.get(key, {})
    best = resumed(plan, record, path)
    yield key, record
    while not record["done"]:
        steps = record["steps"] + 1
        shown = partial(show, plan.spec.key, steps)
        better, gain = step(best, shown, begins=steps == 1, is_cold=is_cold)
        done = better is best or steps == STEPS
        best = better
        fields = {MAINLOOP: best.schedule.mainloop}
        fields |= {name: getattr(best.schedule, name) for name in best.schedule.names}
        gain = round(record["gain"] * gain, 3)
        record = {"schedule": fields, "steps": steps, "gain": gain, "done": done}
        yield key, record


def searched(
    spec: Spec, target: Target, schedule: Schedule, known: Mapping[str, Any], is_cold: bool
) -> tuple[str, Record] | str:
    """A worker's part: what its search on its CPU came to, or why there is none."""
    try:
        *_, last = search(pipeline.plan(spec, target, schedule), known, is_cold=is_cold)
    except KgenError as error:
        return str(error)
    return last


def resumed(plan: Plan, record: Record, path: str) -> Plan:
    """The plan with the schedule that was found so far. Fields that an older version of kgen did
    not record are chosen again."""
    fields = current_names(record["schedule"])
    given = frozenset(fields)
    mainloop = fields.pop(MAINLOOP, plan.schedule.mainloop)
    family = targets.family(plan.target.family)
    known = (plan.schedule, family.draft(plan.spec, plan.target), *other_ways(plan))
    kinds = {type(s).mainloop: type(s) for s in reversed(known)}
    try:
        kind = kinds[mainloop]
        if kind is type(plan.schedule):
            schedule = dataclasses.replace(plan.schedule, **fields)
        else:
            schedule = kind(**fields)
        complete = family.complete(plan.spec, plan.target, schedule, given)
        return with_schedule(plan, complete if given else schedule)
    except (KeyError, TypeError, ScheduleError) as error:
        raise TargetError(f"{path} is not a tuning file ({error}); remove it") from None


def cache_key(plan: Plan, *, is_cold: bool = False) -> str:
    """Key of a result: the CPU, the target, the spec, the first schedule, and whether caches are
    cold."""
    target = plan.target
    words = [*sorted(target.features), *(f"{k}={v}" for k, v in sorted(target.limits.items()))]
    begun = {name: getattr(plan.schedule, name) for name in plan.schedule.names}
    digest = render.template_digest()[:16]
    spec = json.dumps(plan.spec.to_json(), sort_keys=True)
    parts = (cpu_name(), " ".join(words), spec, json.dumps(begun), f"templates {digest}")
    return "; ".join((*parts, *("cold",) * is_cold))


def with_schedule(plan: Plan, schedule: Schedule) -> Plan:
    return pipeline.plan(plan.spec, plan.target, schedule)


def step(
    plan: Plan, report: Report = lambda _: None, *, begins: bool = False, is_cold: bool = False
) -> tuple[Plan, float]:
    """The best of the plan and its neighbours, at the beginning of other ways as well, and how many
    times as fast it is; the plan itself if none is clearly better."""
    schedules = neighbours_that_differ(plan)
    if begins:
        schedules = list(dict.fromkeys([*schedules, *other_ways(plan)]))
    plans = [plan]
    for schedule in schedules:
        try:
            plans.append(with_schedule(plan, schedule))
        except ScheduleError:
            continue
    nbytes = sum(p.nbytes for p in plan.spec.parameters)
    sets = cold.sets_of(nbytes) if is_cold else 1
    seconds = seconds_of_each(plans, sets, report)
    found = min(range(len(plans)), key=seconds.__getitem__)
    if seconds[0] / seconds[found] <= GAIN:
        return plan, 1.0
    gain = confirmed(plan, plans[found], sets)
    return (plans[found], gain) if gain > GAIN else (plan, 1.0)


def confirmed(plan: Plan, better: Plan, sets: int) -> float:
    """How many times as fast as the plan the better one is when it stands first, as the plan did.

    Of twenty equal ones one is the fastest by chance, and the first place is the worst: small
    kernels were found faster in every step, by 2 % each on one set of data and twice on many.
    """
    first, second = seconds_of_each([better, plan], sets)
    return second / first


def seconds_of_each(
    plans: Sequence[Plan], sets: int, report: Report = lambda _: None
) -> list[float]:
    """The least of a call of each plan, on one set of data or on many in turn."""
    data = [Buffers() for _ in range(sets)]
    for shared in data:
        shared.of({p.name: p.nbytes for p in plans[0].spec.parameters})
    ways = []
    for i, each in enumerate(plans):
        report(i / len(plans) / 2)
        ways.append(prepared(each, data))
    return race(in_turn(set_by_set(ways)), lambda part: report(0.5 + part / 2))


def neighbours_that_differ(plan: Plan) -> list[Schedule]:
    here = dataclasses.replace(plan.schedule, origin=ScheduleOrigin.TUNED)
    return [s for s in dict.fromkeys(neighbours(plan)) if s != here]


@dataclass
class Buffers:
    """What kernels of one spec share, so that all find it in the same cache: with a B of their own
    each, those of a race would read it from memory (6 x 1024 x 1024: 0.4 ms instead of 0.1). They
    last as long as this does: a backend's are gone with it, and each kernel has a backend."""

    known: dict[tuple[str, int], Any] = dataclasses.field(default_factory=dict)
    owner: CpuBackend = dataclasses.field(default_factory=lambda: CpuBackend(num_threads=1))

    def of(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Buffers of these sizes, by name."""
        for name, nbytes in sizes.items():
            if (name, nbytes) not in self.known:
                buffer = self.known[name, nbytes] = self.owner.alloc(nbytes)
                bytes_at(buffer, nbytes)[:] = np.uint8(INPUT)
        return {name: self.known[name, nbytes] for name, nbytes in sizes.items()}


def set_by_set(ways: Sequence[Iterable[Call]]) -> list[Sequence[Call]]:
    """The calls of each way, those of all on one set made before those on the next.

    What Python keeps of a call is in no cache either when its turn comes. Where all calls of a way
    lay together, those that were made among the buffers took twice the time of the last.
    """
    return list(zip(*zip(*ways, strict=True), strict=True))


def prepared(plan: Plan, sets: Sequence[Buffers]) -> Iterable[Call]:
    """The kernel on one thread, with each set of buffers when its call is asked for."""
    packed = bundle.pack([pipeline.kernel(plan.spec, plan.target, plan.schedule)])
    entry = packed.manifest.kernels[0]
    artifact = entry.artifacts[0]
    backend = CpuBackend(num_threads=1)
    kernel = backend.load(
        entry, {"main": Code(artifact=artifact, data=packed.files[artifact.file])}
    )
    alive = (backend, kernel, sets)
    calls = (backend.prepare(kernel, shared.of(entry.sizes)) for shared in sets)
    return (partial(_called, call, alive) for call in calls)


def _called(call: Call, _alive: object) -> None:
    call()


def race(calls: Sequence[Call], report: Report = lambda _: None) -> list[float]:
    """The least seconds of a call of each, taken in turn."""
    counts = [max(1, math.ceil(TURN_SECONDS / max(seconds_of(call, 1), 1e-7))) for call in calls]
    best = [math.inf] * len(calls)
    for turn in range(ROUNDS):
        report(turn / ROUNDS)
        for i, call in enumerate(calls):
            best[i] = min(best[i], seconds_of(call, counts[i]))
    return best


def seconds_of(call: Call, count: int) -> float:
    """Seconds per call, averaged over `count` calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def check_runs_here(target: Target) -> None:
    """TargetError unless this machine runs the target."""
    family = targets.family(target.family)
    here = CpuBackend()
    if family.backend != here.name:
        raise TargetError(f"target={target.name}: --tune measures CPU kernels; leave it out")
    able = here.info.capabilities
    missing = sorted(target.features - set(able["features"]))
    if target.arch != able["arch"] or missing:
        lacks = f"has no {', '.join(missing)}" if missing else f"is {able['arch']}"
        raise TargetError(
            f"target={target.name}: --tune measures on this CPU, which {lacks}; take native"
        )
