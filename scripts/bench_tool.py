"""Time the tool itself, from process start to exit: medians against the limits it promises."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KGEN = Path(sys.executable).with_name("kgen")


def seconds(command: list[str], cwd: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


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
    print(f"{'command':30} {'median s':>9} {'min s':>7} {'limit s':>8}   ({runs} runs)")
    with tempfile.TemporaryDirectory() as folder:
        for name, command, limit in rows:
            times = [seconds(command, folder) for _ in range(runs)]
            shown = "-" if limit is None else f"{limit:.2f}"
            print(f"{name:30} {statistics.median(times):9.3f} {min(times):7.3f} {shown:>8}")


if __name__ == "__main__":
    main()
