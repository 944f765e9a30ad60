"""Bugs in a gather and in a padded, reversed copy that the PTX templates render."""

from __future__ import annotations

from functools import cache

from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def gather() -> Program:
    """Rows in vectors, by indices of which some are no row."""
    return rendered("gather(table,rows) 9x16,31 f32 index_dtype=s64", "sm_80")


@cache
def padded() -> Program:
    """Rows backwards, one element at a time, between rows of zeros."""
    return rendered("pad(slice(x,1,inf,-inf,-1),0,1,2) 5x16 f16", "sm_80")


PROGRAMS = (gather, padded)

MUTATIONS = (
    *bugs(
        gather,
        "out-of-bounds",
        ("the-row-is-read-wherever-it-is", r"^ *selp\.b64 %from, %from, 0, %within_1_0;\n", ""),
        ("rows-below-zero-pass", r"(setp\.lt\.)u(64 %within_1_0, %within_1_0_place)", r"\1s\2"),
        ("one-row-too-many", r"(%within_1_0, %within_1_0_place, )9", r"\g<1>10"),
    ),
    *bugs(
        gather,
        WRONG_RESULT,
        ("negative-rows-count-from-the-last", r"(%rows0_0, )9;", r"\g<1>8;"),
        ("lower-word-of-an-index", r"(ld\.global\.s)64( %rows0_0)", r"\g<1>32\2"),
        ("no-zeros-for-no-row", r"selp(\.f32 %out0_2, %table0_2), .*;", r"mov\1;"),
        ("first-row-is-none", r"(setp\.)lt(\.s64 %within_1_0, %rows0_0, 0)", r"\1le\2"),
    ),
    *bugs(
        padded,
        "out-of-bounds",
        ("rows-of-zeros-are-read", r"^ *selp\.b64 %from, %from, 14, %within_1_0;\n", ""),
        ("spare-elements-before-the-tensor", r"(selp\.b64 %from, %from, )14", r"\g<1>0"),
        ("a-row-too-late", r"(%within_1_0_place, )5", r"\g<1>6"),
    ),
    *bugs(
        padded,
        WRONG_RESULT,
        ("a-row-too-early", r"(%within_1_0_place, )5", r"\g<1>4"),
        ("elements-in-order", r"(%x0_3, \[%from\+-)6", r"\g<1>4"),
        ("not-zero", r"selp(\.b16 %out0_5, %x0_5), .*;", r"mov\1;"),
    ),
)
