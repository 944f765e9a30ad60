"""Threads that wait for a kernel's tasks in machine code of our own.

Python makes the threads and keeps their memory; what they do is native/workers-ARCH.so, which
templates/cpu/workers.ll.j2 describes. A launch on hot workers costs about a microsecond, where a
pool of Python's own costs sixty. There is one pool in a process, of the size that was last asked
for; several launches at once are right, but only one of them has helpers.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.cpu.library import Library
from kgen_runtime.errors import DeviceError
from kgen_runtime.launch_limits import CPU_POINTERS
from kgen_runtime.locks import Lock

if TYPE_CHECKING:
    from threading import Thread

#: The folder of the shared objects; pathlib takes milliseconds to import.
NATIVE = __file__.removesuffix("backends/cpu/workers.py") + "native/"
#: Offsets of the pool's words, in bytes: a cache line (64 bytes, or 128 with its neighbour) each.
POOL = {
    "state": 0,
    "word": 128,
    "sleepers": 256,
    "next": 384,
    "job": 512,
    "busy": 640,
    "stop": 768,
    "syscall": 896,
    "awake": 1024,
}
POOL_BYTES = 1152
ALIGNMENT = 128
#: Words of a job before its pointers.
JOB_HEADER = 5
#: Words of a list of jobs before their addresses.
LIST_HEADER = 3
#: A thread takes one part of what is left, in so many for each thread. More parts make the others
#: wait less for a thread that is held up; fewer let a thread pack B for more tasks at once.
PARTS_PER_THREAD = 2


class Job:
    """One launch with its arguments, as the machine code takes it; it may run again and again."""

    __slots__ = ("address", "tasks", "words")

    def __init__(self, function: int, tasks: int, pointers: Sequence[int]) -> None:
        if len(pointers) > CPU_POINTERS:
            raise DeviceError(
                f"the kernel has {len(pointers)} arguments; the limit is {CPU_POINTERS}"
            )
        self.tasks = tasks
        self.words = (ctypes.c_int64 * (JOB_HEADER + len(pointers)))(
            function, len(pointers), tasks, 1, 0, *pointers
        )
        self.address = ctypes.addressof(self.words)

    def share(self, threads: int) -> None:
        """Cut the tasks for so many threads."""
        self.words[3] = threads * PARTS_PER_THREAD
        self.words[4] = threads - 1

    @property
    def is_shared(self) -> bool:
        """Whether workers may take part."""
        return self.words[4] > 0


class JobList:
    """Jobs that machine code runs in order, with one call."""

    __slots__ = ("_times", "_words", "address", "jobs")

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = tuple(jobs)
        clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value
        addresses = [job.address for job in self.jobs]
        self._words = (ctypes.c_int64 * (LIST_HEADER + len(addresses)))(
            len(addresses), 0, clock or 0, *addresses
        )
        self.address = ctypes.addressof(self._words)
        #: Seconds and nanoseconds before the first job and after each.
        self._times = (ctypes.c_int64 * (2 * (len(addresses) + 1)))()

    def share(self, threads: Sequence[int]) -> None:
        """Cut each job for so many threads."""
        for job, count in zip(self.jobs, threads, strict=True):
            job.share(min(count, job.tasks))
        self._words[1] = int(any(job.is_shared for job in self.jobs))

    @property
    def is_shared(self) -> bool:
        """Whether workers may take part in any of them."""
        return bool(self._words[1])

    def run(self, pool: Workers) -> None:
        pool.code.list(pool.address, self.address)

    def timed(self, pool: Workers) -> list[float]:
        """Run the jobs: the seconds of each."""
        pool.code.list_timed(pool.address, self.address, ctypes.addressof(self._times))
        clocks = [s * 10**9 + ns for s, ns in zip(self._times[::2], self._times[1::2], strict=True)]
        return [(end - begin) * 1e-9 for begin, end in pairwise(clocks)]


class WorkerCode:
    """Functions of the shared object of the worker threads; each takes addresses."""

    def __init__(self) -> None:
        name = f"workers-{platform.machine()}.so"
        try:
            with open(f"{NATIVE}{name}", "rb") as file:  # noqa: PTH123
                data = file.read()
        except OSError:
            raise DeviceError(
                f"{platform.machine()} is not supported; CPU kernels run on x86_64 and aarch64"
            ) from None
        self._library = Library({None: data}, name)
        self.worker = self._function("kgen_worker", 1)
        self.parallel = self._function("kgen_parallel", 2)
        self.serial = self._function("kgen_serial", 1)
        self.tasks = self._function("kgen_tasks", 3)
        self.list = self._function("kgen_list", 2)
        self.list_timed = self._function("kgen_list_timed", 3)
        self.stop = self._function("kgen_stop", 1)

    def _function(self, name: str, arguments: int) -> Any:
        address = self._library.function(None, name)
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


class Workers:
    """The threads of this process and the memory that they share."""

    def __init__(self, code: WorkerCode) -> None:
        self.code = code
        self._memory = (ctypes.c_char * (POOL_BYTES + ALIGNMENT))()
        base = ctypes.addressof(self._memory)
        self.address = base + -base % ALIGNMENT
        self._syscall = ctypes.cast(ctypes.CDLL(None).syscall, ctypes.c_void_p).value
        self.reset()

    def reset(self) -> None:
        """A pool without threads, where it was: prepared calls keep its address."""
        self._threads: list[Thread] = []
        #: Threads that the system lets this process have.
        self._most = sys.maxsize
        self._growing = Lock()
        ctypes.memset(self.address, 0, POOL_BYTES)
        ctypes.c_void_p.from_address(self.address + POOL["syscall"]).value = self._syscall

    @property
    def count(self) -> int:
        """Threads besides the caller's."""
        return len(self._threads)

    def grow(self, count: int) -> None:
        """Have at least so many threads besides the caller's, or as many as the system allows: a
        container may have a limit, and launches take the threads that there are."""
        with self._growing.lock:
            while len(self._threads) < min(count, self._most):
                try:
                    self._threads.append(self._started(f"kgen-cpu-{len(self._threads)}"))
                except RuntimeError:  # can't start new thread
                    self._most = len(self._threads)

    def _started(self, name: str) -> Thread:
        from threading import Thread  # takes a millisecond, which a single thread does without

        # A daemon, for the interpreter waits for others before it tells us to stop.
        thread = Thread(target=self.code.worker, args=(self.address,), name=name, daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """End all threads."""
        with self._growing.lock:
            self.code.stop(self.address)
            for thread in self._threads:
                thread.join()
            self._threads.clear()


_code: WorkerCode | None = None
_workers: Workers | None = None
_making = Lock()


def code() -> WorkerCode:
    """The pool's machine code, loaded once. Raises DeviceError on an architecture without it."""
    global _code
    with _making.lock:
        if _code is None:
            _code = WorkerCode()
        return _code


def workers(count: int) -> Workers:
    """The process's pool, with at least `count` threads."""
    global _workers
    if _workers is not None and _workers.count >= count:
        return _workers
    machine_code = code()
    with _making.lock:
        if _workers is None:
            _workers = Workers(machine_code)
            atexit.register(_workers.stop)
        pool = _workers
    pool.grow(count)
    return pool


def _start_anew() -> None:
    """In a child after fork(2) there are no workers, and a launch of another thread that was under
    way never ends: the child makes workers of its own when it first needs some."""
    if _workers is not None:
        _workers.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
