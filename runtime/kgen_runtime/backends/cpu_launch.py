"""Launches of CPU kernels: by the caller's thread alone, or shared with workers where that pays."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends import cpu_workers
from kgen_runtime.backends.cpu_workers import JOB_HEADER, Job

if TYPE_CHECKING:
    from kgen_runtime.manifest import Launch

#: Sharing work with a thread that spins costs 1 to 2 us, waking one that sleeps 5; below this many
#: seconds one thread is as fast.
PARALLEL_SECONDS = 20e-6
#: Runs of a launch that are measured before it is decided; the first may wait for memory that was
#: never touched before.
TRIALS = 3


@dataclass(kw_only=True)
class Entry:
    """One launch of a loaded kernel; `address` is that of its machine code.

    `seconds` is the least that all its tasks took one thread in the first `trials` runs.
    """

    launch: Launch
    address: int
    seconds: float = math.inf
    trials: int = 0

    @property
    def tasks(self) -> int:
        return self.launch.grid[0]

    def job(self, threads: int, addresses: Sequence[int]) -> Job:
        """The launch on these tensors, cut for so many threads."""
        job = Job(self.address, self.tasks, addresses)
        job.share(min(threads, self.tasks))
        return job

    def measure(self, run: Callable[[], None]) -> None:
        """A run that counts as a trial."""
        start = time.perf_counter()
        run()
        self.seconds = min(self.seconds, time.perf_counter() - start)
        self.trials += 1


def shared(job: Job, threads: int) -> Callable[[], None]:
    """The job by this thread and the workers."""
    pool = cpu_workers.workers(threads - 1)
    return partial(pool.code.parallel, pool.address, job.address)


class Launcher:
    """A launch on other tensors each time, whose addresses come in the order of `names`.

    A job is filled in and run; while it runs other threads take other jobs.
    """

    __slots__ = ("_alone", "_entry", "_idle", "_pick", "_serial", "_threads")

    def __init__(self, entry: Entry, threads: int, names: Sequence[str]) -> None:
        self._entry, self._threads = entry, threads
        self._idle: list[Job] = []
        self._alone = threads == 1 or entry.tasks == 1
        self._serial = cpu_workers.code().serial
        wanted = entry.launch.arguments
        self._pick = None if list(wanted) == list(names) else _picker(wanted, names)

    def run(self, addresses: list[Any]) -> None:
        """Give the addresses of all tensors."""
        if self._pick is not None:
            addresses = self._pick(addresses)
        try:
            job = self._idle.pop()
        except IndexError:
            job = self._entry.job(self._threads, addresses)
        else:
            job.words[JOB_HEADER:] = addresses
        if self._alone:
            self._serial(job.address)
        else:
            self._decide(job)
        self._idle.append(job)

    def _decide(self, job: Job) -> None:
        """Alone and measured at first; then as was faster."""
        entry = self._entry
        if entry.trials < TRIALS:
            entry.measure(partial(self._serial, job.address))
        elif entry.seconds >= PARALLEL_SECONDS:
            shared(job, self._threads)()
        else:
            self._alone = True
            self._serial(job.address)


def _picker(wanted: Sequence[str], names: Sequence[str]) -> Callable[[Sequence[Any]], list[Any]]:
    places = [names.index(name) for name in wanted]
    return lambda values: [values[place] for place in places]


def prepared(entry: Entry, threads: int, addresses: Sequence[int]) -> Callable[[], None]:
    """A launch whose tensors are settled."""
    job = entry.job(threads, addresses)
    alone = partial(cpu_workers.code().serial, job.address)
    if threads == 1 or entry.tasks == 1:
        return _Held(alone, job)
    return _Undecided(entry, _Held(alone, job), _Held(shared(job, threads), job))


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
