"""Attention of e4m3 on tensor cores, executed with every check, against the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.errors import ScheduleError, SpecError, TargetError
from kgen.spec import Attention, DType
from tests.attention_specs import BOTTOM, attention, decoding, options
from tests.emulate.one_schedule import verify

#: One warp, and blocks of keys that are shorter than most rows.
SMALL = {"block_m": 16, "block_n": 16, "num_warps": 1, "num_stages": 2}
#: Scores by mma on e4m3; and on f16, because ptxas would make the other of it.
TARGETS = ("sm_89", "sm_90a")


def check(spec: Attention, target: str, path: Path, **schedule: int) -> None:
    bundle = path / "attention.kgen"
    kgen.build(spec, targets=[target], schedule=schedule or None).save(bundle)
    report = verify(bundle, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


#: Values of 41 elements and keys of 18 cannot be widened four at a time.
OPTIONS = {name: spec for name, spec in options("e4m3").items() if spec.out_head % 4 == 0}
del OPTIONS["strides"]
CASES = {
    **OPTIONS,
    # Queries stay in shared memory: of one key as bytes, of the large head as f16.
    "one key": attention(17, 1, 256, dtype="e4m3"),
    "17 queries": attention(17, 70, 72, out=40, dtype="e4m3", layout="bshd", lse=True),
    "127 queries": attention(127, 130, 64, dtype="e4m3", causal=True, v_scale=0.375),
    "odd heads of keys": attention(9, 40, 19, out=8, dtype="e4m3"),
    "large head": attention(9, 40, 144, out=64, dtype="e4m3", out_dtype="f32"),
    "pages": attention(9, 96, heads=2, dtype="e4m3", page_size=32, pages=9, lse=True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_options_and_remainders(name: str, tmp_path: Path) -> None:
    is_odd = CASES[name].head % 4 > 0
    target = "sm_89" if is_odd else TARGETS[list(CASES).index(name) % 2]
    check(CASES[name], target, tmp_path, **SMALL, split_k=1)


@pytest.mark.parametrize("name", ["5 queries", "mask of heads", "pages"])
def test_decoding(name: str, tmp_path: Path) -> None:
    spec, more = decoding("e4m3")[name]
    check(spec, "sm_89", tmp_path, **SMALL, **more)


@pytest.mark.parametrize("target", [*TARGETS, "sm_120"])
def test_all_options_at_once(target: str, tmp_path: Path) -> None:
    spec = attention(
        21, 90, 24, heads=4, kv_heads=2, batch=2, layout="bshd", dtype="e4m3", **BOTTOM, window=40,
        mask=(2, 1, 21, 90), softcap=20.0, kv_length=True, lse=True, v_scale=-3.0, scale=0.01,
    )  # fmt: skip
    check(spec, target, tmp_path)


def test_both_products() -> None:
    """Scores are products of e4m3 if tensor cores support it; values are always multiplied as
    f16."""
    spec = attention(64, 64, 64, dtype="e4m3")
    for target, is_narrow in (("sm_89", True), ("sm_120", True), ("sm_90a", False)):
        found = targets.find(target)
        text = pipeline.source(pipeline.plan_with(spec, found, SMALL)).text
        assert ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32" in text) is is_narrow
        assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in text
        tolerance = targets.family("cuda").tolerance(
            spec, found, pipeline.plan(spec, found).schedule
        )
        assert tolerance.operand_error == 2.0**-11


def test_types_by_default() -> None:
    spec = attention(4, 4, 16, dtype="e4m3", mask=(4, 4), v_scale=1)
    assert (spec.out, spec.mask_dtype, spec.v_scale) == (DType.BF16, DType.F32, None)
    assert attention(4, 4, 16, dtype="e4m3", v_scale=0.5).key.endswith("_vscale0p5")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtype": "f16", "v_scale": 2.0}, "v_scale=2.0 needs dtype=e4m3; leave it out, or scale"),
        ({"dtype": "e4m3", "v_scale": float("inf")}, "v_scale=inf"),
        ({"dtype": "e4m3", "out_dtype": "e4m3"}, "out_dtype=e4m3 is not supported by attention; t"),
        ({"dtype": "e4m3", "mask": (4, 4), "mask_dtype": "f16"}, "take one of bool, f32"),
        ({"dtype": "e5m2"}, "dtype=e5m2 is not supported by attention; take f16, bf16, f32, e4m3"),
    ],
)
def test_specs_that_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        attention(4, 4, 16, **fields)
    assert message in str(error.value)


def test_what_is_not_supported_is_refused() -> None:
    for target in ("sm_80", "gfx942", "x86-64-v3", "vulkan1.3"):
        with pytest.raises(TargetError, match=f"dtype=e4m3 is not supported by {target} for atten"):
            kgen.build(attention(8, 8, dtype="e4m3"), targets=[target])
    with pytest.raises(ScheduleError, match=r"v is copied 1 B at a time, .* multiples of 4"):
        kgen.build(attention(9, 40, out=5, dtype="e4m3"), targets=["sm_89"])


@pytest.mark.parametrize(("target", "size"), [("sm_89", 16), ("sm_89", 64), ("sm_90a", 64)])
def test_no_access_is_wasted(target: str, size: int) -> None:
    """There is no bank conflict, although values are widened before they are stored to shared
    memory."""
    spec = attention(64, 64, size, dtype="e4m3")
    blocks = {"block_m": 64, "block_n": 32, "num_warps": 4, "num_stages": 2, "split_k": 1}
    plan = pipeline.plan_with(spec, targets.find(target), blocks)
    launch, out = plan.launches[0], np.zeros(spec.parameter("out").shape, np.uint16)
    report = emulate.run(
        pipeline.source(plan).text,
        language="ptx",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[*(np.zeros(p.shape, np.uint8) for p in spec.parameters[:3]), out],
        dynamic_shared=launch.dynamic_shared_memory,
        profile=True,
    )
    counters = report.counters
    assert counters["bank_conflicts"] == 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"] > 0
