"""Launches of CPU kernels one after another in one native call, each by as many threads as pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen_runtime.backend import LaunchSequence
from kgen_runtime.backends.cpu import workers as cpu_workers
from kgen_runtime.backends.cpu.launch import CpuLaunch
from kgen_runtime.backends.cpu.workers import JobList

#: Shared trials of a launch in a list, where it matters: workers are awake from the first shared
#: launch of a run on.
SHARED_TRIALS = 10


class JobSequence(LaunchSequence):
    """A list of jobs. Its first runs are timed, and each launch then runs as was faster."""

    def __init__(
        self, threads: int, steps: Sequence[tuple[Sequence[CpuLaunch], Mapping[str, int]]]
    ) -> None:
        """`steps`: the launches of each, and its buffers."""
        self._threads = threads
        self._entries = [entry for entries, _ in steps for entry in entries]
        self._steps = [number for number, (entries, _) in enumerate(steps) for _ in entries]
        self._count = len(steps)
        self._list = JobList(
            [
                entry.job(1, [buffers[name] for name in entry.launch.arguments])
                for entries, buffers in steps
                for entry in entries
            ]
        )
        self._pool = cpu_workers.workers(0)
        self._is_settled = False

    def run(self) -> None:
        if not self._is_settled:
            self._try()
            return
        self._have_workers()
        self._list.run(self._pool)

    def timed(self) -> list[float]:
        if self._is_settled:
            self._have_workers()
            found = self._list.timed(self._pool)
        else:
            found = self._try()
        seconds = [0.0] * self._count
        for step, time in zip(self._steps, found, strict=True):
            seconds[step] += time
        return seconds

    def _try(self) -> list[float]:
        """A run of which each launch counts as a trial, until there were enough."""
        self._is_settled = all(map(self._is_known, self._entries))
        self._list.share([self._threads if self._shares(e) else 1 for e in self._entries])
        self._have_workers()
        seconds = self._list.timed(self._pool)
        if not self._is_settled:
            for entry, job, taken in zip(self._entries, self._list.jobs, seconds, strict=True):
                # A kernel of several steps may have had its trials alone by now.
                if not self._is_known(entry) and job.is_shared == entry.tries_shared:
                    entry.note(taken, shared=job.is_shared)
        return seconds

    def _is_known(self, entry: CpuLaunch) -> bool:
        alone = self._threads == 1 or entry.tasks == 1
        return alone or entry.is_settled_after(SHARED_TRIALS)

    def _shares(self, entry: CpuLaunch) -> bool:
        if self._threads == 1 or entry.tasks == 1:
            return False
        return entry.is_shared if self._is_known(entry) else entry.tries_shared

    def _have_workers(self) -> None:
        """Where some take part: at first, and in a child after fork, there are none."""
        if self._list.is_shared and self._pool.count < self._threads - 1:
            self._pool.grow(self._threads - 1)
