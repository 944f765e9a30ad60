"""Launches of CPU kernels as lists of libkgen's jobs; each list is one foreign call.

libkgen shares a job among the threads of a pool if that is faster, which it measures in the first
runs of a launch. The structures of kgen_backend.h are arrays of 64-bit words here, so that a call
passes one address.
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

#: Timed runs on several threads before the pool decides whether to share single calls of a kernel.
#: Workers that sleep between calls may miss dozens of these runs.
ALONE_TRIALS = 100
#: Words of kgen_jobs and kgen_job, and bytes per word.
JOBS_WORDS, JOB_WORDS, WORD = 5, 2, 8
#: Index of the first word of kgen_launch that holds measurements.
TRIALS = 3


@cache
def pool(num_threads: int) -> int:
    """Return the address of the process's pool of `num_threads` threads, including the caller's.
    The pool starts its threads when it first shares a launch, and keeps them. Raises OutOfMemory.
    """
    address = libkgen.library().kgen_pool_create(num_threads)
    if not address:
        raise OutOfMemory(libkgen.last_error())
    return int(address)


class CpuLaunch:
    """Launch of a loaded kernel, with libkgen's measurements. `function` is the address of the
    code."""

    __slots__ = ("address", "arguments", "function", "tasks", "words")

    def __init__(self, launch: Launch, function: int) -> None:
        self.arguments, self.tasks, self.function = launch.arguments, launch.grid[0], function
        if len(self.arguments) > CPU_POINTERS:
            raise DeviceError(
                f"the kernel has {len(self.arguments)} arguments; the limit is {CPU_POINTERS}; "
                "build it with fewer operands"
            )
        #: kgen_launch. From `TRIALS` on: shortest time with one thread and with all threads, in ns,
        #: and the number of trials.
        self.words = (ctypes.c_int64 * 6)(function, len(self.arguments), self.tasks)
        self.address = ctypes.addressof(self.words)


class Jobs:
    """kgen_jobs with its jobs and their pointers, in one allocation."""

    __slots__ = ("_launches", "address", "words")

    def __init__(
        self,
        num_threads: int,
        launches: Sequence[CpuLaunch],
        pointers: Sequence[int],
        shared_trials: int,
    ) -> None:
        """Fill the structures. `pointers` has the pointers of all launches, one launch after
        another."""
        self._launches = tuple(launches)  # libkgen reads the words of the launches.
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
    """Return a call that runs these jobs."""
    made = PreparedJobs(libkgen.library().kgen_jobs_run, jobs.address)
    made.jobs = jobs
    return made


class Launcher:
    """Launcher of a kernel with new tensors in each call. `names` is the order of their addresses.

    A call fills an idle `Jobs` object and runs it. Concurrent calls use different objects.
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
        """Run the launches and wait until they are finished. `addresses` has the addresses of all
        tensors."""
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
