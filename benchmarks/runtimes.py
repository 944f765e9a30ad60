"""Compare the cost of calls of two Python runtimes on the CPU, timed in turn.

    python -m benchmarks.runtimes --before FOLDER [--rounds 20]

FOLDER is `runtime` of an older checkout, such as a `git worktree`, with libkgen built. The kgen of
that checkout builds the bundles, so that both runtimes read them. A process per runtime and round
times each case; the least time of all rounds counts, as other processes can only add to it. Exit
status 1: the geometric mean of the ratios is below 0.98.
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

#: Builds the bundles: products of two sizes, and a model.
BUILD = """
import sys, kgen
one, large, encoder, model = sys.argv[1:]
for size, path in ((1, one), (256, large)):
    spec = kgen.Matmul(m=size, n=size, k=size, dtype="f32")
    kgen.build(spec, targets=["native"]).save(path)
kgen.compile_model(model, targets=["native"]).save(encoder)
"""
#: Prints the least microseconds of each case.
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
one, large, encoder = sys.argv[1:]
found = {}
a = np.ones((1, 1), "f")
call = kgen_runtime.load(one, device="cpu", num_threads=1).matmul.prepare(a, a, out=a.copy())
found["prepared call"] = least(call)
program = kgen_runtime.load(encoder, device="cpu", num_threads=1).program
values = {t.name: np.zeros(t.shape, t.dtype.storage) for t in program.inputs}
found["program.run"] = least(lambda: program.run(values))
found["program without copies"] = least(program.prepare(values))
for threads in (1, 2):
    matmul = kgen_runtime.load(large, device="cpu", num_threads=threads).matmul
    x = np.ones((256, 256), "f")
    found[f"matmul on {threads}"] = least(matmul.prepare(x, x, out=x.copy()), 10, 40)
print(json.dumps(found))
"""


def run(code: str, arguments: list[Path], *folders: Path) -> str:
    """Output of Python code that imports from the folders first."""
    path = os.pathsep.join(str(folder.resolve()) for folder in folders)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout


def measured(runtime: Path, bundles: list[Path]) -> dict[str, float]:
    """Microseconds of each case with the runtime of a folder."""
    found: dict[str, float] = json.loads(run(CHILD, bundles, runtime))
    return found


def main() -> int:
    """Print a line per case; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bundles = [Path(folder) / f"{name}.kgen" for name in ("one", "large", "encoder")]
        before = options.before.resolve()
        run(BUILD, [*bundles, MODEL], before.parent / "codegen", before)
        both = (before, ROOT / "runtime")
        least: list[dict[str, float]] = [{}, {}]
        for _ in range(options.rounds):
            for best, runtime in zip(least, both, strict=True):
                for case, taken in measured(runtime, bundles).items():
                    best[case] = min(best.get(case, taken), taken)
    ratios = {case: taken / least[1][case] for case, taken in least[0].items()}
    for case, ratio in ratios.items():
        print(f"{case:24} {least[0][case]:8.2f} us {least[1][case]:8.2f} us {ratio:6.3f}")
    mean = geometric_mean([*ratios.values()])
    print(f"{'geometric mean':45} {mean:6.3f}")
    return int(mean < LEAST)


if __name__ == "__main__":
    sys.exit(main())
