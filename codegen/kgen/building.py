"""Building kernels: from the cache where they are kept, else by an executor's workers or here."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

from kgen import bundle, pipeline, suggest, targets
from kgen.cache import kernel_cache
from kgen.cache.kernel_cache import KernelCache
from kgen.errors import AssembleError, KgenError, ScheduleError, SpecError, TargetError
from kgen.parallel import work
from kgen.schedule import Overrides, Schedule
from kgen.spec import Conv2d, Spec
from kgen.spec.choices import ConstantOperand
from kgen.spec.keys import unique_keys
from kgen.targets.base import Assembled, BuiltKernel, Plan, Source, Target
from kgen.targets.choose import GivenTuning, own_tuning
from kgen.targets.tuning.file import Tuning

if TYPE_CHECKING:
    from kgen.constants import Array

Progress = Callable[[str], None]
Blame = Callable[[int, str], AssembleError]
Told = Callable[[int, int, int], None]


def build(
    specs: Spec | Iterable[Spec],
    targets: str | Target | Iterable[str | Target],
    *,
    schedule: Overrides | None = None,
    constants: Mapping[str, Array] | None = None,
    tuning: GivenTuning | None = None,
    progress: Progress = lambda _: None,
    executor: Executor | None = None,
    cache: bool = True,
) -> bundle.Bundle:
    """Build every spec for every target.

    - `targets` are names (``sm_80``, ``gfx942``, ``vulkan1.3``, ``native``, ...) or Target values.
    - `schedule` sets fields of the chosen schedule, or its `mainloop`.
    - `constants` are values of the specs' constant operands by name. They go into the bundle, and
      calls leave these operands out.
    - `tuning` is a file of schedules measured by `kgen tune`, which takes precedence over the
      shipped ones.
    - `progress` is called with a line that says what is being built and how much is left.
    - `executor` builds kernels in its workers; without one they are built in this process.
    - `cache` says whether kernels may come from the cache and are kept in it
      (:mod:`kgen.cache.kernel_cache`). The bundle is the same either way.

    Raises SpecError, TargetError, ScheduleError or AssembleError. Nothing is written until
    :meth:`Bundle.save`.
    """
    wanted = _several(specs, Spec)
    for spec in wanted:
        if not isinstance(spec, Spec):
            raise SpecError(
                f"spec={spec!r} is not a spec; give one such as kgen.Matmul(m=64, n=64, k=64)"
            )
    found = targets_of(targets)
    if not isinstance(schedule or {}, Mapping):
        raise ScheduleError(
            f"schedule={schedule!r} is not a mapping of fields; give {{'block_m': 64}}"
        )
    if not isinstance(constants or {}, Mapping):
        raise SpecError(
            f"constants={constants!r} is not a mapping of names to arrays; give {{'b': array}}"
        )
    known = {name for spec in wanted for name in spec.constants}
    if unknown := sorted((constants or {}).keys() - known):
        if unknown[0] not in tuple(ConstantOperand):
            raise SpecError(
                suggest.unknown(f"constants: {unknown[0]}", unknown[0], ConstantOperand)
            )
        keys = ", ".join(spec.key for spec in wanted) or "no spec"
        raise SpecError(
            f"constants: {unknown[0]} is not a constant operand of {keys}; use "
            f'Matmul(constant=("{unknown[0]}",))'
        )
    for spec in wanted:
        if isinstance(spec, Conv2d) and spec.transforms and not constants:
            raise SpecError(
                f"math={spec.math} transforms weights when the kernel is built; give them: "
                "constant=b=FILE.npy, or constants={'b': array}"
            )
    own = own_tuning(tuning, found)
    names = unique_keys(wanted)
    bundle.check_names([f"{target.name}/{names[spec]}" for target in found for spec in wanted])
    # Plan everything before assembling anything, so that an invalid request fails fast.
    pairs = [
        (target, spec)
        for target in found
        for spec in dict.fromkeys(pipeline.for_target(s, target, constants or {}) for s in wanted)
    ]
    plans: Sequence[Plan] = [
        _plan_of_several(s, t, schedule or {}, found, own, _weights(s, constants or {}))
        for t, s in pairs
    ]
    made = kernels(
        plans, cache=kernel_cache.opened() if cache else None, executor=executor, progress=progress
    )
    return bundle.pack(made, constants)


def kernels(
    plans: Sequence[Plan],
    *,
    cache: KernelCache | None,
    executor: Executor | None = None,
    progress: Progress = lambda _: None,
    remark: Callable[[Plan], str] = lambda _: "",
) -> list[BuiltKernel]:
    """Return the kernels of these plans, in order. A single kernel is built in this process.

    Raises AssembleError for the first that cannot be built, with the kernel's name and the plan's
    `remark`. The remaining kernels are then not built.
    """
    keys = [kernel_cache.key(p.operation, p.target, p.schedule) for p in plans] if cache else []
    found = dict(_kept(cache, keys, plans)) if cache else {}
    missing = [number for number in range(len(plans)) if number not in found]
    wanted = [plans[number] for number in missing]
    kept = f", {len(found)} were kept" if found else ""

    def blame(i: int, why: str) -> AssembleError:
        named = why if wanted[i].operation.key in why else f"{name_of(wanted[i])}: {why}"
        return AssembleError(f"{named}{remark(wanted[i])}")

    def told(i: int, done: int, left: int) -> None:
        progress(f"building {name_of(wanted[i])}: {done} done, {left} left{kept}")

    built = _here
    if executor is not None and len(wanted) > 1:
        built = partial(_elsewhere, executor)
    try:
        for i, kernel in built(wanted, blame, told):
            number = missing[i]
            found[number] = kernel
            if cache is not None:
                cache.put(keys[number], kernel.source, kernel.assembled)
    finally:
        if cache is not None and missing:
            cache.trim()
    return [found[number] for number in range(len(plans))]


def _kept(
    cache: KernelCache, keys: Sequence[str], plans: Sequence[Plan]
) -> Iterator[tuple[int, BuiltKernel]]:
    """Yield the kernels that are in the cache, with their numbers."""
    for number, (key, plan) in enumerate(zip(keys, plans, strict=True)):
        start = time.perf_counter()
        if (kept := cache.get(key)) is not None:
            yield number, _kernel(plan, *kept, time.perf_counter() - start)


def _kernel(plan: Plan, source: Source, assembled: Assembled, seconds: float) -> BuiltKernel:
    return BuiltKernel(plan=plan, source=source, assembled=assembled, seconds=seconds)


def _here(plans: Sequence[Plan], blame: Blame, told: Told) -> Iterator[tuple[int, BuiltKernel]]:
    for number, plan in enumerate(plans):
        told(number, number, len(plans) - number)
        try:
            yield number, pipeline.assembled(plan)
        except KgenError as error:
            raise type(error)(*blame(number, str(error)).args) from None


def _elsewhere(
    executor: Executor, plans: Sequence[Plan], blame: Blame, told: Told
) -> Iterator[tuple[int, BuiltKernel]]:
    """Build kernels in the workers of an executor; yield them in order of completion."""
    made_from = [(plan.operation, plan.target, plan.schedule) for plan in plans]
    pieces = [(kernel_cache.key(*parts), *parts) for parts in made_from]
    for number, found in work.results(executor, _build, pieces, blame, told):
        yield number, _kernel(plans[number], *found)


def _build(
    key: str, spec: Spec, target: Target, schedule: Schedule
) -> tuple[Source, Assembled, float] | str:
    """Build a kernel in a worker; return it, or why it cannot be built.

    The reason is text because not all exceptions can be pickled.
    """
    try:
        if kernel_cache.key(spec, target, schedule) != key:
            return (
                f"the worker on {socket.gethostname()} has another version of kgen or of its "
                "tools; install the same there"
            )
        kernel = pipeline.kernel(spec, target, schedule)
    except KgenError as error:
        return str(error)
    return kernel.source, kernel.assembled, kernel.seconds


def name_of(plan: Plan) -> str:
    return f"{plan.target.name}/{plan.operation.key}"


def targets_of(given: str | Target | Iterable[str | Target]) -> list[Target]:
    """Return targets from names or Target values, one or several. Raises TargetError."""
    return [_target(target) for target in _several(given, Target)]


def _several(given: Any, kind: type) -> tuple[Any, ...]:
    """Return a tuple of the values; a single value, or one of a wrong type, is wrapped."""
    alone = isinstance(given, kind | str) or not isinstance(given, Iterable)
    return (given,) if alone else tuple(given)


def _weights(spec: Spec, constants: Mapping[str, Array]) -> Sequence[Array]:
    """Return the known values of a constant B; a constant that does not fit is refused later."""
    name = ConstantOperand.B
    if name not in spec.constants or name not in constants:
        return ()
    array = constants[name]
    return (array,) if array.shape == spec.parameter(name).shape else ()


def _plan_of_several(
    spec: Spec,
    target: Target,
    overrides: Overrides,
    targets: Sequence[Target],
    tuning: Tuning | None,
    weights: Sequence[Array],
) -> Plan:
    """Plan by :func:`plan_with`; with several targets, name the target in errors."""
    try:
        return pipeline.plan_with(spec, target, overrides, tuning, weights)
    except ScheduleError as error:
        if len(targets) == 1:
            raise
        raise ScheduleError(f"target={target.name}: {error}") from None


def _target(target: str | Target) -> Target:
    if isinstance(target, Target):
        return target
    if not isinstance(target, str):
        raise TargetError(f"target={target!r} is not a target; give a name such as 'sm_80'")
    return targets.find(target)
