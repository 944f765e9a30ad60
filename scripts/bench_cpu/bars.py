"""The bars: fixed thresholds that the kernels are to reach, whatever a run finds.

No command changes them; they are those of the project's aims, and a miss is reported as one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kgen.ops.parse import parse
from kgen.spec import DType, Formula
from scripts.bench_cpu import calls
from scripts.bench_cpu.judge import Bar, Statistic
from scripts.bench_cpu.kinds import AMX, AVX2, AVX512
from scripts.bench_cpu.results import Row
from scripts.bench_cpu.tables import (
    CHEAP,
    CUBES,
    MODELS,
    MODELS_PACKED,
    NORMS,
    REDUCTIONS,
    ROOF,
    ROWS,
    THREADED,
    TILES_ROOF,
    TRANSCENDENTAL,
    TWO_CORES,
    Table,
    streams,
)

MEAN, LEAST, MOST = Statistic
SAME_INSTRUCTION = (
    "Where it is out of reach, the library is as near the peak of the same instruction."
)
SUBNORMAL = (
    "Besides converting, each step looks for subnormal numbers, which the instruction that rounds "
    "makes zero: four VFPCLASSPS for 64 elements."
)


def _bars() -> Iterator[Bar]:
    yield from _models()
    yield from _f32()
    yield from _bf16()
    for dtype in ("f32", "bf16"):
        yield from _fused(dtype)
    yield _bar(
        "1 to 16 rows, of the read bandwidth", "gemv", LEAST, 0.95,
        of="read", ceilings=ROOF,
        note="With every further row there is as much more arithmetic on the same bytes: the roof "
        "is the longer of the two, and *of the roof* the fraction that counts.",
    )  # fmt: skip
    yield _bar(
        "narrow weights, 1 to 4 rows, of the read bandwidth",
        "narrow",
        LEAST,
        0.9,
        of="read",
        ceilings=ROOF,
        note="Fewer bytes for the same arithmetic: the roof is the longer of the two.",
    )
    yield from _streams()
    yield from _threads()
    for packed, peer in (("", "onednn"), ("-packed", "onednn-packed")):
        title = f"s8{', prepacked B' if packed else ''}, against oneDNN"
        yield _bar(
            title, f"s8{packed}", LEAST, 1.1,
            against=peer, ceilings=TILES_ROOF, note=SAME_INSTRUCTION,
        )  # fmt: skip
    yield from _calls()


def _models() -> Iterator[Bar]:
    """Of 40 GEMM shapes from models, and what every kind of CPU is held to besides."""
    for cold, (packed, peers, mean, least) in itertools.product(
        ("", "-cold"), (("", MODELS, 1.1, 0.97), ("-packed", MODELS_PACKED, 1.15, 1.0))
    ):
        words = f"{', prepacked B' if packed else ''}{', cold caches' if cold else ''}"
        for statistic, threshold in ((MEAN, mean), (LEAST, least)):
            yield _bar(
                f"f32, GEMM shapes from models{words}, best library",
                f"models-f32{packed}{cold}", statistic, threshold,
                value=_best_of(*peers), ceilings=ROOF,
            )  # fmt: skip
    squares = partial(
        _bar, "f32, squares 16^3 to 2048^3, best library", "f32",
        value=_best_of(*MODELS), ceilings=ROOF, rows=_cubes(*(n for n, _, _ in CUBES)),
    )  # fmt: skip
    yield squares(statistic=MEAN, threshold=1.15)
    yield squares(statistic=LEAST, threshold=0.97)
    sides = [n for n, _, _ in CUBES if n >= 128]
    title = "f32, of the peak, 128^3 to 2048^3"
    yield _bar(title, "f32", LEAST, 0.92, of="peak", rows=_cubes(*sides))
    title = "1 to 4 rows, of the read bandwidth"
    yield _bar(title, "gemv", LEAST, 0.95, of="read", rows=_few, ceilings=ROOF)
    for dtype in ("bf16", "s8"):
        yield _bar(
            f"{dtype}, best library", dtype, MEAN, 1.3,
            value=_best_of("numpy", "torch", "onednn"), ceilings=ROOF, instructions=(AVX2,),
        )  # fmt: skip


def _f32() -> Iterator[Bar]:
    best = partial(
        _bar, "f32, best of MKL, OpenBLAS, oneDNN", "f32",
        value=_best_of("numpy", "torch", "onednn"), ceilings=ROOF,
    )  # fmt: skip
    yield best(
        MEAN, 1.3,
        note="One of three libraries is near the roof at almost every shape; what is to be gained "
        "is at small, odd and few-row ones.",
    )  # fmt: skip
    yield best(LEAST, 0.97)
    for sides, least in (((128, 256), 0.90), ((512, 1000, 1024), 0.85)):
        title = f"f32, of the peak, {sides[0]}^3 to {sides[-1]}^3"
        yield _bar(title, "f32", LEAST, least, of="peak", rows=_cubes(*sides))


def _bf16() -> Iterator[Bar]:
    packed = partial(_bar, table="bf16-packed", ceilings=TILES_ROOF)
    torch = "bf16, prepacked B, against PyTorch packed"
    # Libraries have no product of bf16 without its instructions.
    able: dict[str, Any] = {"note": SAME_INSTRUCTION, "instructions": (AVX512, AMX)}
    against = {"against": "torch-onednn"} | able
    yield packed(torch, statistic=LEAST, threshold=1.3, **against)
    yield packed(torch, statistic=MEAN, threshold=2.0, **against)
    against["against"] = "onednn-packed"
    title = "bf16, prepacked B, against oneDNN"
    yield packed(title, statistic=LEAST, threshold=1.1, **against)
    yield _bar(
        "bf16, packing counted, against torch.mm", "bf16", LEAST, 1.3,
        against="torch", ceilings=TILES_ROOF, **able,
    )  # fmt: skip
    title, middle = "bf16, of the peak, 256^3 to 1024^3", _cubes(256, 512, 1000, 1024)
    yield _bar(
        title, "bf16-packed", LEAST, 0.65, of="peak", rows=middle, ceilings=("peak", "tiles"),
    )  # fmt: skip


def _fused(dtype: str) -> Iterator[Bar]:
    for title, peer in (("PyTorch's calls", "torch"), ("torch.compile", "torch-compile")):
        yield _bar(
            f"{dtype} + bias + gelu, against {title}", f"fused-{dtype}", MEAN, 1.5,
            against=peer, ceilings=ROOF,
            note="The ceiling counts the product's multiply-adds and those of gelu's polynomials, "
            "and nothing else of what a gelu takes.",
        )  # fmt: skip


def _streams() -> Iterator[Bar]:
    for table in streams():
        kind, _, dtype = table.name.partition("-")
        words = f"{kind} {dtype.replace('-2', ', two threads')}"
        if kind == "functions":
            if table.ceilings:
                title = f"cheap {words}, of the copy bandwidth"
                yield _bar(
                    title, table.name, LEAST, 0.95,
                    of="copy", ceilings=table.ceilings, rows=_among(table, CHEAP),
                    note=SUBNORMAL if table.name.endswith(DType.BF16) else "",
                )  # fmt: skip
            rows, words = _among(table, TRANSCENDENTAL), f"transcendental {words}"
        else:
            rows = _among(table, (*NORMS, *REDUCTIONS))
        for statistic, threshold in ((MEAN, 1.5), (LEAST, 1.0)):
            yield _bar(
                f"{words}, against PyTorch", table.name, statistic, threshold,
                against="torch", ceilings=table.ceilings, rows=rows,
            )  # fmt: skip
        if kind == "reductions" and table.ceilings:
            large = {
                spec.key
                for spec in table.specs
                if spec.parameters[0].shape == ROWS[-1] and spec.dtype is DType.F32
            }
            if large:
                yield _bar(
                    f"{words} of one large tensor, of the read bandwidth", table.name, LEAST, 0.95,
                    of="read", rows=large.__contains__,
                )  # fmt: skip


def _among(table: Table, expressions: Sequence[str]) -> Callable[[str], bool]:
    """The kernels of a table that compute one of these."""
    calls = [parse(expression) for expression in expressions]
    keys = {s.key for s in table.specs if isinstance(s, Formula) and parse(s.expression) in calls}
    return keys.__contains__


def _threads() -> Iterator[Bar]:
    two = partial(_bar, table="threads", statistic=LEAST, against="one thread")
    yield two(
        "two threads, against one, from 512^3", threshold=1.8,
        rows=_large, ceilings=TWO_CORES,
    )  # fmt: skip
    yield two(
        "two threads, against one, over 20 MFLOP", threshold=1.8,
        rows=_over_threaded, ceilings=TWO_CORES,
    )  # fmt: skip
    yield two("two threads, against one, every shape", threshold=1.0)


def _calls() -> Iterator[Bar]:
    cost = partial(_bar, table="calls", statistic=MOST, value=_microseconds, unit=" us")
    yield cost(calls.PREPARED, threshold=1.0, rows=_called(calls.PREPARED))
    for kind in (calls.NUMPY, calls.ML_DTYPES, calls.PYTORCH):
        rows = _called(calls.ORDINARY, kind)
        yield cost(f"{calls.ORDINARY}, {kind}", threshold=5.0, rows=rows)


def _bar(
    title: str,
    table: str,
    statistic: Statistic,
    threshold: float,
    *,
    against: str | None = None,
    of: str | None = None,
    **more: Any,
) -> Bar:
    """The value is a row's ratio to the peer `against`, or the fraction that it reaches `of` a
    ceiling."""
    if against is not None:
        more["value"] = _against(against)
    if of is not None:
        more = {"ceilings": (of,)} | more | {"value": _against(of), "unit": ""}
    return Bar(title=title, table=table, statistic=statistic, threshold=threshold, **more)


def _best_of(*peers: str) -> Callable[[Row], float | None]:
    """Against the fastest of these libraries at each shape."""
    return lambda row: min((row.ratios[p] for p in peers if p in row.ratios), default=None)


def _against(peer: str) -> Callable[[Row], float | None]:
    return lambda row: row.ratios.get(peer)


def _microseconds(row: Row) -> float | None:
    return None if row.seconds is None else row.seconds * 1e6


def _cubes(*sides: int) -> Callable[[str], bool]:
    names = {f"{n}x{n}x{n}" for n in sides}
    return lambda kernel: kernel.split("_")[1] in names


def _large(kernel: str) -> bool:
    """512^3 multiply-adds and more, in products of more than a few rows."""
    m, n, k = (int(side) for side in kernel.split("_")[1].split("x"))
    return m * n * k >= 512**3 and m >= 64


def _few(kernel: str) -> bool:
    return int(kernel.split("_")[1].split("x")[0]) <= 4


def _over_threaded(kernel: str) -> bool:
    return 2 * math.prod(int(side) for side in kernel.split("_")[1].split("x")) >= THREADED


def _called(way: str, arrays: str | None = None) -> Callable[[str], bool]:
    def selects(name: str) -> bool:
        words = name.split(", ")
        return words[0] == way and arrays in (None, words[2])

    return selects


BARS: tuple[Bar, ...] = tuple(_bars())
