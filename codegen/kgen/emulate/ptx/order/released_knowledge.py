"""Released knowledge: a value that moves with barriers from arriving to waiting threads."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

import numpy as np

from kgen.emulate.ptx.order.lessons import Told, across, among, both
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

#: Kind of a fence: between the generic and the async proxy in a state space; mbarrier.init before
#: later operations; or memory for threads in a scope.
Fence = Literal["async.shared", "async.global", "mbarrier_init", "cta", "cluster", "gpu"]


@frozen
class Known:
    """Knowledge as a time of every actor of the cluster: [CTA, actor].

    The first axis has one entry per CTA of the chunk, or of one cluster if all clusters are equal.
    """

    seen: Array
    passed: dict[Fence, Array] = field(default_factory=dict)
    #: Lessons that CTAs of the chunk have acquired through memory.
    lessons: Told | None = None

    def merge(self, other: Known, where: Array | None = None) -> Known:
        """Return the join with `other`, in the CTAs [C or 1] of `where` only."""

        def most(mine: Array, theirs: Array) -> Array:
            if where is not None:
                theirs = _spread(theirs, len(where))
                theirs = np.where(_spread(where[:, None], len(theirs)), theirs, 0)
            return np.maximum(_spread(mine, len(theirs)), _spread(theirs, len(mine)))

        nothing = np.zeros((1, 1), np.int64)
        return Known(
            seen=most(self.seen, other.seen),
            passed={
                fence: most(self.passed.get(fence, nothing), other.passed.get(fence, nothing))
                for fence in self.passed.keys() | other.passed.keys()
            },
            lessons=both(self.lessons, among(other.lessons, where)),
        )

    def forget(self, where: Array) -> Known:
        """Return a copy without the knowledge of the CTAs [C or 1] in `where`."""

        def nothing(known: Array) -> Array:
            known = _spread(known, len(where))
            return np.where(_spread(where[:, None], len(known)), 0, known)

        return Known(
            seen=nothing(self.seen),
            passed={fence: nothing(known) for fence, known in self.passed.items()},
            lessons=among(self.lessons, ~where),
        )

    def across(self, cluster: int) -> Known:
        """Return the join over the CTAs of each cluster."""

        def joined(known: Array) -> Array:
            most: Array = known.reshape(-1, cluster, known.shape[1]).max(axis=1)
            return most.repeat(cluster, axis=0)

        return Known(
            seen=joined(self.seen),
            passed={fence: joined(known) for fence, known in self.passed.items()},
            lessons=across(self.lessons, cluster),
        )


def _spread(known: Array, ctas: int) -> Array:
    """Repeat [1, CTAs of a cluster or CTAs, ...] to at least `ctas` rows; a single row is
    unchanged."""
    return (
        known if len(known) == 1 or len(known) >= ctas else np.tile(known, (ctas // len(known), 1))
    )
