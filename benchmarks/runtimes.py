"""Compare the cost of calls of two Python runtimes on the CPU, timed in turn.

    python -m benchmarks.runtimes --before FOLDER [--rounds 20]

FOLDER is `runtime` of an older checkout, such as a `git worktree`, with libkgen built. The kgen of
that checkout builds the bundles, so that both runtimes read them. A process per runtime and round
times each case; the least time of all rounds counts, because other processes only make it longer.
Exit status 1: the geometric mean of the ratios of a group of cases is below 0.98.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import ROOT
from benchmarks.results import geometric_mean

LEAST = 0.98
MODEL = ROOT / "examples" / "encoder.onnx"

#: Products of several sizes, whose packed matrices lie differently in the caches.
SIZES = (1, 128, 192, 256, 320, 384, 512)
#: Builds the bundles: products, and a model.
BUILD = """
import sys, kgen
encoder, model, *products = sys.argv[1:]
for path in products:
    size = int(path.rpartition("-")[2])
    spec = kgen.Matmul(m=size, n=size, k=size, dtype="f32")
    kgen.build(spec, targets=["native"]).save(path)
kgen.compile_model(model, targets=["native"]).save(encoder)
"""
#: Prints the least microseconds by case, named `group: case`.
CHILD = """
import json, sys, time
import numpy as np, kgen_runtime
def least(call, batch=20, rounds=100):
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        found.append((time.perf_counter() - start) / batch * 1e6)
    return min(found)
encoder, one, *products = sys.argv[1:]
a = np.ones((1, 1), "f")
call = kgen_runtime.load(one, device="cpu", num_threads=1).matmul.prepare(a, a, out=a.copy())
found = {"prepared call: 1": least(call)}
for threads in (1, 2):
    program = kgen_runtime.load(encoder, device="cpu", num_threads=threads).program
    values = {t.name: np.zeros(t.shape, t.dtype.storage) for t in program.inputs}
    found[f"program.run: {threads} threads"] = least(lambda: program.run(values))
    found[f"steps: {threads} threads"] = least(program.prepare(values))
    for path in products:
        matmul = kgen_runtime.load(path, device="cpu", num_threads=threads).matmul
        size = int(path.rpartition("-")[2])
        x = np.ones((size, size), "f")
        call = matmul.prepare(x, x, out=x.copy())
        found[f"matmul on {threads}: {size}"] = least(call, 10, 40)
print(json.dumps(found))
"""


def run(code: str, arguments: list[Path], *folders: Path) -> str:
    """Return the output of Python code that imports from these folders first."""
    path = os.pathsep.join(str(folder.resolve()) for folder in folders)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout


def measured(runtime: Path, bundles: list[Path]) -> dict[str, float]:
    """Return the microseconds of each case with the runtime in a folder."""
    found: dict[str, float] = json.loads(run(CHILD, bundles, runtime))
    return found


def main() -> int:
    """Print a line per case; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        encoder = Path(folder) / "encoder.kgen"
        products = [Path(folder) / f"product-{size}" for size in SIZES]
        before = options.before.resolve()
        run(BUILD, [encoder, MODEL, *products], before.parent / "codegen", before)
        both = (before, ROOT / "runtime")
        least: list[dict[str, float]] = [{}, {}]
        for _ in range(options.rounds):
            for best, runtime in zip(least, both, strict=True):
                for case, taken in measured(runtime, [encoder, *products]).items():
                    best[case] = min(best.get(case, taken), taken)
    groups: dict[str, list[float]] = {}
    for case, taken in least[0].items():
        ratio = taken / least[1][case]
        groups.setdefault(case.partition(":")[0], []).append(ratio)
        print(f"{case:24} {taken:8.2f} us {least[1][case]:8.2f} us {ratio:6.3f}")
    means = {group: geometric_mean(ratios) for group, ratios in groups.items()}
    for group, mean in means.items():
        print(f"{'geometric mean, ' + group:45} {mean:6.3f}")
    return int(min(means.values()) < LEAST)


if __name__ == "__main__":
    sys.exit(main())
