"""Knowledge (vector clocks) that arriving threads leave at a barrier for the threads that it
releases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kgen.emulate.ptx.exec.ctas import narrow
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.order.lessons import among, both
from kgen.emulate.ptx.order.released_knowledge import Known
from kgen.emulate.ptx.types import Array


class Released:
    """Knowledge [CTA, actor] at the barrier of each CTA; CTAs are selected by masks [C].

    Tables have one row per CTA of a cluster while all clusters are equal.
    """

    def __init__(self, machine: Machine) -> None:
        self._cluster, self._checks = machine.cluster, machine.checks
        nothing = np.zeros((machine.cluster, machine.clocks.actors), np.int64)
        self.known = Known(seen=nothing)

    def add(self, known: Known, ctas: Array) -> None:
        """Add knowledge at the barriers of these CTAs."""
        if not self._checks:
            return
        mine, where = self.known, narrow(ctas, self._cluster)
        fences = mine.passed.keys() | known.passed.keys()
        nothing = np.zeros_like(mine.seen[:, :1])
        self.known = Known(
            seen=_most(mine.seen, known.seen, where),
            passed={
                fence: _most(
                    mine.passed.get(fence, nothing), known.passed.get(fence, nothing), where
                )
                for fence in fences
            },
            lessons=both(mine.lessons, among(known.lessons, ctas)),
        )

    def forget(self, ctas: Array) -> None:
        """Clear the barriers of these CTAs for a new phase."""
        if not self._checks:
            return
        left = ~narrow(ctas, self._cluster)
        known = self.known
        nothing = np.zeros_like(known.seen)
        self.known = Known(
            seen=_most(nothing, known.seen, left),
            passed={fence: _most(nothing, table, left) for fence, table in known.passed.items()},
            lessons=among(known.lessons, ~ctas),
        )

    def take_over(self, other: Released, ctas: Array) -> None:
        """Replace the knowledge of these CTAs by that of `other`, and clear it there."""
        self.forget(ctas)
        self.add(other.known, ctas)
        other.forget(ctas)


def at_rank(known: Known, rank: int, cluster: int) -> Known:
    """Give the CTA of a rank what all CTAs of its cluster know."""
    together = known.across(cluster)
    elsewhere = np.arange(len(together.seen)) % cluster != rank
    return replace(
        together,
        seen=np.where(elsewhere[:, None], 0, together.seen),
        passed={f: np.where(elsewhere[:, None], 0, t) for f, t in together.passed.items()},
        lessons=among(together.lessons, ~elsewhere),
    )


def _most(mine: Array, theirs: Array, where: Array) -> Array:
    rows = max(len(mine), len(theirs), len(where))
    mine, theirs = _tiled(mine, rows), _tiled(theirs, rows)
    return np.maximum(mine, np.where(_tiled(where[:, None], rows), theirs, 0))


def _tiled(table: Array, rows: int) -> Array:
    """Repeat rows for every cluster."""
    return table if len(table) == rows else np.tile(table, (rows // len(table), 1))
