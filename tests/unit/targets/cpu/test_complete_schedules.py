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


@pytest.mark.parametrize(
    ("schedule", "planned", "reason"),
    [
        (CpuMatmul(mr=4, nr=16, mc=8, kc=64, nc=32), BlisPlan, "one fused multiply-add per term"),
        (DotMatmul(mr=4, nr=16, mc=8, kc=64, nc=32), DotPlan, "vdpbf16ps adds pairs"),
        (AmxMatmul(mr=32, nr=32, mc=64, kc=64, nc=64), AmxPlan, "tdpbf16ps adds pairs"),
    ],
)
def test_the_schedule_selects_the_plan_and_the_reason_of_the_tolerance(
    schedule: Schedule, planned: type, reason: str
) -> None:
    target = targets.find("x86-64-amx")
    assert type(pipeline.plan(SPEC, target, schedule)) is planned
    assert reason in FAMILY.tolerance(SPEC, target, schedule).reason
