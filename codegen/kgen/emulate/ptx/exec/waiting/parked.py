"""Parked lanes: they wait for an asynchronous operation, by instruction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Operation, Wait
from kgen.emulate.ptx.types import Array


class Parked:
    """Parked lanes [C or 1, W, 32] by program counter."""

    def __init__(self, machine: Machine, operations: Sequence[Operation]) -> None:
        self._machine, self._operations = machine, operations
        self._lanes: dict[int, Array] = {}

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def add(self, pc: int, lanes: Array) -> None:
        self._lanes[pc] = self._lanes.get(pc, np.zeros((1, 1, 1), bool)) | lanes

    def ready(self) -> Iterator[tuple[int, Array]]:
        """Yield and remove the lanes whose wait is over, with their program counter."""
        for pc, lanes in list(self._lanes.items()):
            ready = lanes & self._wait(pc).ready(lanes)
            if not np.count_nonzero(ready):
                continue
            del self._lanes[pc]
            if np.count_nonzero(lanes & ~ready):
                self._lanes[pc] = lanes & ~ready
            yield pc, ready

    def stuck(self) -> tuple[int, Violation] | None:
        """Return an instruction at which lanes wait for ever, with the violation; None if there is
        none."""
        if not self._lanes:
            return None
        found: list[tuple[int, Violation]] = []
        for pc, lanes in sorted(self._lanes.items()):
            kind, message = self._wait(pc).describe(self._machine.everywhere(lanes))
            found.append((pc, Violation(kind, message, lanes)))
        # A specific fault takes precedence over a deadlock.
        return min(found, key=lambda stuck: stuck[1].kind == "deadlock")

    def _wait(self, pc: int) -> Wait:
        wait = self._operations[pc]
        assert isinstance(wait, Wait)
        return wait
