"""Kernels follow from the spec, the target and the schedule alone."""

from __future__ import annotations

import pytest

from kgen import pipeline, targets
from kgen.schedule import AmxMatmul, CpuMatmul, DotMatmul, Schedule
from kgen.spec import DType, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.amx.matmul import AmxPlan
from kgen.targets.cpu.plan.kernels.blis import BlisPlan
from kgen.targets.cpu.plan.kernels.dot import DotPlan

SPEC = Matmul(m=64, n=64, k=64, dtype=DType.BF16, out_dtype=DType.F32)
BLOCKS = {"mr": 4, "nr": 16, "mc": 8, "kc": 64, "nc": 32}
TILES = {"mr": 32, "nr": 32, "mc": 64, "kc": 64, "nc": 64}


@pytest.mark.parametrize(
    ("schedule", "planned", "reason"),
    [
        (CpuMatmul(**BLOCKS), BlisPlan, "one fused multiply-add per term"),
        (DotMatmul(**BLOCKS), DotPlan, "vdpbf16ps adds pairs"),
        (AmxMatmul(**TILES), AmxPlan, "tdpbf16ps adds pairs"),
    ],
)
def test_the_schedule_selects_the_plan_and_the_reason_of_the_tolerance(
    schedule: Schedule, planned: type, reason: str
) -> None:
    target = targets.find("x86-64-amx")
    assert type(pipeline.plan(SPEC, target, schedule)) is planned
    assert reason in FAMILY.tolerance(SPEC, target, schedule).reason
