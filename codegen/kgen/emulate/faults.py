"""Faults of a run: made from the lanes at fault, and collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.report import EmulationFault, Fault

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
    array: Callable[[int], str] | None = None,
) -> Fault:
    """The fault of the lanes [workgroup, ...]; `coordinates` are those of the workgroups.

    The address may be one for each lane, of which the first counts; `array` says what lies there.
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
    """The distinct faults of one run, in the order in which they were met."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Note a fault after which the run goes on. Raises EmulationFault if none is to follow."""
        self._append(fault)
        if len(self.faults) >= self.most:
            raise self.error()

    def last(self, fault: Fault) -> EmulationFault:
        """Note a fault after which the run cannot go on; return the error to raise."""
        self._append(fault)
        return self.error()

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Raise EmulationFault at the end of a run that has met faults.

        What else goes wrong after the first of them may come of it, and says nothing new.
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
        """Return the error that names every noted fault; at least one was noted."""
        first, *others = self.faults
        return EmulationFault(first, others)

    def _append(self, fault: Fault) -> None:
        """Note a fault unless the same instruction has one of this kind already."""
        if all((f.kind, f.line) != (fault.kind, fault.line) for f in self.faults):
            self.faults.append(fault)
