"""Time the tool itself: medians and quartiles against the limits it promises.

Commands are timed from process start to exit, emulated launches from the text to the report.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import kgen
import kgen_runtime
from kgen import emulate
from kgen.check.bench import timing
from kgen.check.bench.timing import Taken
from kgen.spec import DType
from kgen_runtime.cpu_features import cpu_name
from scripts import documents

KGEN = Path(sys.executable).with_name("kgen")
SHAPE = "1024x1024x1024"
DEMO = "sm_80,gfx942,vulkan1.3,native"
#: Targets of a build, and the seconds that it may take.
BUILDS = {"sm_80": 0.75, "gfx942": 0.6, "vulkan1.3": 0.6, "native": 0.6}
#: Sides of emulated products, what is asked of the emulator, and the seconds that it may take.
LAUNCHES: tuple[tuple[int, str, float | None], ...] = (
    (256, "checks", 0.5),
    (1024, "neither", 5.0),
    (1024, "checks", None),
    (1024, "profile", 10.0),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was timed, and the seconds that it may take."""

    name: str
    taken: Taken
    limit: float | None

    @property
    def cells(self) -> list[str]:
        (times,) = self.taken.times
        quartiles = " to ".join(f"{seconds:.3g}" for seconds in timing.quartiles(times))
        limit = "" if self.limit is None else f"{self.limit:g}"
        busy = "" if self.taken.load <= timing.LOAD else f"{self.taken.load:.2f}"
        return [self.name, f"{statistics.median(times):.3g}", quartiles, limit, busy]


def seconds(command: list[str], cwd: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def launch(size: int, target: str, what: str) -> Callable[[], float]:
    """A matrix product of f16 in the emulator, and the seconds that it takes."""
    spec = kgen.Matmul(m=size, n=size, k=size, dtype=DType.F16)
    bundle = kgen.build(spec, targets=[target])
    (entry,) = bundle.manifest.kernels
    (text,) = (a for a in entry.artifacts if a.format in ("ptx", "llvm-ir"))
    (first,) = entry.launches

    def run() -> float:
        report = emulate.run(
            bundle.files[text.file].decode(),
            language="ptx" if text.format == "ptx" else "llvm",
            entry=first.entry_point,
            grid=first.grid,
            block=first.block,
            arguments=[np.zeros(p.shape, np.float16) for p in entry.parameters],
            dynamic_shared=first.dynamic_shared_memory,
            checks=what == "checks",
            profile=what == "profile",
        )
        return report.seconds

    return run


def rows(runs: int, folder: str) -> Iterator[Row]:
    """Each when it is there; timed again, up to three times, while others keep a core busy."""
    build = [str(KGEN), "build", "--no-cache", "--shape", SHAPE, "-o", "x.kgen", "--target"]
    commands: list[tuple[str, list[str], float | None]] = [
        ("`python -c pass`", [sys.executable, "-c", "pass"], None),
        ("`import kgen_runtime`", [sys.executable, "-c", "import kgen_runtime"], 0.15),
        ("`kgen --help`", [str(KGEN), "--help"], 0.3),
        *(
            (f"`kgen build --no-cache --shape {SHAPE} --target {target}`", [*build, target], limit)
            for target, limit in BUILDS.items()
        ),
        ("`make demo`, installed", [*build, DEMO, "--verify"], None),
    ]
    works: list[tuple[str, Callable[[], float], float | None]]
    works = [(name, partial(seconds, command, folder), limit) for name, command, limit in commands]
    for target in ("sm_80", "gfx942"):
        for size, what, limit in LAUNCHES:
            words = {"checks": "all checks", "profile": "a profile"}.get(what, "no checks")
            name = f"{size}x{size}x{size} of f16 for {target}, emulated with {words}"
            works.append((name, launch(size, target, what), limit))
    for name, work, limit in works:
        taken = timing.quiet(lambda work=work: [[work() for _ in range(runs)]])  # type: ignore[misc]
        yield Row(name=name, taken=taken, limit=limit)


def lines(found: Sequence[Row], runs: int, moment: str) -> list[str]:
    """What goes into docs/performance.md."""
    cores = len(os.sched_getaffinity(0))
    heads = ["what", "median s", "quartiles s", "limit s", "cores that others took"]
    return [
        f"\n{cpu_name()} ({cores} cores, {platform.machine()}), "
        f"Python {platform.python_version()}, {runs} runs each. {documents.measured([moment])}\n",
        f"| {' | '.join(heads)} |",
        f"|{' --- |' * len(heads)}",
        *(f"| {' | '.join(row.cells)} |" for row in found),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    for package in (kgen, kgen_runtime):  # as they are installed
        compileall.compile_dir(str(Path(str(package.__file__)).parent), quiet=1)
    moment, found = documents.moment(), []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(args.runs, folder):
            found.append(row)
            name, median, quartiles, limit, busy = row.cells
            note = f"; others took {busy} cores: not to be relied on" if busy else ""
            print(
                f"{name:62} {median:>7} s ({quartiles}; at most {limit or '-'}){note}", flush=True
            )
    if args.write:
        put = lines(found, args.runs, moment)
        documents.put(documents.PERFORMANCE, "make bench-tool", put)


if __name__ == "__main__":
    main()
