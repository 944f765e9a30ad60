"""Arithmetic of the values that CPU matmul plans are composed of."""

from __future__ import annotations

from typing import Any

import pytest

from kgen import targets
from kgen.schedule import CpuMatmul, CpuSplitMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.kernels.blis import Slices
from kgen.targets.cpu.plan.matmul import Accumulators
from kgen.targets.cpu.plan.packing.packed_a import ROW_PADDING, PackedA
from kgen.targets.cpu.plan.packing.panel import PanelFormat, WidenedB
from kgen.targets.cpu.plan.tiles.panels import NextPart, PanelPacking
from kgen.targets.cpu.plan.tiles.tile import RegisterTiles
from kgen.targets.cpu.plan.vectors import Access, Vector

FLOATS = Vector(count=8, scalar="float")
SUMS = Accumulators(vector=FLOATS, rows=10, row=96, base="%acc", in_out=False)


def blocking(m: int, n: int, k: int, layout: Layout = Layout.NN, **blocks: int) -> Blocking:
    fields: dict[str, Any] = {"mr": 4, "nr": 16, "mc": 8, "kc": 32, "nc": 32, **blocks}
    spec = Matmul(m=m, n=n, k=k, dtype="f32", layout=layout)
    return Blocking(spec=spec, schedule=CpuMatmul(**fields), lanes=8)


def test_extents_are_constants_unless_they_differ_between_tasks() -> None:
    even, odd = blocking(16, 64, 64), blocking(19, 70, 75)
    assert [axis.size for axis in (even.m, even.n, even.k)] == ["8", "32", "32"]
    assert [axis.size for axis in (odd.m, odd.n, odd.k)] == ["%rows", "%columns", "%depth"]
    assert [axis.whole for axis in (even.m, even.n)] == ["8", "32"]
    assert [axis.whole for axis in (odd.m, odd.n)] == ["%rows.whole", "%panels.whole"]
    assert (odd.m.blocks, odd.n.blocks, odd.row_tiles) == (3, 3, 2)
    assert (odd.k.first, odd.k.last, odd.m.last, odd.vectors.tail) == (32, 11, 3, 6)


@pytest.mark.parametrize(
    ("m", "heights", "whole"),
    [
        (16, [4], "16"),
        (15, [4, 3], "12"),
        (14, [4, 3], "8"),
        (17, [4, 3], "8"),
        (5, [4, 1], "4"),
        (3, [3], "0"),
    ],
)
def test_register_tiles_cover_all_rows(m: int, heights: list[int], whole: str) -> None:
    cut = blocking(m, 40, 8, mc=16 + 4)
    tiles = RegisterTiles(blocking=cut, lanes=8, a_stride=32, b_step=32, out_strides=(160, 32))
    assert sorted({len(tile.rows) for tile in tiles.all}, reverse=True) == heights
    assert tiles.rows_whole == whole
    assert [tile.width for tile in tiles.top] == [16, 8]
    left = m - int(whole)
    assert left == 0 or left % tiles.bottom_rows == 0


def test_tiles_of_a_panel_prefetch_all_of_the_next_block() -> None:
    cut = blocking(8, 64, 64)
    part = NextPart(
        blocking=cut,
        is_block=True,
        is_panel=False,
        k_depth=1,
        strides=(0, 256, 4),
        panel_vectors=0,
    )
    # Two tiles share 32 rows of 64 bytes: each fetches half a line in each step.
    assert (part.row, part.step, list(part.lines)) == ("128", 32, [0])
    assert cut.row_tiles * part.part == 32 * 16 * 4
    assert part.block == 32 * 256


@pytest.mark.parametrize(
    ("layout", "order", "row", "nbytes", "strides"),
    [
        (Layout.NN, "[mc][kc]", 32 * 4 + ROW_PADDING, 8 * 192, (192, 4)),
        (Layout.TN, "[kc][mc]", 8 * 4 + ROW_PADDING, 32 * 96, (4, 96)),
    ],
)
def test_packed_a_keeps_the_contiguous_axis(
    layout: Layout, order: str, row: int, nbytes: int, strides: tuple[int, int]
) -> None:
    cut = blocking(16, 64, 64, layout)
    packed = PackedA(
        target=targets.find("x86-64-v3"),
        blocking=cut,
        run=Access(dtype=DType.F32, compute=FLOATS),
        packed=FLOATS,
        strides=(0, 256, 4),
        by_columns=layout.a_transposed,
    )
    assert (packed.row, packed.buffer("float").bytes) == (row, nbytes)
    assert order in packed.buffer("float").line
    assert packed.steps == strides


def test_packed_b_has_whole_panels() -> None:
    cut = blocking(16, 40, 64)
    packed = WidenedB(blocking=cut, vector=FLOATS, is_prepacked=False, column_stride=4)
    assert (packed.pack_row, packed.panel_bytes) == (64, 32 * 64)
    assert [vector.valid for vector in packed.panel(is_edge=False)] == [8, 8]
    assert [vector.valid for vector in packed.panel(is_edge=True)] == [8]
    kept = PanelPacking(blocking=cut, packs=True, keeps=True, panel_bytes=packed.panel_bytes)
    assert (kept.panels, kept.column_bytes, packed.buffer(kept.panels).bytes) == (2, 128, 4096)


@pytest.mark.parametrize(("k", "split", "count", "depth"), [(100, 2, 2, 64), (75, 3, 3, 32)])
def test_slices_are_whole_blocks_of_k(k: int, split: int, count: int, depth: int) -> None:
    spec = Matmul(m=10, n=24, k=k, dtype="f32")
    schedule = CpuSplitMatmul(mr=5, nr=24, mc=10, kc=32, nc=24, split_k=split)
    slices = Slices(spec=spec, schedule=schedule, acc=SUMS)
    assert (slices.count, slices.k) == (count, depth)
    assert slices.bytes == count * 960 and slices.further == tuple(
        number * 960 for number in range(1, count)
    )


def test_accumulators_count_bytes() -> None:
    assert (SUMS.vector.itemsize, SUMS.vector.bytes, SUMS.bytes) == (4, 32, 960)


def test_a_panel_format_rounds_k_and_n_up() -> None:
    spec = Matmul(m=1, n=20, k=7, dtype="bf16", constant=("b",))
    param = PanelFormat(width=8, depth=2, k_unit=4, n_unit=16).of(spec)
    assert param.shape[-4:] == (4, 4, 8, 2)
