"""The bars: fixed thresholds that the kernels are to reach, whatever a run finds.

No command changes them; they are those of the project's aims, and a miss is reported as one, with
the value that a kernel at the measured ceiling (arithmetic, reading, copying) would reach: where
that is below the bar, no kernel on this machine can meet it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scripts.bench_cpu import calls
from scripts.bench_cpu.results import Row


class Statistic(StrEnum):
    """What of the rows is held against a threshold."""

    MEAN = "geometric mean"
    LEAST = "each"
    MOST = "at most"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """`value` of a row, None where it was not measured; `rows` selects by the kernel's name.

    `ceiling` is the peer that does nothing but what binds. A ratio grows as the kernel's speed
    does, so at the ceiling it is `value` over the fraction that the kernel reaches of it; a time is
    that fraction of `value`.
    """

    title: str
    table: str
    statistic: Statistic
    threshold: float
    value: Callable[[Row], float | None]
    rows: Callable[[str], bool] = lambda _: True
    ceiling: str | None = None
    unit: str = "x"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`worst` are the rows below the threshold, worst first. Both values are rounded as they are
    printed; None: nothing was measured."""

    bar: Bar
    value: float | None
    at_ceiling: float | None = None
    worst: Sequence[tuple[str, float]] = ()

    @property
    def reached(self) -> bool:
        if self.value is None:
            return False
        if self.bar.statistic is Statistic.MOST:
            return self.value <= self.bar.threshold
        return self.value >= self.bar.threshold

    @property
    def out_of_reach(self) -> bool:
        """Whether a kernel at the ceiling would not reach the bar either."""
        if self.at_ceiling is None:
            return False
        beyond = self.at_ceiling - self.bar.threshold
        return beyond > 0 if self.bar.statistic is Statistic.MOST else beyond < 0

    @property
    def missed_by(self) -> float:
        """As a fraction of the threshold."""
        return abs(1 - (self.value or 0.0) / self.bar.threshold)


def judge(bar: Bar, rows: Sequence[Row]) -> Verdict:
    """A bar held against the rows of its table."""
    values = {
        row.kernel: value
        for row in rows
        if bar.rows(row.kernel) and (value := bar.value(row)) is not None
    }
    if not values:
        return Verdict(bar=bar, value=None)
    ceiling = bar.ceiling or ""
    reached = {row.kernel: row.ratios[ceiling] for row in rows if ceiling in row.ratios}
    most = bar.statistic is Statistic.MOST
    best = [
        value * reached[name] if most else value / reached[name]
        for name, value in values.items()
        if name in reached
    ]
    beyond = [
        (name, value)
        for name, value in values.items()
        if (value > bar.threshold if most else value < bar.threshold)
    ]
    return Verdict(
        bar=bar,
        value=_statistic(bar.statistic, list(values.values())),
        at_ceiling=_statistic(bar.statistic, best) if best else None,
        worst=sorted(beyond, key=lambda item: item[1], reverse=most),
    )


def _statistic(which: Statistic, values: Sequence[float]) -> float:
    if which is Statistic.MEAN:
        found = math.exp(math.fsum(math.log(v) for v in values) / len(values))
    else:
        found = max(values) if which is Statistic.MOST else min(values)
    return round(found, 2)


def _best_of(*peers: str) -> Callable[[Row], float | None]:
    """Against the fastest of these libraries at each shape."""
    return lambda row: min((row.ratios[p] for p in peers if p in row.ratios), default=None)


def _against(peer: str) -> Callable[[Row], float | None]:
    return lambda row: row.ratios.get(peer)


def _microseconds(row: Row) -> float:
    return row.seconds * 1e6


def cubes(*sides: int) -> Callable[[str], bool]:
    names = {f"{n}x{n}x{n}" for n in sides}
    return lambda kernel: kernel.split("_")[1] in names


def _large(kernel: str) -> bool:
    """512^3 multiply-adds and more, in products of more than a few rows."""
    m, n, k = (int(side) for side in kernel.split("_")[1].split("x"))
    return m * n * k >= 512**3 and m >= 64


def _of(op: str, *sizes: str) -> Callable[[str], bool]:
    def selects(kernel: str) -> bool:
        words = kernel.split("_")
        return words[0] == op and (not sizes or words[1] in sizes)

    return selects


def _called(way: str, arrays: str | None = None) -> Callable[[str], bool]:
    def selects(name: str) -> bool:
        words = name.split(", ")
        return words[0] == way and arrays in (None, words[2])

    return selects


IN_CACHE, OUT_OF_CACHE = ("64x512", "1024x1024"), ("8192x4096",)
MEAN, LEAST, MOST = Statistic
_F32 = _best_of("numpy", "torch", "onednn")


def _bar(title: str, table: str, statistic: Statistic, threshold: float, **more: Any) -> Bar:
    """`against`: the peer whose ratio is the value; `ceiling`: the peer that binds, here and where
    the value is the fraction of it."""
    peer = more.pop("against", None)
    value = more.pop("value", _against(peer or more.get("ceiling", "")))
    if peer is None and "ceiling" in more:
        more.setdefault("unit", "")
    return Bar(
        title=title, table=table, statistic=statistic, threshold=threshold, value=value, **more
    )


def _bars() -> Iterator[Bar]:
    top = {"ceiling": "peak"}
    yield _bar("f32, best of MKL, OpenBLAS, oneDNN", "f32", MEAN, 1.3, value=_F32, unit="x", **top)
    yield _bar(
        "f32, best of MKL, OpenBLAS, oneDNN", "f32", LEAST, 0.97, value=_F32, unit="x", **top
    )
    for sides, least in (((128, 256), 0.90), ((512, 1000, 1024), 0.85)):
        named = f"{sides[0]}^3 to {sides[-1]}^3"
        yield _bar(f"f32, of the peak, {named}", "f32", LEAST, least, rows=cubes(*sides), **top)
    packed = "bf16, weights packed, against"
    torch = f"{packed} PyTorch packed"
    yield _bar(torch, "bf16-packed", LEAST, 1.3, against="torch-onednn", **top)
    yield _bar(torch, "bf16-packed", MEAN, 2.0, against="torch-onednn", **top)
    yield _bar(f"{packed} oneDNN", "bf16-packed", LEAST, 1.1, against="onednn-packed", **top)
    yield _bar(
        "bf16, packing counted, against torch.mm", "bf16", LEAST, 1.3, against="torch", **top
    )
    title = "bf16, of the peak, 256^3 to 1024^3"
    middle = cubes(256, 512, 1000, 1024)
    yield _bar(title, "bf16-packed", LEAST, 0.65, rows=middle, **top)
    for dtype in ("f32", "bf16"):
        fused = f"{dtype} + bias + gelu, against"
        table = f"fused-{dtype}"
        yield _bar(f"{fused} PyTorch's calls", table, MEAN, 1.5, against="torch", **top)
        yield _bar(f"{fused} torch.compile", table, MEAN, 1.5, against="torch-compile", **top)
    title = "1 to 16 rows, of the read bandwidth"
    yield _bar(title, "gemv", LEAST, 0.95, ceiling="read")
    softmax = (("f32", IN_CACHE, 2.0), ("f32", OUT_OF_CACHE, 1.3), ("bf16", (), 2.0))
    for dtype, sizes, least in softmax:
        where = {IN_CACHE: ", in cache", OUT_OF_CACHE: ", out of cache"}.get(sizes, "")
        rows, table = _of("softmax", *sizes), f"stream-{dtype}"
        title = f"softmax {dtype}{where}, against PyTorch"
        yield _bar(title, table, LEAST, least, against="torch", rows=rows, ceiling="copy")
    for dtype in ("f32", "bf16"):
        title = f"relu {dtype}, of the copy bandwidth"
        rows = _of("relu")
        yield _bar(title, f"stream-{dtype}", LEAST, 0.95, rows=rows, ceiling="copy")
    threads, one = "two threads, against one", "one thread"
    yield _bar(f"{threads}, from 512^3", "threads", LEAST, 1.8, against=one, rows=_large)
    yield _bar(f"{threads}, every shape", "threads", LEAST, 1.0, against=one)
    yield _bar("s8, against oneDNN", "s8", LEAST, 1.1, against="onednn", **top)
    title = "s8, weights packed, against oneDNN"
    yield _bar(title, "s8-packed", LEAST, 1.1, against="onednn-packed", **top)
    cost = {"value": _microseconds, "unit": " us"}
    rows = _called(calls.PREPARED)
    yield _bar(calls.PREPARED, "calls", MOST, 1.0, rows=rows, **cost)
    for kind in (calls.NUMPY, calls.ML_DTYPES, calls.PYTORCH):
        ceiling = calls.DLPACK if kind == calls.PYTORCH else None
        title, rows = f"{calls.ORDINARY}, {kind}", _called(calls.ORDINARY, kind)
        yield _bar(title, "calls", MOST, 5.0, rows=rows, ceiling=ceiling, **cost)


BARS: tuple[Bar, ...] = tuple(_bars())
