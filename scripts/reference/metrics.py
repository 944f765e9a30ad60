"""Metrics of the performance gate: unit, bound, meaning and source."""

from __future__ import annotations

from kgen.check.gate.metrics import METRICS, BudgetSide, Metric
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row for each metric, in the order of the gate's report."""
    header = ("metric", "unit", "budget", "meaning", "source")
    return rows(header, map(_cells, METRICS))


def _cells(metric: Metric) -> tuple[str, ...]:
    bound = "at most" if metric.bound is BudgetSide.MAXIMUM else "at least"
    source = f"{metric.tier}: {metric.source}"
    return f"`{metric.name}`", metric.unit, bound, metric.meaning, source
