"""No golden computes an operand unchanged: x + 0, x * 1, x >> 0, a predicate that always holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgen.identities import without_identities

ROOT = Path(__file__).parents[2] / "generated"

#: By the extension of a golden's file: lines that compute nothing.
USELESS = {
    "ptx": (
        r"\b(add|sub|or|xor|shl|shr)\.\w+ [^,]+, [^,]+, (0|0x0+|0f00000000|0f80000000);",
        r"\b(mul\.lo|mul|div)\.\w+ [^,]+, [^,]+, (1|0f3F800000);",
        r"\b(mad\.lo|fma\.rn)\.\w+ [^,]+, [^,]+, (1|0f3F800000),",
        r"\b(mad\.lo|fma\.rn)\.\w+ [^,]+, [^,]+, [^,]+, 0;",
        r"\brem\.\w+ [^,]+, [^,]+, 1;",
        r"(?<![.\w])(mul\.lo|and|mad\.lo)\.\w+ [^,]+, [^,]+, 0[,;]",
        r"\bsetp\.(ge|lt)\.u\d+ [^,]+, [^,]+, 0;",
        r"\bsetp\.\w+\.\w+ [^,]+, (\S+), \1;",
    ),
    "ll": (
        r"= (add|sub|or|xor|shl|lshr|ashr)\b[^,]*, (0|zeroinitializer)$",
        r"= (mul|udiv|sdiv)\b[^,]*, 1$",
        r"= urem\b[^,]*, 1$",
        r"= (add|mul|and)\b[^,]* 0, ",
        r"= (mul|and)\b[^,]*, 0$",
        r"= (add|sub|mul|shl|lshr|udiv|urem|and|or|xor)\b[^%]* \d+, \d+$",
        r"= getelementptr [^,]+, ptr [^,]+, i\d+ 0$",
        r"\bbr i1 (true|false)\b",
        r"\bselect i1 (true|false)\b",
        r"\bicmp \w+ \S+ (\S+), \1$",
        r"\bicmp uge [^,]+, 0$",
    ),
    "spvasm": (
        r"Op(IAdd|ISub|ShiftLeftLogical|ShiftRightLogical|BitwiseOr|BitwiseXor) \S+ \S+ %uint_0$",
        r"Op(IMul|UDiv|UMod) \S+ \S+ %uint_1$",
        r"OpIAdd \S+ %uint_0 ",
        r"OpIMul \S+ %uint_1 ",
        r"OpIMul .*%uint_0\b",
        r"OpConstantTrue|OpConstantFalse",
    ),
}
#: wgmma takes "add to D" as a predicate register, which no other instruction gives it.
SCALE_D = "setp.eq.u32 %scale_d, %lane, %lane;"


def useless(line: str, extension: str) -> bool:
    code = line.split("//" if extension == "ptx" else ";", 1)[0].rstrip()
    if SCALE_D in code:
        return False
    return any(re.search(pattern, code) for pattern in USELESS[extension])


@pytest.mark.parametrize("extension", USELESS)
def test_no_golden_holds_arithmetic_that_changes_nothing(extension: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(ROOT.rglob(f"*.{extension}"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if useless(line, extension)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("extension", "line"),
    [
        ("ptx", "    add.u64 %out_row, %out_ptr, 0;"),
        ("ptx", "    mad.lo.u32 %a_to, %a_col, 1, %a_to;"),
        ("ptx", "    @%p setp.lt.u32 %q, %lane, 0;"),
        ("ptx", "    and.b32 %warp_n, %warp, 0;"),
        ("ll", "  %a = add nuw nsw i32 %b, 0"),
        ("ll", "  %a = mul nuw nsw i32 0, 4"),
        ("ll", "  %a = add nuw nsw i32 3, 4"),
        ("ll", "  %a = getelementptr <16 x float>, ptr %b, i64 0 ; the first"),
        ("spvasm", "%at0 = OpIAdd %uint %first %uint_0"),
    ],
)
def test_useless_lines_are_found(extension: str, line: str) -> None:
    assert useless(line, extension)


def test_ptx_moves_or_leaves_out() -> None:
    text = (
        "    add.u64 %a, %b, 0;\n"
        "    @%p mul.lo.u32 %a, %a, 1;\n"
        "    mad.lo.u32 %a, %b, 1, %c;\n"
        "    rem.u32 %a, %b, 1;\n"
        "    mul.lo.u32 %a, %b, 0;\n"
        "    and.b32 %a, %b, 1;\n"
        "    add.u32 %a, %b, 1;\n"
        "    ld.global.u32 %a, [%b+0];\n"
    )
    assert without_identities(text, "ptx") == (
        "    mov.u64 %a, %b;\n"
        "    add.u32 %a, %b, %c;\n"
        "    mov.u32 %a, 0;\n"
        "    mov.u32 %a, 0;\n"
        "    and.b32 %a, %b, 1;\n"
        "    add.u32 %a, %b, 1;\n"
        "    ld.global.u32 %a, [%b+0];\n"
    )


def test_llvm_names_are_those_of_their_function() -> None:
    text = (
        "define void @one(ptr %p) {\n"
        "  %x = add nuw i64 %k, 0\n"
        "  %row = mul nuw i64 %k, 0\n"
        "  %row.one = add i64 %row, 1\n"
        "  %row.x = add i64 %row, %x\n"
        "  %x.next = mul i64 %row.x, 1\n"
        "  %q = getelementptr i8, ptr %p, i64 0\n"
        "  store i64 %x.next, ptr %q, align 8 ; %x.\n"
        "  store i64 %row.one, ptr %q, align 8\n"
        "}\n"
        "define void @other(i64 %x) {\n"
        "  %r = urem i64 %x, 1\n"
        "  %z = add i64 %x, %r\n"
        "  ret i64 %z\n"
        "}\n"
    )
    assert without_identities(text, "ll") == (
        "define void @one(ptr %p) {\n"
        "  store i64 %k, ptr %p, align 8 ; %k.\n"
        "  store i64 1, ptr %p, align 8\n"
        "}\n"
        "define void @other(i64 %x) {\n"
        "  ret i64 %x\n"
        "}\n"
    )


def test_spirv_names_take_the_place_of_what_they_equal() -> None:
    text = (
        "%at = OpIAdd %uint %first %uint_0\n"
        "%scaled = OpIMul %uint %at %uint_1\n"
        "%ptr = OpAccessChain %float_ptr %tile %scaled\n"
        "%sum = OpIAdd %uint %at %uint_10\n"
    )
    assert without_identities(text, "spvasm") == (
        "%ptr = OpAccessChain %float_ptr %tile %first\n%sum = OpIAdd %uint %first %uint_10\n"
    )
