"""Conversion of `kgen-tune.json`, the file of the former `kgen build --tune`, to a tuning file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgen import pipeline, spec, targets
from kgen.errors import KgenError, ScheduleError
from kgen.schedule import Schedule
from kgen.schedule.schedule import current_names
from kgen.spec import Spec
from kgen.targets.base import Target
from kgen.targets.choose import class_of, schedule_fields, schedule_of, sizes_of
from kgen.targets.tuning.file import TuningSource
from kgen.tune.record import MEASURED, TuningFile
from kgen_runtime.this_cpu import this_cpu
from kgen_runtime.values import frozen

#: Default name of the former file.
NAME = "kgen-tune.json"


@frozen
class Converted:
    """Numbers of converted rows, and of skipped records: of other CPUs, or not readable."""

    path: Path
    rows: int
    left_out: int

    @property
    def message(self) -> str:
        left_out = f", left out {self.left_out} of other CPUs or versions" * bool(self.left_out)
        return (
            f"converted {self.rows} schedules of {self.path}{left_out}; later runs ignore that file"
        )


def convert(path: Path, file: TuningFile, target: Target) -> Converted:
    """Add the schedules of this CPU in a former file to a tuning file, and save it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        records = dict(found.items())
    except (OSError, ValueError, AttributeError):
        return Converted(path=path, rows=0, left_out=1)
    rows = 0
    for key, record in records.items():
        try:
            rows += _convert(key, record, file, target)
        except (KgenError, KeyError, TypeError, ValueError, AttributeError):
            continue
    file.save()
    return Converted(path=path, rows=rows, left_out=len(records) - rows)


def _convert(key: str, record: Mapping[str, Any], file: TuningFile, target: Target) -> int:
    """Add one record; return the number of added rows."""
    cpu, _, words = key.partition("; ")
    problem, end = json.JSONDecoder().raw_decode(words, words.index("{"))
    if cpu != this_cpu().name:
        return 0
    found = spec.from_json(problem)
    schedule = pipeline.plan(found, target, _complete(found, target, record["schedule"])).schedule
    caches = "cold" if words[end:].endswith("; cold") else "warm"
    source = TuningSource(
        kind=MEASURED, machine=cpu, day="", commit="", conditions=f"{caches}, one thread"
    )
    name, sizes, gain = class_of(found, target), sizes_of(found), float(record["gain"])
    known = file.row(name, sizes)
    if known is None or (known.gain or 0.0) < gain:
        file.add(name, sizes, schedule, source, gain=gain)
    return 1


def _complete(found: Spec, target: Target, fields: Mapping[str, Any]) -> Schedule:
    """Return the recorded schedule; fields that are newer than the file are chosen again."""
    given = current_names(fields)
    family = targets.family(target.family)
    mainloop = str(given.get("mainloop", ""))
    kind = family.schedule_type(found, target, mainloop)
    known = {each for each in kind.__dataclass_fields__ if each != "origin"}
    if unknown := given.keys() - {"mainloop"} - known:
        raise ScheduleError(f"fields that do not exist any more: {', '.join(sorted(unknown))}")
    numbers = {name: value for name, value in given.items() if name != "mainloop"}
    draft = pipeline.schedule_for(found, target, {"mainloop": mainloop, **numbers})
    return schedule_of(found, target, schedule_fields(draft))
