"""Time the tool itself: medians against the limits it promises.

Commands are timed from process start to exit, emulated launches from the text to the report.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import kgen
from kgen import emulate
from kgen.spec import DType

KGEN = Path(sys.executable).with_name("kgen")


def seconds(command: list[str], cwd: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def launch(size: int, target: str) -> Callable[[bool, bool], float]:
    """A matrix product of f16: seconds in the emulator, given whether it checks and profiles."""
    spec = kgen.Matmul(m=size, n=size, k=size, dtype=DType.F16)
    bundle = kgen.build(spec, targets=[target])
    (entry,) = bundle.manifest.kernels
    (text,) = (a for a in entry.artifacts if a.format in ("ptx", "llvm-ir"))
    (what,) = entry.launches

    def run(checks: bool, profile: bool) -> float:
        report = emulate.run(
            bundle.files[text.file].decode(),
            language="ptx" if text.format == "ptx" else "llvm",
            entry=what.entry_point,
            grid=what.grid,
            block=what.block,
            arguments=[np.zeros(p.shape, np.float16) for p in entry.parameters],
            dynamic_shared=what.dynamic_shared_memory,
            checks=checks,
            profile=profile,
        )
        return report.seconds

    return run


def row(name: str, work: Callable[[], float], runs: int, limit: float | None) -> None:
    times = [work() for _ in range(runs)]
    shown = "-" if limit is None else f"{limit:.2f}"
    print(f"{name:34} {statistics.median(times):9.3f} {min(times):7.3f} {shown:>8}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    build = [str(KGEN), "build", "--shape", "1024x1024x1024", "-o", "x.kgen", "--target"]
    rows = [
        ("python -c pass", [sys.executable, "-c", "pass"], None),
        ("import kgen_runtime", [sys.executable, "-c", "import kgen_runtime"], 0.15),
        ("kgen --help", [str(KGEN), "--help"], 0.3),
        ("kgen build 1024^3 sm_80", [*build, "sm_80"], 2.0),
        ("kgen build 1024^3 gfx942", [*build, "gfx942"], None),
        ("kgen build 1024^3 vulkan1.3", [*build, "vulkan1.3"], None),
        ("kgen build 1024^3 native", [*build, "native"], None),
    ]
    print(f"{'command':34} {'median s':>9} {'min s':>7} {'limit s':>8}   ({runs} runs)")
    with tempfile.TemporaryDirectory() as folder:
        for name, command, limit in rows:
            row(name, partial(seconds, command, folder), runs, limit)
    for target in ("sm_80", "gfx942"):
        small, large = launch(256, target), launch(1024, target)
        row(f"emulate {target} 256^3, checks", partial(small, True, False), runs, 0.5)
        row(f"emulate {target} 1024^3, no checks", partial(large, False, False), runs, 5.0)
        row(f"emulate {target} 1024^3, checks", partial(large, True, False), runs, None)
        row(f"emulate {target} 1024^3, profile", partial(large, False, True), runs, 10.0)


if __name__ == "__main__":
    main()
