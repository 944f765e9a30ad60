"""Which lanes a fault names: of the first workgroup that is concerned, the first few."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: How many.
LANES_NAMED = 8


def offenders(lanes: npt.NDArray[Any]) -> tuple[int, list[int]]:
    """(workgroup, lanes) of the lanes [workgroup, ...] that are at fault."""
    workgroup = int(lanes.reshape(len(lanes), -1).any(axis=1).argmax())
    return workgroup, np.flatnonzero(lanes[workgroup])[:LANES_NAMED].tolist()
