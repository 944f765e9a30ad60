"""Attention for decoding on tensor cores: heads of a group as rows, and keys divided into parts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention
from kgen.spec import Attention
from tests.attention_specs import BOTTOM, attention, decoding
from tests.emulate.one_schedule import verify

#: Two warps, and blocks of keys that are shorter than most rows.
SMALL = {"block_m": 32, "block_n": 32, "num_warps": 2, "num_stages": 2}
CASES = decoding("f16")


def check(spec: Attention, target: str, path: Path, fields: dict[str, int]) -> None:
    bundle = path / "attention.kgen"
    kgen.build(spec, targets=[target], schedule=fields).save(bundle)
    report = verify(bundle, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


@pytest.mark.parametrize("name", CASES)
def test_options(name: str, tmp_path: Path) -> None:
    spec, fields = CASES[name]
    check(spec, "sm_80", tmp_path, SMALL | fields)


@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_other_targets(target: str, tmp_path: Path) -> None:
    """Blocks of 16 keys, and more parts than some lengths have blocks."""
    spec = attention(5, 127, 32, heads=4, batch=2, kv_length=True, lse=True, **BOTTOM)
    fields = {"block_m": 16, "block_n": 16, "num_warps": 1, "packs_heads": 1, "split_k": 4}
    check(spec, target, tmp_path, SMALL | fields)


def run(spec: Attention, fields: dict[str, int], **inputs: Any) -> dict[str, Any]:
    """Arrays of both kernels on these inputs, workspaces included; floats start as NaN."""
    target = targets.find("sm_80")
    schedule = pipeline.schedule_for(spec, target, SMALL | fields)
    kernel = pipeline.kernel(spec, target, schedule)
    arrays = dict(inputs)
    for p in spec.parameters:
        if p.is_output:
            arrays[p.name] = np.full(p.shape, np.nan, p.dtype.storage)
    for workspace in kernel.plan.workspaces:
        arrays[workspace.name] = np.full(workspace.nbytes // 4, np.nan, np.float32)
    for launch in kernel.plan.launches:
        emulate.run(
            kernel.source.text,
            language="ptx",
            entry=launch.entry_point,
            grid=launch.grid,
            block=launch.block,
            arguments=[arrays[name] for name in launch.arguments],
            dynamic_shared=launch.dynamic_shared_memory,
        )
    return arrays


def test_keys_are_divided_by_their_length() -> None:
    """33 keys are two blocks: one for each of the first two parts. Nothing of others is stored."""
    spec = attention(1, 256, 16, heads=4, kv_length=True, out_dtype="f32", scale=1.0)
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal(p.shape).astype(np.float16) for p in spec.parameters[:3])
    k[:, :, 33:], v[:, :, 33:] = np.nan, np.nan
    length = np.array([33], np.int32)
    found = run(spec, {"packs_heads": 1, "split_k": 4}, q=q, k=k, v=v, kv_length=length)
    parts = found["parts"].reshape(4, 4, 16)
    assert np.isfinite(parts[:2]).all() and np.isnan(parts[2:]).all()
    states = found["states"].reshape(4, 4, 2)
    assert (states[:2, :, 1] > 0.0).all() and (states[2:, :, 1] == 0.0).all()
    scores = q[0, :, 0].astype(np.float64) @ k[0, 0, :33].astype(np.float64).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights @ v[0, 0, :33].astype(np.float64) / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(found["out"][0, :, 0], expected, rtol=5e-3, atol=1e-3)


def rounding(score: int) -> float:
    """Rounding error of the exponent of 2 of a score in f32."""
    exact = score * float(np.float32(math.log2(math.e)))
    return exact - float(np.float32(exact))


@pytest.mark.parametrize("far", [False, True])
def test_parts_with_large_maxima(far: bool) -> None:
    """Two neighbouring scores in two parts, whose exponents are rounded to opposite sides; or one
    of a million more, whose maximum is subtracted first."""
    spec = attention(1, 64, 16, out_dtype="f32", scale=1.0, lse=True)
    base = 1_000_000 if far else 600_000
    first = max(range(base, base + 1000), key=lambda s: abs(rounding(s) - rounding(s + 1)))
    assert far or abs(rounding(first) - rounding(first + 1)) > 0.03
    q, k, v = (np.zeros(p.shape, np.float16) for p in spec.parameters[:3])
    q[..., 0], q[..., 1] = 1024.0, 1.0
    for key, score in ((3, first), (40, first + 1)):
        k[0, 0, key, :2] = divmod(score, 1024)
    v[0, 0, 3] = 1.0
    found = run(spec, {"split_k": 2}, q=q, k=k, v=v)
    share = 1.0 / (1.0 + math.e)
    np.testing.assert_allclose(found["out"], share, rtol=2e-3)
    np.testing.assert_allclose(found["lse"], first + 1 + math.log1p(1.0 / math.e), rtol=1e-6)


@pytest.mark.parametrize(
    ("spec", "packs", "splits"),
    [
        (attention(1, 4096, 128, heads=32, kv_heads=8), True, True),
        (attention(1, 4096, 128, heads=32, kv_heads=8, batch=64), True, False),
        (attention(1, 2048, 64, heads=12, kv_heads=12), False, True),
        (attention(2048, 2048, 64, heads=16, kv_heads=16), False, False),
    ],
)
def test_few_workgroups_divide_keys(spec: Attention, packs: bool, splits: bool) -> None:
    """The model divides keys if workgroups are few, and packs heads that share keys."""
    schedule = pipeline.plan(spec, targets.find("sm_80")).schedule
    assert isinstance(schedule, MmaAttention)
    assert (schedule.packs_heads, schedule.split_k > 1) == (packs, splits)


@pytest.mark.parametrize(
    ("spec", "fields", "message"),
    [
        (attention(1, 127, 16), {"split_k": 5}, "fill 4; try split_k=4"),
        (
            attention(5, 64, 16, heads=4, layout="bshd"),
            {"packs_heads": 1},
            "heads are 16 elements apart, queries 64; try ",
        ),
        (
            attention(1, 1024, 16, heads=8000, kv_heads=8000),
            {"split_k": 32},
            "split_k=32 makes 256000 workgroups along z of the grid; sm_80 supports 65535; try "
            "split_k=8",
        ),
        (
            attention(1, 1 << 20, 16),
            {"split_k": 512},
            "split_k=512 needs 1024 registers per thread; sm_80 leaves 231 with 32 threads per "
            "block; try split_k=",
        ),
    ],
)
def test_parts_that_do_not_fit(spec: Attention, fields: dict[str, int], message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        pipeline.plan_with(spec, targets.find("sm_80"), SMALL | fields)
    assert message in str(error.value)
    assert len(str(error.value)) <= 500
