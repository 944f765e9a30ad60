"""NVIDIA's cost model: terms by hand, preferences, and the order of candidates."""

from __future__ import annotations

import dataclasses

import pytest

from kgen.schedule import FmaMatmul, MmaMatmul
from kgen.schedule.gemv import GemvMatmul
from kgen.spec import DType, Matmul
from kgen.targets.cuda import FAMILY
from kgen.targets.cuda.devices import DEVICES
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan import plan
from kgen.targets.cuda.plan.matmul_fma import FmaPlan
from kgen.targets.cuda.schedule.candidates import candidates, choose
from kgen.targets.cuda.schedule.cost_model import predict

BY_NAME = {target.name: target for target in TARGETS}
SM_80 = BY_NAME["sm_80"]
BIG = MmaMatmul(block_m=128, block_n=256, block_k=64, warp_m=64, warp_n=64, num_stages=3)
SQUARE = Matmul(m=4096, n=4096, k=4096)


def test_every_target_has_a_device() -> None:
    assert set(DEVICES) == set(BY_NAME)


def test_terms_of_a_large_square() -> None:
    """512 CTAs run on 108 SMs, one each: four whole waves and a part; 64 K-tiles."""
    found = predict(SQUARE, SM_80, BIG)
    assert found.ctas_per_sm == 1 and found.waves == pytest.approx(512 / 108)
    assert found.terms["products"] == 5 * 64 * 128 * 256 * 64 / 1024
    stage, fragments = (128 + 256) * 64 * 2, 8 * (64 + 64) * 64 * 2
    assert found.terms["shared"] == 5 * 64 * (stage + fragments) / 128
    assert found.terms["l2"] == pytest.approx(5 * 64 * stage / (5120 / 108))
    assert found.bound == "products"
    peak = 2 * 108 * 1024 * 1.41e9
    assert 0.6 < SQUARE.flops / found.seconds / peak < 1.0


def test_inputs_that_fit_in_l2_are_read_once() -> None:
    found = predict(Matmul(m=1024, n=1024, k=1024), SM_80, BIG)
    dram = 2 * 1024 * 1024 * 2 / (1555e9 / 1.41e9)
    assert found.terms["dram"] == pytest.approx(dram)


def test_outputs_stay_in_l2_where_it_holds_all_tensors() -> None:
    """Each SM has one CTA; outputs beyond L2 move at DRAM's rate."""
    held = predict(Matmul(m=1024, n=1024, k=1024), SM_80, BIG).terms["output"]
    assert held == pytest.approx(128 * 256 * 2 / 32)
    beyond = predict(SQUARE, SM_80, BIG).terms["output"]
    assert beyond == pytest.approx(5 * 128 * 256 * 2 / (1555e9 / 1.41e9 / 108))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_deep_tiles_of_exact_f32_store_without_conflicts(target: str) -> None:
    for size in (250, 256, 512, 1024):
        spec = Matmul(m=size, n=size, k=size, dtype=DType.F32)
        chosen = choose(spec, BY_NAME[target])
        assert isinstance(chosen, FmaMatmul) and chosen.block_k >= 32
        found = plan(spec, BY_NAME[target], chosen)
        assert isinstance(found, FmaPlan)
        a = found.operands[0]
        assert a.tile.transposed and a.crossing


def test_small_in_flight_bytes_are_slow() -> None:
    thin = MmaMatmul(block_m=16, block_n=16, block_k=32, warp_m=16, warp_n=16, num_stages=3)
    spec = Matmul(m=16, n=16, k=4096)
    terms = [predict(spec, SM_80, thin.override(num_stages=n)).terms["l2"] for n in (3, 5)]
    assert terms[0] == pytest.approx(2 * terms[1])


def test_weights_streamed_once_are_bound_by_dram() -> None:
    spec = Matmul(m=1, n=4096, k=4096)
    schedule = choose(spec, SM_80)
    assert isinstance(schedule, GemvMatmul)
    assert predict(spec, SM_80, schedule).bound == "dram"


def _chosen(m: int, n: int, k: int) -> MmaMatmul:
    found = choose(Matmul(m=m, n=n, k=k), SM_80)
    assert isinstance(found, MmaMatmul)
    return found


def test_tiles_follow_the_shape() -> None:
    assert _chosen(4096, 4096, 4096).block_n == 256
    small = _chosen(256, 256, 256)
    assert small.block_m * small.block_n <= 64 * 64
    assert _chosen(16, 4096, 4096).block_m == 16
    assert _chosen(4096, 4096, 16).block_k == 16


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_the_first_candidate_is_the_choice(dtype: DType) -> None:
    spec = dataclasses.replace(SQUARE, dtype=dtype, out_dtype=dtype)
    found = candidates(spec, SM_80)
    assert found[0].schedule == choose(spec, SM_80) == FAMILY.choose(spec, SM_80)
    assert [c.seconds for c in found] == sorted(c.seconds for c in found)
    assert len(found) > 5
    kind = MmaMatmul if dtype is DType.F16 else FmaMatmul
    assert all(isinstance(c.schedule, kind) for c in found)
