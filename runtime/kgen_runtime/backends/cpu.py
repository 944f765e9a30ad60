"""The CPU: kernels are shared objects that the dynamic loader maps, called through ctypes.

A kernel is a function ``(pointers..., begin, end)`` that does the tasks [begin, end). It keeps no
state, so any number of threads may call it at once, and ctypes lets go of the interpreter's lock
while it runs.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime import dlpack
from kgen_runtime.array import bytes_at
from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.backends import cpu_workers
from kgen_runtime.backends.cpu_library import Library
from kgen_runtime.backends.cpu_workers import Job
from kgen_runtime.cpu_features import cpu_features, cpu_name
from kgen_runtime.errors import ArgumentError, DeviceError, OutOfMemory

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Launch

#: Bytes; what the protocol asks for, and whole cache lines.
ALIGNMENT = 256
#: Sharing work with a thread that spins costs 1 to 2 us, waking one that sleeps 5; below this many
#: seconds one thread is as fast.
PARALLEL_SECONDS = 20e-6
#: Runs of a launch that are measured before it is decided; the first may wait for memory that was
#: never touched before.
TRIALS = 3

LINUX = "Linux"

#: arch_prctl(2): tile data state must be asked for, once per process, before the first tile
#: instruction (Linux, Documentation/arch/x86/xstate.rst).
SYS_ARCH_PRCTL = 158
ARCH_REQ_XCOMP_PERM = 0x1023
XFEATURE_XTILEDATA = 18


@dataclass(kw_only=True)
class Entry:
    """One launch of a loaded kernel. `seconds` is the least that all its tasks took one thread in
    the first `trials` runs."""

    launch: Launch
    function: Any
    seconds: float = math.inf
    trials: int = 0

    @property
    def tasks(self) -> int:
        return self.launch.grid[0]

    @property
    def address(self) -> int:
        """Of the machine code."""
        found = ctypes.cast(self.function, ctypes.c_void_p).value
        assert found is not None
        return found

    def run(self, addresses: list[int]) -> None:
        """All tasks, in this thread."""
        self.function(*addresses, 0, self.tasks)

    def measure(self, run: Callable[[], None]) -> None:
        """A run that counts as a trial."""
        start = time.perf_counter()
        run()
        self.seconds = min(self.seconds, time.perf_counter() - start)
        self.trials += 1


@dataclass(kw_only=True)
class Loaded:
    """A loaded kernel; unload closes its libraries."""

    entries: list[Entry]
    libraries: list[Library]


#: More threads than any CPU has cores; operating systems refuse some 30 000.
MAX_THREADS = 1024


class CpuBackend(Backend):
    """This machine. `num_threads` limits how many threads one launch uses; None means all cores.

    Launches are done when `launch` returns; there are no streams. Buffers are addresses, those of
    `alloc` and the caller's own alike.
    """

    name: ClassVar[str] = "cpu"
    formats: ClassVar[tuple[str, ...]] = ("elf-x86_64", "elf-aarch64")
    memory: ClassVar[int | None] = dlpack.HOST

    def __init__(self, index: int = 0, num_threads: int | None = None) -> None:
        if index != 0:
            raise DeviceError(f"cpu:{index} does not exist; there is one CPU device, cpu:0")
        if num_threads is not None and (
            type(num_threads) is not int or not 1 <= num_threads <= MAX_THREADS
        ):
            raise ArgumentError(f"num_threads={num_threads!r} must be 1 to {MAX_THREADS}")
        self.info = device_info()
        self.num_threads = num_threads or core_count()
        self._owned: dict[int, HostBytes] = {}

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        return (device_info(),)

    def close(self) -> None:
        """The threads stay: they are the process's."""

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        requires = artifact.requires
        if unknown := sorted(requires.keys() - {"arch", "features"}):
            return f"{artifact.file} requires {unknown[0]}, which this runtime does not know"
        if (system := capabilities.get("system", LINUX)) != LINUX:
            return f"{artifact.file} is an ELF library for Linux, not for {system}"
        if (arch := requires.get("arch")) != (machine := capabilities["arch"]):
            return f"{artifact.file} is for {arch}, not for {machine}; build for its target"
        missing = sorted(set(requires.get("features", ())) - set(capabilities["features"]))
        if missing:
            return (
                f"{artifact.file} needs {', '.join(missing)}, which the CPU does not have; "
                "build for native or for a lower level, such as x86-64-v3"
            )
        return None

    def alloc(self, nbytes: int) -> int:
        import numpy as np

        try:
            memory = np.empty(nbytes + ALIGNMENT, np.uint8)
        except MemoryError:
            raise OutOfMemory(
                f"cannot allocate {nbytes} bytes; free arrays or use a smaller shape"
            ) from None
        address = memory.ctypes.data + -memory.ctypes.data % ALIGNMENT
        self._owned[address] = memory
        return address

    def free(self, buffer: int) -> None:
        del self._owned[buffer]

    def view(self, buffer: int, offset: int, nbytes: int) -> int:
        return buffer + offset

    def copy_to_device(self, buffer: int, host: HostBytes) -> None:
        bytes_at(buffer, host.size)[:] = host

    def copy_from_device(self, host: HostBytes, buffer: int) -> None:
        host[:] = bytes_at(buffer, host.size)

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> Loaded:
        """Raises DeviceError if the loader or the kernel's permission is refused."""
        if any("amx_tile" in c.artifact.requires.get("features", ()) for c in code.values()):
            request_tile_permission()
        libraries = {name: Library(c.data, entry.name) for name, c in code.items()}
        entries = []
        for launch in entry.launches:
            function = libraries[launch.module].function(launch.entry_point)
            function.restype = None
            function.argtypes = [ctypes.c_void_p] * len(launch.arguments) + [ctypes.c_int64] * 2
            entries.append(Entry(launch=launch, function=function))
        return Loaded(entries=entries, libraries=list(libraries.values()))

    def unload(self, kernel: Loaded) -> None:
        kernel.entries.clear()
        while kernel.libraries:
            kernel.libraries.pop().close()

    def launch(self, kernel: Loaded, buffers: Mapping[str, int], stream: int | None = None) -> None:
        self._check_stream(stream)
        for entry in kernel.entries:
            addresses = [buffers[name] for name in entry.launch.arguments]
            if self.num_threads == 1 or entry.tasks == 1:
                entry.run(addresses)
            elif entry.trials < TRIALS:
                entry.measure(partial(entry.run, addresses))
            elif entry.seconds < PARALLEL_SECONDS:
                entry.run(addresses)
            else:
                self._shared(self._job(entry, addresses))()

    def prepare(
        self, kernel: Loaded, buffers: Mapping[str, int], stream: int | None = None
    ) -> Callable[[], None]:
        self._check_stream(stream)
        launches = [
            self._prepared(entry, [buffers[name] for name in entry.launch.arguments])
            for entry in kernel.entries
        ]
        return launches[0] if len(launches) == 1 else partial(_all, launches)

    def synchronize(self, stream: int | None = None) -> None:
        """Nothing is ever left running."""

    def _prepared(self, entry: Entry, addresses: list[int]) -> Callable[[], None]:
        job = self._job(entry, addresses)
        serial = partial(cpu_workers.code().serial, job.address)
        if self.num_threads == 1 or entry.tasks == 1:
            return _Held(serial, job)
        return _Undecided(entry, serial, self._shared(job))

    def _job(self, entry: Entry, addresses: list[int]) -> Job:
        job = Job(entry.address, entry.tasks, addresses)
        job.share(min(self.num_threads, entry.tasks))
        return job

    def _shared(self, job: Job) -> Callable[[], None]:
        """The job by this thread and the workers."""
        pool = cpu_workers.workers(self.num_threads - 1)
        return _Held(partial(pool.code.parallel, pool.address, job.address), job)

    @staticmethod
    def _check_stream(stream: int | None) -> None:
        if stream is not None:
            raise ArgumentError(f"stream={stream}: the CPU backend has no streams; leave it out")


class _Held:
    """A call, and the job that its machine code reads."""

    __slots__ = ("_call", "_job")

    def __init__(self, call: Callable[[], None], job: Job) -> None:
        self._call, self._job = call, job

    def __call__(self) -> None:
        self._call()


class _Undecided:
    """A call by one thread until it is known whether several are faster."""

    __slots__ = ("_alone", "_call", "_entry", "_shared")

    def __init__(self, entry: Entry, alone: Callable[[], None], shared: Callable[[], None]) -> None:
        self._entry, self._alone, self._shared = entry, alone, shared
        self._call = self._try

    def __call__(self) -> None:
        self._call()

    def _try(self) -> None:
        if self._entry.trials < TRIALS:
            self._entry.measure(self._alone)
        else:
            slow = self._entry.seconds >= PARALLEL_SECONDS
            self._call = self._shared if slow else self._alone
            self._call()


def _all(launches: list[Callable[[], None]]) -> None:
    for launch in launches:
        launch()


def core_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def device_info() -> DeviceInfo:
    return DeviceInfo(
        backend="cpu",
        index=0,
        name=cpu_name(),
        kind="cpu",
        capabilities={
            "arch": platform.machine(),
            "features": tuple(sorted(cpu_features())),
            "cores": core_count(),
            "system": platform.system(),
        },
    )


def request_tile_permission() -> None:
    """Ask the kernel for AMX tile state; it then holds for the whole process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(SYS_ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise DeviceError(f"the kernel refuses AMX tile state ({reason}); use x86-64-v4")
