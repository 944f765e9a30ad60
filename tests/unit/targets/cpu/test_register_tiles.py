"""Tiles of the products of a row by a few vectors stay in registers, in each type's own way."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from kgen import pipeline
from kgen.check.static import hot_loop
from kgen.check.static.machine_code import parse_assembly
from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.assemble import assembly
from kgen.targets.cpu.plan.matmul import MatmulPlan
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan

#: Rows that make tiles of every height, and one row more than those of several.
ROWS = (2, 3, 5, 6, 8, 9, 11, 33)

IN_PLACE = [
    ("x86-64-v3", DType.F32, None, ()),
    ("x86-64-v3", DType.BF16, None, ()),
    ("x86-64-v3", DType.S8, None, ()),
    ("x86-64-v4", DType.F32, None, ()),
    ("x86-64-v4+bf16", DType.BF16, None, ()),
    ("x86-64-v4+vnni", DType.S8, None, ()),
]
PACKED = [
    (target, dtype, b_dtype, (ConstantOperand.B,)) for target, dtype, b_dtype, _ in IN_PLACE
] + [
    ("x86-64-v3", DType.F32, DType.BF16, (ConstantOperand.B,)),
    ("x86-64-v4", DType.F32, DType.BF16, (ConstantOperand.B,)),
]


@pytest.mark.integration
@pytest.mark.parametrize(("target", "dtype", "b_dtype", "constant"), [*IN_PLACE, *PACKED])
def test_the_loop_of_a_tile_does_not_spill(
    target: str, dtype: DType, b_dtype: DType | None, constant: tuple[ConstantOperand, ...]
) -> None:
    """Nor where its tiles fetch what they read later, which takes registers as well (Zen 5)."""
    found = FAMILY.find(target)
    assert found is not None
    walks = dataclasses.replace(found, device="Zen 5")
    for m, core in itertools.product(ROWS, (found, walks)):
        spec = Matmul(m=m, n=384, k=384, dtype=dtype, b_dtype=b_dtype, constant=constant)
        planned = pipeline.plan(spec, core)
        assert isinstance(planned, MatmulPlan)
        text = assembly(pipeline.source(planned).text, core.arch, planned.features)
        code = parse_assembly(text)
        loop = hot_loop.find(code, hot_loop.WORDS["cpu"])
        assert loop is not None, spec.key
        if not isinstance(planned, TiledPlan) or loop.kind is hot_loop.WorkKind.LOAD:
            # Outer products; and a few steps of K, which are unrolled.
            assert planned.schedule.mainloop == "outer" or planned.blocking.k_blocked, spec.key
            continue
        inside = code[loop.body.start : loop.body.stop]
        assert not any(ins.spill and ins.opcode.startswith("v") for ins in inside), spec.key
