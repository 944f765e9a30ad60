"""Time kgen itself: commands from process start to exit, and emulated launches.

    python -m benchmarks.tool [--only NAME] [--runs N]

The `limit` of a row is the time that the project promises.
"""

from __future__ import annotations

import compileall
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

import kgen
import kgen_runtime
from benchmarks import suite
from benchmarks.results import Row, Timing
from kgen import emulate
from kgen.bundle import Bundle
from kgen.check.bench import timing
from kgen.spec import DType

KGEN = Path(sys.executable).with_name("kgen")
SHAPE = "1024x1024x1024"
DEMO = "sm_80,gfx942,vulkan1.3,native"
#: Targets of a build, and the seconds that it may take.
BUILDS = {"sm_80": 0.75, "gfx942": 0.6, "vulkan1.3": 0.6, "native": 0.6}
#: Sides of emulated products, the emulator's mode, and the seconds that the launch may take.
LAUNCHES: tuple[tuple[int, str, float | None], ...] = (
    (256, "checks", 0.5),
    (1024, "neither", 5.0),
    (1024, "checks", None),
    (1024, "profile", 10.0),
)


def seconds(command: list[str], cwd: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def launch(size: int, target: str, what: str) -> float:
    """Emulate a matrix product of f16; return the seconds that the launch takes."""
    spec = kgen.Matmul(m=size, n=size, k=size, dtype=DType.F16)
    bundle = built(spec, target)
    (entry,) = bundle.manifest.kernels
    (text,) = (a for a in entry.artifacts if a.format in ("ptx", "llvm-ir"))
    (first,) = entry.launches
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


@cache
def built(spec: kgen.Matmul, target: str) -> Bundle:
    return kgen.build(spec, targets=[target])


def works(folder: str) -> dict[str, tuple[Callable[[], float], float | None]]:
    """Return functions by name that return seconds, each with its limit in seconds."""
    build = [str(KGEN), "build", "--no-cache", "--shape", SHAPE, "-o", "x.kgen", "--target"]
    commands: dict[str, tuple[list[str], float | None]] = {
        "python -c pass": ([sys.executable, "-c", "pass"], None),
        "import kgen_runtime": ([sys.executable, "-c", "import kgen_runtime"], 0.15),
        "kgen --help": ([str(KGEN), "--help"], 0.3),
        **{
            f"kgen build --no-cache --shape {SHAPE} --target {target}": ([*build, target], limit)
            for target, limit in BUILDS.items()
        },
        "make demo, installed": ([*build, DEMO, "--verify"], None),
    }
    found: dict[str, tuple[Callable[[], float], float | None]] = {
        name: (partial(seconds, command, folder), limit)
        for name, (command, limit) in commands.items()
    }
    for target in ("sm_80", "gfx942"):
        for size, what, limit in LAUNCHES:
            words = {"checks": "all checks", "profile": "a profile"}.get(what, "no checks")
            name = f"{size}x{size}x{size} of f16 for {target}, emulated with {words}"
            found[name] = (partial(launch, size, target, what), limit)
    return found


def measured(name: str, work: Callable[[], float], limit: float | None, runs: int) -> Row:
    """Measure a row; repeat it up to three times while other processes keep a core busy."""
    taken = timing.quiet(lambda: [[work() for _ in range(runs)]])
    values = {} if limit is None else {"limit": limit}
    return Row(
        table="tool",
        work=name,
        time=Timing.of(taken.times[0]),
        values=values | {"others": taken.load},
    )


def main() -> None:
    parser = suite.options(__doc__)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    for package in (kgen, kgen_runtime):  # as they are installed
        compileall.compile_dir(str(Path(str(package.__file__)).parent), quiet=1)
    run = suite.Run("tool", args, versions={"python": platform.python_version()})
    with tempfile.TemporaryDirectory() as folder:
        known = {name: (name, *work) for name, work in works(folder).items()}
        for name, work, limit in suite.chosen(parser, args.only, known):
            if not run.has("tool", name):
                run.add(measured(name, work, limit, args.runs))
    print(f"written: {run.path}")


if __name__ == "__main__":
    main()
