"""The deepest accepted formulas do not exceed Python's stack in any stage, on all families."""

from __future__ import annotations

import pytest

from kgen import pipeline, targets
from kgen.ops.parse import DEEPEST
from kgen.spec import Elementwise, Matmul, Rowwise, Spec

#: A function of many primitives.
CHAIN = "tanh(" * (DEEPEST - 1) + "{}" + ")" * (DEEPEST - 1)
SUM = "x" + " + x" * DEEPEST
SPECS: tuple[Spec, ...] = (
    Elementwise(expression=SUM, shapes=((8, 8),)),
    Elementwise(expression=CHAIN.format("-x"), shapes=((8, 8),), dtype="bf16"),
    Elementwise(expression="permute(" * DEEPEST + "x" + ", 1, 0)" * DEEPEST, shapes=((8, 8),)),
    Rowwise(expression=CHAIN.format("softmax(x)"), shapes=((8, 8),), dtype="bf16"),
    Rowwise(expression=f"mean({SUM.removesuffix(' + x')})", shapes=((8, 8),)),
    Matmul(m=16, n=16, k=16, epilogue=SUM),
)


@pytest.mark.parametrize("name", ["sm_80", "gfx942", "vulkan1.3", "x86-64-v4+bf16"])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.key)
def test_a_formula_of_the_greatest_depth_is_rendered(spec: Spec, name: str) -> None:
    assert pipeline.source(pipeline.plan(spec, targets.find(name))).text
