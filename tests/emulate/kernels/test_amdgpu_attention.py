"""Attention on MFMA and WMMA, executed with every check, against the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.emulate import LaunchReport
from kgen.errors import ScheduleError, TargetError
from kgen.spec import Attention
from tests.attention_specs import BOTTOM, attention, decoding, options
from tests.emulate.one_schedule import verify

#: Value of a field of a schedule.
Field = int | str

#: Two waves, and blocks of keys that are shorter than most rows.
SMALL = {"block_m": 32, "block_n": 32, "num_warps": 2}
HALVES: dict[str, Field] = {"mainloop": "pingpong"}
#: Other shapes of the matrix instruction, or other lanes, each.
TARGETS = ("gfx942", "gfx1100", "gfx1201", "gfx950", "gfx90a")


def check(spec: Attention, target: str, path: Path, **schedule: Field) -> None:
    bundle = path / "attention.kgen"
    kgen.build(spec, targets=[target], schedule=schedule or None).save(bundle)
    report = verify(bundle, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


#: Remainders of queries, keys and heads; every option; the model's schedule. One on each target.
CASES = {
    **options("f16"),
    "one key": attention(17, 1, 128, dtype="bf16"),
    "5 queries": attention(5, 1025, 40, heads=2, **BOTTOM, kv_length=True),
    "16 queries": attention(16, 127, 72, heads=4, kv_heads=2, batch=2, causal=True, lse=True),
    "17 queries": attention(17, 127, 128, heads=2, kv_heads=2, batch=2, layout="bshd", lse=True),
    "127 queries": attention(127, 130, 64, dtype="bf16", causal=True),
    "128 queries": attention(128, 128, 64, heads=2, **BOTTOM),
    "large head": attention(20, 70, 256),
    "window behind": attention(33, 170, 24, **BOTTOM, window=20),
    "mask of vectors": attention(32, 64, 32, mask=(32, 64), dtype="bf16", causal=True),
    "mask of odd keys": attention(9, 37, 8, mask=(37,), mask_dtype="bool", lse=True),
    "boolean mask": attention(17, 40, 16, heads=2, mask=(2, 17, 40), mask_dtype="bool", lse=True),
    "mask of pairs": attention(17, 38, 16, heads=2, mask=(2, 17, 38), mask_dtype="bool"),
    "odd size": attention(9, 40, 19, out=5, dtype="bf16"),
    "keys in one place": attention(9, 40, 16, k_strides=(16, 16, 0), v_strides=(320, 320, 8)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "target"), [(name, TARGETS[i % len(TARGETS)]) for i, name in enumerate(CASES)]
)
def test_options_and_remainders(name: str, target: str, tmp_path: Path) -> None:
    check(CASES[name], target, tmp_path)


@pytest.mark.parametrize("target", TARGETS)
def test_all_options_at_once(target: str, tmp_path: Path) -> None:
    spec = attention(
        21, 90, 40, heads=4, kv_heads=2, batch=2, layout="bshd", **BOTTOM, window=40,
        mask=(2, 1, 21, 90), softcap=20.0, kv_length=True, lse=True,
    )  # fmt: skip
    check(spec, target, tmp_path, **SMALL)


#: Two halves of waves in turn: no block beyond the first two, and pages of the third.
IN_TURN: dict[str, tuple[str, Attention, dict[str, Field]]] = {
    "every option": (
        "gfx942",
        attention(
            21, 170, 40, heads=4, kv_heads=2, batch=2, layout="bshd", **BOTTOM, window=100,
            mask=(2, 1, 21, 170), softcap=20.0, kv_length=True, lse=True,
        ),
        {},
    ),
    "pages": (
        "gfx950", attention(9, 192, heads=2, batch=2, page_size=64, window=140, **BOTTOM), {}
    ),
    "one key": ("gfx950", attention(17, 1, 72, dtype="bf16"), {}),
    "words": ("gfx90a", attention(33, 100, 24, dtype="f32", causal=True), {}),
    "parts of the keys": ("gfx942", attention(9, 400, 32, kv_length=True), {"split_k": 3}),
    "bytes": ("gfx950", attention(17, 40, 19, out=41, dtype="e4m3", out_dtype="f32"), {}),
    "eight waves": ("gfx950", attention(120, 130, 24), {"block_m": 128, "num_warps": 8}),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_TURN)
def test_halves_of_waves_in_turn(name: str, tmp_path: Path) -> None:
    target, spec, fields = IN_TURN[name]
    check(spec, target, tmp_path, **HALVES | SMALL | fields)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_queries_that_do_not_stay_in_registers(target: str, tmp_path: Path) -> None:
    check(attention(20, 40, 256, dtype="bf16"), target, tmp_path)


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        # Tiles of 16 and of 32 queries, one and several of a wave; waves without queries.
        ("gfx942", {"block_m": 16, "num_warps": 1, "block_n": 32}),
        ("gfx942", {"block_m": 128, "num_warps": 2, "block_n": 64}),
        ("gfx90a", {"block_m": 64, "num_warps": 4, "block_n": 32}),
        ("gfx950", {"block_m": 64, "num_warps": 1, "block_n": 128}),
        ("gfx1100", {"block_m": 64, "num_warps": 2, "block_n": 16}),
        ("gfx1201", {"block_m": 64, "num_warps": 4, "block_n": 64}),
    ],
)
def test_blocks(target: str, fields: dict[str, int], tmp_path: Path) -> None:
    spec = attention(40, 145, 32, out=48, dtype="bf16", **BOTTOM, kv_length=True)
    check(spec, target, tmp_path, **fields)


PAGES: dict[str, tuple[str, dict[str, int], Attention]] = {
    "one block": (
        "gfx942", SMALL, attention(9, 96, heads=2, batch=2, page_size=32, pages=9, lse=True)
    ),
    "blocks from a window on": (
        "gfx950", SMALL, attention(9, 192, heads=2, batch=2, page_size=96, window=40, **BOTTOM)
    ),
    "heads first": (
        "gfx90a", SMALL,
        attention(
            5, 128, 20, heads=4, kv_heads=2, batch=3, out=24, dtype="bf16", page_size=64, pages=7,
            kv_layout="bhsd", mask=(5, 128),
        ),
    ),
    "blocks of 16 keys": (
        "gfx1100", SMALL | {"block_n": 16}, attention(9, 96, heads=2, page_size=16, pages=9)
    ),
    "the model's choice": ("gfx1201", {}, attention(9, 96, 17, heads=2, batch=2, page_size=32)),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, tmp_path: Path) -> None:
    """Batch elements share pages; page numbers after the valid keys are out of range."""
    target, schedule, spec = PAGES[name]
    check(spec, target, tmp_path, **schedule)


def test_pages_that_do_not_fit() -> None:
    spec = attention(9, 96, page_size=48)
    with pytest.raises(ScheduleError, match=r"block_n=32 does not divide page_size=48, .*=16"):
        pipeline.plan_with(spec, targets.find("gfx1100"), SMALL)
    with pytest.raises(TargetError, match="page_size=48 is not supported by gfx942; give a multi"):
        kgen.build(spec, targets=["gfx942"])


DECODING = decoding("e4m3")["5 queries"]
#: Bytes that are widened; heads that are no whole words; parts of the keys.
BYTES: dict[str, tuple[Attention, dict[str, int]]] = {
    "every field": (
        attention(
            21, 90, 24, heads=4, kv_heads=2, batch=2, layout="bshd", dtype="e4m3", **BOTTOM,
            window=40, mask=(2, 1, 21, 90), softcap=20.0, kv_length=True, lse=True, v_scale=-3.0,
        ),
        SMALL,
    ),
    "odd sizes": (attention(17, 40, 19, out=41, dtype="e4m3", out_dtype="f32"), SMALL),
    "divided keys": (DECODING[0], SMALL | DECODING[1]),
    "pages": (attention(9, 96, heads=2, dtype="e4m3", page_size=32, pages=9, lse=True), SMALL),
    "the model's choice": (attention(17, 127, 128, dtype="e4m3", v_scale=0.375), {}),
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx950", "gfx1201"])
@pytest.mark.parametrize("name", BYTES)
def test_e4m3(name: str, target: str, tmp_path: Path) -> None:
    spec, schedule = BYTES[name]
    check(spec, target, tmp_path, **schedule)


def run(spec: Attention, target: str, *inputs: Any, profile: bool = False, **schedule: int) -> Any:
    """Return the kernel's outputs, and the emulator's report."""
    found = targets.find(target)
    plan = pipeline.plan_with(spec, found, schedule)
    launch, outputs = plan.launches[0], [p for p in spec.parameters if p.is_output]
    made = [np.zeros(p.shape, p.dtype.storage) for p in outputs]
    report: LaunchReport = emulate.run(
        pipeline.source(plan).text,
        language="llvm",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[*inputs, *made],
        profile=profile,
    )
    return *made, report


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_scores_of_any_size_and_masked_rows(target: str) -> None:
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
    out, lse, _ = run(spec, target, q, k, v, mask, block_m=16, block_n=32, num_warps=1)
    scores = q[0, 0].astype(np.float64) @ k[0, 0].astype(np.float64).T + mask
    assert np.abs(scores[0]).max() > 1e4
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights @ v[0, 0].astype(np.float64) / weights.sum(1, keepdims=True)
    assert np.all(out[0, 0, 1] == 0.0) and lse[0, 0, 1] == -np.inf
    for row in (0, 2, 3):
        np.testing.assert_allclose(out[0, 0, row], expected[row], rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("target", TARGETS)
def test_no_access_is_wasted(target: str) -> None:
    """There is no bank conflict; the output moves once, K and V once for each block of queries."""
    spec = attention(64, 128, 64, heads=2, kv_heads=2)
    inputs = [np.zeros(p.shape, np.float16) for p in spec.parameters[:3]]
    schedule = {"block_m": 64, "block_n": 64, "num_warps": 4}
    counters = run(spec, target, *inputs, profile=True, **schedule)[-1].counters
    assert counters["bank_conflicts"] == 0
    assert counters["global_store_bytes"] == 2 * 64 * 64 * 2
    # Both halves of a wave of gfx1100 hold the same queries.
    copies = 2 if target == "gfx1100" else 1
    assert counters["global_load_bytes"] == 2 * (copies * 64 + 2 * 128) * 64 * 2


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(TargetError, match="dtype=f16 is not supported by gfx1030 for attention"):
        kgen.build(attention(8, 8, 8), targets=["gfx1030"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"block_m": 32, "num_warps": 4}, "has 8 queries for each of num_warps=4; a matrix instr"),
        ({"block_n": 8}, "block_n=8 is less than 32, the keys of a fragment of gfx942; try block"),
        ({"num_stages": 2}, "mainloop=mma, which has 1 block of keys in LDS; try num_stages=1"),
        ({"block_n": 48}, "block_n=48 is not a power of two; try block_n=32"),
        ({"block_n": 256}, "block_n=256 needs 131072 B of LDS; gfx942 allows 65536; try block_n="),
        ({"block_m": 256, "num_warps": 1}, "registers of a lane; gfx942 has 512; try block_m=64"),
        ({"block_m": 512, "num_warps": 32}, "num_threads=2048 is more than the 1024 per workgroup"),
    ],
)
def test_schedules_that_do_not_fit(fields: dict[str, int], message: str) -> None:
    spec, target = attention(256, 2048, 128), targets.find("gfx942")
    whole = {"block_m": 64, "block_n": 64, "num_warps": 4, "num_stages": 1} | fields
    with pytest.raises(ScheduleError) as error:
        pipeline.plan_with(spec, target, whole)
    assert message in str(error.value)
    assert len(str(error.value)) <= 500


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_stages": 2}, "mainloop=pingpong, which has 4 blocks of keys in LDS; try num_stages"),
        ({"num_warps": 1, "block_m": 32}, "gfx950 with num_warps=1 has no second half of its wave"),
        ({"block_n": 128}, "block_n=128 needs 262144 B of LDS; gfx950 allows 163840; try block_n="),
    ],
)
def test_halves_that_do_not_fit(fields: dict[str, int], message: str) -> None:
    spec, target = attention(256, 2048, 128), targets.find("gfx950")
    with pytest.raises(ScheduleError, match=message):
        pipeline.plan_with(spec, target, HALVES | fields)


def test_blocks_that_are_too_large_for_a_buffer_are_refused() -> None:
    spec = attention(64, 64, 64, k_strides=(1 << 32, 1 << 32, 1 << 26))
    with pytest.raises(
        ScheduleError, match=r"B of k; gfx942 allows 2147483647; .* or smaller strides"
    ):
        pipeline.plan_with(spec, targets.find("gfx942"), {"block_n": 32})


@pytest.mark.parametrize("target", TARGETS)
def test_candidates_are_legal_and_ranked(target: str) -> None:
    spec, found = attention(512, 512, 64, heads=12, kv_heads=12), targets.find(target)
    family = targets.family("amdgpu")
    candidates = family.candidates(spec, found)
    seconds = [candidate.seconds for candidate in candidates]
    assert len(candidates) > 4 and seconds == sorted(seconds)
    assert family.choose(spec, found) == candidates[0].schedule
    for candidate in candidates[:3]:
        family.plan(spec, found, candidate.schedule)
