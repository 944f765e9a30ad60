"""Bugs in conversions to and from integers and within expressions, in their arithmetic, in rows of
them, and in several outputs of as many types: the data that verify brings finds each."""

from __future__ import annotations

import re

import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.places import EmulatorExecutor
from kgen.check.verify import inputs
from kgen.check.verify import run as verify
from kgen.spec.text import parse

#: Kernel, target, and what stands in place of what.
BUGS = [
    ("cast 37 f32 out=s8", "sm_80", r"cvt\.pack\.sat\.s8", "cvt.pack.sat.u8"),
    ("cast 37 f32 out=s32", "sm_80", r"cvt\.rni\.s32", "cvt.rzi.s32"),
    ("cast 37 f32 out=s64", "sm_80", r"selp\.s64 (\S+), 0,", r"selp.s64 \1, 1,"),
    ("cast 37 s8 out=f32", "sm_80", r"bfe\.s32", "bfe.u32"),
    ("cast 37 s64 out=s32", "sm_80", r"cvt\.sat\.s32\.s64", "cvt.s32.s64"),
    ("x*y 37 s32", "sm_80", r"mul\.lo", "mul.hi"),
    ("where(x>y,x,y) 37 s32", "sm_80", r"setp\.lt\.s32", "setp.lt.u32"),
    ("x//y 37 s32", "sm_80", r"sub\.s32 (\S+), (\S+), 1;", r"mov.s32 \1, \2;"),
    ("cast 37 f32 out=bool", "sm_80", r"setp\.eq\.f32", "setp.equ.f32"),
    ("cast 37 f32 out=s8", "gfx942", r"fptosi\.sat", "fptoui.sat"),
    ("cast 37 u8 out=f32", "gfx942", r"uitofp", "sitofp"),
    ("cast 37 f32 out=u8", "gfx942", r"@llvm\.roundeven", "@llvm.floor"),
    ("cast 37 s32 out=s8", "gfx942", r"(icmp sgt .*)splat \(i32 127\)", r"\1splat (i32 255)"),
    ("x%y 37 s32", "gfx942", r"icmp slt (<.*> %v0\.y)", r"icmp sgt \1"),
    ("cast 37 s32 out=bool", "gfx942", r"icmp eq <", "icmp sle <"),
    ("amax 67x1 s32", "sm_80", r"mov\.s32 %max, -2147483648", "mov.s32 %max, 0"),
    ("sum 5x37 s32", "sm_80", r"mov\.s32 %sum, 0", "mov.s32 %sum, 1"),
    ("softmax(where(m,x,-inf)) 1x37,5x37 bool,f16", "sm_80", r"setp\.eq\.f32", "setp.ne.f32"),
    ("m=mean(x);amax(x) 5x37 u8 out=f32,u8", "sm_80", r"(%m_ptr\], )%\w+", r"\1%max"),
    ("amin 3x31x33 s32 axes=1", "sm_80", r"min\.s32", "min.u32"),
    ("amin 3x31x33 s32 axes=1", "gfx942", r"i32 2147483647", "i32 -2147483648"),
    ("amin 3x31x33 s32 axes=1", "gfx942", r"\[33 x i32\](.*%v3\.wide)", r"[32 x i32]\1"),
    ("sum 5x37 s32", "gfx942", r"update\.dpp(.*)i32 78,", r"update.dpp\1i32 177,"),
    ("h=x*y;x<y 5x37,37 f32 out=f16,bool", "gfx942", r"half %v0\.h\.rounded,", "half 0xH0000,"),
    ("cast(x,bf16)+x 37 f32", "sm_75", r"add(\.u32 %rounded, %bits, )0x7FFF", r"add\g<1>0"),
    ("cast(x,f16)*3 37 f32", "gfx942", r"\bhalf\b", "bfloat"),
    ("cast(x*99,u8)-y 37 f32", "gfx942", "0x406FE0", "0x405FC0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "target", "pattern", "replacement"), BUGS)
def test_the_bug_is_found(text: str, target: str, pattern: str, replacement: str) -> None:
    kernel = pipeline.kernel(parse(text), targets.find(target))
    (entry,) = bundle.pack([kernel]).manifest.kernels
    source = kernel.source.text
    wrong = re.sub(pattern, replacement, source)
    assert wrong != source
    form = "ptx" if entry.target.family == "cuda" else "llvm-ir"

    def passes(code: str) -> bool:
        executor = EmulatorExecutor(entry, form, code)
        sets = inputs.data_sets(entry, seed=0)
        return all(verify.run(executor, entry, data, None, 0).passed for data in sets)

    assert passes(source) and not passes(wrong)
