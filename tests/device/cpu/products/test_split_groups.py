"""Products of s8 whose prepacked B is split by each task, so that pairs of products fit in 16
bits: exact for every byte, in each form of a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.schedule import DotMatmul
from kgen.spec import Conv2d, Layout, Matmul
from kgen.targets.contraction.implicit_gemm import implicit_gemm
from kgen.targets.cpu.plan.packing.split_groups import SplitGroups
from kgen.targets.cpu.schedule.cost_model import best
from kgen_runtime.memory.packing import pack
from tests.device.cpu.cpu_support import addresses, best_of, check, load, target
from tests.needs import executed

NAMES = ("x86-64-v3", "x86-64-v4")
#: Weights whose pairs fit, do not fit, fit with opposite signs, and have no opposite.
EXTREMES = np.array([-128, -127, -65, -64, -63, -1, 0, 1, 63, 64, 65, 126, 127], np.int8)
#: Several blocks along every axis, and panels of several vectors.
SMALL = DotMatmul(mr=3, nr=16, mc=6, kc=64, nc=32, pack_a=True, pack_b=True)


def product(m: int, n: int, k: int, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype="s8", constant=("b",), **fields)


def result(
    spec: Matmul, name: str, a: npt.NDArray[np.int8], b: npt.NDArray[np.int8], **fields: int
) -> npt.NDArray[np.int32]:
    """Return what the kernel computes from an unpacked B."""
    found, out = target(name), np.zeros((spec.m, spec.n), np.int32)
    schedule = best_of(spec, found, "dot", pack_b=1, **fields)
    kernel = load(spec, found, schedule)
    (param,) = (p for p in kernel.entry.parameters if p.name == "b")
    packed = np.zeros(param.nbytes, np.uint8)
    pack(param, b.view(np.uint8).reshape(-1), packed)
    kernel.run(addresses({"a": a, "b": packed, "out": out}))
    return out


def numbers(seed: int, *shape: int) -> npt.NDArray[np.int8]:
    """Return extreme numbers; in some places all of one sign, as weights may be."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(EXTREMES, shape)
    return np.where(rng.random(shape) < 0.5, chosen, np.int8(rng.choice([-128, 127]))).astype("i1")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [1, 2, 5, 63, 133])
def test_extremes_are_exact(name: str, k: int) -> None:
    """Odd K, half groups, and columns past the last panel."""
    if name not in executed(NAMES):
        pytest.skip(f"this CPU lacks instructions of {name}")
    spec = product(7, 41, k)
    for seed, a in enumerate((np.full((7, k), 127, "i1"), np.full((7, k), -128, "i1"))):
        for b in (numbers(seed, k, 41), np.full((k, 41), 127, "i1"), np.full((k, 41), -128, "i1")):
            assert np.array_equal(result(spec, name, a, b), a.astype("i4") @ b.astype("i4"))
    a, b = numbers(5, 7, k), numbers(6, k, 41)
    for fields in ({"nr": 16, "mr": 3, "mc": 6, "nc": 48}, {"nr": 32}):
        assert np.array_equal(result(spec, name, a, b, **fields), a.astype("i4") @ b.astype("i4"))


@pytest.mark.parametrize("wrong", [{"most_of_pair": 129}, {"second_factor": 256}])
def test_a_saturated_or_a_shifted_sum_is_seen(
    wrong: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, a, b = product(2, 8, 64), np.full((2, 64), 127, "i1"), np.full((64, 8), 64, "i1")
    b[1::2] = 65
    exact = a.astype("i4") @ b.astype("i4")
    assert np.array_equal(result(spec, "x86-64-v3", a, b), exact)
    for field, value in wrong.items():
        monkeypatch.setattr(SplitGroups, field, value)
    assert not np.array_equal(result(spec, "x86-64-v3", a, b), exact)


@pytest.mark.parametrize("name", NAMES)
def test_blocks_epilogues_and_windows(name: str) -> None:
    """Blocks of K, a batch, reused panels, prefetches; windows whose padding is also stored as
    127 minus itself."""
    found = target(name)
    check(product(10, 37, 133, out_dtype="s8", epilogue=("bias", "relu")), found, SMALL)
    check(product(10, 37, 150, batch=2, batch_stride_b=0, layout=Layout.NT), found, SMALL)
    kept = best_of(product(20, 37, 75), found, "dot", pack_b=1, keep_b=1, mc=8, ahead=1024)
    check(product(20, 37, 75), found, kept)
    for channels, padding in ((2, "padding"), (22, -7), (64, -128)):
        conv = convolution(channels, padding_value=padding)
        for fields in ({}, {"kc": 64, "mc": 8, "mr": 4}):
            check(conv, found, best_of(implicit_gemm(conv), found, "dot", pack_b=1, **fields))


def convolution(channels: int, **fields: Any) -> Conv2d:
    return Conv2d(
        input=(2, channels, 5, 4), weights=(9, channels, 3, 3), dtype="s8", constant=("b",),
        weight_layout="hwio", padding=1, **fields,
    )  # fmt: skip


def test_refusals() -> None:
    with pytest.raises(ScheduleError, match="pack_b=1 with a prepacked B requires pack_a=1, for"):
        pipeline.plan_with(product(8, 8, 64), target("x86-64-v3"), {"pack_a": 0, "pack_b": 1})
    odd = implicit_gemm(convolution(3))
    assert best(odd, target("x86-64-v3"), {"pack_b": 1}, "dot") is None
    with pytest.raises(ScheduleError, match="pack_b=1 is not supported for a prepacked B"):
        pipeline.plan_with(product(8, 8, 64), target("x86-64-v3+vnni"), {"pack_b": 1})
