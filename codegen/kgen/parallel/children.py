"""Child processes that end with the process that started them, even if it is killed.

- A foreign program that may run for ever is `tied`: Linux kills it when the *thread* that started
  it ends (prctl(2), PR_SET_PDEATHSIG). Python must fork for that, which is slow in a large process.
- Assemblers and disassemblers end by themselves within seconds, so they are not tied. kgen's code
  generator ties itself.
- kgen's other processes may outlive the thread that started them. They watch the pipe of their
  requests (`end_with_writers`) or the process that their pool belongs to (`end_with_pool`).
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
#: prctl, looked up before any fork; None on systems other than Linux.
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


def python(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a Python process that can import what this one can.

    -P keeps the current folder off its path: a `pickle.py` there would run instead of Python's.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    return [sys.executable, "-P", *arguments], {**os.environ, "PYTHONPATH": paths}


def forking() -> BaseContext:
    """Return the start method of pools: fork if the system supports it, because a fork starts at
    once. Python's other methods run `python -c`, which searches the current folder for modules."""
    forks = "fork" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if forks else None)


@functools.cache
def can_share() -> bool:
    """Return whether processes can share semaphores, as pools require. Linux uses /dev/shm."""
    try:
        forking().Semaphore()
    except (ImportError, OSError):
        return False
    return True


def tied() -> Callable[[], None]:
    """Return the `preexec_fn` of a child that ends with this thread."""
    return partial(_tie, os.getpid())


def _tie(parent: int) -> None:
    if PRCTL is None:
        return
    PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has already ended, so no signal will come
        os._exit(1)


def end_with_writers(pipe: int) -> None:
    """End this process, with all its threads, when no process can write to a pipe any more."""
    watched = select.poll()
    watched.register(pipe, 0)  # wake up at the end of all writers only, not for data
    _end_after(watched.poll)


def end_with_pool() -> None:
    """Make this process of a pool end with the process that the pool belongs to."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    _end_after(parent.join)


def _end_after(wait: Callable[[], object]) -> None:
    def end() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=end, name="kgen-parent", daemon=True).start()
