"""Skinny GEMMs by panels of B, with register tiles of nearly equal height."""

from __future__ import annotations

from typing import Any

import pytest

from kgen import pipeline
from kgen.schedule import AheadMatmul, CpuMatmul, CpuSplitMatmul
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from kgen.targets.cpu.schedule.adapt import completed
from tests.device.cpu.cpu_support import best_of, check, here


def product(m: int, n: int = 101, k: int = 277, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, **({"dtype": DType.F32} | fields))


ROWS = (5, 7, 8, 9, 13, 16, 31, 32)
SHAPES: tuple[tuple[int, dict[str, Any]], ...] = (
    (101, {"epilogue": (Epilogue.BIAS,)}),
    (1031, {"batch": 2}),
)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("constant", [(), (ConstantOperand.B,)])
@pytest.mark.parametrize("m", ROWS)
def test_every_number_of_rows(name: str, constant: tuple[ConstantOperand, ...], m: int) -> None:
    """N is no multiple of a tile, with one and several tasks; the last block of K is shorter. A
    target runs one of two shapes for each M, the next target the other one."""
    found = here(name)
    n, fields = SHAPES[(ROWS.index(m) + len(constant) + name.endswith("v4")) % 2]
    spec = product(m, n, constant=constant, **fields)
    for mainloop, fixed in (("blis", {"kc": 128, "ahead": 0}), ("ahead", {"level": 1})):
        if mainloop == "blis" or constant:
            check(spec, found, best_of(spec, found, mainloop, pack_b=0, **fixed))


@pytest.mark.parametrize("constant", [(), (ConstantOperand.B,)])
@pytest.mark.parametrize("m", [5, 6, 9, 12, 14, 15, 31])
def test_all_of_k_with_rows_of_b_prefetched(m: int, constant: tuple[ConstantOperand, ...]) -> None:
    """M is one register tile or several."""
    found = here("x86-64-v4")
    for n, fields in ((101, {"epilogue": (Epilogue.BIAS,)}), (1031, {"batch": 2})):
        spec = product(m, n, constant=constant, **fields)
        if m <= 14:
            tile = {"mr": m, "mc": m, "nr": 32, "kc": spec.k, "pack_b": 0, "level": 1}
            schedule = best_of(spec, found, "ahead", **tile, ahead=2048 if constant else 32 * n * 4)
            assert isinstance(schedule, AheadMatmul)
            check(spec, found, schedule)
        else:
            check(spec, found, best_of(spec, found, "blis", nr=48, kc=spec.k, pack_b=0))


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("pack_a", [False, True])
@pytest.mark.parametrize("rows", [1, 32, 33])
def test_rows_fetched_ahead(rows: int, pack_a: bool, level: int) -> None:
    """Prefetches past the end of a small B do not fault."""
    found = here("x86-64-v4")
    spec = product(5, 101, 33, epilogue=(Epilogue.BIAS,), ldb=112)
    schedule = AheadMatmul(
        mr=5, mc=5, nr=64, nc=128, kc=33, pack_a=pack_a, pack_b=False,
        ahead=rows * 448, level=level,
    )  # fmt: skip
    check(spec, found, schedule)
    text = pipeline.source(pipeline.plan(spec, found, schedule)).text
    lines = [line for line in text.splitlines() if "call void @llvm.prefetch" in line]
    # Of four vectors, and of three, the last of which is five columns.
    assert len(lines) == (4 + 3) * (rows < spec.k) and all(
        f"i32 {4 - level}," in line for line in lines
    )
    assert (f"ptr %k.b, i64 {rows * 448}" in text) == (rows < spec.k)


def test_short_blocks_cut_along_k() -> None:
    found = here("x86-64-v4")
    spec = product(6, 1024, 1024)
    schedule = best_of(spec, found, "split-k", kc=64)
    assert isinstance(schedule, CpuSplitMatmul) and schedule.mc >= 6
    check(spec, found, schedule)


LOW = ("x86-64", "x86-64-v3", "x86-64-v4")
PACKS = ((0, 1), (1, 1), (1, 0))


@pytest.mark.parametrize("name", LOW)
@pytest.mark.parametrize("layout", list(Layout), ids=lambda layout: layout.value)
@pytest.mark.parametrize(("pack_a", "pack_b"), PACKS)
def test_low_tiles(name: str, layout: Layout, pack_a: int, pack_b: int) -> None:
    """Two lower tiles follow two higher ones, with one and several blocks of K, with prefetch."""
    found = here(name)
    turn = LOW.index(name) + PACKS.index((pack_a, pack_b)) + tuple(Layout).index(layout)
    k, kc = ((77, 96), (300, 128), (300, 32))[turn % 3]
    spec = product(14, k=k, layout=layout)
    packs = {"pack_a": pack_a, "pack_b": pack_b or int(layout.b_transposed)}
    schedule = CpuMatmul(mr=4, nr=16, mc=16, kc=kc, nc=112, pack_a=True, pack_b=True)
    if not found.has("fma"):
        schedule = schedule.override(nr=8)
    complete = completed(spec, found, schedule.override(**packs), ())
    planned = pipeline.plan(spec, found, complete)
    assert isinstance(planned, TiledPlan) and planned.tiles.low == (3, 2)
    check(spec, found, complete)
