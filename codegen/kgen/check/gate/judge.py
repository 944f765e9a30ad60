"""Verdicts: compare a kernel's values with its budgets, and locate the source of a broken one."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any

from kgen import suggest
from kgen.check.gate.budgets import AnyEntry
from kgen.check.gate.limits import BudgetLimit
from kgen.check.gate.metrics import METRICS, BudgetSide, Tier
from kgen.check.gate.ratio import Ratio
from kgen.check.gate.values import Contribution, Values
from kgen.errors import BudgetError
from kgen_runtime.values import frozen

#: Most metrics that a message names.
MOST_NAMED = 12


class Verdict(StrEnum):
    OK = "ok"
    BETTER = "better"
    BROKEN = "BROKEN"
    SKIPPED = "skipped"


@frozen
class Result:
    """Verdict of one budget.

    `note` says why it was skipped, or adds facts to a broken one. `sources` are the lines of the
    kernel's text that contribute most to the number.
    """

    limit: BudgetLimit
    verdict: Verdict
    value: float | None = None
    note: str | None = None
    sources: tuple[Contribution, ...] = ()

    @property
    def margin(self) -> float | None:
        """Distance from value to budget as a fraction of the budget; None if unknown.

        It is positive if the budget is kept.
        """
        if self.value is None:
            return None
        room = self.limit.value - self.value
        if self.limit.metric.bound is BudgetSide.MINIMUM:
            room = -room
        return room / self.limit.value if self.limit.value else (0.0 if room == 0 else None)

    def to_json(self) -> dict[str, Any]:
        metric = self.limit.metric
        return {
            "metric": metric.name,
            "tier": metric.tier.value,
            "bound": metric.bound.value,
            "unit": metric.unit,
            "budget": self.limit.value,
            "core": self.limit.core or None,
            "value": self.value,
            "verdict": self.verdict.value,
            "margin": self.margin,
            "note": self.note,
            "sources": [vars(source) for source in self.sources],
        }


@frozen
class EntryReport:
    """Verdicts of one kernel, in the order of its budgets; none if the emulator found a `fault`."""

    entry: AnyEntry
    results: tuple[Result, ...]
    fault: str | None = None

    @property
    def passed(self) -> bool:
        broken = any(result.verdict is Verdict.BROKEN for result in self.results)
        return self.fault is None and not broken

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.entry.kernel,
            "target": self.entry.target_name,
            "schedule": dict(self.entry.schedule),
            "why": self.entry.why,
            "line": self.entry.line,
            "passed": self.passed,
            "fault": self.fault,
            "results": [result.to_json() for result in self.results],
        }


@frozen
class GateReport:
    """Verdicts of all entries of a budget file."""

    path: str
    entries: tuple[EntryReport, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        return all(entry.passed for entry in self.entries)

    def count(self, verdict: Verdict) -> int:
        return sum(r.verdict is verdict for e in self.entries for r in e.results)

    def to_json(self) -> dict[str, Any]:
        return {
            "budgets": self.path,
            "passed": self.passed,
            "seconds": round(self.seconds, 3),
            "entries": [entry.to_json() for entry in self.entries],
        }


def judge(
    entry: AnyEntry,
    values: Values,
    ratio: Ratio | str | None,
    tiers: Collection[Tier],
    *,
    all_measured: bool = False,
) -> EntryReport:
    """Compare a kernel's values with its budgets of these tiers.

    `ratio` is the measurement, or the reason why there is none. A default for a metric that the
    kernel lacks is ignored; an own budget for one raises BudgetError. A metric of a driver that is
    not installed is skipped, and broken with `all_measured`.
    """
    if values.fault is not None:
        return EntryReport(entry=entry, results=(), fault=values.fault)
    results = []
    for limit in entry.limits:
        if limit.metric.tier not in tiers:
            continue
        if limit.metric.tier is Tier.MEASURED:
            results.append(_measured(limit, ratio))
        elif limit.metric.name in values.numbers:
            results.append(_exact(limit, values))
        elif limit.default:
            continue
        elif (reason := values.absent(limit.metric)) is not None:
            verdict = Verdict.BROKEN if all_measured else Verdict.SKIPPED
            note = f"not measured here: {reason}"
            results.append(Result(limit=limit, verdict=verdict, note=note))
        else:
            raise BudgetError(
                f"{limit.metric.name} is not a metric of this kernel; {_has(limit, values)}"
            )
    return EntryReport(entry=entry, results=tuple(results))


def _has(limit: BudgetLimit, values: Values) -> str:
    """Return text that names the kernel's metrics of the limit's tier, the nearest first."""
    tier = limit.metric.tier
    found = [m.name for m in METRICS if m.tier is tier and m.name in values.numbers]
    near = suggest.near(limit.metric.name, found, MOST_NAMED)
    named = [*near, *(name for name in found if name not in near)][:MOST_NAMED]
    more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return f"its {tier} metrics are {', '.join(named) or 'none'}{more}"


def _exact(limit: BudgetLimit, values: Values) -> Result:
    metric, value = limit.metric, values.numbers[limit.metric.name]
    if not metric.keeps(value, limit.value):
        return Result(
            limit=limit,
            value=value,
            verdict=Verdict.BROKEN,
            note=values.note(metric),
            sources=values.sources(metric),
        )
    # A fraction must be better by at least one decimal of the budget.
    better = metric.better(metric.rounded(value), limit.value)
    return Result(limit=limit, value=value, verdict=Verdict.BETTER if better else Verdict.OK)


def _measured(limit: BudgetLimit, ratio: Ratio | str | None) -> Result:
    if not isinstance(ratio, Ratio):
        return Result(limit=limit, verdict=Verdict.SKIPPED, note=ratio)
    least = ratio.least(limit.value)
    note = (
        f"kernel {ratio.kernel * 1e6:.4g} us, library {ratio.reference * 1e6:.4g} us, noise "
        f"{ratio.relative_noise:.1%}: the budget is broken below {least:.3g}"
    )
    verdict = Verdict.OK if ratio.keeps(limit.value) else Verdict.BROKEN
    return Result(limit=limit, value=ratio.value, verdict=verdict, note=note)
