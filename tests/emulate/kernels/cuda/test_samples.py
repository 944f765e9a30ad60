"""Samples of kernels whose CTAs make pieces of the output together, executed: right ones pass, and
bugs in parts are found."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import kgen
from kgen.bundle import Bundle
from kgen.check.verify import cost
from kgen.check.verify.run import KernelResult
from kgen.spec import Matmul
from tests.emulate.one_schedule import verify

SPLIT = {"block_m": 32, "block_n": 32, "block_k": 32, "warp_m": 16, "warp_n": 16, "num_stages": 2}
STREAM = {
    "block_m": 64, "block_n": 64, "block_k": 64, "consumers": 1, "num_stages": 3, "stream_k": 1,
    "pingpong": 0, "cluster_m": 1, "tma_store": 0, "group_m": 2, "num_ctas": 12,
}  # fmt: skip


def split() -> Bundle:
    return kgen.build(Matmul(m=190, n=44, k=256), ["sm_80"], schedule=SPLIT | {"split_k": 4})


def stream() -> Bundle:
    return kgen.build(Matmul(m=120, n=128, k=512), ["sm_90a"], schedule=STREAM)


@pytest.fixture(autouse=True)
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "emulated_workgroups", lambda entry: 3)


def result(bundle: Bundle) -> KernelResult:
    return verify(bundle, on="emulator").kernels[0]


@pytest.mark.parametrize("built", [split, stream])
def test_a_sample_of_a_right_kernel(built: Callable[[], Bundle]) -> None:
    found = result(built())
    assert found.passed, found
    assert found.coverage is not None and found.coverage.workgroups < found.coverage.of


@pytest.mark.parametrize(
    ("built", "pattern", "replacement", "reason"),
    [
        (split, r"^ *add\.f32 %acc_m0_n0, %acc_m0_n0, %part3_n0;\n", "", "wrong"),
        (split, r"(mul\.lo\.u32 %k0, %k0, )64;", r"\g<1>32;", "wrong"),
        (split, r"(mad\.lo\.u64 %out_offset, %wide, )33440,", r"\g<1>0,", "race"),
        (stream, r"^ *@%more bra collect_part;\n", "", "wrong"),
        (stream, r"st\.release\.gpu(\.global\.u32 \[%flag\])", r"st.relaxed.gpu\1", "race"),
        (stream, r"(mul\.lo\.u32 %k, )%first_tile, 64;", r"\g<1>0, 64;", "wrong"),
    ],
    ids=["part-left-out", "half-parts", "in-one-place", "no-second", "no-release", "from-0"],
)
def test_a_bug_in_parts_is_found_in_a_sample(
    built: Callable[[], Bundle], pattern: str, replacement: str, reason: str
) -> None:
    right = built()
    (name,) = [name for name in right.files if name.endswith(".ptx")]
    text, count = re.subn(pattern, replacement, right.files[name].decode(), flags=re.MULTILINE)
    assert count >= 1
    wrong = Bundle(manifest=right.manifest, files={**right.files, name: text.encode()})
    found = result(wrong)
    assert found.status == "failed"
    assert found.reason is not None and reason in found.reason
