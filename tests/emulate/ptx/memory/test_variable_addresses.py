"""Addresses of variables plus a constant (PTX ISA 9.7.9.2: `mov.type d, avar+imm`)."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import fault, kernel, out

SHARED = "  .shared .align 4 .b32 before[4];\n  .shared .align 4 .b32 array[4];\n"


@pytest.mark.parametrize(
    ("operand", "offset"), [("array+8", 8), ("array + 0x8", 8), ("array+-4", -4), ("array", 0)]
)
def test_a_constant_is_added(operand: str, offset: int) -> None:
    body = f"  mov.u32 %r1, {operand};\n  mov.u32 %r2, array;\n  sub.u32 %r1, %r1, %r2;\n"
    assert (out(body, declarations=SHARED).view(np.int32) == offset).all()


def test_a_write_through_it_is_checked() -> None:
    body = "  mov.u32 %r3, %tid.x;\n  mov.u64 %d1, flags+4;\n  st.global.u32 [%d1], %r3;\n"
    variable = ".global .align 4 .b32 flags[4];\n.visible"
    found = fault(kernel(body).replace(".visible", variable, 1), block=(64, 1, 1))
    assert (found.kind, found.array) == ("race", "byte 4 of flags")


@pytest.mark.parametrize("operand", ["%r2+4", "array+%r2", "array+1.5", "array-4"])
def test_other_sums_are_refused(operand: str) -> None:
    with pytest.raises(EmulationError, match="is not an operand"):
        out(f"  mov.u32 %r1, {operand};\n", declarations=SHARED)
