"""Products of several rows, but few, by panels of B; tiles that are as high as each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kgen import pipeline
from kgen.schedule import AheadMatmul, BlockedMatmul, CpuMatmul, CpuSplitMatmul
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from kgen.targets.cpu.schedule.completion import completed
from kgen.targets.cpu.schedule.few_rows.panels import uses_panels
from tests.device.cpu.cpu_support import check, here


def product(m: int, n: int = 101, k: int = 277, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, **({"dtype": DType.F32} | fields))


def small_l2(found: Target) -> Target:
    """A B of these sizes leaves it."""
    return dataclasses.replace(found, limits={**found.limits, "l2_bytes": 65536})


ROWS = (5, 7, 8, 9, 13, 16, 31, 32)
SHAPES: tuple[tuple[int, dict[str, Any]], ...] = (
    (101, {"epilogue": (Epilogue.BIAS,)}),
    (1031, {"batch": 2}),
)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("constant", [(), (ConstantOperand.B,)])
@pytest.mark.parametrize("m", ROWS)
def test_every_number_of_rows(name: str, constant: tuple[ConstantOperand, ...], m: int) -> None:
    """Columns that no tile divides, alone and in several tasks; blocks of K of which the last is
    shorter (Zen 4). A number has one of the two shapes, and the other one on the next target."""
    found = dataclasses.replace(small_l2(here(name)), device="Zen 4")
    n, fields = SHAPES[(ROWS.index(m) + len(constant) + name.endswith("v4")) % 2]
    spec = product(m, n, constant=constant, **fields)
    assert uses_panels(spec, found) or (name, m, constant) == ("x86-64-v3", 5, ())
    check(spec, found)


@pytest.mark.parametrize("constant", [(), (ConstantOperand.B,)])
@pytest.mark.parametrize("m", [5, 6, 7, 9, 10, 12, 14, 15, 16, 31])
def test_rows_that_the_hardware_walks(m: int, constant: tuple[ConstantOperand, ...]) -> None:
    """All of K by a tile of all rows, which fetches rows of B as it lies; else panels of three
    vectors (Zen 5)."""
    found = dataclasses.replace(here("x86-64-v4"), device="Zen 5")
    for n, fields in ((101, {"epilogue": (Epilogue.BIAS,)}), (1031, {"batch": 2})):
        check(product(m, n, constant=constant, **fields), small_l2(found))
    chosen = pipeline.plan(product(m, 2304, 768, constant=constant), found).schedule
    assert isinstance(chosen, BlockedMatmul)
    one_tile = m <= 14
    assert isinstance(chosen, AheadMatmul) or constant or not one_tile
    vectors = (4 if m <= 6 else 3 if m <= 9 else 2) if one_tile else 3
    assert (chosen.mc == chosen.mr) == one_tile
    assert (chosen.nr, chosen.kc) == (16 * vectors, 768 if one_tile else 256)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("pack_a", [False, True])
@pytest.mark.parametrize("rows", [1, 32, 33])
def test_rows_fetched_ahead(rows: int, pack_a: bool, level: int) -> None:
    """A small B in place: prefetches past its end do not fault, and none is of rows it lacks."""
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


def test_walked_panels_are_even_for_two_cores() -> None:
    """32 x 512 x 2048 in 8 and 8 panels of two vectors, not in 6 and 5 of three."""
    found = dataclasses.replace(here("x86-64-v4"), device="Zen 5")
    chosen = pipeline.plan(product(32, 512, 2048), found).schedule
    assert isinstance(chosen, BlockedMatmul) and chosen.nr == 32


def test_rows_that_meet_in_a_cache_set_are_short_blocks() -> None:
    """6 x 1024 x 1024 takes 81 us by all of K, 61 by 64, whole rows cut along K (Zen 5)."""
    found = dataclasses.replace(here("x86-64-v4"), device="Zen 5")
    chosen = pipeline.plan(product(6, 1024, 1024), found).schedule
    assert isinstance(chosen, CpuSplitMatmul) and (chosen.mr, chosen.kc) == (6, 64)
    check(product(6, 1024, 1024), found)


LOW = ("x86-64", "x86-64-v3", "x86-64-v4")
PACKS = ((0, 1), (1, 1), (1, 0))


@pytest.mark.parametrize("name", LOW)
@pytest.mark.parametrize("layout", list(Layout), ids=lambda layout: layout.value)
@pytest.mark.parametrize(("pack_a", "pack_b"), PACKS)
def test_low_tiles(name: str, layout: Layout, pack_a: int, pack_b: int) -> None:
    """Two under two higher ones, in one block of K and in several, with what follows fetched. Each
    depth of K with each way to pack in some of the layouts on each target."""
    found = here(name)
    turn = LOW.index(name) + PACKS.index((pack_a, pack_b)) + tuple(Layout).index(layout)
    k, kc = ((77, 96), (300, 128), (300, 32))[turn % 3]
    spec = product(14, k=k, layout=layout)
    packs = {"pack_a": pack_a, "pack_b": pack_b or int(layout.b_transposed)}
    schedule = CpuMatmul(mr=4, nr=16, mc=16, kc=kc, nc=112, pack_a=True, pack_b=True)
    if not found.has("fma"):
        schedule = schedule.override(nr=8)
    complete = completed(spec, found, schedule.override(**packs))
    planned = pipeline.plan(spec, found, complete)
    assert isinstance(planned, TiledPlan) and planned.tiles.low == (3, 2)
    check(spec, found, complete)
