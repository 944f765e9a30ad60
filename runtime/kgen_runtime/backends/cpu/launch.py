"""Launches of CPU kernels: by the caller's thread alone, or shared with workers where that pays."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.cpu import workers as cpu_workers
from kgen_runtime.backends.cpu.workers import JOB_HEADER, Job

if TYPE_CHECKING:
    from kgen_runtime.manifest import Launch

#: Sharing work with a thread that spins costs 1 to 2 us, waking one that sleeps 5: launches of less
#: stay alone.
ALONE_SECONDS = 5e-6
#: Launches of more are shared. Those between are, if that took less than GAIN of the time.
SHARED_SECONDS, GAIN = 100e-6, 0.9
#: Runs of a launch that are measured before it is decided: alone, of which the first may wait for
#: memory that was never touched before, and shared, of which dozens may pass until threads wake.
TRIALS, SHARED_TRIALS = 3, 100


class CpuLaunch:
    """Launch of a loaded kernel; `address` is the address of its machine code.

    `alone` and `shared` are the shortest times of its trials in seconds, on one thread and on
    several.
    """

    def __init__(self, launch: Launch, address: int) -> None:
        self.launch, self.address = launch, address
        self.alone = self.shared = math.inf
        self.trials = 0

    @property
    def tasks(self) -> int:
        return self.launch.grid[0]

    def job(self, threads: int, addresses: Sequence[int]) -> Job:
        """The launch on these tensors, cut for so many threads."""
        job = Job(self.address, self.tasks, addresses)
        job.share(min(threads, self.tasks))
        return job

    @property
    def is_settled(self) -> bool:
        """Whether there were enough trials."""
        return self.is_settled_after(SHARED_TRIALS)

    def is_settled_after(self, shared_trials: int) -> bool:
        """Whether there were enough, of which so many shared ones where those decide."""
        if ALONE_SECONDS <= self.alone < SHARED_SECONDS:
            return self.trials >= TRIALS + shared_trials
        return self.trials >= TRIALS

    @property
    def is_shared(self) -> bool:
        """Whether several threads are worth it, once that is settled."""
        return self.alone >= SHARED_SECONDS or self.shared < GAIN * self.alone

    @property
    def tries_shared(self) -> bool:
        """Whether the next trial is a shared one: those alone come first."""
        return self.trials >= TRIALS

    def note(self, seconds: float, *, shared: bool) -> None:
        """A trial that took so long, alone or shared."""
        if shared:
            self.shared = min(self.shared, seconds)
        else:
            self.alone = min(self.alone, seconds)
        self.trials += 1

    def measure(self, alone: Callable[[], None], shared: Callable[[], None]) -> None:
        """A run that counts as a trial: alone at first, then shared."""
        is_shared = self.tries_shared
        start = time.perf_counter()
        (shared if is_shared else alone)()
        self.note(time.perf_counter() - start, shared=is_shared)


def shared(job: Job, threads: int) -> Callable[[], None]:
    """The job by this thread and the workers, which are made anew where a fork has lost them."""
    pool = cpu_workers.workers(threads - 1)
    parallel, address = pool.code.parallel, job.address

    def run() -> None:
        if pool.count < threads - 1:
            pool.grow(threads - 1)
        parallel(pool.address, address)

    return run


class Launcher:
    """A launch on other tensors each time, whose addresses come in the order of `names`.

    A job is filled in and run; while it runs other threads take other jobs.
    """

    __slots__ = ("_alone", "_entry", "_idle", "_pick", "_serial", "_threads")

    def __init__(self, entry: CpuLaunch, threads: int, names: Sequence[str]) -> None:
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
        """In both ways and measured at first; then as was faster."""
        entry = self._entry
        if not entry.is_settled:
            entry.measure(partial(self._serial, job.address), shared(job, self._threads))
        elif entry.is_shared:
            shared(job, self._threads)()
        else:
            self._alone = True
            self._serial(job.address)


def _picker(wanted: Sequence[str], names: Sequence[str]) -> Callable[[Sequence[Any]], list[Any]]:
    places = [names.index(name) for name in wanted]
    return lambda values: [values[place] for place in places]


def prepared(entry: CpuLaunch, threads: int, addresses: Sequence[int]) -> Callable[[], None]:
    """A launch whose tensors are settled."""
    job = entry.job(threads, addresses)
    alone = partial(cpu_workers.code().serial, job.address)
    if threads == 1 or entry.tasks == 1:
        return _Held(alone, job)
    return _Undecided(entry, alone, shared(job, threads), job)


class _Held:
    """A call, and the job that its machine code reads."""

    __slots__ = ("_call", "_job")

    def __init__(self, call: Callable[[], None], job: Job) -> None:
        self._call, self._job = call, job

    def __call__(self) -> None:
        self._call()


class _Undecided(_Held):
    """A call by one thread until it is known whether several are faster; then as quick as any."""

    __slots__ = ("_alone", "_entry", "_shared")

    def __init__(
        self, entry: CpuLaunch, alone: Callable[[], None], shared: Callable[[], None], job: Job
    ) -> None:
        super().__init__(self._try, job)
        self._entry, self._alone, self._shared = entry, alone, shared

    def _try(self) -> None:
        if self._entry.is_settled:
            self._call = self._shared if self._entry.is_shared else self._alone
            self._call()
        else:
            self._entry.measure(self._alone, self._shared)
