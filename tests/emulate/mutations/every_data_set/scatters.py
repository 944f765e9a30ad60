"""Bugs in scatters: rows are written wherever their index points."""

from __future__ import annotations

from tests.emulate.mutations.mutation import WRONG_RESULT, bugs
from tests.emulate.mutations.templates import Verified

SPEC = "scatter(cache,pos,rows,1) 2x12x8,1,2x1x8 f32 index_dtype=s64"
#: Verdict, pattern and replacement by target.
BUGS = {
    "x86-64-v3": (
        WRONG_RESULT,
        r"br i1 %within_1\.holds, label (%row\.do), label %row\.done",
        r"br label \1",
    ),
    "sm_80": ("out-of-bounds", r"@%within_1_0 (st\.)", r"\1"),
    "gfx942": (
        "out-of-bounds",
        r"br i1 %v0\.within_1\.holds, label (%v0\.write), .*",
        r"br label \1",
    ),
}

PROGRAMS = tuple(Verified(spec=SPEC, target=target) for target in BUGS)

MUTATIONS = tuple(
    mutation
    for target, (verdict, pattern, replacement) in BUGS.items()
    for mutation in bugs(
        Verified(spec=SPEC, target=target),
        verdict,
        ("written-out-of-range", pattern, replacement),
        times=None,
    )
)
