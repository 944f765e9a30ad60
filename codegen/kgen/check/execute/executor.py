"""Interface of executors, which run a kernel on raw buffers for verification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from kgen.check.tensors import Bytes
from kgen.emulate.report import Fault
from kgen_runtime.manifest import Extent3, KernelEntry

#: Byte that fills memory which a kernel must not read or write.
POISON_BYTE = 0xA5


class Unavailable(Exception):
    """Reason why the kernel cannot run here."""


class Executor(ABC):
    """Executor of a kernel. `on` and `form` become executed_on and executed_form of the report."""

    on: str
    form: str
    #: Whether a sample of the workgroups can run alone.
    samples: bool = False
    #: Number of thread schedules under which a kernel should run, and the next one.
    schedules: int = 1
    schedule: int = 0
    #: Warnings of all runs so far: findings that are not faults.
    warnings: Sequence[Fault] = ()

    @abstractmethod
    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        """Run the kernel in place on buffers by parameter name.

        `workgroups` selects the workgroups of each launch; None stands for all. Raises
        VerificationError or EmulationError if the kernel accesses memory that is not its own.
        """

    def close(self) -> None:
        """Release what the kernel holds; by default nothing."""
        return


def workspaces(entry: KernelEntry) -> dict[str, Bytes]:
    """Return the scratch memory that the runtime would pass: zero where required, else poison."""
    return {
        w.name: np.full(w.nbytes, 0 if w.initial == "zero" else POISON_BYTE, np.uint8)
        for w in entry.workspaces
    }
