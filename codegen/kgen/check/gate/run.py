"""Runner of the gate: build, count and judge every kernel of a budget file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial

from kgen import bundle, pipeline, settings, targets
from kgen.bundle import Bundle
from kgen.check.gate import metrics, ratio
from kgen.check.gate.budgets import AnyEntry, BudgetEntry, Budgets
from kgen.check.gate.foreign import ForeignEntry
from kgen.check.gate.judge import EntryReport, GateReport, Verdict, judge
from kgen.check.gate.metrics import Tier
from kgen.check.gate.ratio import Ratio
from kgen.check.gate.values import Values, measure
from kgen.check.static.source_lines import locate
from kgen.check.verify.run import opened
from kgen.emulate.report import EmulationFault
from kgen.errors import BudgetError, DeviceError, KgenError
from kgen.parallel import children
from kgen.targets.cpu.cores import core_name

Progress = Callable[[str], None]


def check(
    budgets: Budgets,
    entries: Sequence[AnyEntry],
    *,
    tiers: Collection[Tier] = tuple(Tier),
    progress: Progress = lambda _: None,
) -> GateReport:
    """Judge entries of a budget file; kernels are counted in one process per core.

    Raises BudgetError, naming the line, for a kernel that cannot be built or counted, and for a
    tool whose version differs from that of the static numbers.
    """
    start = time.perf_counter()
    if Tier.STATIC in tiers:
        _check_toolchain(budgets, entries)
    values = []
    for entry, found in zip(entries, _counted(entries, tiers), strict=True):
        if isinstance(found, str):
            raise located(budgets, entry, found)
        values.append(found)
        progress(f"{len(values)} of {len(entries)}: {entry.name}")
    # Time last, when no other process of the gate runs.
    reports = [
        _judged(budgets, entry, found, tiers, progress)
        for entry, found in zip(entries, values, strict=True)
    ]
    return GateReport(
        path=str(budgets.path), entries=tuple(reports), seconds=time.perf_counter() - start
    )


def located(budgets: Budgets, entry: AnyEntry, reason: object) -> BudgetError:
    """Return an entry's error with its line in the file."""
    return BudgetError(f"{budgets.path}:{entry.line}: {entry.name}: {reason}")


def build(entry: BudgetEntry) -> Bundle:
    """Build a bundle with the entry's kernel."""
    plan = entry.plan()
    return bundle.pack([pipeline.kernel(plan.operation, plan.target, plan.schedule)])


def _check_toolchain(budgets: Budgets, entries: Sequence[AnyEntry]) -> None:
    """Raise BudgetError unless the installed tools have the versions of the static numbers."""
    own = (entry.target.family for entry in entries if isinstance(entry, BudgetEntry))
    for family in dict.fromkeys(own):
        for tool in targets.family(family).toolchain():
            recorded = budgets.toolchain.get(tool.name)
            if recorded is None:
                raise BudgetError(
                    f"{budgets.path}: [toolchain] has no entry for {tool.name}, whose version "
                    f'decides the static metrics; add {tool.name} = "{tool.package}"'
                )
            if recorded != tool.package:
                raise BudgetError(
                    f"{budgets.path}: the static budgets are for {recorded}, and {tool.package} is "
                    f"installed; pip install {recorded}, or check the others with --tier emulated"
                )


def _counted(entries: Sequence[AnyEntry], tiers: Collection[Tier]) -> Iterator[Values | str]:
    """Yield each entry's values, or the reason why there are none, in order."""
    count = partial(_count, tiers=tuple(tiers))
    workers = min(os.cpu_count() or 1, len(entries))
    if workers < 2 or not children.can_share():
        yield from map(count, entries)
        return
    with ProcessPoolExecutor(
        workers, children.forking(), initializer=children.end_with_pool
    ) as pool:
        try:
            yield from pool.map(count, entries)
        except BrokenProcessPool:
            yield "the process that counts the kernel died; free memory, or use a smaller shape"


def values_of(entry: AnyEntry, tiers: Collection[Tier]) -> Values:
    """Build and count one kernel, and the effort of choosing its schedule. Raises KgenError."""
    if isinstance(entry, ForeignEntry):
        return entry.values(tiers)
    counted = tiers if entry.is_emulated else set(tiers) - {Tier.EMULATED}
    with opened(build(entry)) as reader:
        values = measure(reader, reader.manifest.kernels[0], counted)
    if entry.schedule or Tier.STATIC not in tiers:
        return values
    effort = targets.family(entry.target.family).effort(entry.spec, entry.target)
    return replace(values, numbers={**values.numbers, **effort})


def _count(entry: AnyEntry, tiers: Collection[Tier]) -> Values | str:
    """Return an entry's values from another process, or the text of its error.

    Not all errors can be pickled. A fault of the kernel is a finding, not an error.
    """
    try:
        return values_of(entry, tiers)
    except EmulationFault as error:
        return Values(numbers={}, fault=f"{error}; {error.fault.fix}")
    except KgenError as error:
        return str(error)


def _judged(
    budgets: Budgets, entry: AnyEntry, values: Values, tiers: Collection[Tier], progress: Progress
) -> EntryReport:
    timed: Ratio | str | None = None
    entry = entry.on(core_name())
    if isinstance(entry, BudgetEntry) and entry.against is not None and Tier.MEASURED in tiers:
        progress(f"timing {entry.name}")
        timed = _timed(entry, entry.against)
    try:
        strict = settings.in_ci()
        report = judge(entry, values, timed, tiers, all_measured=strict)
        broken = (r for r in report.results if r.verdict is Verdict.BROKEN)
        is_static = any(result.limit.metric.tier is Tier.STATIC for result in broken)
        if is_static and isinstance(entry, BudgetEntry):
            values = _with_lines(entry, values)
            report = judge(entry, values, timed, tiers, all_measured=strict)
        return report
    except KgenError as error:
        raise located(budgets, entry, error) from None


def _with_lines(entry: BudgetEntry, values: Values) -> Values:
    """Return the values with the source lines of the machine code. Raises AssembleError."""
    with opened(build(entry)) as reader:
        return replace(values, lines=locate(reader, reader.manifest.kernels[0]))


def _timed(entry: BudgetEntry, against: str) -> Ratio | str:
    """Return the measured ratio, or the reason why it is skipped here."""
    budget = next(limit.value for limit in entry.limits if limit.metric is metrics.RATIO)
    try:
        return ratio.settled(build(entry), against, budget)
    except DeviceError as error:
        return str(error)
