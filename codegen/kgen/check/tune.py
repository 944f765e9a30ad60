"""`kgen build --tune`: schedules measured on this CPU, and a file that remembers what was found.

A search in steps: all neighbours of the best schedule so far, and that one, run in turn, and the
least time of each counts, so that a busy moment hits none of them alone. It ends when no neighbour
is better. Each step goes into the file: a search that was stopped goes on where it was.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgen import bundle, pipeline, render, targets
from kgen.errors import ScheduleError, TargetError
from kgen.schedule import Origin, Schedule
from kgen.targets.base import Plan, Target
from kgen.targets.cpu.neighbours import neighbours
from kgen_runtime.array import bytes_at
from kgen_runtime.backend import Code
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.cpu_features import cpu_name

#: Turns of a step; calls of a turn take this many seconds at least, so that the clock's step and a
#: call's cost do not count.
ROUNDS, TURN_SECONDS = 9, 200e-6
#: A neighbour must be better by this factor: less is noise.
GAIN = 1.02
#: Steps of a search at most.
STEPS = 8
#: Every byte of an input: small numbers in each type, no NaN and no subnormals.
INPUT = 0x3A

Call = Callable[[], None]


@dataclass(kw_only=True)
class Tuner:
    """Maps a plan to one whose schedule is the best found; `path` is the file of what is known."""

    path: Path
    progress: Callable[[str], None] = lambda _: None

    def __call__(self, plan: Plan) -> Plan:
        """Raises TargetError for a target that this machine does not run."""
        check_runs_here(plan.target)
        if not self.path.parent.is_dir():
            raise TargetError(f"{self.path}: {self.path.parent} is no directory; make it first")
        known = self._read()
        key = cache_key(plan)
        record = known.get(key, {"schedule": {}, "steps": 0, "done": False})
        best = with_schedule(plan, dataclasses.replace(plan.schedule, **record["schedule"]))
        while not record["done"]:
            self.progress(f"tuning {plan.spec.key}, step {record['steps'] + 1} of at most {STEPS}")
            better = step(best)
            steps = record["steps"] + 1
            done = better is best or steps == STEPS
            best = better
            fields = {name: getattr(best.schedule, name) for name in best.schedule.names}
            record = {"schedule": fields, "steps": steps, "done": done}
            self._write(known | {key: record})
        return with_schedule(best, dataclasses.replace(best.schedule, origin=Origin.TUNED))

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {}
        try:
            found = json.loads(self.path.read_text())
        except OSError as error:
            raise TargetError(f"{self.path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise TargetError(f"{self.path} is no tuning file ({error}); remove it") from None
        if not isinstance(found, dict):
            raise TargetError(f"{self.path} is no tuning file; remove it")
        return found

    def _write(self, known: Mapping[str, Any]) -> None:
        """At once: who is stopped here leaves the old file."""
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            new.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
            new.replace(self.path)
        except OSError as error:
            raise TargetError(f"{self.path} cannot be written: {error.strerror}") from None


def cache_key(plan: Plan) -> str:
    """What a result holds for: this CPU, the target, the spec, and where the search began."""
    target = plan.target
    words = [*sorted(target.features), *(f"{k}={v}" for k, v in sorted(target.limits.items()))]
    begun = {name: getattr(plan.schedule, name) for name in plan.schedule.names}
    digest = render.template_digest()[:16]
    parts = (cpu_name(), " ".join(words), plan.spec.key, json.dumps(begun), f"templates {digest}")
    return "; ".join(parts)


def with_schedule(plan: Plan, schedule: Schedule) -> Plan:
    return pipeline.plan(plan.spec, plan.target, schedule)


def step(plan: Plan) -> Plan:
    """The best of the plan and its neighbours; the plan itself if none is clearly better."""
    plans = [plan]
    for schedule in neighbours_that_differ(plan):
        try:
            plans.append(with_schedule(plan, schedule))
        except ScheduleError:
            continue
    seconds = race([prepared(p) for p in plans])
    found = min(range(len(plans)), key=seconds.__getitem__)
    return plans[found] if seconds[0] > GAIN * seconds[found] else plan


def neighbours_that_differ(plan: Plan) -> list[Schedule]:
    here = dataclasses.replace(plan.schedule, origin=Origin.TUNED)
    return [s for s in dict.fromkeys(neighbours(plan)) if s != here]


def prepared(plan: Plan) -> Call:
    """The kernel with buffers of its own, on one thread."""
    packed = bundle.pack([pipeline.kernel(plan.spec, plan.target, plan.schedule)])
    entry = packed.manifest.kernels[0]
    artifact = entry.artifacts[0]
    backend = CpuBackend(num_threads=1)
    kernel = backend.load(
        entry, {"main": Code(artifact=artifact, data=packed.files[artifact.file])}
    )
    buffers = {p.name: backend.alloc(p.nbytes) for p in entry.parameters}
    for p in entry.parameters:
        bytes_at(buffers[p.name], p.nbytes)[:] = np.uint8(INPUT)
    call = backend.prepare(kernel, buffers)

    def run(_alive: object = (backend, kernel)) -> None:
        call()

    return run


def race(calls: list[Call]) -> list[float]:
    """The least seconds of a call of each, taken in turn."""
    counts = [max(1, math.ceil(TURN_SECONDS / max(seconds_of(call, 1), 1e-7))) for call in calls]
    best = [math.inf] * len(calls)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            best[i] = min(best[i], seconds_of(call, counts[i]))
    return best


def seconds_of(call: Call, count: int) -> float:
    """Of one call, over `count` of them."""
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
