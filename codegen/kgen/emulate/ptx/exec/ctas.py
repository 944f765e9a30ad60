"""Arrays with a value for each CTA of a chunk, stored without repetition.

The first axis has an entry for each CTA of the chunk. If all clusters have equal values, it has an
entry for each CTA of one cluster; if all CTAs do, it has a single entry.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.types import Array

#: Lanes of a warp.
WARP = 32


def narrow(value: Array, cluster: int) -> Array:
    """Return the values of one cluster if all clusters are equal; else the value itself."""
    if len(value) <= cluster:
        return value
    by_cluster = value.reshape(-1, cluster, *value.shape[1:])
    return value if np.count_nonzero(by_cluster != by_cluster[:1]) else by_cluster[0]


def over_ctas(value: Array, count: int) -> Array:
    """Repeat a value of one cluster, or of one CTA, for `count` CTAs."""
    if len(value) == count:
        return value
    return np.tile(value, (count // len(value), *[1] * (value.ndim - 1)))
