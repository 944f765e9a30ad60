"""Request: the options of a launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.numerics import Numerics
from kgen.emulate.report import Index3
from kgen.errors import EmulationError
from kgen_runtime.values import frozen


@frozen
class Request:
    """Options of :func:`kgen.emulate.run`, which documents them."""

    entry: str
    grid: Index3
    block: Index3
    arguments: Sequence[Any]
    dynamic_shared: int = 0
    workgroups: Sequence[Index3] | None = None
    checks: bool = True
    profile: bool = False
    cluster: Index3 = (1, 1, 1)
    numerics: Numerics = field(default_factory=Numerics)
    seed: int = 0
    arch: str | None = None
    strict: bool = False
    most_faults: int = 1

    def in_order(self) -> npt.NDArray[np.int64]:
        """Return the workgroups that run, [workgroup, 3], in whole clusters and in the order of
        ranks.

        Clusters run in the order of their numbers, or shuffled by a seed other than 0. Raises
        EmulationError for a workgroup outside the grid.
        """
        size = np.array(self.cluster)
        if self.workgroups is None:
            clusters = _numbers(np.array(self.grid) // size)
        else:
            named = np.array(list(self.workgroups), np.int64).reshape(-1, 3)
            outside = ((named < 0) | (named >= self.grid)).any(axis=1)
            if np.count_nonzero(outside):
                first = tuple(named[outside][0].tolist())
                raise EmulationError(f"workgroup {first} is outside the grid {self.grid}")
            once = dict.fromkeys(map(tuple, (named // size).tolist()))
            clusters = np.array(list(once), np.int64).reshape(-1, 3)
        if self.seed:
            clusters = np.random.default_rng(self.seed).permutation(clusters)
        found: npt.NDArray[np.int64] = (clusters[:, None] * size + _numbers(size)).reshape(-1, 3)
        return found


def _numbers(count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return all indices below `count`, x fastest."""
    z, y, x = np.indices(count.tolist()[::-1]).reshape(3, -1)
    return np.stack([x, y, z], axis=1)
