"""Bugs in a product whose CTAs share block tiles (stream-k): tickets, flags, sums of parts."""

from __future__ import annotations

from functools import cache

from kgen.schedule import WgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Mutation, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def stream_product() -> Program:
    """Four block tiles of five tiles along k, shared by seven CTAs: parts of two to four tiles."""
    schedule = WgmmaMatmul(
        block_m=64,
        block_n=64,
        block_k=64,
        num_stages=2,
        consumers=1,
        num_workgroups=7,
        stream_k=True,
    )
    return rendered("matmul 72x80x264 f16 layout=nt", "sm_90a", schedule)


PROGRAMS = (stream_product,)

#: Bugs that do not depend on how the products are computed; seven CTAs are numbered from the last.
FLAG_RACES = (
    (
        "flag-does-not-release",
        r"st\.release\.gpu(\.global\.u32 \[%flag\])",
        r"st.relaxed.gpu\1",
    ),
    ("flag-not-acquired", r"ld\.acquire\.gpu(\.global\.u32 %there)", r"ld.relaxed.gpu\1"),
)
WAITS_FOR_ITSELF = ("waits-for-itself", r"(add\.u32 %other, %other, )1;", r"\g<1>0;")
WRONG_PARTS = (
    ("second-part-left-out", r"^ *@%more bra collect_part;\n", ""),
    ("numbers-from-one", r"(sub\.u32 %cta, )6(, %cta;)", r"\g<1>7\2"),
)

MUTATIONS = (
    *bugs(
        stream_product,
        "race",
        *FLAG_RACES,
        (
            "flag-before-all-have-stored",
            r"^ *bar\.sync %part_barrier, 128;\n(?= *\{\n *\.reg \.u32 %there;\n *mov)",
            "",
        ),
        (
            "part-read-before-its-flag",
            r"(?<=^part_there:\n) *bar\.sync %part_barrier, 128;\n",
            "",
        ),
    ),
    *bugs(
        stream_product,
        "deadlock",
        WAITS_FOR_ITSELF,
        ("own-part-again", r"(add\.u32 %slot, %)other(, %consumer;)", r"\1cta\2"),
    ),
    *bugs(
        stream_product,
        "out-of-bounds",
        ("one-part-too-many", r"(setp\.)lt(\.u32 %more, %covered, %block_end;)", r"\1le\2"),
    ),
    *bugs(
        stream_product,
        WRONG_RESULT,
        *WRONG_PARTS,
        ("part-not-from-its-first-tile", r"(mul\.lo\.u32 %k, )%first_tile, 64;", r"\g<1>0, 64;"),
    ),
    Mutation(
        program=stream_product,
        name="parts-overlap",
        pattern=r"(mad\.lo\.u64 %part, %wide, )16384,",
        replacement=r"\g<1>8192,",
        expected="race",
        times=2,
    ),
)
