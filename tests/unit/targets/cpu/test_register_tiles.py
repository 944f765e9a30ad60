"""Main loops of CPU matmuls keep their register tiles in vector registers, without spills."""

from __future__ import annotations

import itertools

import pytest

from kgen import pipeline, targets
from kgen.check.static import hot_loop
from kgen.check.static.machine_code import parse_assembly
from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.cpu.assemble import assembly
from kgen.targets.cpu.plan.matmul import MatmulPlan
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from kgen.targets.cpu.schedule.cost_model import best

#: Values of M that lead to tiles of every height, and to a remainder of one row.
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
    """Software prefetches (mainloop=ahead) need registers, too."""
    found = targets.find(target)
    loops = ["dot"] if dtype is DType.S8 or "+bf16" in target else ["blis", "ahead"]
    for m, mainloop in itertools.product(ROWS, loops):
        spec = Matmul(m=m, n=384, k=384, dtype=dtype, b_dtype=b_dtype, constant=constant)
        schedule = best(spec, found, {}, mainloop)
        assert schedule is not None
        planned = pipeline.plan(spec, found, schedule)
        assert isinstance(planned, MatmulPlan)
        text = assembly(pipeline.source(planned).text, found.arch, planned.features)
        code = parse_assembly(text)
        loop = hot_loop.find(code, hot_loop.WORDS["cpu"])
        assert loop is not None, spec.key
        if not isinstance(planned, TiledPlan) or loop.kind is hot_loop.WorkKind.LOAD:
            # Outer products; and a few steps of K, which are unrolled.
            assert planned.schedule.mainloop == "outer" or planned.blocking.k.is_split, spec.key
            continue
        inside = code[loop.body.start : loop.body.stop]
        assert not any(ins.spill and ins.opcode.startswith("v") for ins in inside), spec.key
