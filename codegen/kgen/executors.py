"""Executors of :mod:`concurrent.futures`: processes of this machine, and a Dask cluster.

An interrupt (Ctrl-C) ends all processes of this machine before it goes on: what they run gets the
time to remove its temporary files.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import NoReturn, ParamSpec, TypeVar

from kgen import children
from kgen.errors import DeviceError

#: Seconds that a process gets to end by itself. One in the middle of LLVM hears nothing before, and
#: has no temporary files.
PATIENCE = 2.0
#: Seconds within which a scheduler must answer.
TIMEOUT = 10.0
DASK = "dask://"

P = ParamSpec("P")
T = TypeVar("T")


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """So many processes, started when there is work for them, which end with the block. None where
    one is enough."""
    if jobs == 1:
        yield None
        return
    # A process that was forked has loaded all that this one has: building is at once under way.
    forks = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if forks else None)
    pool = Pool(jobs, context, initializer=_begin)
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        _end(list((pool._processes or {}).values()))
        pool.shutdown(cancel_futures=True)
        raise


class Pool(ProcessPoolExecutor):
    """Its processes end where they are told to, and not after what is in their queue."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return super().submit(_ending, fn, *args, **kwargs)


def _ending(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return call(*args, **kwargs)
    except SystemExit:  # by now temporary files are removed
        os._exit(1)


def _begin() -> None:
    """In a process of the pool: it ends when it is told to, or when the pool's owner has ended."""
    children.end_with_pool()
    # Ctrl-C reaches it as well; it is for the owner to say what happens then. An assembler that it
    # has started takes the signal as always: ignored ones it would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, _stop)


def _stop(*_: object) -> NoReturn:
    raise SystemExit(1)


def _end(pool: Sequence[BaseProcess]) -> None:
    for process in pool:
        process.terminate()
    until = time.monotonic() + PATIENCE
    for process in pool:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()


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
