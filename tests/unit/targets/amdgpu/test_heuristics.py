"""AMD's heuristic schedules always fit, and waste little for small and skinny shapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen import pipeline
from kgen.check.verify.cost import EMULATED_WORK
from kgen.errors import ScheduleError
from kgen.schedule import FmaMatmul, GpuMatmul, MmaMatmul, Overrides, PingPongMatmul
from kgen.spec import DType, Layout, Matmul, Spec
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.heuristics import main_loops
from kgen.targets.base import Target
from tests.specs import relu_of

SIDES = st.one_of(st.integers(1, 1 << 20), st.sampled_from([1, 16, 64, 4096, 1 << 20]))
DEPTHS = st.one_of(st.integers(1, 65536), st.sampled_from([1, 16, 64, 4096, 65536]))
DTYPES = st.sampled_from([DType.F32, DType.F16, DType.BF16])
TARGETS = st.sampled_from(FAMILY.targets)


def find(name: str) -> Target:
    target = FAMILY.find(name)
    assert target is not None
    return target


def chosen(spec: Spec, target: Target) -> GpuMatmul:
    schedule = FAMILY.choose(spec, target)
    assert isinstance(schedule, GpuMatmul)
    return schedule


@settings(max_examples=100, deadline=None)
@given(m=SIDES, n=SIDES, k=DEPTHS, dtype=DTYPES, target=TARGETS, layout=st.sampled_from(Layout))
def test_every_matmul_has_a_schedule_that_fits(
    m: int, n: int, k: int, dtype: DType, target: Target, layout: Layout
) -> None:
    spec = Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout)
    FAMILY.plan(spec, target, FAMILY.choose(spec, target))


@pytest.mark.parametrize("elements", [1, 1000003, 2**32 + 1, 2**38])
def test_every_relu_has_a_schedule_that_fits(elements: int) -> None:
    spec = relu_of((elements,))
    FAMILY.plan(spec, find("gfx942"), FAMILY.choose(spec, find("gfx942")))


@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
def test_skinny_shapes_get_skinny_tiles(dtype: DType, target: Target) -> None:
    flat = chosen(Matmul(m=1, n=4096, k=4096, dtype=dtype), target)
    tall = chosen(Matmul(m=4096, n=1, k=4096, dtype=dtype), target)
    assert (flat.block_m, tall.block_n) == (16, 16)
    large = chosen(Matmul(m=8192, n=8192, k=4096, dtype=dtype), target)
    side = 256 if isinstance(large, PingPongMatmul) else 128
    # Dot products of the lanes are the bottleneck of either tile.
    sides = [side, side // 2] if target.name == "gfx1030" and dtype is DType.F16 else [side]
    assert large.block_m == side and large.block_n in sides


@pytest.mark.parametrize("name", ["gfx90a", "gfx942", "gfx950"])
def test_the_ping_pong_loop_is_for_large_products(name: str) -> None:
    """The loop needs a tile for every compute unit, a long K, and aligned rows."""

    def taken(**fields: Any) -> bool:
        spec = Matmul(**{"m": 8192, "n": 8192, "k": 4096} | fields)
        return isinstance(chosen(spec, find(name)), PingPongMatmul)

    assert taken() and taken(k=256) and taken(dtype=DType.BF16, layout=Layout.TT)
    assert not taken(m=256, n=256)
    assert not taken(k=192)
    assert not taken(n=8191) and taken(n=8191, layout=Layout.NT)
    assert not taken(k=4095) and taken(k=4095, layout=Layout.TN)
    assert not taken(dtype=DType.F32)


def test_verification_knows_what_every_main_loop_costs_to_emulate() -> None:
    for target in FAMILY.targets:
        for schedule in main_loops(Matmul(m=4096, n=4096, k=4096), target):
            assert schedule.mainloop in EMULATED_WORK


def test_copies_straight_to_lds_where_they_fit() -> None:
    def chosen_of(**fields: Any) -> str:
        return chosen(Matmul(**{"m": 8192, "n": 8192, "k": 4096} | fields), find("gfx950")).mainloop

    assert chosen_of() == chosen_of(layout=Layout.TT, dtype=DType.BF16) == "direct"
    # A remainder of k; offsets that 32 bits do not hold.
    assert chosen_of(k=4104) == chosen_of(n=65536, k=32768) == "pingpong"


@pytest.mark.parametrize(
    ("name", "shape", "fields", "message"),
    [
        ("gfx942", (512, 512, 512), {}, "mainloop=direct is not supported by gfx942"),
        ("gfx950", (512, 512, 512), {"num_stages": 1}, "try num_stages=2$"),
        (
            "gfx950",
            (512, 512, 512),
            {"block_m": 32, "warp_m": 32, "warp_n": 32},
            "threads that copy it to LDS; try block_m=256,block_n=256,warp_m=128,warp_n=64$",
        ),
        (
            "gfx950",
            (512, 768, 512),
            {"block_n": 384, "warp_n": 96},
            "try block_n=256,block_m=256,warp_m=128,warp_n=64$",
        ),
        (
            "gfx950",
            (512, 512, 512),
            {"block_n": 64, "warp_m": 64, "warp_n": 32},
            "try block_n=256,block_m=256,warp_m=128,warp_n=64$",
        ),
        ("gfx950", (512, 512, 520), {}, "k=520 is not a multiple .* try mainloop=pingpong$"),
        (
            "gfx950",
            (512, 516, 512),
            {},
            "n=516 is not a multiple of 8, the elements that a lane copies to LDS; try "
            "mainloop=pingpong",
        ),
        (
            "gfx950",
            (512, 65536, 32768),
            {},
            "block_n=256 x k=32768 of b spans 4294967808 B, which exceeds the 32-bit offsets of"
            " copies to LDS; try mainloop=pingpong",
        ),
    ],
)
def test_what_copies_straight_to_lds_cannot_do(
    name: str, shape: tuple[int, int, int], fields: dict[str, int], message: str
) -> None:
    m, n, k = shape
    with pytest.raises(ScheduleError, match=message):
        pipeline.plan_with(Matmul(m=m, n=n, k=k), find(name), {"mainloop": "direct", **fields})


@pytest.mark.parametrize("name", ["gfx1100", "gfx1201"])
def test_waves_of_32_have_no_ping_pong_loop(name: str) -> None:
    spec, target = Matmul(m=4096, n=4096, k=4096), find(name)
    assert isinstance(chosen(spec, target), MmaMatmul)
    with pytest.raises(ScheduleError, match=f"is not supported by {name} .* take mma, fma"):
        pipeline.schedule_for(spec, target, {"mainloop": "pingpong"})


@pytest.mark.parametrize(
    ("fields", "remedy"),
    [
        ({"num_stages": 2}, "num_stages=1"),
        ({"warp_m": 64}, "block_m=256,block_n=256,warp_m=128,warp_n=64"),
        ({"block_k": 32}, "block_k=64"),
        ({"block_k": 128}, "block_k=64"),
    ],
)
def test_what_the_ping_pong_loop_cannot_do_names_a_value_that_fits(
    fields: dict[str, int], remedy: str
) -> None:
    asked: Overrides = {"mainloop": "pingpong", **fields}
    with pytest.raises(ScheduleError, match=f"try {remedy}$"):
        pipeline.plan_with(Matmul(m=4096, n=4096, k=4096), find("gfx942"), asked)


def test_matrix_instructions_are_used_where_they_are() -> None:
    for target in FAMILY.targets:
        kind = MmaMatmul if target.features & {"mfma", "wmma-gfx11", "wmma-gfx12"} else FmaMatmul
        assert isinstance(chosen(Matmul(m=64, n=64, k=64, dtype=DType.BF16), target), kind)
        kind = MmaMatmul if target.has("mfma") else FmaMatmul
        assert isinstance(chosen(Matmul(m=64, n=64, k=64, dtype=DType.F32), target), kind)
