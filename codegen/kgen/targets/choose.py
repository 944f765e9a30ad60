"""Choose a schedule: the measured one, else the nearest measured one made legal, else the model's.

A neighbour is not used if the model contradicts it: if the model predicts another schedule to be
faster by more than the neighbour's measured gain and the model's error together. The nearer the
neighbour, the more the error counts.

The steps are the same for all families and operations. Measurements come from tuning files
(:mod:`kgen.targets.tuning.file`): the user's, then the one that kgen ships for the target's core.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from kgen import suggest, targets
from kgen.errors import ScheduleError, TargetError
from kgen.schedule import Schedule, ScheduleOrigin
from kgen.schedule.schedule import current_names
from kgen.spec import Attention, Conv2d, Elementwise, Formula, Matmul, Rowwise, Spec
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import planned_as
from kgen.targets.rows.split import is_interleaved
from kgen.targets.stream import merged_of
from kgen.targets.tuning.file import TunedRow, Tuning, TuningSource, read, shipped
from kgen_runtime.values import frozen

#: A user's tuning file, read or by its path.
GivenTuning = Tuning | str | os.PathLike[str]

#: Neighbours that are tried, and that `kgen build --explain` prints.
NEIGHBOURS = 3
#: Largest distance of a neighbour: one size 4 times as large, or three sizes 2.2 times.
REACH = 2.0


class How(StrEnum):
    """Kinds of choices: a row of the same sizes, a row of other sizes, or the cost model."""

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
    if (found := measured(spec, target, own)) is not None:
        return found
    near = nearest(spec, target, tunings_of(target, own))
    schedule = targets.family(target.family).choose(spec, target)
    return Choice(schedule=schedule, how=How.MODEL, neighbours=near)


def measured(spec: Spec, target: Target, own: Tuning | None = None) -> Choice | None:
    """Choose a schedule from tuning files; None if no row applies. Raises TargetError."""
    return measured_in(spec, target, tunings_of(target, own))


def measured_in(spec: Spec, target: Target, tunings: Sequence[Tuning]) -> Choice | None:
    """Choose a schedule from these files, the first of which counts most. Raises TargetError."""
    found, doubt = nearest(spec, target, tunings), targets.family(target.family).doubt
    for neighbour in found:
        schedule, away = adapted(spec, target, neighbour), neighbour.distance
        gain = math.log(neighbour.row.gain or 1.0)
        if schedule is None or (away and doubt(spec, target, schedule, away) > gain):
            continue
        how = How.NEIGHBOUR if away else How.MEASURED
        return Choice(schedule=schedule, how=how, neighbours=found, taken=neighbour)
    return None


def tunings_of(target: Target, own: Tuning | None = None) -> tuple[Tuning, ...]:
    """Return the tuning files of the target's core: the user's, then the one that kgen ships."""
    core = targets.family(target.family).core(target)
    given = own if own is not None and own.core == core else None
    return tuple(each for each in (given, shipped(core)) if each is not None)


def own_tuning(
    given: GivenTuning | None, of: Iterable[Target], *, is_lenient: bool = False
) -> Tuning | None:
    """Return a user's tuning file. Raises TargetError if it is for the core of none of the targets.

    A damaged file is refused even if it is read leniently: only rows can be left out.
    """
    if given is None:
        return None
    own = given if isinstance(given, Tuning) else read(Path(given), is_lenient=is_lenient)
    cores = dict.fromkeys(targets.family(target.family).core(target) for target in of)
    if own.core not in cores:
        raise TargetError(
            f"{own.name} has schedules for {own.core!r}; this build is for "
            f"{', '.join(map(repr, cores))}; name a file or a target of the same core"
        )
    return own


def nearest(spec: Spec, target: Target, tunings: Sequence[Tuning]) -> tuple[Neighbour, ...]:
    """Return the nearest rows of the kernel's class, the nearest first, one per size."""
    if not tunings:
        return ()
    name, sizes = class_of(spec, target), sizes_of(spec)
    found: dict[tuple[int, ...], Neighbour] = {}
    for tuning in tunings:
        for row in tuning.rows(name):
            if len(row.sizes) != len(sizes):
                tuning.refuse(name, row.line, f"it has {len(row.sizes)} sizes, not {len(sizes)}")
            elif row.sizes not in found:
                away = distance(row.sizes, sizes)
                found[row.sizes] = Neighbour(row=row, distance=away, tuning=tuning)
    ranked = sorted(found.values(), key=lambda each: each.distance)
    return tuple(each for each in ranked[:NEIGHBOURS] if each.distance <= REACH)


def distance(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the Euclidean norm of log2 of the ratios of two kernels' sizes."""
    return math.dist(*([math.log2(size) for size in each] for each in (one, other)))


def adapted(spec: Spec, target: Target, neighbour: Neighbour) -> Schedule | None:
    """Return the schedule of a row, made legal for other sizes; None if it cannot be."""
    family, row = targets.family(target.family), neighbour.row
    try:
        found = schedule_of(spec, target, row.fields)
    except ScheduleError as error:
        neighbour.tuning.refuse(class_of(spec, target), row.line, str(error))
        return None
    try:
        if neighbour.distance:
            found = family.adapted(spec, target, found, row.sizes)
        family.plan(spec, target, found)
    except ScheduleError:
        return None
    return found


def schedule_of(spec: Spec, target: Target, fields: Mapping[str, int | str]) -> Schedule:
    """Return the schedule with these fields, of which `mainloop` names its type.

    Raises ScheduleError for fields that do not exist, are missing, or are out of range.
    """
    family = targets.family(target.family)
    values = current_names(fields)
    mainloop = str(values.pop("mainloop", ""))
    try:
        kind = family.schedule_type(spec, target, mainloop)
    except KeyError:
        raise ScheduleError(
            f"mainloop={mainloop} is not supported by {target.name} for {spec.key}"
        ) from None
    known = {field.name: field for field in dataclasses.fields(kind) if field.name != "origin"}
    if unknown := sorted(values.keys() - known.keys()):
        question = suggest.meant(unknown[0], known, after=" ")
        raise ScheduleError(
            f"{unknown[0]} is not a field of the {mainloop} schedule; {question}its fields are "
            f"{', '.join(known)}"
        )
    needed = (n for n, f in known.items() if f.default is f.default_factory is dataclasses.MISSING)
    if missing := [name for name in needed if name not in values]:
        raise ScheduleError(f"the {mainloop} schedule lacks the field {missing[0]}")
    typed = {name: bool(v) if known[name].type == "bool" else v for name, v in values.items()}
    return kind(**typed, origin=ScheduleOrigin.TUNED)


def schedule_fields(schedule: Schedule) -> dict[str, int | str]:
    """Return the fields of a schedule as a row of a tuning file has them."""
    numbers = {name: int(getattr(schedule, name)) for name in schedule.names}
    return {"mainloop": schedule.mainloop, **numbers}


def class_of(spec: Spec, target: Target) -> str:
    """Name the class of kernels whose measurements apply to each other: operation, types, layout,
    and the instructions that multiply."""
    words = [spec.text if isinstance(spec, Formula) else spec.op, str(spec.dtype)]
    if isinstance(spec, Conv2d) and spec.transforms:
        words[0] += f" {spec.math}"
    words += _structure(spec)
    spec = planned_as(spec)
    if isinstance(spec, Matmul):
        words[1] += f"*{spec.b_dtype}" if spec.b_dtype is not None else ""
        words += [str(spec.layout), *(f"packed {operand}" for operand in spec.constant)]
    return " ".join([*words, targets.family(target.family).instructions(spec, target)])


def _structure(spec: Spec) -> Iterator[str]:
    """Yield what the text of an operation does not say: fields count other units."""
    if isinstance(spec, Conv2d) and spec.is_depthwise:
        yield "depthwise"
    elif isinstance(spec, Rowwise) and is_interleaved(spec):
        yield "interleaved"
    elif isinstance(spec, Elementwise) and len(sizes_of(spec)) > 1:
        yield "by rows"
    if isinstance(spec, Formula) and {*spec.input_dtypes, *spec.output_dtypes} != {spec.dtype}:
        yield f"of {' '.join(spec.input_dtypes)} to {' '.join(spec.out_dtypes or (spec.out,))}"


def sizes_of(spec: Spec) -> tuple[int, ...]:
    """Return the sizes that distances are measured in: M, N and K of a matmul or of a convolution's
    product; heads, queries, keys and elements of a head of attention; rows of the output, their
    length, channels and kernel elements of a depthwise convolution; rows and columns of a row-wise
    operation, and of an element-wise one in which an input broadcasts; else its elements."""
    if isinstance(spec, Conv2d) and spec.is_depthwise:
        *outer, inner = spec.out_sizes
        return (spec.images * math.prod(outer), inner, spec.channels, math.prod(spec.kernel))
    spec = planned_as(spec)
    if isinstance(spec, Matmul):
        return (spec.m, spec.n, spec.k)
    if isinstance(spec, Rowwise):
        return (spec.rows, spec.cols)
    if isinstance(spec, Attention):
        return (spec.batch * spec.heads, spec.queries, spec.keys, spec.head)
    assert isinstance(spec, Elementwise)
    *outer, inner = merged_of(spec).sizes
    return (math.prod(outer), inner) if outer else (inner,)
