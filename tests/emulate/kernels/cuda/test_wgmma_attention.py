"""Attention by warpgroups (wgmma), executed with every check, against the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.runners import EmulatorExecutor
from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention, WgmmaAttention
from kgen.spec import Attention
from kgen.targets.base import BuiltKernel
from kgen.targets.cuda.plan import plan
from tests.attention_specs import BOTTOM, attention
from tests.emulate.one_schedule import verify

TARGET = targets.find("sm_90a")


def build(spec: Attention, block_m: int, block_n: int, pingpong: bool = False) -> BuiltKernel:
    schedule = WgmmaAttention(block_m=block_m, block_n=block_n, pingpong=pingpong)
    return pipeline.kernel(spec, TARGET, schedule)


#: Specs with the queries and keys of a block. Options share cases, because a block of 64 queries is
#: slow to execute.
CASES: dict[str, tuple[Attention, int, int]] = {
    "lengths, cap and groups": (
        attention(
            70, 37, 24, heads=2, batch=2, out=40, kv_length=True, softcap=9.0, lse=True, **BOTTOM
        ),
        128,
        16,
    ),
    "window": (attention(33, 170, 16, window=9, lse=True, kv_length=True), 64, 32),
    "three consumers": (attention(190, 40, 16, causal=True, out_dtype="f32"), 192, 32),
    "mask of pairs": (
        attention(9, 34, 16, heads=2, batch=2, kv_heads=2, mask=(2, 1, 9, 34), mask_dtype="f32"),
        64,
        32,
    ),
    "hidden scores": (
        attention(
            9, 37, 24, mask=(9, 37), mask_dtype="bool", mask_value=-2.0, scale=-0.3, dtype="bf16"
        ),
        64,
        64,
    ),
    "no keys are NaN": (
        attention(5, 40, 16, batch=3, kv_length=True, empty_rows="nan", causal=True),
        64,
        16,
    ),
    "outputs of more bytes than all stages": (attention(5, 16, 16, out=160), 64, 16),
    "large head": (attention(9, 40, 256), 64, 32),
    "other axes": (
        attention(17, 40, 72, heads=2, kv_heads=2, dtype="bf16", layout="bshd", lse=True),
        64,
        16,
    ),
}


def check(kernel: BuiltKernel, path: Path) -> None:
    bundle.pack([kernel]).save(path / "attention.kgen")
    report = verify(path / "attention.kgen", on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


@pytest.mark.parametrize("name", CASES)
def test_options_and_remainders(name: str, tmp_path: Path) -> None:
    check(build(*CASES[name]), tmp_path)


@pytest.mark.parametrize("keys", [16, 40])
def test_consumers_that_take_turns(keys: int, tmp_path: Path) -> None:
    check(build(attention(70, keys, 16), 128, 16, pingpong=True), tmp_path)


def run(kernel: BuiltKernel, profile: bool = False, **inputs: Any) -> dict[str, Any]:
    """Return the kernel's outputs by name, and the emulator's `counters`."""
    (entry,) = bundle.pack([kernel]).manifest.kernels
    buffers = {p.name: np.zeros(p.nbytes, np.uint8) for p in entry.parameters}
    for name, value in inputs.items():
        buffers[name][:] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    (report,) = EmulatorExecutor(entry, "ptx", kernel.source.text).reports(
        buffers, None, profile=profile
    )
    return buffers | {"counters": report.counters}


def test_values_beyond_the_length_are_not_numbers() -> None:
    """NaN in rows of K and V beyond kv_length has no effect, in the last key's block either."""
    spec = attention(5, 40, 16, batch=2, heads=2, kv_length=True, out_dtype="f32")
    kernel = build(spec, 128, 32)
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal(p.shape).astype(np.float16) for p in spec.parameters[:3])
    found = []
    for beyond in (0.0, np.nan):
        for tensor in (k, v):
            tensor[0, :, 3:], tensor[1, :, 33:] = beyond, beyond
        lengths = np.array([3, 33], np.int32)
        found.append(run(kernel, q=q, k=k, v=v, kv_length=lengths)["out"].view(np.float32))
    assert np.isfinite(found[0]).all() and np.abs(found[0]).max() > 0.1
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("size", [64, 128])
def test_no_access_is_wasted(size: int) -> None:
    """There is no bank conflict; Q and the output move once, K and V once for each block of
    queries."""
    spec = attention(128, 256, size)
    counters = run(build(spec, 128, 128), profile=True)["counters"]
    assert counters["bank_conflicts"] == 0
    assert counters["shared_wavefronts"] == counters["shared_wavefronts_ideal"] > 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"] > 0
    assert counters["global_load_bytes"] == (128 + 2 * 256) * size * 2
    assert counters["global_store_bytes"] == 128 * size * 2


def test_the_model_chooses_warpgroups_where_tma_can_copy() -> None:
    """Many queries use wgmma, as matmuls do; for heads that TMA cannot copy, `--explain` gives
    the reason."""
    family = targets.family("cuda")
    spec = attention(512, 512, 64, heads=12)
    chosen = family.choose(spec, TARGET)
    assert isinstance(chosen, WgmmaAttention) and not chosen.pingpong
    # Only a measurement can choose turns, and three consumers.
    others = [c.schedule for c in family.candidates(spec, TARGET)]
    assert {(s.pingpong, s.block_m) for s in others if isinstance(s, WgmmaAttention)} == {
        (False, 64), (False, 128), (True, 128), (False, 192),
    }  # fmt: skip
    assert isinstance(family.choose(attention(1, 512, 64, heads=12), TARGET), MmaAttention)
    odd = pipeline.plan(attention(512, 512, 60, heads=12), TARGET)
    assert isinstance(odd.schedule, MmaAttention)
    assert family.remarks(odd)[-1] == (
        "mma.sync instead of wgmma: rows of q start at multiples of 8 bytes, and TMA requires "
        "multiples of 16"
    )
    with pytest.raises(
        ScheduleError, match=r"k1x1x512x60_f16 \(mma\.sync instead of wgmma: rows of q"
    ):
        pipeline.schedule_for(odd.spec, TARGET, {"mainloop": "wgmma"})
    plan = pipeline.plan(spec, TARGET, chosen)
    assert not any("instead of" in each for each in family.remarks(plan))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"block_m": 96},
            "block_m=96 is not a multiple of 64 up to 192, the queries of 1 to 3 war",
        ),
        ({"block_m": 256}, "try block_m=192"),
        ({"block_n": 256}, "block_n=256 is not a number of keys from 16 to 128; try block_n=128"),
        ({"block_n": 48}, "block_n=48 is not a power of two; try block_n=32"),
        ({"num_stages": 1}, "leaves no stage to load while another is multiplied; try num_stages="),
        ({"block_n": 128}, "num_stages=2 needs 327736 B of shared memory; sm_90a allows 232448; t"),
        ({"block_m": 64, "pingpong": 1}, "and block_m=64 has 1; try block_m=128"),
        (
            {"block_n": 64, "block_m": 192},
            "needs 188 registers per thread; block_m=192 leaves 128; try block_m=128",
        ),
    ],
)
def test_schedules_that_do_not_fit(fields: dict[str, int], message: str) -> None:
    schedule = WgmmaAttention(block_m=128, block_n=64).override(**fields)
    with pytest.raises(ScheduleError) as error:
        pipeline.plan(attention(256, 2048, 256), TARGET, schedule)
    assert message in str(error.value)
    assert len(str(error.value)) <= 500


@pytest.mark.parametrize(
    ("spec", "target", "message"),
    [
        (attention(64, 64, 20), "sm_90a", "rows of q start at multiples of 8 bytes, and TMA requ"),
        (
            attention(64, 64, 64, k_strides=(0, 64, 0)),
            "sm_90a",
            "all rows of k are one, and a tensor",
        ),
        (attention(64, 64, 64, page_size=16), "sm_90a", "pages lie at addresses of a table; leave"),
        (
            attention(1 << 21, 64, 64),
            "sm_90a",
            "q has 2097152 queries, and the limit is 1048576; l",
        ),
        (attention(64, 64, 64), "sm_80", "sm_80 has no wgmma instruction; leave mainloop out"),
    ],
)
def test_what_wgmma_cannot_compute(spec: Attention, target: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        plan(spec, targets.find(target), WgmmaAttention(block_m=64, block_n=64))


def test_too_many_queries_have_the_message_of_all_targets() -> None:
    with pytest.raises(ScheduleError, match="q has 2097152 queries; sm_90a supports 1048576; spli"):
        pipeline.plan(attention(1 << 21, 64, 64), TARGET)
