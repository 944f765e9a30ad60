"""Limit of a metric in a budget file, with its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kgen.check.gate.metrics import Metric
from kgen.check.gate.toml_spans import TextSpan
from kgen_runtime.values import frozen


@frozen
class BudgetLimit:
    """Limit of a metric.

    `place` is the span of the number in the file, and `default` says that it holds for all kernels.
    `by_core` holds limits of a measured ratio for named CPU cores; `core` is the name of the core
    in each of them, "" in the limit for all other cores.
    """

    metric: Metric
    value: float
    place: TextSpan
    default: bool = False
    core: str = ""
    by_core: Mapping[str, BudgetLimit] = field(default_factory=dict)

    def on(self, core: str) -> BudgetLimit:
        """Return the limit that holds on a core."""
        return self.by_core.get(core, self)
