"""Products on AMX tiles, on this CPU if it has AMX, else in the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import emulate, pipeline
from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul, Scale
from kgen.targets.cpu.plan.amx.matmul import AmxPlan
from kgen.targets.cpu.plan.amx.tiles import TILE_BYTES
from kgen_runtime.manifest import Launch
from tests import needs
from tests.device.cpu.cpu_support import best_of, check, check_kernel, target, with_sharing
from tests.emulate.text_only import text_only

TILES = AmxMatmul(mr=32, nr=32, mc=64, kc=64, nc=64)
AMX = target("x86-64-amx")


def bf16(m: int, n: int, k: int, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype=DType.BF16, **fields)


def planned(spec: Matmul, schedule: AmxMatmul | None = None) -> AmxPlan:
    chosen = with_sharing(spec, AMX, schedule) if schedule else best_of(spec, AMX, "amx")
    found = pipeline.plan(spec, AMX, chosen)
    assert isinstance(found, AmxPlan)
    return found


def check_tiles(spec: Matmul, schedule: AmxMatmul) -> None:
    """Verify a kernel. The emulator needs no machine code; `check` assembles the other
    schedules."""
    kind = pipeline.kernel if needs.executed([AMX.name]) else text_only
    check_kernel(kind(spec, AMX, with_sharing(spec, AMX, schedule)))


@pytest.mark.parametrize("layout", list(Layout))
def test_one_task(layout: Layout) -> None:
    """A single task packs B itself: whole tiles and all edges, with chosen and with small
    blocks."""
    for m, n, k in ((32, 64, 64), (33, 41, 75), (17, 10, 3)):
        spec = bf16(m, n, k, layout=layout, epilogue=(Epilogue.BIAS,))
        assert len(planned(spec).launches) == 1
        check(spec, AMX)
    check_tiles(bf16(50, 70, 98, layout=layout), TILES.override(nc=96))


@pytest.mark.parametrize("layout", list(Layout))
def test_several_tasks(layout: Layout) -> None:
    """A launch before the tasks packs B for all of them."""
    for m, n, k in ((96, 90, 64), (100, 75, 101)):
        spec = bf16(m, n, k, layout=layout, lda=110, ldb=120)
        found = planned(spec, TILES)
        assert [launch.entry_point for launch in found.launches] == [f"{spec.key}_pack", spec.key]
        assert found.launches[0].grid[0] == found.tiled_b.bands
        check_tiles(spec, TILES)


@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
def test_batches(layout: Layout) -> None:
    """Batch elements have their own B, packed by a task or by a launch, or share one."""
    for stride in (None, 0):
        spec = bf16(20, 40, 40, batch=3, layout=layout, batch_stride_b=stride)
        assert len(planned(spec, TILES).launches) == (1 if stride is None else 2)
        check_tiles(spec, TILES)
        check_tiles(bf16(100, 70, 40, batch=2, layout=layout, batch_stride_b=stride), TILES)


@pytest.mark.parametrize("k", [32, 64, 96, 192, 480])
def test_rows_that_each_step_finishes(k: int) -> None:
    """Each step finishes some rows of the previous register tile: one row, or all 32 in the only
    step."""
    spec = bf16(96, 64, k, epilogue=(Epilogue.RESIDUAL, Epilogue.GELU), beta=-1.0, alpha=0.5)
    for kc in {k, 32 * -(-k // 64)}:
        check_tiles(spec, TILES.override(mc=96, kc=kc))


@pytest.mark.parametrize("k", [64, 160])
def test_copies_of_a(k: int) -> None:
    """A is read in place, or copied while the first panel of B is multiplied."""
    spec = bf16(100, 100, k)
    for pack_a in (0, 1):
        schedule = TILES.override(pack_a=pack_a)
        assert planned(spec, schedule).tiled_a.copies == bool(pack_a)
        check_tiles(spec, schedule)
    assert not planned(bf16(100, 100, k - 1), TILES).tiled_a.copies


def test_copies_that_leave_the_stack() -> None:
    """Every task has its own part of a workspace."""
    spec = bf16(70, 64, 2048)
    schedule = AmxMatmul(mr=32, nr=32, mc=96, kc=2048, nc=32)
    found = planned(spec, schedule)
    assert found.schedule.a_in_workspace
    assert {w.name: w.nbytes for w in found.workspaces} == {
        "b.packed": 64 * 2048 * 2,
        "a.copies": 2 * 96 * 2048 * 2,
    }
    check_tiles(spec, schedule)


@pytest.mark.parametrize(("m", "mc"), [(64, 64), (90, 96), (160, 160), (128, 128)])
def test_b_is_packed_beside_the_products(m: int, mc: int) -> None:
    """Two to five register tiles pack B, with K in one block and in several, and tasks with fewer
    columns."""
    for k, nc in ((64, 96), (64, 64), (192, 64)):
        spec = bf16(m, 96, k, ldb=110)
        schedule = TILES.override(mc=mc, nc=nc)
        found = planned(spec, schedule)
        assert found.next_panel.is_packed
        assert len(found.launches) == 1
        check_tiles(spec, schedule)
    # K in several blocks, tasks that have as many columns each.
    spec = Matmul(m=m, n=64, k=128, dtype=DType.S8, batch=2)
    check_tiles(spec, TILES.override(mc=mc))


def test_b_is_not_packed_beside_the_products_where_some_would_be_left_out() -> None:
    for spec, fields in (
        (bf16(64, 70, 64), {}),
        (bf16(64, 64, 65), {}),
        (bf16(64, 64, 96), {}),
        (bf16(64, 64, 64, layout=Layout.NT), {}),
        (bf16(64, 32, 64), {"nc": 32}),
        (bf16(100, 64, 64), {}),
        (bf16(32, 64, 64), {}),
        # Each block of rows would pack all of it.
        (bf16(128, 96, 64), {"nc": 96}),
        (bf16(64, 64, 64, constant=(ConstantOperand.B,)), {"pack_b": 0}),
    ):
        schedule = TILES.override(**fields)
        assert not planned(spec, schedule).next_panel.is_packed
        with pytest.raises(ScheduleError, match=r"packer=2 requires .*; try packer=0"):
            pipeline.plan(spec, AMX, schedule.override(packer=2))


@pytest.mark.parametrize("band_groups", [1, 4, 16])
def test_who_packs(band_groups: int) -> None:
    """B is packed by a launch, or completely by each task of several blocks of rows; all pairs
    of values of the fields occur."""
    for packer, launches in ((0, 2), (1, 1)):
        spec, in_workspace = bf16(100, 70, 70), packer ^ (band_groups == 4)
        fields = {"packer": packer, "band_groups": band_groups, "a_in_workspace": in_workspace}
        schedule = TILES.override(nc=96, **fields)
        assert len(pipeline.plan(spec, AMX, schedule).launches) == launches
        check(spec, AMX, schedule)


def test_refused_ways_of_packing() -> None:
    for fields, message in (
        ({"packer": 1}, "packer=1 requires blocks of all 100 columns, not nc=64; try packer=0"),
        ({"a_in_workspace": 1, "pack_a": 0}, "a_in_workspace=1 requires pack_a=1"),
        ({"band_groups": 3}, "band_groups=3 does not divide 16; try band_groups=8"),
    ):
        with pytest.raises(ScheduleError, match=message):
            pipeline.plan(bf16(64, 100, 64), AMX, TILES.override(**fields))


@pytest.mark.parametrize("k", [64, 50])
def test_tasks_in_any_order(k: int) -> None:
    """Tasks of the same rows of one call share a packed copy of them."""
    spec = bf16(128, 128, k, out_dtype=DType.F32)
    schedule = TILES.override(nc=32)
    plan = planned(spec, schedule)
    text = pipeline.source(plan).text
    assert plan.tiled_a.is_kept
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 8, shape).astype(np.float32) for shape in ((128, k), (k, 128)))
    bits = {name: (x.view(np.uint32) >> 16).astype(np.uint16) for name, x in (("a", a), ("b", b))}
    out = np.zeros((128, 128), np.float32)
    memory = {w.name: np.zeros(w.nbytes, np.uint8) for w in plan.workspaces} | bits | {"out": out}

    def call(launch: Launch, begin: int, end: int) -> None:
        emulate.run(
            text,
            language="llvm",
            entry=launch.entry_point,
            grid=(1, 1, 1),
            block=(1, 1, 1),
            arguments=[
                *(memory[name] for name in launch.arguments),
                np.int64(begin),
                np.int64(end),
            ],
        )

    *packing, multiply = plan.launches
    for launch in packing:
        for band in range(launch.grid[0]):
            call(launch, band, band + 1)
    for begin, end in ((7, 8), (2, 6), (0, 2), (6, 7)):
        call(multiply, begin, end)
    np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize("mc", [64, 128])
def test_a_large_b_is_fetched_a_panel_ahead(mc: int) -> None:
    spec = bf16(128, 70, 64)
    schedule = TILES.override(mc=mc, pack_a=0)
    plan = planned(spec, schedule.override(prefetch_panel=1))
    assert plan.schedule.prefetch_panel and not planned(spec, schedule).schedule.prefetch_panel
    fetched = {
        row * plan.next_panel.fetched_row % TILE_BYTES + line
        for row in range(0, mc, 32)
        for line in plan.next_panel.fetched_lines
    }
    # All lines of a step's tiles, each once.
    assert fetched == {
        tile + line
        for tile in (0, 16 * plan.tiled_b.column_bytes)
        for line in range(0, TILE_BYTES, 64)
    }
    # In the first step and in the others.
    fetches = pipeline.source(plan).text.count("call void @llvm.prefetch")
    assert fetches == 2 * len(plan.next_panel.fetched_lines)
    check_tiles(spec, schedule.override(prefetch_panel=1))


@pytest.mark.parametrize("m", [1, 16, 17, 31])
def test_few_rows(m: int) -> None:
    """Tile registers are configured with as many rows as the product has."""
    spec = bf16(m, 80, 100, constant=(ConstantOperand.B,), epilogue=(Epilogue.BIAS, Epilogue.SILU))
    check_tiles(spec, TILES.override(mr=16 if m <= 16 else 32, pack_b=0))


def test_register_tiles_of_other_shapes() -> None:
    for mr, nr in ((16, 16), (48, 16), (16, 48), (32, 16)):
        schedule = AmxMatmul(mr=mr, nr=nr, mc=2 * mr, kc=64, nc=2 * nr)
        check_tiles(bf16(3 * mr, 2 * nr + 7, 100), schedule)


@pytest.mark.parametrize("layout", list(Layout))
def test_f16(layout: Layout) -> None:
    spec = Matmul(m=37, n=50, k=45, dtype=DType.F16, layout=layout, epilogue=(Epilogue.RELU,))
    kernel = pipeline.kernel(spec, target("x86-64-amx+fp16"))
    assert "call void @llvm.x86.tdpfp16ps(" in kernel.source.text
    check(spec, target("x86-64-amx+fp16"))


@pytest.mark.parametrize(
    ("out", "layout"),
    [
        (out, layout)
        for turn, out in enumerate((DType.S32, DType.F32, DType.F16, DType.BF16, DType.S8))
        for layout in ((Layout.NN, Layout.TT), (Layout.NT, Layout.TN))[turn % 2]
    ],
)
def test_bytes(out: DType, layout: Layout) -> None:
    scaled: dict[str, Any] = {}
    if out is not DType.S32:
        scaled = {"scales": (Scale.A, Scale.B), "epilogue": (Epilogue.BIAS,)}
    spec = Matmul(m=50, n=41, k=133, dtype=DType.S8, layout=layout, out_dtype=out, **scaled)
    check_tiles(spec, TILES.override(mc=32 if out is DType.S8 else 64, mr=16))


@pytest.mark.parametrize("out", [DType.S8, DType.BF16, DType.F16])
def test_a_last_panel_that_ends_in_one_lane(out: DType) -> None:
    """LLVM turns a masked narrowing store with one lane into a store of four bytes; columns past
    N must not change."""
    for n in (49, 81):
        check(Matmul(m=64, n=n, k=128, dtype=DType.S8, out_dtype=out), AMX)


def test_subnormal_results_are_zero_as_products_make_them() -> None:
    """Results are rounded by VCVTNEPS2BF16 of AVX512-BF16, which only bf16 requires."""
    assert "avx512_bf16" in planned(bf16(32, 32, 32)).features
    assert "avx512_bf16" not in planned(bf16(32, 32, 32, out_dtype=DType.F32)).features
