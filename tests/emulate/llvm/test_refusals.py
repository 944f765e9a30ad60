"""Refusals name the text, the instruction, the type or the argument."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.llvm.llvm_kernels import on_cpu, run


def test_unknown_instructions_are_named_even_where_they_would_not_run() -> None:
    source = """
define void @f(ptr %p) {
entry:
  ret void
dead:
  %x = call double @llvm.sinh.f64(double 1.0)
  br label %dead
other:
  br i1 true, label %entry2, label %dead
entry2:
  ret void
}
declare double @llvm.sinh.f64(double)
"""
    source = source.replace("entry:\n  ret void", "entry:\n  br label %dead", 1)
    with pytest.raises(UnknownInstruction, match=r"line 6: .*llvm.sinh.f64") as error:
        on_cpu(source, "f", [np.zeros(1)])
    assert error.value.line == 6


def test_integers_wider_than_a_register_are_unknown() -> None:
    source = """
define void @f(i64 %n) {
  %wide = zext i64 %n to i128
  ret void
}
"""
    with pytest.raises(UnknownInstruction, match=r"line 3: .*i128"):
        on_cpu(source, "f", [np.int64(1)])


def test_unreachable_is_a_fault() -> None:
    source = """
define void @f(i64 %n) {
  %bad = icmp ugt i64 %n, 3
  br i1 %bad, label %trap, label %fine
trap:
  unreachable
fine:
  ret void
}
"""
    on_cpu(source, "f", [np.int64(3)])
    with pytest.raises(EmulationFault, match="unreachable") as error:
        on_cpu(source, "f", [np.int64(4)])
    assert (error.value.fault.kind, error.value.fault.line) == ("trap", 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [np.zeros(4, np.float32)],
            "f: number of arguments is 1; pass 2 in the order of its definition",
        ),
        ([np.zeros(4, np.float32), np.zeros(4)], "n has type i64; it cannot be an array"),
        ([np.int64(1), np.int64(1)], "p has type ptr; it cannot be int64"),
        ([np.zeros(4, np.float32), np.int32(1)], "n has type i64; it cannot be int32"),
        ([np.zeros((4, 4))[:, ::2], np.int64(1)], "C-contiguous"),
    ],
)
def test_arguments_that_do_not_fit(arguments: list[np.ndarray | np.generic], message: str) -> None:
    source = "define void @f(ptr %p, i64 %n) {\n  ret void\n}\n"
    with pytest.raises(EmulationError, match=message):
        on_cpu(source, "f", arguments)


def test_text_that_is_not_ir_names_the_line() -> None:
    with pytest.raises(EmulationError, match="line 2"):
        run(
            "define void @f() {\n  %x = add i32 1 2\n  ret void\n}\n",
            entry="f",
            grid=(1, 1, 1),
            block=(1, 1, 1),
            arguments=[],
        )
    with pytest.raises(EmulationError, match="no function g in the module; it defines f"):
        on_cpu("define void @f() {\n  ret void\n}\n", "g", [])
