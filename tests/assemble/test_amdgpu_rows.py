"""Limits of vector instructions per element in AMD's row-wise kernels."""

from __future__ import annotations

import pytest

from kgen import pipeline
from kgen.check.static.machine_code import parse_assembly
from kgen.spec import DType, Rowwise
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.assemble import assembly
from kgen.targets.amdgpu.plan.rows.rowwise import RowwisePlan
from kgen.targets.base import Target

COLUMNS = 4096
#: Reading, maximum, difference, product, exponential, sum, product, rounding. Only gfx950 rounds
#: to bf16 in one instruction.
BARS = {DType.F16: 10, DType.F32: 10, DType.BF16: 16}


@pytest.mark.parametrize("dtype", BARS)
@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
def test_softmax(target: Target, dtype: DType) -> None:
    spec = Rowwise(expression="softmax(x)", shapes=((4096, COLUMNS),), dtype=dtype)
    plan = pipeline.plan(spec, target)
    assert isinstance(plan, RowwisePlan) and plan.resident
    code = parse_assembly(assembly(pipeline.source(plan).text, target))
    per_lane = COLUMNS // plan.row.lanes
    exponentials = [ins for ins in code if ins.opcode.startswith("v_exp_f32")]
    assert len(exponentials) == per_lane
    vector = [ins for ins in code if ins.opcode.startswith("v_")]
    assert len(vector) / per_lane <= BARS[dtype]
    # Sums and maxima of 16 lanes take no LDS: their lanes are operands of the instructions.
    assert sum("row_" in ins.operands or "quad_perm" in ins.operands for ins in code) >= 8
