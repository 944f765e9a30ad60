"""Comparison of a model's results with those of another engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Outputs = Mapping[str, npt.NDArray[Any]]


def apart(ours: Outputs, theirs: Outputs) -> float:
    """Return the largest difference of results, relative to the largest value of the same output;
    NaN if any difference is NaN. An engine may have further names for an output."""
    found = [0.0]
    for name, mine in ours.items():
        if mine.size:
            one, other = mine.astype(np.float64), theirs[name].astype(np.float64)
            found.append(np.abs(one - other).max() / max(np.abs(other).max(), 1e-30))
    return float(np.max(found))
