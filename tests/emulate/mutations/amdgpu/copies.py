"""Bugs in loads that go straight to LDS, in IR that we wrote by hand: no template uses them yet."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from tests.emulate.mutations.amdgpu.products import ACQUIRE, BARRIER, RELEASE
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs, written_by_hand

SOURCE = Path(__file__).parents[2] / "data" / "amd" / "copy_ring.ll"


@cache
def copy_ring() -> Program:
    """Two waves load for each other, one round ahead."""
    rounds = np.random.default_rng(4).integers(0, 1000, (5, 128), np.uint32)
    return written_by_hand(
        "copy_ring",
        SOURCE.read_text(),
        rounds[:, ::-1].sum(axis=0, dtype=np.uint32),
        lambda out: [rounds, out, np.uint32(len(rounds))],
        language="llvm",
        arch="gfx942",
        grid=(1, 1, 1),
        block=(128, 1, 1),
    )


PROGRAMS = (copy_ring,)

FIRST = r"(?=(?:.*\n){0,2} *br label %loop)"
LOOP = r"(?=(?:.*\n){0,2} *br i1 %more, label %loop)"

MUTATIONS = (
    *bugs(
        copy_ring,
        "pending-copy",
        ("first-release-dropped", RELEASE + FIRST, ""),
        ("release-of-a-wave", r'(syncscope\(")workgroup("\) release\n)' + FIRST, r"\1wavefront\2"),
        (
            "release-of-global-memory",
            r'(syncscope\("workgroup"\) release)(\n)' + FIRST,
            r"\1, !mmra !0\2",
        ),
        (
            "release-before-the-load",
            r"(^ *call void @llvm\.amdgcn\.global\.load\.lds.*\n)(" + RELEASE + ")",
            r"\2\1",
        ),
        ("one-stage", r"(%ahead\.stage = and i32 %round\.next, )1", r"\g<1>0"),
        ("stage-that-is-on-its-way", r"(%stage = and i32 %round)(, 1)", r"\1.next\2"),
    ),
    *bugs(
        copy_ring,
        "race",
        ("release-dropped", RELEASE + LOOP, ""),
        ("first-barrier-dropped", BARRIER + FIRST, ""),
        ("barrier-dropped", BARRIER + LOOP, ""),
        ("acquire-dropped", ACQUIRE + LOOP, ""),
    ),
    *bugs(
        copy_ring,
        "out-of-bounds",
        ("one-round-too-many", r"(%more = icmp )ult", r"\1ule"),
        ("ring-of-four", r"(%ahead\.stage = and i32 %round\.next, )1", r"\g<1>3"),
    ),
    *bugs(
        copy_ring,
        WRONG_RESULT,
        ("half-a-round", r"(%ahead\.word = mul i32 %round\.next, )128", r"\g<1>64"),
    ),
)
