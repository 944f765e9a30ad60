"""Overflow of operations with nuw and nsw is reported as a fault."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.ops import PURE
from kgen.emulate.llvm.ops.overflow import overflow_of
from kgen.emulate.llvm.types import LlvmInteger
from tests.emulate.llvm.llvm_kernels import LANE, Array, kernel, run

EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b,
}


def edges(width: int) -> list[int]:
    """Return every value of a narrow type; of a wide one, values near its limits and near half
    its bits."""
    if width <= 4:
        return list(range(1 << width))
    near = (0, 1 << (width // 2 - 1), 1 << (width // 2), 1 << (width - 1))
    return [(each + by) % (1 << width) for each in near for by in (-2, -1, 0, 1, 3)]


@pytest.mark.parametrize("width", [3, 4, 8, 16, 24, 32, 33, 64])
@pytest.mark.parametrize("opcode", EXACT)
@pytest.mark.parametrize("flags", [("nuw",), ("nsw",), ("nuw", "nsw")], ids=" ".join)
def test_overflow_is_that_of_whole_numbers(opcode: str, flags: tuple[str, ...], width: int) -> None:
    type_ = LlvmInteger(width)
    ins = LlvmInstruction(opcode=opcode, line=1, type=type_, flags=frozenset(flags))
    second = range(width) if opcode == "shl" else edges(width)
    pairs = [(a, b) for a in edges(width) for b in second]
    a, b = (np.array([column], type_.dtype) for column in zip(*pairs, strict=True))

    def signed(value: int) -> int:
        return value - (value >> (width - 1) << width)

    def overflows(a: int, b: int) -> bool:
        half, right = 1 << (width - 1), b if opcode == "shl" else signed(b)
        unsigned = 0 <= EXACT[opcode](a, b) < 2 * half
        as_signed = -half <= EXACT[opcode](signed(a), right) < half
        return ("nuw" in flags and not unsigned) or ("nsw" in flags and not as_signed)

    test = overflow_of(ins)
    assert test is not None
    found = np.broadcast_to(test(a, b, PURE[opcode](ins)(a, b)), a.shape)
    assert found[0].tolist() == [overflows(*pair) for pair in pairs]


SUM = """
  %r = add nuw i32 %t, -60
  %to = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %r, ptr addrspace(1) %to, align 4
"""


def launched(body: str, out: Array) -> None:
    source = kernel(body, "ptr addrspace(1) %out")
    run(source, entry="k", grid=(1, 1, 1), block=(64, 1, 1), arguments=[out])


def test_a_fault_names_the_lanes_that_overflow() -> None:
    out = np.zeros(64, np.uint32)
    with pytest.raises(EmulationFault, match=r"the result overflows, against nuw") as caught:
        launched(SUM + "  ret void", out)
    assert caught.value.fault.kind == "poison"
    assert caught.value.fault.lanes[0] == 60


def test_lanes_that_are_not_there_do_not_overflow() -> None:
    guarded = (
        "  %few = icmp ult i32 %t, 60\n  br i1 %few, label %inside, label %end\ninside:\n"
        + SUM
        + "  br label %end\nend:\n  ret void"
    )
    out = np.zeros(64, np.uint32)
    launched(guarded, out)
    assert out[:60].tolist() == (LANE[:60] - np.uint32(60)).tolist() and not out[60:].any()
