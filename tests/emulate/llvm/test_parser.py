"""Parser of LLVM IR: every form of constant, type and name that LLVM prints."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

from kgen.emulate.llvm import parse
from kgen.emulate.llvm.frontend.literals import constant_value
from kgen.emulate.llvm.frontend.module import Constant
from kgen.emulate.llvm.types import (
    I8,
    I16,
    I32,
    I64,
    ArrayType,
    LlvmInteger,
    LlvmVector,
    Pointer,
    Struct,
)
from kgen.errors import EmulationError
from tests.emulate.llvm.llvm_kernels import on_cpu

EVERYTHING = r"""; a comment with "quotes" and %names
source_filename = "x.ll"
target datalayout = "e-m:e"
target triple = "x86_64-unknown-linux-gnu"
%"a struct" = type { i32, [2 x ptr] }
%opaque = type opaque
$group = comdat any
@"odd name" = private unnamed_addr constant [3 x i8] c"\00a\5C", align 1
@table = internal global [2 x %"a struct"] zeroinitializer, align 8
@outside = external global i32

declare void @llvm.assume(i1 noundef) #1

define dso_local range(i32 0, 9) i32 @"quoted fn"(i32 noundef %0, ptr noalias nocapture readonly
    align 16 dereferenceable(8) %p) local_unnamed_addr #0 !dbg !4 {
  %2 = add nuw nsw i32 %0, 5, !dbg !5
  br label %"a label", !llvm.loop !6

"a label":                                        ; preds = %1
  %x = phi i32 [ %2, %1 ]
  call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16) ]
  switch i32 %x, label %3 [ i32 -1, label %4
                            i32 2, label %4 ]

3:
  ret i32 %x

4:
  %y = tail call fastcc noundef i32 @helper(i32 noundef range(i32 1, 4) %x,
                                            ptr @table) #2, !srcloc !7
  ret i32 %y
}

define internal fastcc i32 @helper(i32 %a, ptr byval(%"a struct") align 8 %b) unnamed_addr {
  %c = getelementptr inbounds nuw %"a struct", ptr %b, i64 0, i32 1, i64 1
  ret i32 %a
}

attributes #0 = { nofree memory(argmem: readwrite, inaccessiblemem: none)
                  "target-cpu"="znver4" "k" }
attributes #1 = { nounwind }
attributes #2 = { nounwind }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"wchar_size", i32 4}
!4 = distinct !{!4}
!5 = !{}
!6 = distinct !{!6, !{!"llvm.loop.unroll.full"}}
!7 = !{i64 3}
"""


def test_all_forms_of_names_attributes_and_metadata() -> None:
    module = parse(EVERYTHING)
    assert module.triple == "x86_64-unknown-linux-gnu"
    assert module.globals["odd name"].initializer == Constant(ArrayType(3, I8), "bytes", b"\x00a\\")
    assert module.globals["outside"].initializer is None
    assert module.globals["table"].type == ArrayType(2, Struct((I32, ArrayType(2, Pointer()))))
    function = module.functions["quoted fn"]
    assert function.attributes == {"target-cpu": "znver4", "k": ""}
    assert [p.name for p in function.parameters] == ["0", "p"]
    assert [b.name for b in function.blocks] == ["1", "a label", "3", "4"]
    assert [len(b.instructions) for b in function.blocks] == [2, 3, 1, 2]
    switch = function.blocks[1].instructions[-1]
    assert switch.labels == ("3", "4", "4")
    assert module.text(switch.line) == "switch i32 %x, label %3 [ i32 -1, label %4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i32 -1", 0xFFFFFFFF),
        ("i8 u0xF0", 0xF0),
        ("i1 true", True),
        ("float 1.5", np.float32(1.5)),
        ("float -2.500000e-01", np.float32(-0.25)),
        ("float 0x3FB99999A0000000", np.float32(0.1)),
        ("float 0x7FF0000000000000", np.float32(np.inf)),
        ("double 0x3FB999999999999A", 0.1),
        ("half 0xH3C00", np.float16(1)),
        ("half 2.0", np.float16(2)),
        ("bfloat 0xR3F80", 0x3F80),
        ("bfloat 2.0", 0x4000),
        ("ptr null", 0),
        ("i64 ptrtoint (ptr inttoptr (i64 77 to ptr) to i64)", 77),
        ("i64 sub (i64 5, i64 7)", (1 << 64) - 2),
        ("<3 x i16> <i16 1, i16 -1, i16 poison>", [1, 0xFFFF, 0]),
        ("<4 x i32> splat (i32 9)", [9, 9, 9, 9]),
        ("<2 x float> zeroinitializer", [0, 0]),
        ("<2 x i1> <i1 true, i1 undef>", [True, False]),
    ],
)
def test_constants(text: str, expected: object) -> None:
    if "0x" not in text[4:6]:
        llvm.parse_assembly(f"@x = global {text}")
    initializer = parse(f"@x = global {text}").globals["x"].initializer
    assert initializer is not None
    np.testing.assert_array_equal(constant_value(initializer, {})[0, 0], expected)


def test_sizes_and_offsets() -> None:
    pair = Struct((I8, Struct((I16, I64))))
    assert (pair.size, pair.align, pair.offset(1)) == (24, 8, 8)
    packed = Struct((I8, I64, LlvmVector(3, I32)), packed=True)
    assert (packed.size, packed.align, packed.offset(2)) == (21, 1, 9)
    assert ArrayType(2, LlvmVector(3, I32)).size == 32
    assert Struct((I8, LlvmInteger(24))).offset(1) == 4
    assert (Pointer(3, 32).size, Pointer(8).size) == (4, 16)


def test_initialised_globals_are_read() -> None:
    source = """
@data = constant { i8, [2 x float], <{ i8, i16 }> } { i8 7, [2 x float] [float 1.0, float 2.0],
                                                      <{ i8, i16 }> <{ i8 3, i16 513 }> }
@address = constant ptr getelementptr inbounds (i8, ptr @data, i64 8)
define void @f(ptr %out) {
  %p = load ptr, ptr @address
  %x = load float, ptr %p
  store float %x, ptr %out
  %q = getelementptr i8, ptr @data, i64 13
  %y = load i16, ptr %q, align 1
  %z = uitofp i16 %y to float
  %o = getelementptr float, ptr %out, i64 1
  store float %z, ptr %o
  ret void
}
"""
    out = np.zeros(2, np.float32)
    on_cpu(source, "f", [out])
    assert out.tolist() == [2.0, 513.0]


def test_assembly_without_instructions_is_left_out() -> None:
    source = """
define void @f(ptr %out) {
  tail call void asm sideeffect "", "~{memory}"() #0
  store float 2.0, ptr %out, align 4
  ret void
}
"""
    out = np.zeros(1, np.float32)
    on_cpu(source, "f", [out])
    assert out.tolist() == [2.0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("define void @f(]\n", "line 1: expected a type"),
        ("define void @f() {\n  ret void\n", "line 3"),
        ("@a = alias i32, ptr @b\n", "aliases are not supported"),
        ("define void @f(ptr %p) {\n  call void %p()\n  ret void\n}\n", "through a pointer"),
        (
            'define void @f() {\n  call void asm "nop", ""()\n  ret void\n}\n',
            "line 2: inline assem",
        ),
        ("@x = global `i32 1\n", "cannot read"),
    ],
)
def test_errors_name_the_line(source: str, message: str) -> None:
    with pytest.raises(EmulationError, match=message):
        parse(source)
