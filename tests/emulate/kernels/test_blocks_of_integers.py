"""Products of s8 on CPUs without dot-product instructions: s32 sums over several blocks of K."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgen
from kgen.spec import Matmul
from tests.emulate.one_schedule import verify

SPEC = Matmul(m=5, n=9, k=48, dtype="s8")


@pytest.mark.parametrize(
    "schedule",
    [
        {"kc": 16, "sums_in_out": 1, "tasks_per_pass": 1},
        {"kc": 16, "sums_in_out": 0, "tasks_per_pass": 1},
        {"mainloop": "split-k", "split_k": 2, "kc": 16, "mc": 5, "nc": 12, "pack_b": 0},
    ],
    ids=["in-the-output", "in-scratch", "in-two-launches"],
)
def test_sums_of_blocks(schedule: dict[str, int | str], tmp_path: Path) -> None:
    path = tmp_path / "integers.kgen"
    kgen.build(SPEC, targets=["aarch64-neon"], schedule=schedule).save(path)
    report = verify(path, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]
