"""Order across CTAs by tickets: the last CTA adds up what all CTAs wrote."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_order import SEEDS, fault, line_of, words
from tests.emulate.ptx.ptx_programs import program, run

#: The CTA that takes the last ticket adds what all wrote to the workspace.
SPLIT = """
    mad.wide.u32 %a0, %i, 4, %p0;
    add.u32 %r0, %i, 1;
    st.global.u32 [%a0], %r0;
    {release}
    {before}
    setp.eq.u32 %q0, %t, 0;
    mov.u32 %r1, ticket;
    @%q0 {atom} %r2, [%p1], 1;
    @%q0 st.shared.u32 [%r1], %r2;
    bar.sync 0;
    {acquire}
    ld.shared.u32 %r2, [%r1];
    mov.u32 %r3, %nctaid.x;
    sub.u32 %r3, %r3, 1;
    setp.ne.u32 %q1, %r2, %r3;
    @%q1 ret;
    mov.u32 %r4, 0;
    mov.u32 %r5, %t;
    mov.u32 %r6, 0;
LOOP:
    mad.wide.u32 %a1, %r5, 4, %p0;
    ld.global.u32 %r7, [%a1];
    add.u32 %r4, %r4, %r7;
    add.u32 %r5, %r5, %n;
    add.u32 %r6, %r6, 1;
    setp.le.u32 %q2, %r6, %r3;
    @%q2 bra LOOP;
    mad.wide.u32 %a2, %t, 4, %p2;
    st.global.u32 [%a2], %r4;
"""
TICKET = ".shared .align 4 .b8 ticket[4];"


def split(
    release: str = "fence.acq_rel.gpu;",
    acquire: str = "fence.acq_rel.gpu;",
    before: str = "bar.sync 0;",
    atom: str = "atom.global.add.u32",
) -> str:
    text = SPLIT.format(release=release, acquire=acquire, before=before, atom=atom)
    return program(text, params=3, shared=TICKET)


def run_split(source: str, ctas: int, threads: int, seed: int) -> None:
    out = words(threads)
    run(source, words(ctas * threads), words(1), out, ctas=ctas, threads=threads, seed=seed)
    wanted = np.arange(1, ctas * threads + 1).reshape(ctas, threads).sum(axis=0)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    "source",
    [
        split(),
        split("membar.gl;", "membar.gl;"),
        split("fence.sc.gpu;", "fence.sc.sys;"),
        split("", "", atom="atom.acq_rel.gpu.global.add.u32"),
        split("", "fence.acq_rel.gpu;", atom="atom.release.gpu.global.add.u32"),
        split(
            "", "", before="bar.sync 0;\n    fence.acq_rel.gpu;", atom="atom.acquire.global.add.u32"
        ),
    ],
    ids=["fences", "membar", "sc", "acq_rel", "release", "fence after barrier, acquire"],
)
def test_the_last_cta_may_read_what_the_others_wrote(source: str) -> None:
    for seed in SEEDS:
        run_split(source, ctas=5, threads=64, seed=seed)
    run_split(source, ctas=40, threads=1024, seed=0)


@pytest.mark.parametrize(
    "source",
    [
        split(release=""),
        split(acquire=""),
        split(release="membar.cta;"),
        split(acquire="fence.acq_rel.cta;"),
        split(before=""),
        split("", "", atom="atom.acquire.gpu.global.add.u32"),
        split("", "", atom="atom.release.gpu.global.add.u32"),
        split(before="", release="bar.sync 0;"),
    ],
    ids=[
        "no release", "no acquire", "narrow release", "narrow acquire", "no barrier",
        "acquire only", "release only", "no fence but a barrier",
    ],
)  # fmt: skip
def test_a_split_sum_that_lacks_one_step_races(source: str) -> None:
    for seed in SEEDS:
        found = fault(source, words(5 * 64), words(1), words(64), ctas=5, threads=64, seed=seed)
        assert found.kind == "race" and found.instruction.startswith("ld.global.u32 %r7")
        assert line_of(source, "st.global.u32 [%a0]") in found.message
    found = fault(source, words(40 * 1024), words(1), words(1024), ctas=40, threads=1024)
    assert found.kind == "race"
