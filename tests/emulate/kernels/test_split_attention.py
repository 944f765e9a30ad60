"""Attention for decoding on GPU families: heads of a group as rows, keys divided into parts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.spec import Attention
from tests.attention_specs import BOTTOM, attention, decoding
from tests.emulate.one_schedule import verify

#: Two warps, and blocks of keys that are shorter than most rows.
SMALL = {"block_m": 32, "block_n": 32, "num_warps": 2}
CASES = decoding("f16")
#: NVIDIA, MFMA and WMMA. AMD's two have half of the cases each.
TARGETS = ("sm_80", "gfx942", "gfx1100")


def check(spec: Attention, target: str, path: Path, fields: dict[str, int]) -> None:
    bundle = path / "attention.kgen"
    kgen.build(spec, targets=[target], schedule=SMALL | fields).save(bundle)
    report = verify(bundle, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (name, target)
        for number, name in enumerate(CASES)
        for target in (TARGETS[0], TARGETS[1 + number % 2])
    ],
)
def test_options(name: str, target: str, tmp_path: Path) -> None:
    spec, fields = CASES[name]
    check(spec, target, tmp_path, fields)


@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "gfx1201", "gfx950"])
def test_other_targets(target: str, tmp_path: Path) -> None:
    """There are more parts than some lengths have blocks."""
    spec = attention(5, 127, 32, heads=4, batch=2, kv_length=True, lse=True, **BOTTOM)
    fields = {"block_m": 16, "num_warps": 1, "packs_heads": 1, "split_k": 4}
    check(spec, target, tmp_path, fields)


def run(spec: Attention, name: str, fields: dict[str, int], **inputs: Any) -> dict[str, Any]:
    """Return the arrays of both kernels, workspaces included; floats start as NaN."""
    target = targets.find(name)
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
            language="ptx" if target.family == "cuda" else "llvm",
            entry=launch.entry_point,
            grid=launch.grid,
            block=launch.block,
            arguments=[arrays[name] for name in launch.arguments],
            dynamic_shared=launch.dynamic_shared_memory,
        )
    return arrays


@pytest.mark.parametrize("target", TARGETS)
def test_keys_are_divided_by_their_length(target: str) -> None:
    """Two blocks hold 33 keys: the first two parts have one each. Other parts store nothing."""
    spec = attention(1, 256, 16, heads=4, kv_length=True, out_dtype="f32", scale=1.0)
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal(p.shape).astype(np.float16) for p in spec.parameters[:3])
    k[:, :, 33:], v[:, :, 33:] = np.nan, np.nan
    length = np.array([33], np.int32)
    found = run(spec, target, {"packs_heads": 1, "split_k": 4}, q=q, k=k, v=v, kv_length=length)
    parts = found["parts"].reshape(4, 4, 16)
    assert np.isfinite(parts[:2]).all() and np.isnan(parts[2:]).all()
    states = found["states"].reshape(4, 4, 2)
    assert (states[:2, :, 1] > 0.0).all() and (states[2:, :, 1] == 0.0).all()
    scores = q[0, :, 0].astype(np.float64) @ k[0, 0, :33].astype(np.float64).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights @ v[0, 0, :33].astype(np.float64) / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(found["out"][0, :, 0], expected, rtol=5e-3, atol=1e-3)


def rounding(score: int) -> float:
    """Return the rounding error of a score's exponent of 2 in f32."""
    exact = score * float(np.float32(math.log2(math.e)))
    return exact - float(np.float32(exact))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("far", [False, True])
def test_parts_with_large_maxima(far: bool, target: str) -> None:
    """Two close scores in two parts have exponents that are rounded to opposite sides; or one
    score is larger by a million, and its maximum is subtracted first."""
    spec = attention(1, 64, 16, out_dtype="f32", scale=1.0, lse=True)
    base = 1_000_000 if far else 600_000
    first = max(range(base, base + 1000), key=lambda s: abs(rounding(s) - rounding(s + 1)))
    assert far or abs(rounding(first) - rounding(first + 1)) > 0.03
    q, k, v = (np.zeros(p.shape, np.float16) for p in spec.parameters[:3])
    q[..., 0], q[..., 1] = 1024.0, 1.0
    for key, score in ((3, first), (40, first + 1)):
        k[0, 0, key, :2] = divmod(score, 1024)
    v[0, 0, 3] = 1.0
    found = run(spec, target, {"split_k": 2}, q=q, k=k, v=v)
    share = 1.0 / (1.0 + math.e)
    np.testing.assert_allclose(found["out"], share, rtol=2e-3)
    np.testing.assert_allclose(found["lse"], first + 1 + math.log1p(1.0 / math.e), rtol=1e-6)
