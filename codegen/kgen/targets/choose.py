"""Choose a schedule: the measured one, else the nearest measured one made legal, else the model's.

The steps are the same for all families and operations. Measurements come from tuning files
(:mod:`kgen.targets.tuning.file`): the user's, then the one that kgen ships for the target's core.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

from kgen import targets
from kgen.errors import ScheduleError
from kgen.schedule import Origin, Schedule
from kgen.spec import Elementwise, Formula, Matmul, Rowwise, Spec
from kgen.targets.base import Target
from kgen.targets.tuning.file import TunedRow, Tuning, TuningSource, shipped
from kgen_runtime.values import frozen

#: Neighbours that are tried, and that `kgen build --explain` prints.
NEIGHBOURS = 3
#: Largest distance of a neighbour: one size 8 times as large, or three sizes 3.3 times.
REACH = 3.0


class How(StrEnum):
    """Where a schedule comes from."""

    MEASURED = "measured"
    NEIGHBOUR = "neighbour"
    MODEL = "model"


@frozen
class Neighbour:
    """A row of a tuning file and its distance: the Euclidean norm of log2 of the sizes' ratios."""

    row: TunedRow
    distance: float
    tuning: Tuning

    @property
    def source(self) -> TuningSource:
        return self.tuning.sources[self.row.source]


@frozen
class Choice:
    """A schedule, where it comes from, and the nearest rows, of which `taken` was used."""

    schedule: Schedule
    how: How
    neighbours: Sequence[Neighbour] = ()
    taken: Neighbour | None = None


def choose(spec: Spec, target: Target, own: Tuning | None = None) -> Choice:
    """Choose the schedule of a kernel; it always fits. `own` is a tuning file of the user.

    Raises TargetError for a row that cannot be used, unless its file is read leniently.
    """
    family = targets.family(target.family)
    found = nearest(spec, target, [own, shipped(family.core(target))])
    for neighbour in found:
        if (schedule := adapted(spec, target, neighbour)) is not None:
            how = How.NEIGHBOUR if neighbour.distance else How.MEASURED
            return Choice(schedule=schedule, how=how, neighbours=found, taken=neighbour)
    return Choice(schedule=family.choose(spec, target), how=How.MODEL, neighbours=found)


def nearest(spec: Spec, target: Target, tunings: Sequence[Tuning | None]) -> list[Neighbour]:
    """Return the nearest rows of the kernel's class, the nearest first, one per size."""
    name, sizes = class_of(spec, target), sizes_of(spec)
    found: dict[tuple[int, ...], Neighbour] = {}
    for tuning in tunings:
        for row in tuning.rows(name) if tuning else ():
            if tuning and len(row.sizes) == len(sizes) and row.sizes not in found:
                away = math.dist(
                    *([math.log2(size) for size in each] for each in (row.sizes, sizes))
                )
                found[row.sizes] = Neighbour(row=row, distance=away, tuning=tuning)
    ranked = sorted(found.values(), key=lambda each: each.distance)
    return [each for each in ranked[:NEIGHBOURS] if each.distance <= REACH]


def adapted(spec: Spec, target: Target, neighbour: Neighbour) -> Schedule | None:
    """Return the schedule of a row, made legal for other sizes; None if it cannot be."""
    family, row = targets.family(target.family), neighbour.row
    try:
        measured = schedule_of(spec, target, row.fields)
    except (KeyError, TypeError, ScheduleError) as error:
        neighbour.tuning.refuse(class_of(spec, target), row.line, str(error))
        return None
    found = (
        measured if not neighbour.distance else family.adapted(spec, target, measured, row.sizes)
    )
    try:
        family.plan(spec, target, found)
    except ScheduleError:
        return None
    return found


def schedule_of(spec: Spec, target: Target, fields: Mapping[str, int | str]) -> Schedule:
    """Return the schedule with these fields, of which `mainloop` names its type.

    Raises KeyError, TypeError or ScheduleError for fields that do not exist or do not fit.
    """
    family, values = targets.family(target.family), dict(fields)
    kind = family.schedule_type(spec, target, str(values.pop("mainloop")))
    types = {field.name: field.type for field in dataclasses.fields(kind)}
    typed = {name: bool(v) if types[name] == "bool" else v for name, v in values.items()}
    return kind(**typed, origin=Origin.TUNED)


def class_of(spec: Spec, target: Target) -> str:
    """Name the class of kernels whose measurements apply to each other: operation, types, layout,
    and the instructions that multiply."""
    words = [spec.text if isinstance(spec, Formula) else spec.op, str(spec.dtype)]
    if isinstance(spec, Matmul):
        words[-1] += f"*{spec.b_dtype}" if spec.b_dtype is not None else ""
        words += [str(spec.layout), *(f"packed {operand}" for operand in spec.constant)]
    return " ".join([*words, targets.family(target.family).instructions(spec, target)])


def sizes_of(spec: Spec) -> tuple[int, ...]:
    """Return the sizes that distances are measured in: M, N and K of a matmul, rows and columns of
    a row-wise operation, elements of an element-wise one."""
    if isinstance(spec, Matmul):
        return (spec.m, spec.n, spec.k)
    if isinstance(spec, Rowwise):
        return (spec.rows, spec.cols)
    assert isinstance(spec, Elementwise)
    return (spec.elements,)
