"""Child processes that end with the process that started them, however that ends.

A program of others that may run for ever is `tied`: Linux kills it when the *thread* that started
it ends (prctl(2), PR_SET_PDEATHSIG). That makes Python fork, which takes 30 ms in a process of
500 MB where others start in 4; so assemblers and disassemblers, which end by themselves in seconds,
are not, and our own code generator ties itself. Our other processes may outlive the thread that
started them, so they watch: the pipe that their requests come by (`end_with_writers`), or the
process that a pool belongs to (`end_with_pool`).
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import select
import signal
import threading
from collections.abc import Callable
from functools import partial

#: linux/prctl.h
PR_SET_PDEATHSIG = 1
#: Found before any fork, so that a child has nothing to look up. Other systems have none.
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


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
