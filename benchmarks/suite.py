"""Common parts of the benchmark programs: options, result files, and printed rows."""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.machine import Machine, commit, this_machine, today
from benchmarks.results import Peer, Results, Row, Timing, newest
from kgen.check.bench.run import BenchResult

Item = TypeVar("Item")


def options(description: str | None) -> argparse.ArgumentParser:
    """Options that all programs have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAME,...", help="measure these alone")
    parser.add_argument(
        "--resume", action="store_true", help="continue the newest file: measure what it lacks"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="result file (benchmarks/results/...)"
    )
    return parser


def chosen(
    parser: argparse.ArgumentParser, only: str | None, known: Mapping[str, Item]
) -> list[Item]:
    """Return the items that --only names, or all."""
    names = list(known) if only is None else only.split(",")
    for name in names:
        if name not in known:
            parser.error(f"--only {name}: names are {', '.join(known)}")
    return [known[name] for name in names]


def versions(*distributions: str) -> dict[str, str]:
    """Versions of the distributions that are installed."""
    found = {}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} is not installed: not measured", flush=True)
    return found


class Run:
    """Rows of a run, written to its file one by one."""

    def __init__(
        self,
        suite: str,
        args: argparse.Namespace,
        *,
        versions: Mapping[str, str],
        machine: Machine | None = None,
    ) -> None:
        machine = machine or this_machine()
        self.results = Results(
            suite=suite,
            machine=machine,
            date=today(),
            commit=commit(),
            command=f"python -m benchmarks.{suite.replace('-', '_')}",
            versions=versions,
        )
        old = newest(suite, machine.name) if args.resume else None
        if old is not None and old.source is None and old.versions == versions:
            self.results = old
        self.path: Path = args.output or self.results.path

    def has(self, table: str, work: str) -> bool:
        """Whether the file that is continued has this row."""
        return any(row.work == work for row in self.results.table(table))

    def add(self, row: Row) -> None:
        """Print a row and write the file."""
        print(line(row), flush=True)
        self.results.rows.append(row)
        self.results.write(self.path)


def timed(
    result: BenchResult, table: str, work: str, variant: Mapping[str, str | int] | None = None
) -> Row:
    """Return the row of a timed kernel."""
    time = Timing(median=result.seconds, quartiles=result.quartiles, rounds=result.rounds)
    return Row(
        table=table,
        work=work,
        variant=variant or {},
        time=time,
        # The name of a library may be followed by the type that it computes in.
        peers={
            peer.name.partition(" ")[0]: Peer(
                time=None if peer.seconds is None else Timing(median=peer.seconds),
                ratio=peer.ratio,
                noise=peer.noise,
                missing=peer.reason,
            )
            for peer in result.peers
        },
        values={"gflops": result.gflops, "gbytes": result.gbytes}
        | ({"disturbed": result.disturbed} if result.disturbed else {}),
    )


def line(row: Row) -> str:
    """Return a row as text: work, variant, time, ratios."""
    words = [row.work, *(f"{name}={value}" for name, value in row.variant.items())]
    if row.time is not None:
        words.append(seconds(row.time.median))
    words += [f"{name} {p.ratio:.2f}x" for name, p in row.peers.items() if p.ratio is not None]
    words += [f"{name}: {p.missing}" for name, p in row.peers.items() if p.missing is not None]
    words += [f"{name}={shown(value)}" for name, value in row.values.items()]
    return "  ".join(words)


def shown(value: float | str) -> str:
    """Return a number with three digits, or the text."""
    return value if isinstance(value, str) else f"{value:.3g}"


def seconds(value: float) -> str:
    """Return a time in a suitable unit."""
    unit, factor = ("s", 1.0) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("us", 1e6)
    return f"{value * factor:.3g} {unit}"


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]
