"""Results that are a constant or an input, without a step of arithmetic, in every renderer."""

from __future__ import annotations

import pytest

from kgen.ops import Expression
from kgen.ops.expression import constant, variable
from kgen.spec import DType
from kgen.targets import find
from kgen.targets.cpu.expressions import CpuBitsRenderer, CpuRenderer
from kgen.targets.cpu.plan.vectors import Vector
from kgen.targets.cuda.expressions import PtxRenderer, PtxWholeRenderer, RegisterType
from kgen.targets.expressions import Renderer
from kgen.targets.llvm_expressions import LlvmWholeRenderer
from kgen.targets.llvm_ir import FloatType
from kgen.targets.vulkan.expressions import (
    SpirvBitsRenderer,
    SpirvPairRenderer,
    SpirvRenderer,
    SpirvWholeRenderer,
)

SM_80, CPU = find("sm_80"), find("x86-64-v3")
HALF = Vector(count=8, scalar="i16")
#: A renderer, and what it makes of 1 and of an input %x.
RENDERERS: tuple[tuple[Renderer, str, str], ...] = (
    (PtxRenderer(target=SM_80), "mov.f32 %y, 0f3F800000;", "mov.f32 %y, %x;"),
    (
        PtxRenderer(target=SM_80, type=RegisterType(dtype=DType.F16, lanes=2)),
        "mov.b32 %y, %f16x2_3c00;",
        "mov.b32 %y, %x;",
    ),
    (
        PtxWholeRenderer(target=SM_80, type=RegisterType(dtype=DType.S64)),
        "mov.s64 %y, 1;",
        "mov.s64 %y, %x;",
    ),
    (
        CpuRenderer(type=FloatType(dtype=DType.F32, lanes=2), target=CPU),
        "%y = bitcast <2 x float> splat (float 0x3FF0000000000000) to <2 x float>",
        "%y = bitcast <2 x float> %x to <2 x float>",
    ),
    (
        LlvmWholeRenderer(type=FloatType(dtype=DType.S32)),
        "%y = bitcast i32 1 to i32",
        "%y = bitcast i32 %x to i32",
    ),
    (
        CpuBitsRenderer(dtype=DType.F16, type=HALF),
        f"%y = bitcast {HALF} {HALF.splat(0x3C00)} to {HALF}",
        f"%y = bitcast {HALF} %x to {HALF}",
    ),
    (SpirvRenderer(), "%y = OpCopyObject %float %f32_3f800000", "%y = OpCopyObject %float %x"),
    (
        SpirvBitsRenderer(dtype=DType.F16),
        "%y = OpCopyObject %uint %uint_0x3c00",
        "%y = OpCopyObject %uint %x",
    ),
    (SpirvWholeRenderer(), "%y = OpCopyObject %uint %uint_0x1", "%y = OpCopyObject %uint %x"),
    (
        SpirvPairRenderer(),
        f"%y = OpCopyObject %uvec2 {SpirvPairRenderer().constant(1)}",
        "%y = OpCopyObject %uvec2 %x",
    ),
)


@pytest.mark.parametrize(("renderer", "of_one", "of_x"), RENDERERS)
def test_results_have_the_name_that_was_asked_for(
    renderer: Renderer, of_one: str, of_x: str
) -> None:
    def check(expression: Expression, line: str) -> None:
        found = renderer.render(expression, {"x": "%x"}, "%y")
        assert (found.lines, found.results, found.numbers) == ((line,), ("%y",), ("%y",))

    check(constant(1.0), of_one)
    check(variable("x"), of_x)
    # What is there under the name already stays as it is.
    assert not renderer.render(variable("x"), {"x": "%y"}, "%y").lines


def test_a_constant_that_others_take_as_well() -> None:
    renderer, x = PtxRenderer(target=SM_80), variable("x")
    both = [x + 1.0, constant(1.0)]
    found = renderer.render_all(both, {"x": "%x"}, "%g", ["%h", "%g"])
    assert found.results == ("%h", "%g") and set(found.numbers) == {"%h", "%g"}
    assert found.lines == ("mov.f32 %g, 0f3F800000;", "add.f32 %h, %x, %g;")


def test_a_constant_that_was_an_operand_before() -> None:
    """The phases of a row share values that are already computed."""
    renderer, x, one = PtxRenderer(target=SM_80), variable("x"), constant(1.0)
    known = {x: "%x"}
    renderer.compute([x + 1.0], known, "%sum")
    found = renderer.compute([one], known, "%out")
    assert found.lines == ("mov.f32 %out_constant, 0f3F800000;",)
    assert known[one] == "%out_constant"
