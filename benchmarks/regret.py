"""Regret of the chosen schedules: their time over that of schedules found by `kgen tune`.

    python -m benchmarks.regret [--count 20] [--seed 0] [--dtype f32] [--target native]

Random GEMM shapes that no tuning file has are built as `kgen build` chooses, tuned, and then built
with the tuning file. Both kernels run in turn on fresh buffers, warm and cold, in one thread. A
tuned kernel that is not faster counts as 1. A file may hold several seeds (`--resume`). Exit status
1: the geometric mean of the seed is above 1.06.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks import suite
from benchmarks.results import Row, geometric_mean
from benchmarks.side_by_side import CACHES, LONGEST, Pair, timed
from kgen import targets
from kgen.cli.main import main as kgen
from kgen.spec import DType, Matmul, text
from kgen.targets.base import Target
from kgen.targets.choose import How, choose

#: Largest accepted geometric mean.
MEAN = 1.06
#: Ranges of M, and of N and K, drawn evenly on a logarithmic scale.
ROWS, SIDES = (1, 2048), (64, 8192)
#: Most multiply-adds; the search of larger kernels takes too long.
LARGEST = 2**32


def shapes(random: Random, dtype: DType, target: Target) -> Iterator[Matmul]:
    """Yield endless random GEMMs whose sizes no tuning file has."""
    while True:
        spec = random_gemm(random, dtype)
        if choose(spec, target).how is not How.MEASURED:
            yield spec


def random_gemm(random: Random, dtype: DType) -> Matmul:
    """Return a GEMM of random sizes."""
    while True:
        m, n, k = (_size(random, *ends) for ends in (ROWS, SIDES, SIDES))
        if m * n * k <= LARGEST:
            return Matmul(m=m, n=n, k=k, dtype=dtype)


def _size(random: Random, least: int, most: int) -> int:
    return round(math.exp(random.uniform(math.log(least), math.log(most))))


def measured(spec: Matmul, target: str, folder: Path) -> Iterator[Row]:
    """Tune a kernel; yield the time of the chosen one over that of the tuned one, warm and cold.
    `folder` must be empty, because a kernel's data are found by the paths of its bundles."""
    work, tuning = text.form(spec), folder / "tuning.toml"
    chosen, tuned = folder / "chosen.kgen", folder / "tuned.kgen"
    command("build", work, "--target", target, "-o", chosen)
    command("tune", work, "--target", target, "-o", tuning)
    own = ("--tuning", tuning) if tuning.exists() else ()
    command("build", work, "--target", target, *own, "-o", tuned)
    pair = Pair(suite="regret", work=work, target=target, before=chosen, after=tuned)
    for caches in CACHES:
        if pair.has_equal_code:
            variant: dict[str, str | int] = {"target": target, "caches": caches, "threads": 1}
            yield Row(table="regret", work=work, variant=variant, values={"regret": 1.0})
            continue
        row = timed(pair, 1, caches, LONGEST, seed=1)
        regret = max(1.0, row.ratio("before") or 1.0)
        yield dataclasses.replace(row, values={"regret": regret})


def command(*words: str | Path) -> None:
    """Run a command of kgen; end with its message if it fails."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = kgen([str(word) for word in words])
    if status:
        raise SystemExit(f"kgen {words[0]}: {' '.join(said.getvalue().split())[:300]}")


def main() -> int:
    parser = suite.options(__doc__)
    parser.add_argument("--count", type=int, default=20, help="number of shapes (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", type=DType, default=DType.F32)
    parser.add_argument("--target", default="native")
    args = parser.parse_args()
    run = suite.Run("regret", args, versions={})
    found = shapes(Random(args.seed), args.dtype, targets.find(args.target))
    for spec in itertools.islice(found, args.count):
        if run.has("regret", text.form(spec)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for row in measured(spec, args.target, Path(folder)):
                run.add(dataclasses.replace(row, variant={**row.variant, "seed": args.seed}))
    rows = [row for row in run.results.table("regret") if row.variant["seed"] == args.seed]
    mean = geometric_mean(float(row.values["regret"]) for row in rows)
    print(f"geometric mean {mean:.3f}, at most {MEAN}; written: {run.path}")
    return int(mean > MEAN)


if __name__ == "__main__":
    sys.exit(main())
