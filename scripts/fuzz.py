"""Verify random specs with random schedules on every target against the reference.

A case is determined by its number: `scripts/fuzz.py --case 1234` repeats one. A case fails if a
kernel is wrong, if kgen raises anything but its own errors, or if a schedule that kgen chose does
not build. Refusals (one clear line) count as refused. Kernels that neither a device nor an emulator
here can run count as not executed.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kgen import pipeline, targets
from kgen.bundle import pack
from kgen.check.verify.run import verify
from kgen.errors import KgenError
from kgen.spec import (
    ConstantOperand,
    DType,
    Elementwise,
    Epilogue,
    Layout,
    Math,
    Matmul,
    Rowwise,
    Scale,
    Spec,
    text,
)
from kgen.spec.choices import OUTPUTS
from kgen.targets.base import Target

#: Most multiply-adds of a case: an emulator computes them in seconds.
MOST = 2**25
SMALL = (1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 65)
ROUND = (128, 256, 384, 512, 1000, 2048, 4096)


def dimension(rng: random.Random) -> int:
    """Return a size: small, any, a multiple of 8, or a large round one."""
    kinds = (
        lambda: rng.choice(SMALL),
        lambda: rng.randint(1, 300),
        lambda: 8 * rng.randint(1, 50),
        lambda: rng.choice(ROUND),
    )
    return rng.choices(kinds, weights=(3, 4, 4, 1))[0]()


def matmul(rng: random.Random, dtype: DType, target: Target) -> Matmul:
    while True:
        m, n, k = (dimension(rng) for _ in range(3))
        batch = rng.choice((1, 1, 1, 2, 3))
        if m * n * k * batch <= MOST:
            break
    layout = rng.choice(list(Layout))
    fields: dict[str, Any] = {"m": m, "n": n, "k": k, "batch": batch, "layout": layout}
    family = targets.family(target.family)
    out = rng.choice((None, *OUTPUTS[dtype]))
    if (out or OUTPUTS[dtype][0]) is not DType.S32:
        fields["epilogue"] = tuple(step for step in Epilogue if rng.random() < 0.2)
        fields["alpha"] = rng.choice((1.0, 1.0, 0.5))
        fields["beta"] = rng.choice((0.0, 0.0, -1.5))
        if dtype.itemsize == 1:
            fields["scales"] = tuple(scale for scale in Scale if rng.random() < 0.4)
    if dtype is DType.F32:
        fields["math"] = rng.choice((Math.EXACT, Math.EXACT, *family.maths(target)))
    if family.packs_ahead and rng.random() < 0.3:
        fields["constant"] = (ConstantOperand.B,)
    if rng.random() < 0.3:
        stored = {
            "lda": m if layout.a_transposed else k,
            "ldb": k if layout.b_transposed else n,
            "ldc": n,
        }
        for name in rng.sample(sorted(stored), rng.randint(1, 3)):
            fields[name] = stored[name] + rng.choice((1, 3, 8, 16, 40))
    if batch > 1 and rng.random() < 0.3:
        fields[rng.choice(("batch_stride_a", "batch_stride_b"))] = 0
    return Matmul(dtype=dtype, out_dtype=out, **fields)


def spec_for(rng: random.Random, target: Target) -> Spec:
    family = targets.family(target.family)
    kind: type[Matmul | Rowwise | Elementwise]
    kind = rng.choices((Matmul, Rowwise, Elementwise), weights=(8, 1, 1))[0]
    dtype = rng.choice(
        [
            d
            for d in family.dtypes(kind.op, target)
            if kind is Matmul or not (d.is_integer or d is DType.BOOL)
        ]
    )
    if kind is Matmul:
        return matmul(rng, dtype, target)
    if kind is Rowwise:
        cols = rng.choice((dimension(rng), rng.randint(1, 20000)))
        name = "log_softmax" if rng.random() < 0.3 else "softmax"
        return text.parse(f"{name} {rng.randint(1, 40)}x{cols} {dtype}")
    shape = tuple(dimension(rng) for _ in range(rng.randint(1, 2)))
    return Elementwise(expression="relu(x)", shapes=(shape,), dtype=dtype)


def schedule_fields(rng: random.Random, spec: Spec, target: Target) -> dict[str, int]:
    """Fields of the chosen schedule, or of another candidate, some of them doubled or halved."""
    family = targets.family(target.family)
    chosen = family.choose(spec, target)
    ranked = [candidate.schedule for candidate in family.candidates(spec, target)]
    start = rng.choice([chosen, *ranked[:12]])
    fields = {name: int(getattr(start, name)) for name in start.names}
    if start is chosen or rng.random() < 0.5:
        name = rng.choice(sorted(fields))
        factor = rng.choice((0.5, 2, 2))
        fields[name] = max(1, math.floor(fields[name] * factor))
    return fields


def run(case: int, names: Sequence[str]) -> tuple[str, str]:
    """Return the outcome of a case and a line that describes it."""
    rng = random.Random(case)
    target = targets.find(rng.choice(names))
    fields: dict[str, int] = {}
    line = f"case {case}: {target.name}"
    try:
        spec = spec_for(rng, target)
        line += f" {text.form(spec)}"
        pipeline.plan(spec, target)
        if rng.random() < 0.4:
            fields = schedule_fields(rng, spec, target)
            line += " --schedule " + ",".join(f"{k}={v}" for k, v in fields.items())
    except KgenError as error:
        return "refused", f"{line}: {error}"
    try:
        schedule = pipeline.schedule_for(spec, target, fields)
        kernel = pipeline.kernel(spec, target, schedule)
    except KgenError as error:
        return ("refused" if fields else "failed"), f"{line}: {error}"
    result = verify(pack([kernel]), seed=case).kernels[0]
    return result.status, f"{line}: {result.reason}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="", help="comma list (every target that runs here)")
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--case", type=int, help="repeat one case")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    arguments = parser.parse_args()
    every = [target.name for family in targets.families() for target in family.targets]
    names = arguments.target.split(",") if arguments.target else [*every, "native"]
    found: Counter[str] = Counter()
    end = time.monotonic() + arguments.seconds
    case = arguments.seed if arguments.case is None else arguments.case
    while not found or (arguments.case is None and time.monotonic() < end):
        try:
            outcome, line = run(case, names)
        except Exception:  # users must never see these
            outcome, line = "failed", f"case {case}: {traceback.format_exc()}"
        found[outcome] += 1
        if outcome == "failed" or arguments.verbose or arguments.case is not None:
            print(f"{outcome}: {line}", flush=True)
        case += 1
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(found.items())))
    return 1 if found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
