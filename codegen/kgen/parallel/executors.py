"""Executors of :mod:`concurrent.futures`: processes of this machine, and a Dask cluster.

An interrupt (Ctrl-C) first ends all local processes and their children, and removes their temporary
files.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from kgen import temporary
from kgen.errors import DeviceError
from kgen.parallel import children

#: Seconds within which a scheduler must answer.
TIMEOUT = 10.0
#: Seconds after which a process is told to end again, if Python dropped the exception that ends it.
AGAIN = 0.001
DASK = "dask://"

P = ParamSpec("P")
T = TypeVar("T")


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """Yield an executor with `jobs` processes, which start on demand and end with the block. Yield
    None if one process suffices, or if the system has no semaphores (a read-only /dev/shm)."""
    if jobs == 1 or not children.can_share():
        yield None
        return
    # The folder collects the temporary files of processes that are ended early.
    with temporary.folder() as folder:
        pool = Pool(jobs, children.forking(), initializer=_begin, initargs=(str(folder),))
        try:
            yield pool
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


class Pool(ProcessPoolExecutor):
    """Pool whose processes abort their task when they are told to end, and begin no other."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return super().submit(_called, partial(fn, *args, **kwargs))


class _WorkerState:
    """State of a worker process of the pool."""

    works = ends = False


def _begin(folder: str) -> None:
    """Prepare a process of the pool: it ends on request or with its owner, and its temporary files
    are in a folder of the owner."""
    children.end_with_pool()
    tempfile.tempdir = folder
    # Ctrl-C reaches this process as well, and its owner decides what to do. A handler is used, not
    # SIG_IGN, because assemblers that this process starts would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    for told in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(told, _end)
    sys.unraisablehook = _lost


def _lost(lost: sys.UnraisableHookArgs) -> None:
    """Handle an exception raised in a finaliser or a weak reference's callback."""
    if lost.exc_type is SystemExit:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    else:
        sys.__unraisablehook__(lost)


def _end(*_: object) -> None:
    """Leave the running task by an exception, which ends the assembler that it started."""
    _WorkerState.ends = True
    if _WorkerState.works:
        raise SystemExit


def _called(call: Callable[[], T]) -> T:
    _WorkerState.works = True
    try:
        if _WorkerState.ends:
            raise SystemExit
        return call()
    finally:
        _WorkerState.works = False


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Yield an executor with the workers of a Dask scheduler, given as `dask://HOST:PORT`. Tasks of
    a worker that ends go to another one.

    Raises DeviceError if no scheduler answers.
    """
    place = address.removeprefix(DASK)
    host, _, port = place.rpartition(":")
    if not (address.startswith(DASK) and host and port.isdecimal()):
        raise DeviceError(f"--executor {address} is not of the form dask://HOST:PORT")
    from distributed import Client

    try:
        client = Client(f"tcp://{place}", timeout=TIMEOUT)
    except (OSError, TimeoutError) as error:
        raise DeviceError(
            f"--executor {address}: no scheduler answers there within {TIMEOUT:.0f} s "
            f"({type(error).__name__}); start one with dask scheduler"
        ) from None
    with client:
        yield client.get_executor(pure=False)
