"""Bugs in a gather and in a padded, reversed copy that the AMDGPU templates render."""

from __future__ import annotations

from functools import cache

from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def gather() -> Program:
    """Rows in vectors, by indices of which some are no row."""
    return rendered("gather(table,rows) 9x16,31 f32 index_dtype=s64", "gfx942")


@cache
def padded() -> Program:
    """Rows backwards, one element at a time, between rows of zeros."""
    return rendered("pad(slice(x,1,inf,-inf,-1),0,1,2) 5x16 f16", "gfx942")


PROGRAMS = (gather, padded)

MUTATIONS = (
    *bugs(
        gather,
        "out-of-bounds",
        ("the-row-is-read-wherever-it-is", r"select i1 %v0\.within_1\.holds, ", "select i1 true, "),
        ("rows-below-zero-pass", r"icmp ult( i64 %v0\.within_1\.place)", r"icmp slt\1"),
        ("one-row-too-many", r"(%v0\.within_1\.place, )9", r"\g<1>10"),
    ),
    *bugs(
        gather,
        WRONG_RESULT,
        ("negative-rows-count-from-the-last", r"(%v0\.rows, )9$", r"\g<1>8"),
        ("zeros-for-the-first-row", r"icmp slt( i64 %v0\.rows, 0)", r"icmp sle\1"),
    ),
    *bugs(
        gather,
        "poison",
        ("negative-rows-promised-away", r"(%v0\.within_1\.behind = add) ", r"\1 nuw "),
    ),
    *bugs(
        padded,
        "poison",
        ("offset-below-zero-promised-away", r"(%v0\.x\.sum0 = add) ", r"\1 nuw "),
        ("stride-below-zero-promised-away", r"(%v0\.x\.sum1 = add) ", r"\1 nuw "),
        ("row-before-the-first-promised-away", r"(%v0\.within_1\.past = sub) ", r"\1 nuw "),
    ),
    *bugs(
        padded,
        "out-of-bounds",
        ("rows-of-zeros-are-read", r"select i1 %v0\.within_1\.holds, ", "select i1 true, "),
        ("spare-elements-before-the-tensor", r"(%v0\.x\.sum1, i64 )7", r"\g<1>0"),
    ),
    *bugs(
        padded,
        WRONG_RESULT,
        ("a-row-too-early", r"(%v0\.within_1\.past, )5", r"\g<1>4"),
        ("an-element-twice", r"(%v0\.x\.from4 = .*)-1", r"\g<1>0"),
    ),
)
