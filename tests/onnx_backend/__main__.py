"""Run ONNX's backend suite: `python -m tests.onnx_backend [--only TEXT] [--jobs N] [--list]`.

It prints how many cases are right, refused (grouped by reason) and wrong, and exits with status 1
if a value is wrong or a process dies.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import get_args

from tests.onnx_backend.cases import KINDS, Case, collected
from tests.onnx_backend.judge import Outcome, Verdict, judged

#: Cases of this process and of those that it forks.
_cases: list[Case] = []
CHUNK = 16


def _judge(number: int) -> Verdict:
    return judged(_cases[number])


def verdicts(cases: Sequence[Case], jobs: int) -> Iterator[Verdict]:
    """The verdicts of all cases, in order, from this many processes; from this process if `jobs`
    is 0. Raises BrokenProcessPool if a process dies."""
    if not jobs:
        yield from map(judged, cases)
        return
    _cases[:] = cases
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(_judge, range(len(cases)), chunksize=CHUNK)


def reason(why: str) -> str:
    """A refusal without the names and numbers of its case."""
    why = re.sub(r"^node \S+ \((\w[\w.]*)\)", r"\1", why)
    why = re.sub(r"^(input|constant|output) \S+", r"\1 ...", why)
    why = re.sub(r"^\d+ nodes? (has an operator|have operators)", "nodes have operators", why)
    why = re.sub(r"(operators that kgen does not support: [\w.]+): .*", r"\1", why)
    return re.sub(r"\d+(x\d+)*", "N", why)[:110]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.onnx_backend", description=__doc__)
    parser.add_argument("--kind", choices=KINDS, action="append", help="kind; all by default")
    parser.add_argument("--only", default="", help="text that the names of cases contain")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2; 0: this one)")
    parser.add_argument("--list", action="store_true", help="print the verdict of each case")
    given = parser.parse_args(arguments)
    cases = [c for c in collected(given.kind or KINDS) if given.only in c.name]
    return report(cases, given.jobs, given.list)


def report(cases: Sequence[Case], jobs: int, lists: bool = False) -> int:
    """Print the verdicts of these cases; return the exit status."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    try:
        for verdict in verdicts(cases, jobs):
            groups[verdict.outcome].append(verdict)
            if lists:
                print(f"{verdict.name}: {verdict.outcome} {verdict.why}".strip(), flush=True)
    except BrokenProcessPool:
        print("a process died; --jobs 0 --list shows at which case")
        return 1
    for outcome in get_args(Outcome):
        print(f"{len(groups[outcome]):5} {outcome}")
    for why, count in Counter(reason(v.why) for v in groups["refused"]).most_common():
        print(f"  refused {count:4}  {why}")
    for outcome in ("exception", "wrong"):
        for verdict in groups[outcome]:
            print(f"  {outcome}  {verdict.name}: {verdict.why}")
    return 1 if groups["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
