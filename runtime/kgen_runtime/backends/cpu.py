"""The CPU: kernels are shared objects that the dynamic loader maps, called through ctypes.

A kernel is a function ``(pointers..., begin, end)`` that does the tasks [begin, end). It keeps no
state, so any number of threads may call it at once, and ctypes lets go of the interpreter's lock
while it runs.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import platform
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime import dlpack
from kgen_runtime.array import bytes_at
from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.cpu_features import cpu_features, cpu_name
from kgen_runtime.errors import ArgumentError, DeviceError, OutOfMemory

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Launch

#: Bytes; what the protocol asks for, and whole cache lines.
ALIGNMENT = 256
#: Handing work to another thread and waiting for it costs about 60 us; below this many seconds of
#: work one thread is faster.
PARALLEL_SECONDS = 200e-6
#: Pieces per thread, so that a thread that was held up does not make the others wait long.
PIECES_PER_THREAD = 4

LINUX = "Linux"

#: arch_prctl(2): tile data state must be asked for, once per process, before the first tile
#: instruction (Linux, Documentation/arch/x86/xstate.rst).
SYS_ARCH_PRCTL = 158
ARCH_REQ_XCOMP_PERM = 0x1023
XFEATURE_XTILEDATA = 18


@dataclass(kw_only=True)
class Entry:
    """One launch of a loaded kernel. `task_seconds` is the least that a task has taken so far: the
    first one may have waited for memory that was never touched before."""

    launch: Launch
    function: Any
    task_seconds: float = math.inf

    def run(self, addresses: list[int], begin: int, end: int) -> None:
        """Do tasks [begin, end), and measure them."""
        start = time.perf_counter()
        self.function(*addresses, begin, end)
        seconds = (time.perf_counter() - start) / (end - begin)
        self.task_seconds = min(self.task_seconds, seconds)

    @property
    def tasks(self) -> int:
        return self.launch.grid[0]


@dataclass(kw_only=True)
class Loaded:
    """A loaded kernel; unload closes its libraries."""

    entries: list[Entry]
    libraries: list[Library]


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
        if num_threads is not None and (not isinstance(num_threads, int) or num_threads < 1):
            raise ArgumentError(f"num_threads={num_threads!r} must be 1 or more")
        self.info = device_info()
        self.num_threads = num_threads or core_count()
        self._owned: dict[int, HostBytes] = {}
        self._lock = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        return (device_info(),)

    def close(self) -> None:
        with self._lock:
            workers, self._workers = self._workers, None
        if workers is not None:
            workers.shutdown()

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
        if stream is not None:
            raise ArgumentError(f"stream={stream}: the CPU backend has no streams; leave it out")
        for entry in kernel.entries:
            self._run(entry, [buffers[name] for name in entry.launch.arguments])

    def synchronize(self, stream: int | None = None) -> None:
        """Nothing is ever left running."""

    def _run(self, entry: Entry, addresses: list[int]) -> None:
        """Do all tasks, on several threads if what one task takes says that it pays."""
        tasks, done = entry.tasks, 0
        if self.num_threads == 1 or tasks == 1:
            entry.function(*addresses, 0, tasks)
            return
        if entry.task_seconds == math.inf:
            done = max(1, tasks // 64)
            entry.run(addresses, 0, done)
        if entry.task_seconds * (tasks - done) < PARALLEL_SECONDS:
            entry.function(*addresses, done, tasks)
        else:
            self._run_parallel(entry, addresses, done)

    def _run_parallel(self, entry: Entry, addresses: list[int], first: int) -> None:
        """The caller and the workers take pieces of [first, tasks) until there are none."""
        pieces = split(first, entry.tasks, self.num_threads * PIECES_PER_THREAD)

        def drain() -> None:
            # One iterator for all: `next` of a list iterator is atomic under the lock.
            for begin, end in pieces:
                entry.run(addresses, begin, end)

        workers = self._pool()
        helpers = [workers.submit(drain) for _ in range(self.num_threads - 1)]
        drain()
        for helper in helpers:
            # One that has not begun has nothing left to do.
            if not helper.cancel():
                helper.result()

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self.num_threads - 1, "kgen-cpu")
            return self._workers


def split(first: int, last: int, pieces: int) -> Iterator[tuple[int, int]]:
    """[first, last) as at most `pieces` ranges of nearly equal length."""
    count = min(pieces, last - first)
    bounds = [first + (last - first) * i // count for i in range(count + 1)]
    return iter(list(itertools.pairwise(bounds)))


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


class Library:
    """A shared object mapped from memory; nothing is left in the file system.

    The memory file stays open as long as the library is loaded: the loader knows libraries by
    their path, and a path whose number was used again would give it the older library.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self._file = os.memfd_create("kgen", os.MFD_CLOEXEC)
        try:
            with open(self._file, "wb", closefd=False) as file:
                file.write(data)
            self._library = ctypes.CDLL(f"/proc/self/fd/{self._file}")
        except OSError as error:
            os.close(self._file)
            raise DeviceError(f"{name}: the loader refuses the code: {error}") from None

    def function(self, entry_point: str) -> Any:
        try:
            return self._library[entry_point]
        except AttributeError:
            raise DeviceError(f"{self.name}: its code has no function {entry_point}") from None

    def close(self) -> None:
        import _ctypes

        _ctypes.dlclose(self._library._handle)
        os.close(self._file)


def request_tile_permission() -> None:
    """Ask the kernel for AMX tile state; it then holds for the whole process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(SYS_ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise DeviceError(f"the kernel refuses AMX tile state ({reason}); use x86-64-v4")
