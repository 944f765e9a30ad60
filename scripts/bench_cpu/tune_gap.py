"""How far the model's schedules are from tuned ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from kgen import pipeline
from kgen.check.bench.tune import Buffers, Tuner, prepared, race
from kgen.spec import DType, Matmul
from kgen.targets import find
from scripts.bench_cpu.kinds import kind_here
from scripts.bench_cpu.models import PRODUCTS
from scripts.bench_cpu.tables import QUICK

#: Geometric mean, and each.
BAR, MOST = 1.05, 1.15
DTYPES = (DType.F32,)
#: Ratios by type and by the sizes of the product.
Gaps = Mapping[DType, Mapping[str, float]]


def tune_gaps(cache: Path, quick: bool, resume: bool = False) -> Gaps:
    """The model's least time over that of the tuned schedule; `cache` is the tuner's file, beside
    which each is kept for this kind of CPU: with `resume` those that are there are not timed
    again."""
    path = cache.with_suffix(".gaps.json")
    kept: dict[str, dict[str, dict[str, float]]] = {}
    if path.exists():
        kept = json.loads(path.read_text())
    known = kept.get(kind_here(), {}) if resume else {}
    kept[kind_here()] = known
    for dtype in DTYPES:
        found = known.setdefault(dtype, {})
        for shape, gap in _gaps(cache, dtype, quick, found):
            found[shape] = gap
            path.write_text(json.dumps(kept, indent=1) + "\n")
    return {dtype: known[dtype] for dtype in DTYPES}


def _gaps(
    cache: Path, dtype: DType, quick: bool, known: Mapping[str, float]
) -> Iterator[tuple[str, float]]:
    """Each pair is timed anew, in turn, so that a lucky moment of the search does not count."""
    for m, n, k in PRODUCTS:
        shape = f"{m}x{n}x{k}"
        if shape in known or (quick and m * n * k > QUICK):
            continue
        model = pipeline.plan(Matmul(m=m, n=n, k=k, dtype=dtype), find("native"))
        plans, buffers = (model, Tuner(path=cache)(model)), Buffers()
        ours, tuned = race([call for plan in plans for call in prepared(plan, [buffers])])
        print(f"{model.spec.key}: {ours / tuned:.3f}", flush=True)
        yield shape, ours / tuned


def lines(gaps: Gaps) -> list[str]:
    """The table and its geometric means."""
    shapes = next(iter(gaps.values()))
    rows = [["product", *gaps], ["---"] * (1 + len(gaps))]
    rows += [[shape, *(f"{gap[shape]:.2f}" for gap in gaps.values())] for shape in shapes]
    means = (math.prod(gap.values()) ** (1 / len(gap)) for gap in gaps.values())
    rows.append([f"geometric mean, at most {BAR:.2f}", *(f"{mean:.2f}" for mean in means)])
    worst = (max(gap.values()) for gap in gaps.values())
    rows.append([f"most, at most {MOST:.2f}", *(f"{gap:.2f}" for gap in worst)])
    return ["", *(f"| {' | '.join(row)} |" for row in rows), ""]
