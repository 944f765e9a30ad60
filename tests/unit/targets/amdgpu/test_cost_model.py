"""AMD's cost model: terms of one tile by hand, and its ranking."""

from __future__ import annotations

import pytest

from kgen import targets
from kgen.schedule import FmaMatmul, MmaMatmul, PingPongMatmul
from kgen.spec import DType, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.devices import device_of
from kgen.targets.amdgpu.heuristics import PING_PONG, candidates
from kgen.targets.amdgpu.schedule.cost_model import predict
from kgen.targets.base import Target

PLAIN = MmaMatmul(block_m=128, block_n=128, block_k=32, warp_m=64, warp_n=64, num_stages=2)


def square(side: int, dtype: DType = DType.F16) -> Matmul:
    return Matmul(m=side, n=side, k=side, dtype=dtype)


def test_terms_of_one_round_by_hand() -> None:
    """MI300X has 304 CUs with 2048 f16 flops per clock each; 256 workgroups run at once."""
    found = predict(square(2048), targets.find("gfx942"), PLAIN)
    tiles = 2048 // 32
    assert found.terms["products"] == tiles * 2 * 128 * 128 * 32 / 2048
    stored, read = 2 * 128 * 32 * 2, 4 * 2 * 64 * 32 * 2
    assert found.terms["lds"] == tiles * (stored + read) / 128
    assert found.terms["l1"] == tiles * stored / 64
    # A workgroup alone stores, meets, reads and multiplies, one after the other.
    assert found.terms["latency"] == tiles * (512 + 384 + 2 * 64)
    assert (found.bound, found.per_unit) == ("latency", 2)
    assert (found.rounds, found.busy) == (256 / 608, 256 / 304)


def test_the_main_loops_are_as_busy_as_their_timelines() -> None:
    """If all CUs are full, matrix units are busy for the share of time that the timeline model
    of the main loop gives."""
    target = targets.find("gfx942")
    device = device_of(target)
    for schedule, columns, share in ((PLAIN, 38, 0.73), (PING_PONG, 19, 0.99)):
        spec = Matmul(m=16 * schedule.block_m, n=columns * schedule.block_n, k=16384)
        found = predict(spec, target, schedule)
        busy = found.terms["products"] / (found.seconds * device.clock)
        assert busy == pytest.approx(share, abs=0.04), schedule.mainloop


@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_ranking(target: Target, dtype: DType) -> None:
    found = candidates(square(4096, dtype=dtype), target)
    assert [each.seconds for each in found] == sorted(each.seconds for each in found)
    assert found[0].schedule == FAMILY.choose(square(4096, dtype=dtype), target)
    rdna_f32 = dtype is DType.F32 and not target.has("mfma")
    kind = FmaMatmul if rdna_f32 else MmaMatmul
    assert all(isinstance(each.schedule, kind) for each in found)
    # No faster than the units are, and within three times of them.
    rates = FAMILY.rates(target)
    peak = 2 * 4096**3 / rates.flops[dtype]
    assert peak < found[0].seconds < 3 * peak


def test_larger_tiles_are_for_larger_products() -> None:
    target = targets.find("gfx942")
    tiles = [candidates(square(side), target)[0].schedule for side in (256, 1024, 4096)]
    sizes = [tile.block_m * tile.block_n for tile in tiles]
    assert sizes == sorted(sizes) and len(set(sizes)) == 3
    assert isinstance(tiles[-1], PingPongMatmul)
