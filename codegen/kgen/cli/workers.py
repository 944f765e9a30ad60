"""Options of commands that build many kernels: processes, remote workers, cache and tuning."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kgen.errors import SpecError, TargetError

if TYPE_CHECKING:
    from kgen.targets.tuning.file import Tuning


def configure(parser: argparse.ArgumentParser) -> None:
    configure_executor(parser, "build kernels", jobs=None)
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="build every kernel again, and store none in the cache (see kgen cache)",
    )


def configure_tuning(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tuning", metavar="FILE",
        help="take schedules from this file of kgen tune before those that kgen ships",
    )  # fmt: skip
    parser.add_argument(
        "--tuning-lenient",
        action="store_true",
        help="with --tuning: leave out rows that cannot be used",
    )


def tuning_of(args: argparse.Namespace) -> Tuning | None:
    """Return the file that --tuning names. Raises TargetError."""
    if args.tuning is None:
        if args.tuning_lenient:
            raise TargetError("--tuning-lenient needs --tuning FILE; add it")
        return None
    from kgen.targets.tuning.file import read

    return read(Path(args.tuning), is_lenient=args.tuning_lenient)


def configure_executor(parser: argparse.ArgumentParser, work: str, jobs: int | None) -> None:
    """Add the options that select where work runs.

    `jobs` is the default number of processes, None for all cores.
    """
    parser.add_argument(
        "--jobs", type=int, metavar="N", default=jobs,
        help=f"processes that {work} (default: {jobs or 'all cores'})",
    )  # fmt: skip
    parser.add_argument(
        "--executor",
        metavar="dask://HOST:PORT",
        help=f"{work} on the workers of a Dask scheduler (pip install 'kgen-kernels[dask]')",
    )


@contextmanager
def executor_of(args: argparse.Namespace) -> Iterator[Executor | None]:
    """Yield the executor of the work, or None for this process.

    Raises SpecError and DeviceError.
    """
    from kgen.parallel import executors

    jobs = args.jobs
    if args.executor is not None:
        if jobs not in (None, 1):
            raise SpecError(
                f"--jobs {jobs} and --executor exclude each other: one sets processes here, the "
                "other names remote workers; leave one out"
            )
        with executors.cluster(args.executor) as workers:
            yield workers
        return
    if jobs is not None and jobs < 1:
        raise SpecError(f"--jobs {jobs} is out of range; give 1 or more")
    with executors.processes(executors.cores() if jobs is None else jobs) as pool:
        yield pool
