"""Run ONNX's backend suite: `python -m tests.conformance [--only TEXT] [--jobs N] [--list]`.

It prints how many cases are right, refused (grouped by reason) and wrong, and exits with status 1
if a value is wrong, a process dies, or a case is refused that tests/conformance/outcomes.txt lists
as right. `--write` updates that file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import get_args

from kgen_runtime import settings
from tests.conformance import record
from tests.conformance.cases import KINDS, Case, collected
from tests.conformance.judge import Outcome, Verdict, judged

#: Cases of this process and of those that it forks.
_cases: list[Case] = []
CHUNK = 16


def _judge(number: int) -> Verdict:
    return judged(_cases[number])


def verdicts(cases: Sequence[Case], jobs: int) -> Iterator[Verdict]:
    """Yield the verdicts of all cases, in order, from `jobs` processes; 0 means this process.

    Raises BrokenProcessPool if a process dies.
    """
    if not jobs:
        yield from map(judged, cases)
        return
    _cases[:] = cases
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(_judge, range(len(cases)), chunksize=CHUNK)


def reason(why: str) -> str:
    """Return a refusal without the names and numbers of its case."""
    why = re.sub(r"^node \S+ \((\w[\w.]*)\)", r"\1", why)
    why = re.sub(r"^(input|constant|output) \S+", r"\1 ...", why)
    why = re.sub(r"^\d+ nodes? (has an operator|have operators)", "nodes have operators", why)
    why = re.sub(r"(operators that kgen does not support: [\w.]+)[: ].*", r"\1", why)
    return re.sub(r"\d+(x\d+)*", "N", why)[:110]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--kind", choices=KINDS, action="append", help="kind; all by default")
    parser.add_argument("--only", default="", help="text that the names of cases contain")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2; 0: this one)")
    parser.add_argument("--list", action="store_true", help="print the verdict of each case")
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"write the outcomes of all cases to {record.FILE.name}",
    )
    given = parser.parse_args(arguments)
    cases = [c for c in collected(given.kind or KINDS) if given.only in c.name]
    if given.write and (given.kind or given.only):
        parser.error("--write needs all cases; leave out --kind and --only")
    # Cases share kernels, so a temporary cache builds each once, independent of the user's cache.
    with tempfile.TemporaryDirectory() as folder:
        os.environ[settings.CACHE_DIR] = folder
        return report(cases, given.jobs, given.list, given.write)


def report(cases: Sequence[Case], jobs: int, lists: bool = False, writes: bool = False) -> int:
    """Print the verdicts of these cases; return the exit status."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    found: list[Verdict] = []
    try:
        for verdict in verdicts(cases, jobs):
            found.append(verdict)
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
    if groups["wrong"]:
        return 1
    rows = record.rows_of(cases, found)
    core = [row for row in rows if row.group == "core"]
    for name, those in (("all cases", rows), ("core group", core)):
        right = sum(row.is_right for row in those)
        print(
            f"{name}: {right} of {len(those)} are right, {100 * right / max(1, len(those)):.1f} %"
        )
    if writes:
        record.write(rows)
        return 0
    known = record.read()
    if more := record.better(found, known):
        print(
            f"{len(more)} cases are right that {record.FILE.name} does not list so; write it anew"
        )
    if worse := record.worse(found, known):
        print("no longer right:", *worse, sep="\n  ")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
