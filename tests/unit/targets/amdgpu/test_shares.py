"""Shares of K on AMD: the steps of each workgroup, refusals, and the cost model's choice."""

from __future__ import annotations

import dataclasses

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import SharedMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.devices import device_of
from kgen.targets.amdgpu.heuristics import PING_PONG, candidates
from kgen.targets.amdgpu.plan.matmul.matmul_plan import MatmulPlan
from kgen.targets.amdgpu.plan.matmul.shared_k import Shares
from kgen.targets.amdgpu.schedule import traffic
from kgen.targets.amdgpu.schedule.cost_model import predict
from kgen.targets.base import Target

TILE = SharedMatmul(block_m=32, block_n=32, block_k=32, warp_m=16, warp_n=16, num_stages=2)
LARGE = Matmul(m=4096, n=4096, k=4096)


def shares(spec: Matmul, target: str = "gfx942", **fields: int) -> Shares:
    plan = pipeline.plan(spec, targets.find(target), TILE.override(**fields))
    assert isinstance(plan, MatmulPlan) and plan.shares is not None
    return plan.shares


def test_split_k_cuts_each_block_tile_alike() -> None:
    found = shares(Matmul(m=64, n=64, k=640), split_k=3)
    assert (found.workgroups, found.loops, found.slots) == (12, False, 1)
    assert [found.begin(i) for i in range(4)] == [0, 1, 3, 5]


def test_workspaces() -> None:
    """Each workgroup has room for two parts: 4 waves of 64 lanes with 4 sums, and a counter for
    each wave."""
    found = shares(Matmul(m=64, n=64, k=512), num_workgroups=3)
    parts, arrivals = found.workspaces
    assert parts.nbytes == 3 * 2 * 4 * 64 * 4 * 4
    assert (arrivals.nbytes, arrivals.initial) == (1 * 4 * 4, "zero")


@pytest.mark.parametrize(
    ("spec", "fields", "message"),
    [
        (
            (64, 64, 500),
            {"split_k": 2},
            "split_k=2 divides K into steps of 4 K-tiles, and k=500 is not a multiple of their "
            "128 elements; try split_k=1",
        ),
        (
            (64, 64, 512),
            {"split_k": 5},
            "split_k=5 is more than the 4 steps of 128 elements in k=512; try split_k=4",
        ),
        ((64, 64, 512), {"num_workgroups": 17}, "than the 16 steps .* try num_workgroups=16$"),
        ((64, 64, 512), {"num_workgroups": 2, "split_k": 2}, "try split_k=1$"),
        (
            (64, 33, 512),
            {"split_k": 2},
            "rows of an operand with m=64, n=33, k=512 are not whole vectors, so the last "
            "K-tile is loaded differently; split-k and stream-k need equal K-tiles; try "
            "split_k=1,num_workgroups=0",
        ),
        (
            (1 << 20, 1 << 20, 512),
            {"split_k": 2},
            "split_k=2 with 4294967296 steps along k and 2147483648 workgroups overflows 32-bit "
            "step numbers; try split_k=1",
        ),
    ],
)
def test_what_is_refused(spec: tuple[int, int, int], fields: dict[str, int], message: str) -> None:
    m, n, k = spec
    with pytest.raises(ScheduleError, match=message):
        pipeline.plan(Matmul(m=m, n=n, k=k), targets.find("gfx942"), TILE.override(**fields))


@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
def test_the_device_is_full_at_4096(target: Target, layout: Layout) -> None:
    """Nearly all CUs have work, by arithmetic, as `kgen build --explain` shows. Bytes on gfx942
    leave more CUs idle (256 block tiles for 304 CUs), because moving the partial sums of split-k
    would take longer than the idle CUs save."""
    for dtype in FAMILY.dtypes("matmul", target):
        spec = Matmul(m=4096, n=4096, k=4096, dtype=dtype, layout=layout)
        best, *others = candidates(spec, target)
        busy = predict(spec, target, best.schedule).busy
        assert best.notes["busy CUs"] == busy
        if dtype.itemsize == 1 and target.name == "gfx942":
            shared = next(each for each in others if each.notes["busy CUs"] == 1.0)
            assert busy == 256 / 304 and shared.terms["parts"] > 0
        else:
            assert busy >= 0.95, dtype


def test_bytes_of_whole_block_tiles_behind_shares() -> None:
    """gfx942, s8: 608 workgroups share 416 of 1024 block tiles, at different depths, so every
    read misses L2. The whole block tiles after them progress together, as without stream-k."""
    target = targets.find("gfx942")
    spec = Matmul(m=4096, n=4096, k=4096, dtype=DType.S8)
    tile = SharedMatmul(
        block_m=128,
        block_n=128,
        block_k=64,
        num_stages=2,
        warp_m=64,
        warp_n=64,
        num_workgroups=608,
        stream_k=True,
    )
    alone = dataclasses.replace(tile, num_workgroups=0, stream_k=False)
    of_a_tile = (128 + 128) * 4096
    missed = 416 * of_a_tile + traffic.die_bytes(spec, alone, 608, 8)
    device = device_of(target)
    fabric = predict(spec, target, tile).terms["fabric"]
    assert fabric == pytest.approx(missed * device.clock / device.fabric, rel=0.01)


def test_stream_k_is_taken_where_it_pays() -> None:
    """gfx942: 256 block tiles for 304 CUs. gfx950: as many as CUs."""
    chosen = {
        name: candidates(LARGE, targets.find(name))[0].schedule for name in ("gfx942", "gfx950")
    }
    workgroups = [s.num_workgroups for s in chosen.values() if isinstance(s, SharedMatmul)]
    assert workgroups == [304, 0]


def test_a_long_k_is_split() -> None:
    chosen = FAMILY.choose(Matmul(m=64, n=256, k=8192), targets.find("gfx942"))
    assert isinstance(chosen, SharedMatmul) and chosen.cuts_k


def test_groups_of_rows_bring_less_into_l2() -> None:
    target = targets.find("gfx1201")
    chosen = candidates(LARGE, target)[0].schedule
    assert isinstance(chosen, SharedMatmul) and chosen.group_m > 1
    by_rows = dataclasses.replace(chosen, group_m=1)
    terms = [predict(LARGE, target, each).terms for each in (chosen, by_rows)]
    assert terms[0]["dram"] < 0.7 * terms[1]["dram"]


def test_neighbours_on_one_die() -> None:
    """If workgroups are dealt to 8 dies, every 8th block tile of rows of 15 is far from the
    others of its die; consecutive numbers are near."""
    spec = Matmul(m=4096, n=15 * 256, k=4096)
    apart = dataclasses.replace(PING_PONG, group_m=4)
    together = dataclasses.replace(apart, num_xcds=8)
    nbytes = [traffic.die_bytes(spec, each, 240, 8) for each in (apart, together)]
    tile = 256 * 4096 * 2
    assert nbytes[1] == 8 * (4 + 8) * tile < nbytes[0]
