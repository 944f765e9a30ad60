"""The stages, on one screen: spec + target -> schedule -> plan -> source -> artifacts -> bundle."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgen import bundle, remedy, render, targets
from kgen.errors import ScheduleError, SpecError, TargetError
from kgen.schedule import Origin, Overrides, Schedule
from kgen.spec import Matmul, Spec
from kgen.targets.base import Kernel, Plan, Source, Target

if TYPE_CHECKING:
    from kgen.constants import Array

#: What of a schedule is set by name.
MAINLOOP = "mainloop"


def schedule_for(spec: Spec, target: Target, overrides: Overrides) -> Schedule:
    """The heuristic's schedule, with the user's fields put in. Raises TargetError for what the
    target cannot do."""
    return _schedule_with(spec, target, overrides).override(**_fields(overrides))


def _schedule_with(spec: Spec, target: Target, overrides: Overrides) -> Schedule:
    """The heuristic's schedule. A `mainloop`, or fields that it does not have, ask for another: the
    best candidate's that has them."""
    family = targets.family(target.family)
    family.check_support(spec, target)
    chosen = family.choose(spec, target)
    names = set(_fields(overrides))
    if MAINLOOP not in overrides and names <= set(chosen.names):
        return chosen
    ranked = [chosen, *(candidate.schedule for candidate in family.candidates(spec, target))]
    wanted = [s for s in ranked if s.mainloop == overrides.get(MAINLOOP, s.mainloop)]
    if not wanted:
        known = ", ".join(dict.fromkeys(s.mainloop for s in ranked))
        raise ScheduleError(
            f"mainloop={overrides[MAINLOOP]} is not one that {target.name} has for {spec.key}; "
            f"it has {known}"
        )
    found = next((s for s in wanted if names <= set(s.names)), wanted[0])
    return dataclasses.replace(found, origin=Origin.USER)


def _fields(overrides: Overrides) -> dict[str, int]:
    """The numbers among what the user sets. ScheduleError for a field that is none."""
    fields = {}
    for name, value in overrides.items():
        if name == MAINLOOP:
            continue
        if not isinstance(value, int):
            raise ScheduleError(f"{name}={value!r} is not a whole number; give one such as 2")
        fields[name] = value
    return fields


def plan(spec: Spec, target: Target, schedule: Schedule | None = None) -> Plan:
    """All integers of one kernel. Raises TargetError or ScheduleError."""
    family = targets.family(target.family)
    family.check_support(spec, target)
    return family.plan(spec, target, schedule or family.choose(spec, target))


def plan_with(spec: Spec, target: Target, overrides: Overrides) -> Plan:
    """The plan with the user's fields; if they do not fit, the error names a value that does."""
    schedule, given = _schedule_with(spec, target, overrides), _fields(overrides)

    def attempt(fields: Mapping[str, int]) -> Plan:
        return plan(spec, target, schedule.override(**fields))

    try:
        return attempt(given)
    except ScheduleError as error:
        raise remedy.proven(error, given, attempt) from None


def source(plan: Plan) -> Source:
    return render.render(plan, targets.family(plan.target.family).extension)


def kernel(spec: Spec, target: Target, schedule: Schedule | None = None) -> Kernel:
    """One kernel for one target, assembled."""
    return assembled(plan(spec, target, schedule))


def assembled(planned: Plan) -> Kernel:
    """The kernel of a plan."""
    start = time.perf_counter()
    text = source(planned)
    code = targets.family(planned.target.family).assemble(text, planned)
    return Kernel(plan=planned, source=text, assembled=code, seconds=time.perf_counter() - start)


def build(
    specs: Spec | Iterable[Spec],
    targets: str | Target | Iterable[str | Target],
    *,
    schedule: Overrides | None = None,
    constants: Mapping[str, Array] | None = None,
    tune: Callable[[Plan], Plan] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> bundle.Bundle:
    """Build every spec for every target.

    `targets` are names (``sm_80``, ``gfx942``, ``vulkan1.3``, ``native``, ...) or Target values.
    `schedule` overrides fields of the heuristic's schedule, or its `mainloop`. `constants`: values
    of the specs' constant operands by name, which go into the bundle; calls then leave them out.
    `tune` makes a plan a better one (:class:`kgen.check.bench.tune.Tuner`). `progress` is called
    with each kernel's name before it is built. Raises SpecError, TargetError, ScheduleError or
    AssembleError; nothing is written until :meth:`Bundle.save`.
    """
    wanted = _several(specs, Spec)
    for spec in wanted:
        if not isinstance(spec, Spec):
            raise SpecError(
                f"spec={spec!r} is no spec; give kgen.Matmul(m=64, n=64, k=64) or alike"
            )
    found = [_target(t) for t in _several(targets, Target)]
    if not isinstance(schedule or {}, Mapping):
        raise ScheduleError(
            f"schedule={schedule!r} is no mapping of fields; give {{'block_m': 64}}"
        )
    if not isinstance(constants or {}, Mapping):
        raise SpecError(f"constants={constants!r} is no mapping of names to arrays")
    kernels = []
    known = {name for spec in wanted for name in spec.constants}
    if unknown := sorted((constants or {}).keys() - known):
        raise SpecError(f"constants: {unknown[0]} is no constant operand of a spec; name it there")
    bundle.check_names([f"{target.name}/{spec.key}" for target in found for spec in wanted])
    # Everything is planned before anything is assembled, so that a bad request fails fast.
    pairs = [
        (target, spec)
        for target in found
        for spec in dict.fromkeys(for_target(s, target, constants or {}) for s in wanted)
    ]
    plans = [_plan_of_several(s, t, schedule or {}, found) for t, s in pairs]
    for planned in map(tune, plans) if tune else plans:
        progress(f"{planned.target.name}/{planned.spec.key}")
        kernels.append(assembled(planned))
    return bundle.pack(kernels, constants)


def for_target(spec: Spec, target: Target, values: Mapping[str, Array]) -> Spec:
    """The spec without the constant operands that change nothing on this target: those that it does
    not pack, and whose values are not in the bundle."""
    if not isinstance(spec, Matmul) or targets.family(target.family).packs_ahead:
        return spec
    return dataclasses.replace(spec, constant=tuple(o for o in spec.constant if o in values))


def _several(given: Any, kind: type) -> tuple[Any, ...]:
    """What is given alone as one of several; what is neither is judged as one, too."""
    alone = isinstance(given, kind | str) or not isinstance(given, Iterable)
    return (given,) if alone else tuple(given)


def _plan_of_several(
    spec: Spec, target: Target, overrides: Overrides, targets: Sequence[Target]
) -> Plan:
    """As :func:`plan_with`; an error names the one of several targets that it is about."""
    try:
        return plan_with(spec, target, overrides)
    except ScheduleError as error:
        if len(targets) == 1:
            raise
        raise ScheduleError(f"target={target.name}: {error}") from None


def _target(target: str | Target) -> Target:
    if isinstance(target, Target):
        return target
    if not isinstance(target, str):
        raise TargetError(f"target={target!r} is no target; give a name such as 'sm_80'")
    return targets.find(target)
