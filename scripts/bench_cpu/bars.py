"""The bars: fixed thresholds that the kernels are to reach, whatever a run finds.

No command changes them; they are those of the project's aims, and a miss is reported as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from scripts.bench_cpu import calls
from scripts.bench_cpu.judge import Bar, Statistic
from scripts.bench_cpu.results import Row
from scripts.bench_cpu.tables import ROOF

MEAN, LEAST, MOST = Statistic
IN_CACHE, OUT_OF_CACHE = ("64x512", "1024x1024"), ("8192x4096",)
SAME_INSTRUCTION = (
    "Where it is out of reach, the library is as near the peak of the same instruction."
)


def _bars() -> Iterator[Bar]:
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
    yield from _streams()
    yield from _threads()
    for packed, peer in (("", "onednn"), ("-packed", "onednn-packed")):
        title = f"s8{', weights packed' if packed else ''}, against oneDNN"
        yield _bar(
            title, f"s8{packed}", LEAST, 1.1,
            against=peer, ceilings=ROOF, note=SAME_INSTRUCTION,
        )  # fmt: skip
    yield from _calls()


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
    packed = partial(_bar, table="bf16-packed", ceilings=ROOF)
    torch = "bf16, weights packed, against PyTorch packed"
    against = {"against": "torch-onednn", "note": SAME_INSTRUCTION}
    yield packed(torch, statistic=LEAST, threshold=1.3, **against)
    yield packed(torch, statistic=MEAN, threshold=2.0, **against)
    against["against"] = "onednn-packed"
    title = "bf16, weights packed, against oneDNN"
    yield packed(title, statistic=LEAST, threshold=1.1, **against)
    yield _bar(
        "bf16, packing counted, against torch.mm", "bf16", LEAST, 1.3,
        against="torch", ceilings=ROOF, note=SAME_INSTRUCTION,
    )  # fmt: skip
    title, middle = "bf16, of the peak, 256^3 to 1024^3", _cubes(256, 512, 1000, 1024)
    yield _bar(title, "bf16-packed", LEAST, 0.65, of="peak", rows=middle)


def _fused(dtype: str) -> Iterator[Bar]:
    for title, peer in (("PyTorch's calls", "torch"), ("torch.compile", "torch-compile")):
        yield _bar(
            f"{dtype} + bias + gelu, against {title}", f"fused-{dtype}", MEAN, 1.5,
            against=peer, ceilings=ROOF,
            note="The ceiling counts the product's multiply-adds and those of gelu's polynomials, "
            "and nothing else of what a gelu takes.",
        )  # fmt: skip


def _streams() -> Iterator[Bar]:
    softmax = (("f32", IN_CACHE, 2.0), ("f32", OUT_OF_CACHE, 1.3), ("bf16", (), 2.0))
    for dtype, sizes, least in softmax:
        where = {IN_CACHE: ", in cache", OUT_OF_CACHE: ", out of cache"}.get(sizes, "")
        yield _bar(
            f"softmax {dtype}{where}, against PyTorch", f"stream-{dtype}", LEAST, least,
            against="torch", rows=_of("softmax", *sizes), ceilings=("copy",),
            note="The ceiling is copying; exponentials take longer than that, so it is not near.",
        )  # fmt: skip
    for dtype in ("f32", "bf16"):
        title = f"relu {dtype}, of the copy bandwidth"
        yield _bar(title, f"stream-{dtype}", LEAST, 0.95, of="copy", rows=_of("relu"))


def _threads() -> Iterator[Bar]:
    two = partial(_bar, table="threads", statistic=LEAST, against="one thread")
    yield two(
        "two threads, against one, from 512^3", threshold=1.8,
        rows=_large, ceilings=("two cores",),
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


def _microseconds(row: Row) -> float:
    return row.seconds * 1e6


def _cubes(*sides: int) -> Callable[[str], bool]:
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


BARS: tuple[Bar, ...] = tuple(_bars())
