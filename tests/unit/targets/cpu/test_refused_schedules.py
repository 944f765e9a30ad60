"""Schedules of CPU kernels that do not fit are refused with a remedy."""

from __future__ import annotations

import re

import pytest

from kgen.errors import ScheduleError
from kgen.schedule import (
    AheadMatmul,
    AmxMatmul,
    CpuMatmul,
    CpuStream,
    DotMatmul,
    InnerMatmul,
    OuterMatmul,
)
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from tests.specs import relu_of, softmax_of
from tests.unit.targets.cpu.cpu_plans import plan

REFUSED = [
    ("x86-64-v4", Matmul(m=64, n=64, k=64, dtype=DType.F32), {"nr": 40, "nc": 80}, "try nr=48"),
    (
        "x86-64-v4",
        Matmul(m=64, n=64, k=64, dtype=DType.F32),
        {"mr": 20, "nr": 32, "mc": 60},
        "mr=14",
    ),
    ("x86-64-v3", Matmul(m=64, n=64, k=64, dtype=DType.F32), {"mr": 8, "nr": 16}, "try mr=6"),
    ("x86-64-v4", Matmul(m=64, n=64, k=999, dtype=DType.F32), {"kc": 100}, "try kc=112"),
    (
        "x86-64-v4",
        Matmul(m=640, n=64, k=64, dtype=DType.F32, layout=Layout.TN),
        {"mr": 14, "nr": 32, "mc": 14},
        "try mc=16",
    ),
    (
        "x86-64-v4",
        Matmul(m=512, n=512, k=512, dtype=DType.F32, beta=1.0),
        {"mc": 560},
        "smaller kc, mc or nc",
    ),
]


@pytest.mark.parametrize(("target", "spec", "fields", "remedy"), REFUSED)
def test_schedules_that_do_not_fit(
    target: str, spec: Matmul, fields: dict[str, int], remedy: str
) -> None:
    base = CpuMatmul(mr=4, nr=16, mc=56, kc=64, nc=64)
    with pytest.raises(ScheduleError, match=re.escape(remedy)) as error:
        plan(spec, target, base.override(**fields))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("field", "value"), [("ahead", 1024), ("level", 1)])
def test_how_panels_are_fetched_is_asked_of_those_that_come_packed(field: str, value: int) -> None:
    """Only with a prepacked B do tiles have a choice of how to prefetch panels."""
    given = Matmul(m=16, n=64, k=64, dtype=DType.F32)
    packed = Matmul(m=16, n=64, k=64, dtype=DType.F32, constant=(ConstantOperand.B,))
    base = AheadMatmul(mr=8, nr=32, mc=16, kc=64, nc=64, pack_a=True, pack_b=True)
    assert plan(given, "x86-64-v4", base)
    wanted = base.override(**{field: value})
    with pytest.raises(ScheduleError, match=rf"^{field}={value} requires a prepacked B; try"):
        plan(given, "x86-64-v4", wanted)
    assert plan(packed, "x86-64-v4", wanted.override(pack_b=False))


def test_tiles_that_do_not_fit() -> None:
    spec = Matmul(m=64, n=64, k=64, dtype=DType.BF16)
    good = AmxMatmul(mr=32, nr=32, mc=64, kc=64, nc=64)
    assert plan(spec, "x86-64-amx", good)
    for fields, message in (
        ({"mr": 48, "mc": 48}, "11 tile registers"),
        ({"kc": 48}, "try kc=64"),
        ({"nr": 24, "nc": 48}, "try nr=32"),
    ):
        with pytest.raises(ScheduleError, match=message):
            plan(spec, "x86-64-amx", good.override(**fields))
    with pytest.raises(ScheduleError, match="use mainloop=blis"):
        plan(spec, "x86-64-v4", good)


def test_outer_products_that_do_not_fit() -> None:
    spec = Matmul(m=4, n=40000, k=64, dtype=DType.F32)
    good = OuterMatmul(mr=4, nr=32, mc=4, kc=64, nc=64, pack_a=False, pack_b=False)
    assert plan(spec, "x86-64-v4", good)
    for changed, message in (
        (good.override(pack_b=1), "try mr=4, mc=4, pack_a=0, pack_b=0"),
        (good.override(mr=2), "try mr=4, mc=4"),
        (good.override(nr=8, nc=8), "try nr=16"),
        (good.override(parts=8), "needs 43 vector registers"),
        (good.override(nc=32000), "try a smaller kc, mc or nc"),
    ):
        with pytest.raises(ScheduleError, match=message):
            plan(spec, "x86-64-v4", changed)
    for other in (Layout.NT, Layout.TT):
        with pytest.raises(ScheduleError, match="use layout=nn"):
            plan(Matmul(m=4, n=100, k=64, dtype=DType.F32, layout=other), "x86-64-v4", good)
    with pytest.raises(ScheduleError, match="use layout=nn"):
        plan(Matmul(m=4, n=100, k=64, dtype=DType.F16), "x86-64-v4", good)


@pytest.mark.parametrize("layout", [Layout.NT, Layout.TT])
def test_pairs_of_a_transposed_b_or_an_odd_k_are_packed(layout: Layout) -> None:
    schedule = DotMatmul(mr=4, nr=32, mc=64, kc=64, nc=64, pack_b=False)
    for spec in (
        Matmul(m=64, n=64, k=64, dtype=DType.BF16, layout=layout),
        Matmul(m=64, n=64, k=63, dtype=DType.BF16),
    ):
        with pytest.raises(ScheduleError, match="try pack_b=1"):
            plan(spec, "x86-64-v4+bf16", schedule)


def test_pairs_that_do_not_fit() -> None:
    spec = Matmul(m=64, n=64, k=64, dtype=DType.BF16)
    good = DotMatmul(mr=4, nr=32, mc=64, kc=64, nc=64, pack_a=False)
    assert plan(spec, "x86-64-v4+bf16", good)
    for changed, message in (
        (good.override(nr=8), "try nr=16"),
        (good.override(mr=16), "try mr=14"),
        (good.override(kc=21), "try kc=22"),
    ):
        with pytest.raises(ScheduleError, match=message):
            plan(spec, "x86-64-v4+bf16", changed)
    with pytest.raises(ScheduleError, match="try pack_a=1"):
        plan(Matmul(m=64, n=64, k=63, dtype=DType.BF16), "x86-64-v4+bf16", good)
    with pytest.raises(ScheduleError, match="try kc=32"):
        plan(spec, "x86-64-v4+bf16", good.override(pack_a=1, kc=16))


def test_inner_products_that_do_not_fit() -> None:
    spec = Matmul(m=8, n=100, k=64, dtype=DType.F32, layout=Layout.NT)
    good = InnerMatmul(mr=8, nr=3, mc=8, kc=64, nc=48, pack_a=False, pack_b=False)
    assert plan(spec, "x86-64-v4", good)
    assert plan(spec, "x86-64-v4", good.override(kc=32))
    for changed, message in (
        (good.override(pack_b=1), "use pack_b=0"),
        (good.override(pack_a=1), "try pack_a=0, kc=64"),
        (good.override(kc=48), "try pack_a=0, kc=64"),
        (good.override(kc=8), "a multiple of 16; try pack_a=0, kc=64"),
        (good.override(nc=51), "try nc=64"),
        (good.override(unroll=2), "needs 53 vector registers"),
    ):
        with pytest.raises(ScheduleError, match=message):
            plan(spec, "x86-64-v4", changed)
    with pytest.raises(ScheduleError, match="use layout=nt"):
        plan(Matmul(m=8, n=100, k=64, dtype=DType.F32), "x86-64-v4", good)


def test_transposed_columns_that_do_not_fit() -> None:
    spec = Matmul(m=8, n=6, k=64, dtype=DType.F32)
    good = InnerMatmul(mr=2, nr=2, mc=8, kc=64, nc=16, pack_a=False, pack_b=True)
    assert plan(spec, "x86-64-v4", good)
    for changed, message in (
        (good.override(pack_b=0), "or pack_b=1"),
        (good.override(kc=32), "try pack_a=0, kc=64"),
        (good.override(nc=4), "try nc=6"),
    ):
        with pytest.raises(ScheduleError, match=message):
            plan(spec, "x86-64-v4", changed)


def test_stream_tasks() -> None:
    with pytest.raises(ScheduleError, match="try task=128"):
        plan(relu_of((1000,), dtype=DType.F32), "x86-64-v4", CpuStream(task=100, unroll=4))
    for nontemporal in (False, True):
        steps = CpuStream(task=4096, unroll=6, nontemporal=nontemporal)
        with pytest.raises(ScheduleError, match=r"unroll=6 is not .* try unroll=4"):
            plan(relu_of((1000,), dtype=DType.F32), "x86-64-v4", steps)
    with pytest.raises(ScheduleError, match="use CpuRows"):
        plan(
            softmax_of(2, 3, dtype=DType.F32),
            "x86-64-v4",
            CpuMatmul(mr=1, nr=1, mc=1, kc=1, nc=1),
        )
    assert plan(relu_of((70, 1000), dtype=DType.F32), "x86-64-v4").launches[0].grid == (2, 1, 1)


def test_a_b_of_blocks_is_not_transposed() -> None:
    spec = Matmul(m=2, n=64, k=128, dtype=DType.F32, b_dtype="s4", layout=Layout.NT)
    good = InnerMatmul(mr=2, nr=2, mc=2, kc=128, nc=64, pack_a=False, pack_b=False)
    assert plan(spec, "x86-64-v4", good)
    with pytest.raises(
        ScheduleError, match="pack_b=1 is not supported for a B of s4; try pack_b=0"
    ):
        plan(spec, "x86-64-v4", good.override(pack_b=1))
