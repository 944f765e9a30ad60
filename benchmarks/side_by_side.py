"""Compare the CPU kernels of two versions of kgen, timed in turn in one process.

    python -m benchmarks.side_by_side --before COMMIT [--suites gemm,squares] [--minutes 30]

Each version builds its own bundles, the old one in a `git worktree`. Both kernels of a pair get the
same buffers, warm and cold, in one thread and two. Kernels with equal machine code count as 1 and
are not timed. Pairs below 0.85 are timed twice more, each time on fresh buffers, and are lost if
two of the three ratios are below 0.85. Exit status 1: a mean or a pair is below its bar.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import kgen_runtime
from benchmarks.cpu.tables import Table, tables
from benchmarks.machine import ROOT, commit, git, this_machine, today
from benchmarks.results import Peer, Results, Row, Timing, geometric_mean
from kgen.check.bench import cold, timing
from kgen.check.bench import run as bench
from kgen.check.tensors import Bytes
from kgen.check.verify import inputs
from kgen.spec import text
from kgen_runtime.this_cpu import this_cpu

#: Tables of benchmarks.cpu in each suite.
SUITES = {
    "gemm": ("models-f32", "models-f32-packed"),
    "squares": ("f32", "f32-packed"),
    "skinny": ("gemv", "columns"),
    "bf16": ("bf16", "bf16-packed"),
    "s8": ("s8", "s8-packed"),
    "s4": ("narrow",),
    "rows": ("rows-f32", "rows-bf16", "reductions-f32", "reductions-bf16"),
    "streams": ("functions-f32", "functions-bf16"),
    "depthwise": (),
    "turned": (),
}
#: Channels and side of the images of depthwise convolutions, as MobileNet has them; their kernels;
#: and sides of matrices that are transposed.
IMAGES = ((32, 112), (96, 56), (240, 28), (576, 14), (960, 7))
KERNELS, SIDES = (3, 5, 7), ((64, 64), (512, 768), (4096, 1024))
#: Kernels of the suites that are not tables of benchmarks.cpu.
OWN: Mapping[str, Sequence[str]] = {
    "depthwise": [
        f"conv2d 1x{channels}x{side}x{side},{channels}x1x{n}x{n} {dtype} weight_layout=hwio "
        f"padding={'x'.join([str(n // 2)] * 4)} groups={channels}"
        for n, (channels, side), dtype in itertools.product(KERNELS, IMAGES, ("f32", "s8"))
    ],
    "turned": [
        f"permute(x,1,0) {rows}x{cols} {dtype}"
        for (rows, cols), dtype in itertools.product(SIDES, ("f32", "bf16"))
    ],
}
CACHES = ("warm", "cold")
#: Bars of a table's geometric mean and of a pair.
MEAN, LEAST = 0.98, 0.85
ROUNDS, ATTEMPTS = 15, 3
#: Shortest and longest time of the rounds of one timing, in seconds.
SHORTEST, LONGEST = 0.15, 1.0
#: Most bytes of a kernel's operands; larger ones take seconds to fill.
LARGEST = 2**27

#: Process that builds bundles: JSON lists of the arguments of `kgen build` on standard input, one
#: a line; prints the reason where a build is refused, else an empty line.
BUILDER = """
import contextlib, io, json, sys
from kgen.cli.main import main
for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = main(["build", *json.loads(line)])
    print(" ".join(said.getvalue().split())[:200] if status else "", flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Bundles of one kernel by both versions; `refused` says why there are none."""

    suite: str
    work: str
    target: str
    before: Path
    after: Path
    refused: str = ""

    @property
    def has_equal_code(self) -> bool:
        """Whether entry points, launches and bytes of the machine code are equal."""
        before, after = (_code(path) for path in (self.before, self.after))
        return before == after


def _code(path: Path) -> list[object]:
    with kgen_runtime.load(path, device="cpu", num_threads=1) as kernels:
        return [
            (entry.parameters, entry.workspaces, entry.launches, _digests(entry))
            for entry in (kernel.entry for kernel in kernels.values())
        ]


def _digests(entry: Any) -> list[tuple[str, str]]:
    return [(a.module, a.sha256) for a in entry.artifacts if a.format.startswith("elf")]


def works(suites: Sequence[str]) -> list[tuple[str, str]]:
    """Return (suite, text of a kernel) for each distinct kernel of the suites."""
    known: dict[str, Table] = {table.name: table for table in tables()}
    found = [
        (suite, text.form(spec))
        for suite in suites
        for name in SUITES[suite]
        if name in known
        for spec in known[name].specs
        if spec.bytes_moved <= LARGEST
    ]
    found += [(suite, work) for suite in suites for work in OWN.get(suite, ())]
    return list({work: (suite, work) for suite, work in reversed(found)}.values())[::-1]


def default_targets() -> list[str]:
    """Return the x86-64 levels that this CPU supports, and `native`."""
    features = this_cpu().features
    levels = ["x86-64-v3"] if "avx2" in features else []
    if "avx512f" in features:
        suffixes = (("+bf16", "avx512_bf16"), ("+vnni", "avx512_vnni"))
        levels.append("x86-64-v4" + "".join(s for s, word in suffixes if word in features))
    return [*levels, "native"]


@contextmanager
def worktree(before: str) -> Iterator[Path]:
    """Check out a commit in a temporary worktree."""
    with tempfile.TemporaryDirectory(prefix="kgen-before-") as folder:
        path = Path(folder) / "before"
        add = ["git", "worktree", "add", "--quiet", "--detach", str(path), before]
        done = subprocess.run(add, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"--before {before}: {' '.join(done.stderr.split())[:300]}")
        library = path / "runtime/build_libkgen.py"
        if library.exists():
            subprocess.run([sys.executable, str(library)], check=True, stdout=subprocess.DEVNULL)
        try:
            yield path
        finally:
            remove = ["git", "worktree", "remove", "--force", str(path)]
            subprocess.run(remove, cwd=ROOT, check=True)


def build(
    checkouts: Mapping[str, Path], work: Sequence[tuple[str, str]], targets: Sequence[str],
    folder: Path,
) -> list[Pair]:  # fmt: skip
    """Build every kernel for every target with each version, both at the same time."""
    cases = list(itertools.product(work, targets))
    builders = {}
    for version, checkout in checkouts.items():
        (folder / version).mkdir()
        path = os.pathsep.join(str(checkout / name) for name in ("codegen", "runtime"))
        lines = [
            json.dumps([w, "--target", t, "--jobs", "1", "-o", f"{folder / version / str(i)}.kgen"])
            for i, ((_, w), t) in enumerate(cases)
        ]
        task = folder / version / "tasks"
        task.write_text("\n".join(lines) + "\n")
        builders[version] = subprocess.Popen(
            [sys.executable, "-c", BUILDER],
            stdin=task.open(),
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
        )
    pairs = []
    for number, ((suite, words), target) in enumerate(cases):
        refused = []
        for version, builder in builders.items():
            assert builder.stdout is not None
            line = builder.stdout.readline()
            if not line:
                raise SystemExit(f"the builder of {version} ended at {words} for {target}")
            if line.strip():
                refused.append(f"{version}: {line.strip()}")
        before, after = (folder / version / f"{number}.kgen" for version in builders)
        pairs.append(
            Pair(
                suite=suite, work=words, target=target, before=before, after=after,
                refused="; ".join(refused),
            )
        )  # fmt: skip
        if sys.stdout.isatty():
            print(f"\rbuilt {number + 1} of {len(cases)}", end="", flush=True)
    for builder in builders.values():
        builder.wait()
    print(f"\r{len(cases)} kernels built by each version")
    return pairs


@lru_cache(maxsize=1)
def data_of(path: Path, seed: int) -> dict[str, Bytes]:
    """Inputs of a bundle's kernel; the conditions of a pair share them."""
    with kgen_runtime.load(path, device="cpu", num_threads=1) as kernels:
        (entry,) = (kernel.entry for kernel in kernels.values())
    return next(iter(inputs.data_sets(entry, seed))).buffers


def timed(pair: Pair, threads: int, caches: str, limit: float, seed: int) -> Row:
    """Time both kernels in turn on the same data."""
    with ExitStack() as stack:
        loaded = [
            stack.enter_context(kgen_runtime.load(path, device="cpu", num_threads=threads))
            for path in (pair.before, pair.after)
        ]
        kernels = [next(iter(found.values())) for found in loaded]
        entry = kernels[1].entry
        nbytes = sum(param.nbytes for param in entry.parameters)
        data = data_of(pair.after, seed)
        sets = cold.copies(data, cold.sets_of(nbytes) if caches == "cold" else 1)
        outs = [inputs.output_buffers(entry, each) for each in sets]
        ways = [
            [bench.caller(found, kernel, *each) for each in zip(sets, outs, strict=True)]
            for found, kernel in zip(loaded, kernels, strict=True)
        ]
        before, after = timing.samples(timing.in_turn(ways), ROUNDS, limit)
    ratio = statistics.median(b / a for b, a in zip(before, after, strict=True))
    return Row(
        table=pair.suite,
        work=pair.work,
        variant={"target": pair.target, "caches": caches, "threads": threads},
        time=Timing.of(after),
        peers={
            "before": Peer(
                time=Timing.of(before), ratio=ratio, noise=timing.ratio_noise(after, before)
            )
        },
    )


def measure(
    pairs: Sequence[Pair], threads: Sequence[int], minutes: float, results: Results, path: Path
) -> int:
    """Time the pairs in random order; return how many were not timed when the time was over."""
    shuffled = random.Random(0).sample(pairs, len(pairs))
    cases = list(itertools.product(shuffled, CACHES, threads))
    end = time.monotonic() + 60 * minutes
    for done, (pair, caches, count) in enumerate(cases):
        left = end - time.monotonic()
        if left < 0:
            return len(cases) - done
        limit = min(LONGEST, max(SHORTEST, left / (len(cases) - done) / 3))
        row = timed(pair, count, caches, limit, seed=0)
        ratio = row.ratio("before") or 0.0
        if ratio < LEAST:
            again = [timed(pair, count, caches, LONGEST, seed) for seed in range(1, ATTEMPTS)]
            ratios = sorted([ratio, *(found.ratio("before") or 0.0 for found in again)])
            row = next(r for r in (row, *again) if r.ratio("before") == ratios[1])
            words = ", ".join(f"{found:.2f}" for found in ratios)
            print(f"{label(row)}: {words}", flush=True)
        results.rows.append(row)
        results.write(path)
        if sys.stdout.isatty():
            print(f"\rtimed {done + 1} of {len(cases)}", end="", flush=True)
    return 0


def label(row: Row) -> str:
    """Kernel and variant in words."""
    found = row.variant
    return f"{row.work} [{found['target']}, {found['caches']}, threads {found['threads']}]"


def report(results: Results, equal: Mapping[tuple[str, str], int]) -> bool:
    """Print each table and the pairs that are lost; return whether a bar is missed."""
    groups: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in results.rows:
        ratio = row.ratio("before")
        if ratio is not None:
            variant = row.variant
            key = (row.table, str(variant["target"]), str(variant["caches"]))
            groups[*key, str(variant["threads"])].append(ratio)
    if not groups:
        return False
    print("\nsuite     target               caches threads  timed equal  mean   of timed  minimum")
    missed = False
    for (suite, target, caches, threads), ratios in sorted(groups.items()):
        same = equal.get((suite, target), 0)
        mean = geometric_mean([*ratios, *[1.0] * same])
        missed |= mean < MEAN
        print(
            f"{suite:9} {target:20} {caches:6} {threads:>7} {len(ratios):6} {same:5}  {mean:.3f}"
            f"  {geometric_mean(ratios):8.3f}  {min(ratios):7.2f}{' <' * (mean < MEAN)}"
        )
    lost = [row for row in results.rows if (row.ratio("before") or 1.0) < LEAST]
    for row in sorted(lost, key=lambda row: row.ratio("before") or 0.0):
        print(f"lost {row.ratio('before'):.2f}  {label(row)}")
    return missed or bool(lost)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", required=True, metavar="COMMIT")
    parser.add_argument("--suites", default=",".join(SUITES), help="of %(default)s")
    parser.add_argument("--targets", default=",".join(default_targets()), help="%(default)s")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--minutes", type=float, default=30, help="of timing (%(default)s)")
    parser.add_argument("--only", metavar="TEXT", help="kernels whose text contains this")
    parser.add_argument("-o", "--output", type=Path, help="result file")
    args = parser.parse_args()
    suites, targets = args.suites.split(","), args.targets.split(",")
    if unknown := set(suites) - SUITES.keys():
        parser.error(f"--suites {unknown.pop()}: suites are {', '.join(SUITES)}")
    work = [item for item in works(suites) if not args.only or args.only in item[1]]
    results = Results(
        suite="side-by-side",
        machine=this_machine(),
        date=today(),
        commit=commit(),
        command=f"python -m benchmarks.side_by_side --before {args.before}",
        versions={"before": git("rev-parse", "--short=8", args.before) or args.before},
    )
    path = args.output or results.path
    with worktree(args.before) as old, tempfile.TemporaryDirectory() as folder:
        pairs = build({"before": old, "after": ROOT}, work, targets, Path(folder))
        for pair in pairs:
            if pair.refused:
                print(f"{pair.work} for {pair.target} is left out: {pair.refused}")
        pairs = [pair for pair in pairs if not pair.refused]
        equal: defaultdict[tuple[str, str], int] = defaultdict(int)
        changed = []
        for pair in pairs:
            if pair.has_equal_code:
                equal[pair.suite, pair.target] += 1
            else:
                changed.append(pair)
        print(f"{len(pairs) - len(changed)} of {len(pairs)} pairs have equal machine code")
        left = measure(
            changed, [int(n) for n in args.threads.split(",")], args.minutes, results, path
        )
    missed = report(results, equal)
    if left:
        print(f"{left} pairs were not timed in {args.minutes:g} minutes")
    if results.rows:
        print(f"written: {path}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
