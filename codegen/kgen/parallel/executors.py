"""Executors of :mod:`concurrent.futures`: processes of this machine, and a Dask cluster.

An interrupt (Ctrl-C) ends all processes of this machine, and what they have started, before it goes
on; their temporary files are removed.
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
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """So many processes, started when there is work for them, which end with the block. None where
    one is enough, or the system has no semaphores for more (a read-only /dev/shm)."""
    if jobs == 1 or not children.can_share():
        yield None
        return
    # What a process leaves that is ended in the middle goes with the folder.
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
    """Its processes, told to end, leave what they are at and begin nothing more."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return super().submit(_called, partial(fn, *args, **kwargs))


class _WorkerState:
    """State of a worker process of the pool."""

    works = ends = False


def _begin(folder: str) -> None:
    """In a process of the pool: it ends when its owner says so, or has ended. Its temporary files
    are in a folder of the owner."""
    children.end_with_pool()
    tempfile.tempdir = folder
    # Ctrl-C reaches it as well; it is for the owner to say what happens then. An assembler that it
    # has started takes the signal as always: it would inherit that it is ignored, but no handler.
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
    """The workers of a Dask scheduler, by `dask://HOST:PORT`. What a worker that ends had to do is
    done by another.

    Raises DeviceError if nothing answers there.
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
