"""Child processes that end with the process that started them, however that ends.

A program of others that may run for ever is `tied`: Linux kills it when the *thread* that started
it ends (prctl(2), PR_SET_PDEATHSIG). That makes Python fork, which is slow in a large process;
so assemblers and disassemblers, which end by themselves in seconds,
are not, and our own code generator ties itself. Our other processes may outlive the thread that
started them, so they watch: the pipe that their requests come by (`end_with_writers`), or the
process that a pool belongs to (`end_with_pool`).
"""

from __future__ import annotations

import ctypes
import functools
import multiprocessing
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.context import BaseContext

#: linux/prctl.h
PR_SET_PDEATHSIG = 1
#: Found before any fork, so that a child has nothing to look up. Other systems have none.
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


def python(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Command and environment of a Python process that imports what this process can import.

    -P keeps the current folder off its path: a `pickle.py` there would run instead of Python's.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    return [sys.executable, "-P", *arguments], {**os.environ, "PYTHONPATH": paths}


def forking() -> BaseContext:
    """The start method of pools: a fork, where the system has one, is at work at once. Python's
    other methods run `python -c`, which looks for modules in the current folder first."""
    forks = "fork" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if forks else None)


@functools.cache
def can_share() -> bool:
    """Whether processes can share semaphores, which pools need: Linux keeps them in /dev/shm."""
    try:
        forking().Semaphore()
    except (ImportError, OSError):
        return False
    return True


def tied() -> Callable[[], None]:
    """The `preexec_fn` of a child that this thread waits for."""
    return partial(_tie, os.getpid())


def _tie(parent: int) -> None:
    if PRCTL is None:
        return
    PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before, and no signal will come
        os._exit(1)


def end_with_writers(pipe: int) -> None:
    """End this process, whatever its other threads do, once nobody can write to a pipe."""
    watched = select.poll()
    watched.register(pipe, 0)  # not for what there is to read: only for the end of all writers
    _end_after(watched.poll)


def end_with_pool() -> None:
    """The `initializer` of a pool's processes: they end with the process that it belongs to."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    _end_after(parent.join)


def _end_after(wait: Callable[[], object]) -> None:
    def end() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=end, name="kgen-parent", daemon=True).start()
