"""Execution of a kernel on raw buffers, for verification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from kgen.check.tensors import Bytes
from kgen.emulate.report import Fault
from kgen_runtime.manifest import Extent3, KernelEntry

#: What memory that a kernel may not read or write holds.
POISON_BYTE = 0xA5


class Unavailable(Exception):
    """The kernel cannot be executed here; the message says why."""


class Executor(ABC):
    """Executor of a kernel. `on` and `form` are the report's executed_on, executed_form."""

    on: str
    form: str
    #: Whether a sample of the workgroups can be run.
    samples: bool = False
    #: Under how many schedules a kernel should be run, and the one that comes next.
    schedules: int = 1
    schedule: int = 0
    #: What is no fault but should be known, of all runs until now.
    warnings: Sequence[Fault] = ()

    @abstractmethod
    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        """Run the kernel in place on buffers by parameter name.

        `workgroups` are those of each launch, None for all. Raises VerificationError or
        EmulationError if the kernel touches memory that is not its own.
        """

    def close(self) -> None:
        """Give back what the kernel holds; by default nothing."""
        return


def workspaces(entry: KernelEntry) -> dict[str, Bytes]:
    """Scratch memory as the runtime gives it: zero where the manifest says so, else poison."""
    return {
        w.name: np.full(w.nbytes, 0 if w.initial == "zero" else POISON_BYTE, np.uint8)
        for w in entry.workspaces
    }
