"""Collection of the faults of a run, which are created from the lanes at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.report import EmulationFault, Fault

#: Most lanes that a fault names: the first ones of the first workgroup at fault.
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
    array: Callable[[int], str] | None = None,
) -> Fault:
    """Return the fault of the lanes [workgroup, ...]; `coordinates` are those of the workgroups.

    If there is an address per lane, the first one counts. `array` names the array at that address.
    """
    workgroup = int(lanes.reshape(len(lanes), -1).any(axis=1).argmax())
    concerned = np.flatnonzero(lanes[workgroup])
    named = concerned[:LANES_NAMED].tolist()
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
        more_lanes=len(concerned) - len(named),
        address=address,
        array="" if array is None or address is None else array(address),
        seed=seed,
    )


class FaultLog:
    """Distinct faults of one run, in order of occurrence."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Add a fault after which the run continues. Raises EmulationFault if it is the last one
        allowed."""
        self._append(fault)
        if len(self.faults) >= self.most:
            raise self.error()

    def last(self, fault: Fault) -> EmulationFault:
        """Add a fault after which the run cannot continue; return the error to raise."""
        self._append(fault)
        return self.error()

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Raise EmulationFault at the end of a run with faults.

        Other errors after the first fault may be consequences of it, and are dropped.
        """
        try:
            yield
        except EmulationFault as error:
            if not self.faults or error.fault in self.faults:
                raise
            raise self.last(error.fault) from None
        except Exception:
            if not self.faults:
                raise
        if self.faults:
            raise self.error()

    def error(self) -> EmulationFault:
        """Return the error that names every fault; there must be at least one."""
        first, *others = self.faults
        return EmulationFault(first, others)

    def _append(self, fault: Fault) -> None:
        """Add a fault unless the same instruction has one of this kind already."""
        if all((f.kind, f.line) != (fault.kind, fault.line) for f in self.faults):
            self.faults.append(fault)
