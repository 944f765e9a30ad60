"""Launches of CPU kernels: lists of libkgen's jobs, with one foreign call for each list.

libkgen shares a job with the threads of a pool if that is faster, which the first runs of a launch
measure. Structures of kgen_backend.h are arrays of 64-bit words here, so that a call passes one
address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from kgen_runtime import libkgen
from kgen_runtime.errors import DeviceError, OutOfMemory
from kgen_runtime.launch_limits import CPU_POINTERS

if TYPE_CHECKING:
    from kgen_runtime.manifest import Launch

#: Trials with shared tasks of a single launch, whose threads may sleep during dozens of them.
ALONE_TRIALS = 100
#: Words of kgen_jobs and kgen_job, and bytes of a word.
JOBS_WORDS, JOB_WORDS, WORD = 5, 2, 8
#: Word of kgen_launch at which its trials begin.
TRIALS = 3


@cache
def pool(num_threads: int) -> int:
    """Return the address of the process's pool of `num_threads` threads, the caller's included. The
    pool makes its threads when it first shares a launch, and keeps them."""
    address = libkgen.library().kgen_pool_create(num_threads)
    if not address:
        raise OutOfMemory(libkgen.last_error())
    return int(address)


class CpuLaunch:
    """Launch of a loaded kernel, with libkgen's measurements of it. `function` is the address of
    its machine code."""

    __slots__ = ("address", "arguments", "function", "tasks", "words")

    def __init__(self, launch: Launch, function: int) -> None:
        self.arguments, self.tasks, self.function = launch.arguments, launch.grid[0], function
        if len(self.arguments) > CPU_POINTERS:
            raise DeviceError(
                f"the kernel has {len(self.arguments)} arguments; the limit is {CPU_POINTERS}"
            )
        #: kgen_launch: from `TRIALS` on, the least nanoseconds by one thread and by all, and the
        #: number of trials.
        self.words = (ctypes.c_int64 * 6)(function, len(self.arguments), self.tasks)
        self.address = ctypes.addressof(self.words)


class Jobs:
    """kgen_jobs with its jobs and their pointers, in one piece of memory."""

    __slots__ = ("_launches", "address", "words")

    def __init__(
        self,
        num_threads: int,
        launches: Sequence[CpuLaunch],
        pointers: Sequence[int],
        shared_trials: int,
    ) -> None:
        """`pointers` has the pointers of all launches, one launch after another."""
        self._launches = tuple(launches)  # libkgen reads their words
        first = JOBS_WORDS + JOB_WORDS * len(launches)
        self.words = (ctypes.c_int64 * (first + len(pointers)))()
        self.address = ctypes.addressof(self.words)
        jobs = self.address + WORD * JOBS_WORDS
        self.words[:JOBS_WORDS] = [pool(num_threads), jobs, len(launches), shared_trials, 0]
        places = accumulate((len(launch.arguments) for launch in launches), initial=first)
        for number, (launch, place) in enumerate(zip(launches, places, strict=False)):
            at = JOBS_WORDS + JOB_WORDS * number
            self.words[at : at + JOB_WORDS] = [launch.address, self.address + WORD * place]
        self.words[first:] = list(pointers)


def arguments_of(launches: Sequence[CpuLaunch]) -> list[str]:
    """Return the names of all pointers of some launches, in order."""
    return [name for launch in launches for name in launch.arguments]


class PreparedJobs(partial[None]):
    """Call of jobs with fixed pointers. It keeps the jobs alive."""

    jobs: Jobs


def prepared(jobs: Jobs) -> PreparedJobs:
    """Return the call of some jobs."""
    made = PreparedJobs(libkgen.library().kgen_jobs_run, jobs.address)
    made.jobs = jobs
    return made


class Launcher:
    """Launches of a kernel on new tensors in each call, whose addresses have the order of `names`.

    A call fills in idle jobs and runs them; calls of other threads take other jobs meanwhile.
    """

    __slots__ = ("_idle", "_launches", "_pick", "_pointers", "_run", "_threads")

    def __init__(
        self, launches: Sequence[CpuLaunch], num_threads: int, names: Sequence[str]
    ) -> None:
        self._launches, self._threads = launches, num_threads
        self._run = libkgen.library().kgen_jobs_run
        wanted = arguments_of(launches)
        self._pointers = slice(JOBS_WORDS + JOB_WORDS * len(launches), None)
        self._pick = None if wanted == list(names) else _picker(wanted, names)
        self._idle: list[Jobs] = []

    def run(self, addresses: list[Any]) -> None:
        """Run the launches to their end. `addresses` has the addresses of all tensors."""
        if self._pick is not None:
            addresses = self._pick(addresses)
        try:
            jobs = self._idle.pop()
        except IndexError:
            jobs = Jobs(self._threads, self._launches, addresses, ALONE_TRIALS)
        else:
            jobs.words[self._pointers] = addresses
        self._run(jobs.address)
        self._idle.append(jobs)


def _picker(wanted: Sequence[str], names: Sequence[str]) -> Callable[[Sequence[Any]], list[Any]]:
    places = [names.index(name) for name in wanted]
    return lambda values: [values[place] for place in places]
