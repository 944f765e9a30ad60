"""`kgen verify` passes on samples of kernels whose CTAs compute parts of an output together.
Bugs in parts: `mutations/ptx/samples.py`."""

from __future__ import annotations

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
    "pingpong": 0, "cluster_m": 1, "tma_store": 0, "group_m": 2, "num_workgroups": 12,
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
