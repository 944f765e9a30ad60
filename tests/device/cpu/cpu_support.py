"""Helpers of the CPU's tests: targets and loaded kernels, qemu where it is required, and memory
with guard pages."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen import pipeline
from kgen.bundle import pack
from kgen.check.execute import qemu
from kgen.schedule import BlockedMatmul, Schedule
from kgen.spec import Matmul, Spec
from kgen.targets.base import BuiltKernel, Target
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.schedule.adapt import SHARING, completed
from kgen.targets.cpu.schedule.cost_model import best
from kgen_runtime.backend import Code
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.manifest import KernelEntry
from tests import needs
from tests.open_devices import verify

Bytes = npt.NDArray[np.uint8]
PROT_NONE = 0


def require_qemu() -> None:
    """Skip the test without qemu-aarch64; in CI, where it can be installed, fail."""
    needs.program(qemu.QEMU, "qemu-user")


class GuardedBytes:
    """Memory that begins right after, or ends right before, a page without access rights."""

    def __init__(self, nbytes: int, *, at_end: bool) -> None:
        pages = -(-nbytes // mmap.PAGESIZE)
        self._map = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
        self._hold = ctypes.c_char.from_buffer(self._map)
        base = ctypes.addressof(self._hold)
        libc = ctypes.CDLL(None, use_errno=True)
        for guard in (base, base + (pages + 1) * mmap.PAGESIZE):
            if libc.mprotect(ctypes.c_void_p(guard), mmap.PAGESIZE, PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        slack = pages * mmap.PAGESIZE - nbytes
        self.address = base + mmap.PAGESIZE + (slack if at_end else 0)
        start = self.address - base
        self.data: Bytes = np.frombuffer(self._map, np.uint8, nbytes, start)


def target(name: str) -> Target:
    found = FAMILY.find(name)
    assert found is not None
    return found


#: The target, if this machine executes it.
here = needs.cpu


def best_of(spec: Matmul, found: Target, mainloop: str, **fixed: int) -> BlockedMatmul:
    """Return the best legal schedule of a main loop that has these fields."""
    schedule = best(spec, found, fixed, mainloop)
    assert schedule is not None, f"{mainloop} with {fixed} is not legal for {spec.key}"
    return schedule


def with_sharing(spec: Matmul, found: Target, schedule: BlockedMatmul) -> BlockedMatmul:
    """Return the schedule with the model's choice of what tasks pack for each other."""
    return completed(spec, found, schedule, set(schedule.names) - set(SHARING))


def check(spec: Spec, found: Target, schedule: Schedule | None = None) -> None:
    check_kernel(pipeline.kernel(spec, found, schedule))


def check_kernel(kernel: BuiltKernel) -> None:
    for result in verify(pack([kernel])).kernels:
        assert result.passed, result.to_json()


@dataclass(frozen=True)
class Ready:
    """Loaded kernel."""

    backend: CpuBackend
    entry: KernelEntry
    kernel: Any

    def run(self, addresses: dict[str, int]) -> None:
        self.backend.launch(self.kernel, addresses)

    def run_tasks(self, addresses: dict[str, int], begin: int, end: int) -> None:
        """Run the tasks [begin, end) of the kernel's only launch on this thread."""
        (launch,) = self.kernel.launches
        pointers = [addresses[name] for name in launch.arguments]
        words = (*[ctypes.c_void_p] * len(pointers), ctypes.c_int64, ctypes.c_int64)
        ctypes.CFUNCTYPE(None, *words)(launch.function)(*pointers, begin, end)


def load(
    spec: Spec, found: Target, schedule: Schedule | None = None, num_threads: int | None = None
) -> Ready:
    bundle = pack([pipeline.kernel(spec, found, schedule)])
    entry = bundle.manifest.kernels[0]
    artifact = entry.artifacts[0]
    backend = CpuBackend(num_threads=num_threads)
    code = Code(artifact=artifact, data=bundle.files[artifact.file])
    return Ready(backend, entry, backend.load(entry, {"main": code}))


def addresses(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, int]:
    return {name: array.ctypes.data for name, array in arrays.items()}
