"""The pipeline of one kernel: spec and target -> schedule -> plan -> source -> machine code.

:mod:`kgen.building` builds many kernels at once, into a bundle.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kgen import remedy, render, targets
from kgen.errors import ScheduleError
from kgen.schedule import Overrides, Schedule, ScheduleOrigin
from kgen.schedule.schedule import FORMER_NAMES
from kgen.spec import Conv2d, Matmul, Spec
from kgen.targets.base import BuiltKernel, Plan, Source, Target
from kgen.targets.choose import choose, measured
from kgen.targets.tuning.file import Tuning

if TYPE_CHECKING:
    from kgen.constants import Array

#: Field of a schedule whose value is a name.
MAINLOOP = "mainloop"


def schedule_for(
    spec: Spec, target: Target, overrides: Overrides, tuning: Tuning | None = None
) -> Schedule:
    """Return the chosen schedule with the user's fields.

    Raises TargetError for a spec that the target does not support.
    """
    return _with(spec, target, _schedule_with(spec, target, overrides, tuning), overrides)


def _with(spec: Spec, target: Target, schedule: Schedule, overrides: Overrides) -> Schedule:
    """Return the schedule with the user's fields, and with the fields that depend on them."""
    if schedule.origin is ScheduleOrigin.TUNED and not overrides:
        return schedule
    family, set_by_user = targets.family(target.family), schedule.override(**_fields(overrides))
    given = {*_fields(overrides), *overrides}
    return family.complete(spec, target, set_by_user, given)


def _schedule_with(
    spec: Spec, target: Target, overrides: Overrides, tuning: Tuning | None
) -> Schedule:
    """Return the measured schedule if there is one, else the cost model's.

    If it lacks a field that the user sets, or has another `mainloop`, return the model's best that
    does not.
    """
    family = targets.family(target.family)
    family.check_support(spec, target)
    names = set(_fields(overrides))
    if (found := measured(spec, target, tuning)) is not None:
        schedule = found.schedule
        if overrides.get(MAINLOOP, schedule.mainloop) == schedule.mainloop and names <= set(
            schedule.names
        ):
            return schedule
    draft = family.draft(spec, target)
    if MAINLOOP not in overrides and names <= set(draft.names):
        return draft
    ranked = [draft, family.choose(spec, target), *family.alternatives(spec, target)]
    wanted = [s for s in ranked if s.mainloop == overrides.get(MAINLOOP, s.mainloop)]
    if not wanted:
        name, known = overrides[MAINLOOP], ", ".join(dict.fromkeys(s.mainloop for s in ranked))
        remarks = family.remarks(family.plan(spec, target, draft))
        why = "".join(f" ({remark})" for remark in remarks if f" {name}: " in remark)
        raise ScheduleError(
            f"mainloop={name} is not supported by {target.name} for {spec.key}{why}; take {known}"
        )
    best = next((s for s in wanted if names <= set(s.names)), wanted[0])
    return dataclasses.replace(best, origin=ScheduleOrigin.USER)


def _fields(overrides: Overrides) -> dict[str, int]:
    """Return the integers among the user's fields. Raises ScheduleError for other values."""
    fields = {}
    for name, value in overrides.items():
        if name == MAINLOOP:
            continue
        if not isinstance(value, int):
            raise ScheduleError(f"{name}={value!r} is not an integer; give one such as 2")
        if new := FORMER_NAMES.get(name):
            raise ScheduleError(f"{name}={value} is called {new} now; write {new}={value}")
        fields[name] = value
    return fields


def plan(
    spec: Spec,
    target: Target,
    schedule: Schedule | None = None,
    tuning: Tuning | None = None,
    weights: Sequence[Array] = (),
) -> Plan:
    """Compute all integers of one kernel. `weights` are known values of a constant B, which may
    change a schedule that is chosen here. Raises TargetError or ScheduleError."""
    family = targets.family(target.family)
    family.check_support(spec, target)
    if schedule is None:
        schedule = choose(spec, target, tuning).schedule
        schedule = family.for_weights(spec, target, schedule, weights)
    return family.plan(spec, target, schedule)


def plan_with(
    spec: Spec,
    target: Target,
    overrides: Overrides,
    tuning: Tuning | None = None,
    weights: Sequence[Array] = (),
) -> Plan:
    """Plan with the user's fields; if they do not fit, the error names fields that do.

    Without fields, `weights` may change the schedule, as in :func:`plan`.
    """
    schedule, given = _schedule_with(spec, target, overrides, tuning), _fields(overrides)
    named = {name: overrides[name] for name in (MAINLOOP,) if name in overrides}

    def attempt(fields: remedy.Fields) -> Plan:
        # Ranking candidates is slow, and only the names of the fields decide on the schedule.
        asked = {**named, **fields}
        other = (
            schedule
            if fields.keys() == given.keys()
            else _schedule_with(spec, target, asked, tuning)
        )
        found, family = _with(spec, target, other, asked), targets.family(target.family)
        return plan(
            spec, target, found if asked else family.for_weights(spec, target, found, weights)
        )

    try:
        return attempt(given)
    except ScheduleError as error:
        raise remedy.proven(error, given, attempt) from None


def source(plan: Plan) -> Source:
    return render.render(plan, targets.family(plan.target.family).extension)


def kernel(spec: Spec, target: Target, schedule: Schedule | None = None) -> BuiltKernel:
    """Plan, render and assemble one kernel for one target."""
    return assembled(plan(spec, target, schedule))


def assembled(planned: Plan) -> BuiltKernel:
    """Return the kernel of a plan, with the code of its variants after its own."""
    start = time.perf_counter()
    family, text = targets.family(planned.target.family), source(planned)
    code = family.assemble(text, planned)
    more = [family.assemble(source(variant), variant) for variant in planned.variants]
    artifacts = [*code.artifacts, *(artifact for each in more for artifact in each.artifacts)]
    code = dataclasses.replace(code, artifacts=tuple(artifacts))
    return BuiltKernel(
        plan=planned, source=text, assembled=code, seconds=time.perf_counter() - start
    )


def for_target(spec: Spec, target: Target, values: Mapping[str, Array]) -> Spec:
    """Return the spec without constant operands that have no effect on this target.

    These are operands that the target does not pack, and whose values are not in the bundle.
    Winograd keeps its constant weights, which it requires.
    """
    if not isinstance(spec, Matmul | Conv2d) or targets.family(target.family).packs(spec, target):
        return spec
    if isinstance(spec, Conv2d) and spec.transforms:
        return spec
    return dataclasses.replace(spec, constant=tuple(o for o in spec.constant if o in values))
