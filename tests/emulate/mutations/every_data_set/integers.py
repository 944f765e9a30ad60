"""Bugs in arithmetic of integers and in conversions: within expressions, in rows, and in kernels
with several outputs."""

from __future__ import annotations

from tests.emulate.mutations.mutation import SPECIAL_VALUE, WRONG_RESULT, bugs
from tests.emulate.mutations.templates import Verified

#: Kernel, bug, pattern and replacement by target; every match is changed.
BUGS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "sm_80": (
        ("cast 37 f32 out=s8", "u8-for-s8", r"cvt\.pack\.sat\.s8", "cvt.pack.sat.u8"),
        ("cast 37 f32 out=s32", "truncated", r"cvt\.rni\.s32", "cvt.rzi.s32"),
        ("cast 37 f32 out=s64", "nan-is-1", r"selp\.s64 (\S+), 0,", r"selp.s64 \1, 1,"),
        ("cast 37 s8 out=f32", "zero-extended", r"bfe\.s32", "bfe.u32"),
        ("cast 37 s64 out=s32", "not-saturated", r"cvt\.sat\.s32\.s64", "cvt.s32.s64"),
        ("x*y 37 s32", "high-half", r"mul\.lo", "mul.hi"),
        ("where(x>y,x,y) 37 s32", "unsigned", r"setp\.lt\.s32", "setp.lt.u32"),
        (
            "x//y 37 s32",
            "quotient-not-rounded-down",
            r"sub\.s32 (\S+), (\S+), 1;",
            r"mov.s32 \1, \2;",
        ),
        ("cast 37 f32 out=bool", "nan-is-false", r"setp\.eq\.f32", "setp.equ.f32"),
        ("amax 67x1 s32", "maximum-from-0", r"mov\.s32 %max, -2147483648", "mov.s32 %max, 0"),
        ("sum 5x37 s32", "sum-from-1", r"mov\.s32 %sum, 0", "mov.s32 %sum, 1"),
        (
            "softmax(where(m,x,-inf)) 1x37,5x37 bool,f16",
            "mask-inverted",
            r"setp\.eq\.f32",
            "setp.ne.f32",
        ),
        (
            "m=mean(x);amax(x) 5x37 u8 out=f32,u8",
            "maximum-for-mean",
            r"(%m_ptr\], )%\w+",
            r"\1%max",
        ),
        ("amin 3x31x33 s32 axes=1", "unsigned-minimum", r"min\.s32", "min.u32"),
    ),
    "gfx942": (
        ("cast 37 f32 out=s8", "u8-for-s8", r"fptosi\.sat", "fptoui.sat"),
        ("cast 37 u8 out=f32", "u8-is-signed", "uitofp", "sitofp"),
        ("cast 37 f32 out=u8", "rounded-down", r"@llvm\.roundeven", "@llvm.floor"),
        (
            "cast 37 s32 out=s8",
            "saturated-to-255",
            r"(icmp sgt .*)splat \(i32 127\)",
            r"\1splat (i32 255)",
        ),
        ("x%y 37 s32", "sign-of-the-other-operand", r"icmp slt (<.*> %v0\.y)", r"icmp sgt \1"),
        ("cast 37 s32 out=bool", "below-zero-is-true", "icmp eq <", "icmp sle <"),
        ("amin 3x31x33 s32 axes=1", "minimum-from-below", "i32 2147483647", "i32 -2147483648"),
        (
            "amin 3x31x33 s32 axes=1",
            "a-row-left-out",
            r"\[33 x i32\](.*%v3\.wide)",
            r"[32 x i32]\1",
        ),
        ("sum 5x37 s32", "lane-of-another", r"update\.dpp(.*)i32 78,", r"update.dpp\1i32 177,"),
        (
            "h=x*y;x<y 5x37,37 f32 out=f16,bool",
            "not-stored-rounded",
            r"half %v0\.h\.rounded,",
            "half 0xH0000,",
        ),
        ("cast(x,f16)*3 37 f32", "bfloat-for-half", r"\bhalf\b", "bfloat"),
        ("cast(x*99,u8)-y 37 f32", "saturated-to-254", "0x406FE0", "0x405FC0"),
    ),
    "sm_75": (
        ("cast(x,bf16)+x 37 f32", "ties-down", r"add(\.u32 %rounded, %bits, )0x7FFF", r"add\g<1>0"),
    ),
}

PROGRAMS = tuple(
    dict.fromkeys(
        Verified(spec=spec, target=target) for target, rows in BUGS.items() for spec, *_ in rows
    )
)

MUTATIONS = tuple(
    mutation
    for target, rows in BUGS.items()
    for spec, name, pattern, replacement in rows
    for mutation in bugs(
        Verified(spec=spec, target=target),
        SPECIAL_VALUE if name.startswith("nan-") else WRONG_RESULT,
        (name, pattern, replacement),
        times=None,
    )
)
