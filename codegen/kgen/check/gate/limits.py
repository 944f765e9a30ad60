"""Limit of a metric in a file of budgets, with its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kgen.check.gate.metrics import Metric
from kgen.check.gate.places import Place
from kgen_runtime.values import frozen


@frozen
class Limit:
    """A metric's budget; `place` is that of the number, `default` says that it is for all.

    `by_core`: those of a measured ratio that hold on a named CPU core instead; `core` is that core
    in each of them, "" in one that holds everywhere else.
    """

    metric: Metric
    value: float
    place: Place
    default: bool = False
    core: str = ""
    by_core: Mapping[str, Limit] = field(default_factory=dict)

    def on(self, core: str) -> Limit:
        """Return the limit that holds on this core."""
        return self.by_core.get(core, self)
