"""Render a seeded set of CPU kernels into a folder, to compare two checkouts.

A change that must not alter kernels is checked by two runs and `diff -r`:

    python scripts/render_cpu_kernels.py before    # in the checkout before the change
    python scripts/render_cpu_kernels.py after     # in the checkout after it
    diff -r before after

The kernels are all goldens of CPUs, and random specs, each with its default schedule and with a
random schedule of each main loop. For a refused schedule, the file has the message.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from kgen import pipeline, targets
from kgen.errors import KgenError, ScheduleError
from kgen.schedule import (
    AheadMatmul,
    AmxMatmul,
    BlockedMatmul,
    CpuMatmul,
    CpuRows,
    CpuSplitMatmul,
    CpuSplitRows,
    CpuStream,
    DotMatmul,
    InnerMatmul,
    LimbsMatmul,
    OuterMatmul,
    Schedule,
)
from kgen.spec import DType, Elementwise, Layout, Matmul, Rowwise, Spec
from kgen.spec.choices import BType
from kgen.targets.base import Plan, Target
from tests.golden.goldens import goldens

TARGETS = (
    *("x86-64", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", "x86-64-v4+bf16", "x86-64-v4+vnni"),
    *("x86-64-amx", "x86-64-amx+fp16", "aarch64-neon", "aarch64-neon+dotprod"),
)
EPILOGUES = (
    "x",
    "x",
    "relu(x + bias)",
    "gelu(x * scale + bias) + residual",
    "silu(x) * gate",
    "x * row",
)
SHAPES = {"scale": "n", "gate": "mxn", "row": "mx1"}
REMEDY = re.compile(r"(\w+)=(\d+)")
EXTENTS = (1, 2, 3, 4, 6, 8, 9, 14, 16, 17, 31, 32, 33, 48, 50, 64, 70, 96, 100, 128, 200, 256)
STREAMS = (
    ("relu(x)", 1),
    ("gelu(x) * y", 2),
    ("silu(gate) * up", 2),
    ("exp(x) + y / 3", 2),
    ("log(abs(x) + 1)", 1),
    ("sin(x)", 1),
    ("gelu(x) + y", 2),
)
ROWS = (
    ("softmax(x)", 1),
    ("log_softmax(x)", 1),
    ("layer_norm(x, scale, shift)", 3),
    ("rms_norm(x, scale)", 2),
    ("sum(x)", 1),
    ("var(x)", 1),
    ("mean(x)", 1),
    ("x - mean(x)", 1),
)


Fields = dict[str, Any]


def random_matmul(r: random.Random) -> Matmul:
    dtype = r.choice([DType.F32, DType.F32, DType.F16, DType.BF16, DType.BF16, DType.S8, DType.F64])
    narrow = r.choice([BType.BF16, BType.S8, BType.S8, BType.S4]) if dtype is DType.F32 else None
    b_dtype = narrow if r.random() < 0.5 else None
    layout = r.choice([Layout.NN, Layout.NN, Layout.NT, Layout.NT, Layout.TN, Layout.TT])
    m, n, k = (r.choice(EXTENTS) for _ in "mnk")
    if r.random() < 0.4:
        m = r.randint(1, 8)
    if r.random() < 0.1:
        n, k = r.choice([(1000, 512), (512, 1000), (4096, 64), (64, 4096), (2000, 2000)])
    if b_dtype is BType.S4:
        layout, k = Layout.NT, 64 * r.randint(1, 6)
    epilogue = r.choice(EPILOGUES)
    operands = tuple(f"{name}={extent}" for name, extent in SHAPES.items() if name in epilogue)
    return Matmul(
        m=m,
        n=n,
        k=k,
        dtype=dtype,
        b_dtype=b_dtype,
        layout=layout,
        batch=r.choice([1, 1, 1, 3]),
        alpha=r.choice([1.0, 1.0, 0.5]),
        beta=r.choice([0.0, 0.0, 0.0, 1.0]),
        epilogue=epilogue,
        epilogue_shapes=operands,
        out_dtype=r.choice([None, DType.F32]) if dtype in (DType.F16, DType.BF16) else None,
        constant=("b",) if r.random() < (0.7 if b_dtype else 0.4) else (),
    )


def random_blocks(r: random.Random, spec: Matmul, target: Target) -> Iterator[BlockedMatmul]:
    """Yield a random schedule of each main loop of products; the target may refuse it."""
    lanes = target.limits["vector_bytes"] // (8 if spec.dtype is DType.F64 else 4)

    def blocks(rows: int, columns: int, unit: int) -> Fields:
        depth = r.choice([spec.k, spec.k, unit * r.randint(1, 4)])
        several: Fields = {"mc": rows * r.randint(1, 4), "nc": columns * r.randint(1, 4)}
        return {"mr": rows, "nr": columns, "kc": depth, **several}

    packing: Fields = {"pack_a": r.random() < 0.5, "pack_b": not spec.constant and r.random() < 0.6}
    tile: Fields = blocks(r.randint(1, 6), lanes * r.randint(1, 3), 16)
    loop: Fields = {"sums_in_out": tile["kc"] < spec.k and r.random() < 0.5}
    yield CpuMatmul(**tile, **packing, **loop, prefetch_panel=r.random() < 0.3)
    yield CpuMatmul(**tile, **packing, tasks_per_pass=2, sums_in_out=True)
    size = spec.b_type.itemsize if not spec.constant else 1
    whole: Fields = tile | {"mr": spec.m, "mc": spec.m, "kc": spec.k} if spec.m <= 6 else tile
    ahead: Fields = {"ahead": spec.n * size * r.randint(1, 4), "level": r.randint(1, 2)}
    yield AheadMatmul(**(whole if not packing["pack_b"] else tile), **packing, **ahead)
    yield AheadMatmul(
        **tile, **(packing | {"pack_b": not spec.constant}), prefetch_a=r.randint(0, 4)
    )
    single: Fields = {
        "mc": spec.m + -spec.m % tile["mr"],
        "nc": spec.n + -spec.n % tile["nr"],
        "kc": 16,
    }
    yield CpuSplitMatmul(**(tile | single), pack_a=packing["pack_a"], pack_b=False)
    yield DotMatmul(**tile, **packing, ahead=r.choice([0, 0, 1024]) * bool(spec.constant))
    rows, columns = r.choice([16, 32]), r.choice([16, 32])
    tiles: Fields = blocks(rows, columns, 64 // spec.dtype.itemsize)
    steps = -(-spec.k * spec.dtype.itemsize // 64) * 64 // spec.dtype.itemsize
    tiles["kc"] = r.choice([steps, tiles["kc"] + -tiles["kc"] % (64 // spec.dtype.itemsize)])
    fetch: Fields = {"prefetch_panel": r.random() < 0.3, "pack_b": not spec.constant}
    yield AmxMatmul(**tiles, **fetch, pack_a=r.random() < 0.7)
    given: Fields = {"pack_a": False, "pack_b": False}
    inner: Fields = blocks(r.randint(1, 3), r.randint(1, 3), lanes)
    choices: Fields = {
        "unroll": r.randint(1, 2),
        "prefetch": r.randint(0, 2),
        "level": r.randint(1, 2),
    }
    transposes = r.random() < 0.3
    cut: Fields = {"kc": spec.k, "nc": inner["nr"] * lanes * r.randint(1, 2)}
    yield InnerMatmul(**(inner | cut), **choices, **given)
    cut["nc"] = spec.n + -spec.n % inner["nr"] if transposes else cut["nc"]
    yield InnerMatmul(**(inner | cut), **choices, pack_a=False, pack_b=True)
    parts = r.choice([1, 2, 4])
    rows_of_b: Fields = {
        "mr": spec.m,
        "mc": spec.m,
        "kc": parts * r.choice([2, 4, 8]),
        "parts": parts,
    }
    outer: Fields = blocks(1, lanes * r.randint(1, 4), 1) | rows_of_b
    flags: Fields = {"halves": r.random() < 0.2, "words": r.random() < 0.2}
    yield OuterMatmul(**outer, **given, **choices_of_outer(r), **flags)
    limbs: Fields = blocks(1, lanes * r.randint(1, 2), 1) | {"kc": 128}
    yield LimbsMatmul(**limbs, pack_a=True, pack_b=False, ahead=r.choice([0, 1024]))


def choices_of_outer(r: random.Random) -> Fields:
    return {
        "prefetch": r.randint(0, 2),
        "apart": r.randint(1, 2),
        "level": r.randint(1, 2),
        "tasks_per_pass": r.randint(1, 2),
    }


def random_stream(r: random.Random) -> Elementwise:
    text, inputs = r.choice(STREAMS)
    shape = (r.randint(1, 5), r.choice(EXTENTS))
    shapes: list[tuple[int, ...]] = [shape] * inputs
    if inputs > 1 and r.random() < 0.4:
        shapes[1] = r.choice([(1, shape[1]), (shape[0], 1), (1,)])
    dtype = r.choice([DType.F32, DType.F16, DType.BF16, DType.F64])
    return Elementwise(expression=text, shapes=tuple(shapes), dtype=dtype)


def random_rows(r: random.Random) -> Rowwise:
    text, inputs = r.choice(ROWS)
    cols = r.choice([*EXTENTS, 1000, 4096])
    shape: tuple[int, ...] = (r.randint(1, 40), cols)
    axes = r.choice([None, None, (0,)]) if inputs == 1 else None
    shapes = (shape, *((cols,) for _ in range(inputs - 1)))
    dtype = r.choice([DType.F32, DType.F16, DType.BF16, DType.F64])
    fields: Fields = {} if axes is None else {"axes": axes}
    return Rowwise(expression=text, shapes=shapes, dtype=dtype, **fields)


def streams_of(r: random.Random, spec: Spec) -> Iterator[Schedule]:
    """Yield a random schedule of each main loop of streams and rows."""
    if isinstance(spec, Elementwise):
        yield CpuStream(
            task=64 * r.randint(1, 8), unroll=r.choice([1, 2, 4]), nontemporal=r.random() < 0.4
        )
        return
    choices: Fields = {
        "online": r.random() < 0.4,
        "variance_head": r.choice([0, 0, 64, 256]),
        "keep_in_output": r.random() < 0.4,
    }
    prefetches: Fields = {"prefetch": r.choice([0, 2048]), "prefetch_next_row": r.random() < 0.4}
    unroll = r.choice([1, 2, 4])
    yield CpuRows(task=r.randint(1, 9), unroll=unroll, **choices)
    yield CpuRows(task=2, unroll=unroll, **prefetches)
    yield CpuRows(task=2, unroll=unroll, nontemporal=r.random() < 0.4)
    yield CpuSplitRows(task=64 * r.randint(1, 8), unroll=unroll, prefetch=prefetches["prefetch"])


def cases(count: int) -> Iterator[tuple[str, Spec, Schedule | None]]:
    """Yield target, spec and schedule of each kernel; None is the default schedule."""
    r = random.Random(42)
    kinds: list[Callable[[random.Random], Spec]] = [random_matmul] * 4
    kinds += [random_stream, random_rows]
    for number in range(count):
        name = TARGETS[number % len(TARGETS)]
        try:
            spec = kinds[number % len(kinds)](r)
        except KgenError:
            continue
        yield name, spec, None
        if isinstance(spec, Matmul):
            yield from ((name, spec, s) for s in random_blocks(r, spec, targets.find(name)))
        else:
            yield from ((name, spec, s) for s in streams_of(r, spec))


def planned(spec: Spec, name: str, schedule: Schedule | None) -> Plan:
    """Return the plan of a schedule, after applying the remedies of up to six refusals."""
    for _ in range(6):
        try:
            return pipeline.plan(spec, targets.find(name), schedule)
        except ScheduleError as error:
            advice = str(error).partition("; try ")[2]
            remedy = {name: int(value) for name, value in REMEDY.findall(advice)}
            if schedule is None or not remedy:
                raise
            schedule = schedule.override(**remedy)
    return pipeline.plan(spec, targets.find(name), schedule)


def rendered(spec: Spec, name: str, schedule: Schedule | None) -> str:
    """Return launches, parameters and text of a kernel, or the message of a refused schedule."""
    try:
        plan = planned(spec, name, schedule)
    except KgenError as error:
        return f"{error}\n"
    return facts(plan) + pipeline.source(plan).text


def facts(plan: Plan) -> str:
    values = (plan.launches, plan.workspaces, plan.parameters, plan.multiplied)
    return "".join(f"; {value}\n" for value in values)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--specs", type=int, default=1200, help="random specs; 1200")
    options = parser.parse_args()
    loops: Counter[str] = Counter()
    for golden in goldens():
        target = targets.find(golden.target)
        if target.family == "cpu":
            schedule = pipeline.schedule_for(golden.spec, target, golden.schedule)
            kernel = f"golden-{golden.path.stem}"
            write(
                options.folder,
                golden.target,
                kernel,
                rendered(golden.spec, golden.target, schedule),
            )
    for number, (name, spec, chosen) in enumerate(cases(options.specs)):
        text = rendered(spec, name, chosen)
        loop = chosen.mainloop if chosen else "default"
        loops[loop if text.startswith(";") else "refused"] += 1
        write(options.folder, name, f"{number:05}-{loop}", text)
    print(", ".join(f"{loop} {count}" for loop, count in loops.items()))
    return 0


def write(folder: Path, name: str, kernel: str, text: str) -> None:
    path = folder / name / f"{kernel}.ll"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
