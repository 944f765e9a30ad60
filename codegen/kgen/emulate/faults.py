"""From lanes that did something wrong to the fault that a user is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.report import Fault

#: How many lanes a fault names: the first few of the first workgroup that is concerned.
LANES_NAMED = 8


def fault_at(
    kind: str,
    message: str,
    lanes: npt.NDArray[np.bool_],
    *,
    entry: str,
    instruction: str,
    line: int,
    coordinates: Sequence[Any] | npt.NDArray[Any],
    seed: int,
    address: npt.NDArray[Any] | int | None = None,
) -> Fault:
    """The fault of the lanes [workgroup, ...]; `coordinates` are those of the workgroups. The
    address may be one for each lane, of which the first counts."""
    workgroup = int(lanes.reshape(len(lanes), -1).any(axis=1).argmax())
    named = np.flatnonzero(lanes[workgroup])[:LANES_NAMED].tolist()
    if isinstance(address, np.ndarray):
        address = int(address[workgroup].reshape(-1)[named[0]]) if named else None
    x, y, z = (int(c) for c in coordinates[workgroup])
    return Fault(
        kind=kind,
        message=message,
        entry=entry,
        instruction=instruction,
        line=line,
        workgroup=(x, y, z),
        lanes=tuple(named),
        address=address,
        seed=seed,
    )
