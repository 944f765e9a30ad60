"""Bulk copies of global memory among other accesses: ordered, or a race."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault, TensorMap, run
from tests.emulate.ptx.ptxas import assemble

#: CTAs of 64 threads. Thread 0 has made an mbarrier, `tile` is full for the async proxy to read,
#: and %mine is the thread's word of %data.
HEAD = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 128 .b8 tile[];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 data, .param .u64 flag)
{
  .reg .pred %first, %done;
  .reg .b32 %t, %r, %at, %cta, %zero;
  .reg .b64 %map, %data, %mine, %flag;
  .shared .align 8 .b64 bar;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  ld.param.u64 %data, [data];
  ld.param.u64 %flag, [flag];
  mov.u32 %t, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %zero, 0;
  setp.eq.u32 %first, %t, 0;
  mad.wide.u32 %mine, %t, 4, %data;
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 4, %at;
  st.shared.u32 [%at], %t;
  @%first mbarrier.init.shared::cta.b64 [bar], 1;
  @%first fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  bar.sync 0;
"""
STORE = "@%first cp.async.bulk.global.shared::cta.bulk_group [%data], [tile], 256;\n"
TENSOR = "@%first cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%map, {%zero}], [tile];\n"
ADD = "@%first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%data], [tile], 256;\n"
COMMIT, DONE = "cp.async.bulk.commit_group;\n", "cp.async.bulk.wait_group 0;\n"
READ_ONLY = "cp.async.bulk.wait_group.read 0;\n"
LOAD = """
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
      [tile], [%data], 256, [bar];
"""
WAIT = """
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0;
  @!%done bra wait;
"""
SYNC, GET, PUT = "bar.sync 0;\n", "ld.global.u32 %r, [%mine];\n", "st.global.u32 [%mine], %t;\n"
FENCE = "fence.proxy.async.global;\n"
#: What CTA 0 does before, CTA 1 does after it sees the flag.
RAISE = """
  @%first st.release.gpu.global.u32 [%flag], 1;
  bra.uni end;
look:
  ld.acquire.gpu.global.u32 %r, [%flag];
  setp.eq.u32 %done, %r, 0;
  @%done bra look;
"""


def outcome(body: str, ctas: int = 1) -> str:
    source = f"{HEAD}{body}\nend:\n  ret;\n}}\n"
    assemble(source, "sm_90a")
    data = np.zeros(64, np.uint32)
    map_ = TensorMap(buffer=data, dtype="u32", shape=[64], box=[64])
    try:
        run(
            source,
            language="ptx",
            entry="k",
            grid=(ctas, 1, 1),
            block=(64, 1, 1),
            arguments=[map_, data, np.zeros(1, np.uint32)],
            dynamic_shared=256,
        )
    except EmulationFault as found:
        return found.fault.kind
    return "clean"


def handed_on(before: str, after: str) -> str:
    """Return a program in which CTA 0 does one access and raises a flag, and CTA 1 waits for it
    and does the other."""
    choose = "setp.eq.u32 %done, %cta, 1;\n@%done bra look;\n"
    return outcome(f"{choose}{before}{RAISE}{after}", ctas=2)


@pytest.mark.parametrize("store", [STORE, TENSOR, ADD], ids=["bulk", "tensor", "reduction"])
@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (COMMIT + DONE + SYNC, "clean"),
        (COMMIT + READ_ONLY + SYNC, "race"),
        (COMMIT + SYNC, "race"),
        (COMMIT + SYNC + DONE, "race"),
        (SYNC, "race"),
    ],
    ids=["waited", "only-read", "no-wait", "wait-too-late", "no-commit"],
)
def test_what_a_copy_writes_is_there_after_the_wait(
    store: str, between: str, expected: str
) -> None:
    assert outcome(store + between + GET) == expected


@pytest.mark.parametrize("store", [STORE, TENSOR], ids=["bulk", "tensor"])
def test_the_thread_itself_must_wait(store: str) -> None:
    mine = f"@%first {GET}"
    assert outcome(store + COMMIT + mine) == "race"
    assert outcome(store + COMMIT + DONE + mine) == "clean"


@pytest.mark.parametrize("store", [STORE, TENSOR], ids=["bulk", "tensor"])
@pytest.mark.parametrize(("wait", "expected"), [(DONE, "clean"), (READ_ONLY, "race"), ("", "race")])
def test_another_cta_reads_what_a_copy_wrote(store: str, wait: str, expected: str) -> None:
    assert handed_on(store + COMMIT + wait + SYNC, GET) == expected


def test_ctas_that_copy_to_one_place_race() -> None:
    assert outcome(STORE + COMMIT + DONE, ctas=2) == "race"
    assert outcome(TENSOR + COMMIT, ctas=2) == "race"


def test_reductions_of_ctas_do_not_race_with_each_other() -> None:
    assert outcome(ADD + COMMIT + DONE, ctas=2) == "clean"
    assert outcome(ADD + COMMIT + DONE + PUT, ctas=2) == "race"


def test_two_copies_of_a_thread_to_one_place_race() -> None:
    assert outcome(STORE + STORE + COMMIT + DONE) == "race"
    assert outcome(STORE + COMMIT + DONE + STORE + COMMIT + DONE) == "clean"


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (FENCE + SYNC, "clean"),
        (SYNC + FENCE, "clean"),
        (SYNC, "missing-proxy-fence"),
        (FENCE, "race"),
        ("fence.proxy.async.shared::cta;\n" + SYNC, "missing-proxy-fence"),
    ],
    ids=["fenced", "fenced-by-the-reader", "no-fence", "no-barrier", "other-fence"],
)
def test_a_copy_reads_what_threads_wrote(between: str, expected: str) -> None:
    assert outcome(PUT + between + LOAD + WAIT) == expected


def test_a_copy_reads_what_another_cta_wrote() -> None:
    assert handed_on(PUT + FENCE + SYNC, LOAD + WAIT) == "clean"
    assert handed_on("", LOAD + WAIT + PUT) == "clean"
    no_flag = f"setp.eq.u32 %done, %cta, 1;\n@%done bra look;\n{PUT}bra.uni end;\nlook:\n"
    assert outcome(no_flag + LOAD + WAIT, ctas=2) == "race"


@pytest.mark.parametrize("who", ["", "@%first "], ids=["everybody", "itself"])
def test_what_a_copy_reads_must_stay_until_it_completes(who: str) -> None:
    assert outcome(LOAD + who + PUT + WAIT) == "race"
    assert outcome(LOAD + WAIT + who + PUT) == "clean"


def test_another_cta_overwrites_what_a_copy_has_read() -> None:
    assert handed_on(LOAD + WAIT + SYNC, PUT) == "clean"
    early = "@%first st.release.gpu.global.u32 [%flag], 1;\n"
    assert handed_on(LOAD + early + WAIT, PUT) == "race"
