"""Attention on tensor cores, executed with every check, against the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.check import tensors
from kgen.check.oracle import attention_bounds
from kgen.emulate import LaunchReport
from kgen.errors import ScheduleError, TargetError
from kgen.spec import Attention
from kgen.targets.attention.fields import ATTENTION_FIELDS
from tests.attention_specs import BOTTOM, attention, options
from tests.emulate.one_schedule import verify

#: Two warps, and blocks of keys that are shorter than most rows.
SMALL = {"block_m": 32, "block_n": 32, "num_warps": 2, "num_stages": 2}


def check(spec: Attention, target: str, path: Path, **schedule: int) -> None:
    bundle = path / "attention.kgen"
    kgen.build(spec, targets=[target], schedule=schedule or None).save(bundle)
    report = verify(bundle, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


#: Remainders of queries, keys and heads; every option; the model's schedule.
CASES = {
    **options("f16"),
    "one key": attention(127, 1, 128, dtype="bf16"),
    "5 queries": attention(5, 1025, 40, heads=2, **BOTTOM, kv_length=True),
    "16 queries": attention(16, 127, 72, heads=4, kv_heads=2, batch=2, causal=True, lse=True),
    "17 queries": attention(17, 127, 128, heads=2, kv_heads=2, batch=2, layout="bshd", lse=True),
    "127 queries": attention(127, 130, 64, dtype="bf16", causal=True),
    "128 queries": attention(128, 128, 64, heads=2, **BOTTOM),
    "large head": attention(20, 70, 256, heads=2),
    "window behind": attention(33, 170, 24, **BOTTOM, window=20),
    "mask of pairs": attention(32, 64, 32, mask=(32, 64), dtype="bf16", causal=True),
    "mask of odd keys": attention(9, 37, 8, mask=(37,), mask_dtype="bool", lse=True),
    "mask of odd keys in f32": attention(9, 5, 8, heads=2, mask=(5,), mask_dtype="f32"),
    "boolean mask": attention(17, 37, 16, heads=2, mask=(2, 17, 37), mask_dtype="bool", lse=True),
    "odd size": attention(9, 40, 19, out=5, dtype="bf16"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_options_and_remainders(name: str, tmp_path: Path) -> None:
    check(CASES[name], "sm_80", tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        {"block_m": 16, "num_warps": 1, "block_n": 16, "num_stages": 3},
        {"block_m": 64, "num_warps": 2, "block_n": 32, "num_stages": 2},
        {"block_m": 64, "num_warps": 4, "block_n": 64, "num_stages": 4},
    ],
)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_blocks(fields: dict[str, int], dtype: str, tmp_path: Path) -> None:
    spec = attention(70, 145, 32, heads=2, out=48, dtype=dtype, **BOTTOM, kv_length=True)
    check(spec, "sm_80", tmp_path, **fields)


#: One warp and blocks of 16 keys.
TINY = {"block_m": 16, "block_n": 16, "num_warps": 1, "num_stages": 2}
PAGES: dict[str, tuple[str, dict[str, int], Attention]] = {
    "one block": ("sm_80", TINY, attention(9, 96, heads=2, page_size=16, pages=9, lse=True)),
    "blocks from a window on": (
        "sm_80", TINY, attention(9, 96, heads=2, batch=2, page_size=48, window=40, **BOTTOM)
    ),
    "heads first": (
        "sm_80", TINY | {"num_stages": 3},
        attention(
            5, 128, 20, heads=4, kv_heads=2, batch=3, out=24, dtype="bf16", page_size=64, pages=7,
            kv_layout="bhsd", mask=(5, 128),
        ),
    ),
    "divided keys": (
        "sm_80", TINY | {"split_k": 3}, attention(1, 256, heads=4, batch=2, page_size=32, pages=30)
    ),
    "through registers": ("sm_75", TINY, attention(9, 96, heads=2, page_size=32, pages=9)),
    "the model's choice": ("sm_90a", {}, attention(9, 96, 17, heads=2, batch=2, page_size=32)),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, tmp_path: Path) -> None:
    """Batch elements share pages; page numbers after the valid keys are out of range."""
    target, schedule, spec = PAGES[name]
    check(spec, target, tmp_path, **schedule)


def test_pages_that_do_not_fit() -> None:
    with pytest.raises(ScheduleError, match=r"block_n=32 does not divide page_size=48, .*=16"):
        pipeline.plan_with(attention(9, 96, page_size=48), targets.find("sm_80"), SMALL)
    with pytest.raises(TargetError, match="page_size=24 is not supported by sm_80; give a multi"):
        kgen.build(attention(9, 96, page_size=24), targets=["sm_80"])


def test_weights_that_are_flushed(tmp_path: Path) -> None:
    """The result in bf16 is a normal number although its weight is below the range of exp2."""
    spec = attention(
        64, 130, 16, heads=6, kv_heads=2, dtype="bf16", layout="bshd", causal=True, window=7,
        mask=(1, 64, 130), scale=1.5, kv_length=True, lse=True,
    )  # fmt: skip
    check(spec, "sm_80", tmp_path, block_m=64, num_warps=4, block_n=16, num_stages=3)


@pytest.mark.parametrize("target", ["sm_75", "sm_86", "sm_89", "sm_90a", "sm_120"])
def test_other_targets(target: str, tmp_path: Path) -> None:
    spec = attention(33, 70, 32, heads=2, **BOTTOM, kv_length=True, lse=True)
    check(spec, target, tmp_path, **SMALL)


def run(
    spec: Attention, *inputs: Any, schedule: dict[str, int] | None = None, profile: bool = False
) -> Any:
    """Return the kernel's outputs, and the emulator's report."""
    target = targets.find("sm_80")
    kernel = pipeline.kernel(spec, target, pipeline.schedule_for(spec, target, schedule or {}))
    launch, outputs = kernel.plan.launches[0], [p for p in spec.parameters if p.is_output]
    made = [np.zeros(p.shape, p.dtype.storage) for p in outputs]
    report: LaunchReport = emulate.run(
        kernel.source.text,
        language="ptx",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[*inputs, *made],
        dynamic_shared=launch.dynamic_shared_memory,
        profile=profile,
    )
    return *made, report


def test_scores_of_any_size_and_masked_rows() -> None:
    """Scores up to 1e4, rows of -infinity, and a later block with the maximum."""
    spec = attention(
        4, 64, 16, mask=(4, 64), mask_dtype="f32", scale=1.0, lse=True, out_dtype="f32"
    )
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal(p.shape).astype(np.float16) for p in spec.parameters[:3])
    q *= 2000
    k[0, 0, 60] *= 4
    mask = np.zeros((4, 64), np.float32)
    mask[1], mask[2, :40], mask[3] = -np.inf, -np.inf, np.finfo(np.float32).min
    schedule = SMALL | {"num_warps": 1, "block_m": 16}
    out, lse, _ = run(spec, q, k, v, mask, schedule=schedule)
    scores = q[0, 0].astype(np.float64) @ k[0, 0].astype(np.float64).T + mask
    assert np.abs(scores[0]).max() > 1e4
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights @ v[0, 0].astype(np.float64) / weights.sum(1, keepdims=True)
    assert np.all(out[0, 0, 1] == 0.0) and lse[0, 0, 1] == -np.inf
    for row in (0, 2, 3):
        np.testing.assert_allclose(out[0, 0, row], expected[row], rtol=2e-2, atol=1e-3)


def test_maximum_that_stays_behind() -> None:
    """Weights of 2^7.7 relative to an early maximum are multiplied by a factor of 2^-126.3,
    which is flushed to zero."""
    spec, target = (
        attention(1, 48, dtype="bf16", out_dtype="f32", scale=0.75, lse=True),
        targets.find("sm_80"),
    )
    q, k, v = (np.zeros(p.shape) for p in spec.parameters[:3])
    # Scores in powers of 2 are 1.08 times the products.
    q[..., :2] = 1.0
    k[0, 0, 20, 0], v[0, 0, 20] = 7.125, 2.0**110
    schedule = {"block_m": 16, "num_warps": 1, "block_n": 16, "num_stages": 2}
    chosen = pipeline.schedule_for(spec, target, schedule)
    tolerance = targets.family("cuda").tolerance(spec, target, chosen)
    for last in (0.0, 116.75):
        k[0, 0, 40, :2] = int(last), last % 1.0
        values = {"q": q, "k": k, "v": v}
        bits = [tensors.encode(array, spec.dtype) for array in values.values()]
        found = zip(("out", "lse"), run(spec, *bits, schedule=schedule), strict=False)
        for name, made in found:
            box = tuple(slice(0, n) for n in attention_bounds.output_shape(spec.to_json(), name))
            expected = attention_bounds.estimate(spec.to_json(), values, name, box, tolerance)
            off = np.abs(made.reshape(expected.value.shape) - expected.value)
            assert (off <= expected.error).all(), (last, name, off.max(), expected.error.max())


@pytest.mark.parametrize("size", [64, 128])
def test_no_access_is_wasted(size: int) -> None:
    """There is no bank conflict; Q and the output move once, K and V once for each block of
    queries."""
    spec = attention(128, 256, size, heads=2, kv_heads=2)
    inputs = [np.zeros(p.shape, np.float16) for p in spec.parameters[:3]]
    counters = run(spec, *inputs, profile=True)[-1].counters
    assert counters["bank_conflicts"] == 0
    assert counters["shared_wavefronts"] == counters["shared_wavefronts_ideal"] > 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"] > 0
    assert counters["global_store_bytes"] == 2 * 128 * size * 2


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(TargetError, match="dtype=bf16 is not supported by sm_75 for attention"):
        kgen.build(attention(8, 8, 8, dtype="bf16"), targets=["sm_75"])
    with pytest.raises(TargetError, match="heads of 136 elements are not supported by sm_75"):
        kgen.build(attention(8, 8, 136), targets=["sm_75"])
    with pytest.raises(ScheduleError, match="try smaller heads, or even head sizes and strides"):
        kgen.build(attention(9, 40, 255), targets=["sm_80"])


def test_fields_that_kernels_do_not_compute_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that the spec gets in future is refused, not ignored."""
    known = ATTENTION_FIELDS - {"softcap", "window"}
    monkeypatch.setattr("kgen.targets.cuda.ATTENTION_FIELDS", known)
    kgen.build(attention(8, 8, 8), targets=["sm_80"])
    with pytest.raises(TargetError, match=r"softcap=2\.0 is not supported by sm_80 for attention"):
        kgen.build(attention(8, 8, 8, softcap=2.0), targets=["sm_80"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"block_m": 32, "num_warps": 4}, "has 8 queries for each of num_warps=4; a matrix instr"),
        ({"block_n": 8}, "block_n=8 is less than 16, the keys of a matrix instruction; try block"),
        ({"num_stages": 1}, "leaves no stage to load while another is multiplied; try num_stages="),
        ({"block_n": 48}, "block_n=48 is not a power of two; try block_n=32"),
        ({"block_n": 128, "num_stages": 8}, "allows 166912; try num_stages=2"),
        ({"block_m": 128, "num_warps": 1}, "threads per block; try block_m=16"),
    ],
)
def test_schedules_that_do_not_fit(fields: dict[str, int], message: str) -> None:
    spec, target = attention(256, 2048, 128), targets.find("sm_80")
    whole = {"block_m": 64, "block_n": 64, "num_warps": 4, "num_stages": 2, "split_k": 1} | fields
    with pytest.raises(ScheduleError) as error:
        pipeline.plan_with(spec, target, whole)
    assert message in str(error.value)
    assert len(str(error.value)) <= 500


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            attention(4, 4, batch=300, heads=300, kv_heads=300),
            "q=300x300x4x16 has 90000 heads in its 300 batch elements; sm_80 supports 65535, "
            "workgroups along z of the grid; split the batch into parts of 218",
        ),
        (
            attention(4, 4, batch=60000, heads=1200, kv_heads=1200),
            "72000000 heads in its 60000 batch elements; sm_80 supports 65535, workgroups along z "
            "of the grid; split the batch into parts of 54",
        ),
        (
            attention(1 << 20, 4),
            "block_m=16 cuts 1048576 queries into 65536 workgroups along y of the grid; sm_80 "
            "allows 65535; try block_m=32",
        ),
    ],
)
def test_grids_that_are_too_large(spec: Attention, message: str) -> None:
    whole = {"block_m": 16, "block_n": 16, "num_warps": 1, "num_stages": 2}
    with pytest.raises(ScheduleError) as error:
        pipeline.plan_with(spec, targets.find("sm_80"), whole)
    assert message in str(error.value)
    pipeline.plan(attention(1 << 20, 4), targets.find("sm_80"))


def test_candidates_are_legal_and_ranked() -> None:
    spec, target = attention(512, 512, 64, heads=12, kv_heads=12), targets.find("sm_80")
    family = targets.family("cuda")
    found = family.candidates(spec, target)
    seconds = [candidate.seconds for candidate in found]
    assert len(found) > 4 and seconds == sorted(seconds)
    assert family.choose(spec, target) == found[0].schedule
