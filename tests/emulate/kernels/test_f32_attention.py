"""Attention of f32 on NVIDIA and AMD, by multiply-adds and by MFMA, executed with every check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import FmaAttention, MmaAttention
from kgen.spec import Attention
from tests.attention_specs import BOTTOM, attention, decoding, options
from tests.emulate.one_schedule import verify

#: Targets with cp.async and without, of multiply-adds and of MFMA.
TARGETS = ("sm_75", "gfx942", "gfx1100", "sm_90a", "gfx1030")
#: One warp, and blocks of keys that are shorter than most rows.
SMALL = {"block_m": 16, "block_n": 16, "num_warps": 1}


def check(spec: Attention, target: str, path: Path, **schedule: int) -> None:
    bundle = path / "attention.kgen"
    kgen.build(spec, targets=[target], schedule=schedule or None).save(bundle)
    report = verify(bundle, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


def fields(target: str, **more: int) -> dict[str, int]:
    return SMALL | {"num_stages": 2 if target.startswith("sm") else 1} | more


OPTIONS = options("f32")
#: Rows of several heads, and parts of the keys, in each kind of mask and of state.
DECODING = {
    name: decoding("f32")[name]
    for name in (
        "one query",
        "5 queries",
        "mask of heads",
        "lengths without parts",
        "zeros for NaN",
    )
}


@pytest.mark.parametrize("target", ["sm_80", "gfx90a", "gfx1201"])
def test_all_options_at_once(target: str, tmp_path: Path) -> None:
    spec = attention(
        21, 90, 24, heads=4, kv_heads=2, batch=2, layout="bshd", dtype="f32", **BOTTOM, window=40,
        mask=(2, 1, 21, 90), softcap=20.0, kv_length=True, lse=True,
    )  # fmt: skip
    check(spec, target, tmp_path, **fields(target))


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str, tmp_path: Path) -> None:
    target = TARGETS[list(OPTIONS).index(name) % len(TARGETS)]
    check(OPTIONS[name], target, tmp_path, **fields(target))


@pytest.mark.parametrize("name", DECODING)
def test_decoding(name: str, tmp_path: Path) -> None:
    target = TARGETS[list(DECODING).index(name) % len(TARGETS)]
    spec, more = DECODING[name]
    check(spec, target, tmp_path, **fields(target, **more))


SHAPES = {
    "one key": attention(127, 1, 40, dtype="f32"),
    "5 queries": attention(5, 1025, 8, dtype="f32", **BOTTOM, kv_length=True),
    "16 queries": attention(16, 127, 72, heads=4, kv_heads=2, dtype="f32", causal=True, lse=True),
    "17 queries": attention(17, 40, 128, out=24, dtype="f32", layout="bshd"),
    "128 queries": attention(128, 127, 24, dtype="f32", heads=2, **BOTTOM),
    "large head": attention(9, 40, 256, dtype="f32"),
    "pages": attention(9, 128, 20, heads=2, batch=2, dtype="f32", page_size=64, pages=7, lse=True),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_with_the_models_choice(name: str, tmp_path: Path) -> None:
    target = ("sm_80", "gfx1201", "gfx950")[list(SHAPES).index(name) % 3]
    check(SHAPES[name], target, tmp_path)


@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("sm_80", {"block_m": 64, "num_warps": 2, "block_n": 32, "num_stages": 3}),
        ("gfx1100", {"block_m": 32, "num_warps": 4, "block_n": 32, "num_stages": 1}),
        # Tiles of 32 queries, and of 16.
        ("gfx942", {"block_m": 64, "num_warps": 2, "block_n": 64, "num_stages": 1}),
        ("gfx90a", {"block_m": 32, "num_warps": 2, "block_n": 32, "num_stages": 1}),
    ],
)
def test_blocks(target: str, more: dict[str, int], tmp_path: Path) -> None:
    spec = attention(40, 100, 16, out=24, dtype="f32", **BOTTOM, kv_length=True)
    check(spec, target, tmp_path, **{"split_k": 1} | more)


def run(spec: Attention, target: str, *inputs: Any, **schedule: int) -> tuple[Any, Any]:
    """Return the kernel's output, and the emulator's counters."""
    plan = pipeline.plan_with(spec, targets.find(target), schedule)
    launch, out = plan.launches[0], np.zeros(spec.parameter("out").shape, np.float32)
    report = emulate.run(
        pipeline.source(plan).text,
        language="ptx" if target.startswith("sm") else "llvm",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[*inputs, out],
        dynamic_shared=launch.dynamic_shared_memory,
        profile=True,
    )
    return out, report.counters


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "gfx1100"])
def test_result_has_the_precision_of_f32(target: str) -> None:
    """Products are not rounded to tf32 or f16, which would change a score by 1e-4 of its size."""
    spec = attention(16, 64, 32, dtype="f32", scale=1.0)
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal(p.shape, np.float32) for p in spec.parameters[:3])
    out, _ = run(spec, target, q, k, v, **fields(target, split_k=1))
    scores = q[0, 0].astype(np.float64) @ k[0, 0].astype(np.float64).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights @ v[0, 0].astype(np.float64) / weights.sum(1, keepdims=True)
    assert np.abs(out[0, 0] - expected).max() < 1e-5


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "gfx1201"])
@pytest.mark.parametrize("size", [16, 64])
def test_no_bank_conflict(target: str, size: int) -> None:
    spec = attention(32, 64, size, dtype="f32", heads=2)
    inputs = [np.zeros(p.shape, np.float32) for p in spec.parameters[:3]]
    _, counters = run(spec, target, *inputs, **fields(target, split_k=1))
    assert counters["bank_conflicts"] == 0
    assert counters["global_store_bytes"] == 2 * 32 * size * 4


def test_main_loops() -> None:
    """Multiply-adds are used if and only if there is no matrix instruction of f32."""
    spec = attention(64, 64, 64, dtype="f32")
    for target in ("sm_75", "sm_90a", "gfx1030", "gfx1201"):
        assert isinstance(pipeline.plan(spec, targets.find(target)).schedule, FmaAttention), target
    for target in ("gfx90a", "gfx950"):
        assert type(pipeline.plan(spec, targets.find(target)).schedule) is MmaAttention, target


@pytest.mark.parametrize(
    ("target", "dtype", "asked", "other"),
    [
        ("sm_80", "f32", MmaAttention, "fma"),
        ("sm_80", "f16", FmaAttention, "mma"),
        ("gfx942", "f32", FmaAttention, "mma"),
        ("gfx1100", "f32", MmaAttention, "fma"),
    ],
)
def test_main_loops_that_do_not_fit(
    target: str, dtype: str, asked: type[MmaAttention], other: str
) -> None:
    schedule = asked(block_m=32, block_n=32, num_warps=2, num_stages=1 + (target == "sm_80"))
    with pytest.raises(ScheduleError, match=f"of {dtype}|dtype={dtype}") as error:
        pipeline.plan(attention(64, 64, 64, dtype=dtype), targets.find(target), schedule)
    assert str(error.value).endswith(f"try mainloop={other}")
