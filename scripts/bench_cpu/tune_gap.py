"""How far the model's schedules are from tuned ones."""

from __future__ import annotations

import math
from pathlib import Path

from kgen import pipeline
from kgen.check.tune import Tuner, prepared, race
from kgen.spec import DType, Matmul
from kgen.targets import find
from scripts.bench_cpu.tables import QUICK, SHAPES

BAR = 1.10


def tune_gap(cache: Path, dtype: DType, quick: bool) -> None:
    """Print ratios of least times, and their mean; `cache` is the tuner's file.

    Each pair is timed anew, in turn, so that a lucky moment of the search does not count.
    """
    ratios = []
    for m, n, k in SHAPES:
        if quick and m * n * k > QUICK:
            continue
        model = pipeline.plan(Matmul(m=m, n=n, k=k, dtype=dtype), find("native"))
        ours, tuned = race([prepared(model), prepared(Tuner(path=cache)(model))])
        ratios.append(ours / tuned)
        print(f"{model.spec.key}: {ratios[-1]:.3f}", flush=True)
    mean = math.prod(ratios) ** (1 / len(ratios))
    print(f"geometric mean of {len(ratios)}, model over tuned: {mean:.3f} (the bar is {BAR:.2f})")
