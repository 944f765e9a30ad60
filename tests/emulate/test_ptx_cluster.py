"""Clusters: ranks, distributed shared memory, barriers, multicast; other Hopper instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, TensorMap, run
from kgen.errors import EmulationError
from tests.emulate.ptx_kernels import Array
from tests.emulate.ptxas import assemble

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p, %q, %done;
  .reg .b16 %mask;
  .reg .b32 %t, %rank, %other, %at, %there, %r<8>;
  .reg .b64 %in, %out, %d, %e;
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b64 bar;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %r0, %cluster_nctarank;
  add.u32 %other, %rank, 1;
  rem.u32 %other, %other, %r0;
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 4, %at;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r1, %r1, %r2, %t;
  mad.wide.u32 %d, %r1, 4, %out;
"""
SYNC = "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"


def program(body: str, *, directives: str = "", version: str = "8.0") -> str:
    head = HEAD.replace("{\n", f"{directives}\n{{\n", 1).replace("8.0", version)
    source = f"{head}{body}\n  ret;\n}}\n"
    assemble(source)
    return source


def launch(
    source: str,
    data: Array,
    out: Array,
    *,
    ctas: int = 8,
    cluster: int = 4,
    threads: int = 64,
    **options: Any,
) -> Any:
    return run(
        source,
        language="ptx",
        entry="k",
        grid=(ctas, 1, 1),
        block=(threads, 1, 1),
        cluster=(cluster, 1, 1),
        arguments=[data, out],
        **options,
    )


NONE = np.zeros(1, np.uint32)


def result(source: str, threads: int = 64, ctas: int = 8, **options: Any) -> Array:
    out = np.zeros((ctas, threads), np.uint32)
    launch(source, NONE, out, ctas=ctas, threads=threads, **options)
    return out


def test_special_registers() -> None:
    body = """
  mov.u32 %r3, %cluster_ctarank;
  mov.u32 %r4, %clusterid.x;
  mad.lo.u32 %r3, %r4, 10, %r3;
  mov.u32 %r4, %nclusterid.x;
  mad.lo.u32 %r3, %r4, 100, %r3;
  mov.u32 %r4, %cluster_ctaid.x;
  mad.lo.u32 %r3, %r4, 1000, %r3;
  mov.u32 %r4, %cluster_nctaid.x;
  mad.lo.u32 %r3, %r4, 10000, %r3;
  mov.pred %p, %is_explicit_cluster;
  @%p add.u32 %r3, %r3, 100000;
  st.global.u32 [%d], %r3;
"""
    out = result(program(body))
    cta = np.arange(8)
    assert (out[:, 0] == 140200 + 1001 * (cta % 4) + 10 * (cta // 4)).all()


STORE_THERE = {
    "shared": """
  mapa.shared::cluster.u32 %there, %at, %other;
  st.shared::cluster.u32 [%there], %r1;
""",
    "generic": """
  cvt.u64.u32 %e, %at;
  cvta.shared.u64 %e, %e;
  mapa.u64 %e, %e, %other;
  st.u32 [%e], %r1;
""",
    "atomic": """
  mov.u32 %r3, 0;
  st.shared.u32 [%at], %r3;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mapa.shared::cluster.u32 %there, %at, %other;
  red.shared::cluster.add.u32 [%there], %r1;
""",
}
READ_OWN = "  ld.shared.u32 %r4, [%at];\n  st.global.u32 [%d], %r4;\n"


@pytest.mark.parametrize("how", STORE_THERE)
@pytest.mark.parametrize("seed", [0, 3])
def test_stores_to_the_next_cta(how: str, seed: int) -> None:
    out = result(program(STORE_THERE[how] + SYNC + READ_OWN), seed=seed)
    cta, thread = np.arange(8)[:, None], np.arange(64)
    assert (out == (cta // 4 * 4 + (cta + 3) % 4) * 64 + thread).all()


def test_loads_from_the_next_cta() -> None:
    body = f"""
  st.shared.u32 [%at], %r1;
{SYNC}
  mapa.shared::cluster.u32 %there, %at, %other;
  ld.shared::cluster.u32 %r4, [%there];
  getctarank.shared::cluster.u32 %r5, %there;
  mad.lo.u32 %r4, %r5, 100000, %r4;
  st.global.u32 [%d], %r4;
{SYNC}"""
    cta, thread = np.arange(8)[:, None], np.arange(64)
    other = (cta + 1) % 4
    assert (result(program(body)) == other * 100000 + (cta // 4 * 4 + other) * 64 + thread).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ((SYNC, "  bar.sync 0;\n"), "race|uninitialised-read"),
        ((".arrive.release", ".arrive.relaxed"), "race"),
        (("  barrier.cluster.wait.acquire.aligned;\n", ""), "race|uninitialised-read"),
    ],
)
def test_the_cluster_must_be_synchronised(change: tuple[str, str], match: str) -> None:
    source = program(STORE_THERE["shared"] + SYNC + READ_OWN)
    with pytest.raises(EmulationFault, match=match):
        for seed in range(4):
            result(source.replace(*change), seed=seed)


def test_barriers_that_never_open_and_ranks_that_do_not_exist() -> None:
    skip = "  setp.eq.u32 %p, %rank, 2;\n  @%p bra over;\n  barrier.cluster.arrive;\n"
    body = skip + "  barrier.cluster.wait;\nover:\n  bar.sync 0;\n"
    result(program(body))
    spin = body.replace("over:\n", "over:\n  @%p bra over;\n")
    with pytest.raises(EmulationFault, match="deadlock"):
        result(program(spin))
    with pytest.raises(EmulationFault, match="without an arrival"):
        result(program("  barrier.cluster.wait;"))
    with pytest.raises(EmulationFault, match="a second time"):
        result(program("  barrier.cluster.arrive;\n  barrier.cluster.arrive;"))
    with pytest.raises(EmulationFault, match="beyond the 4 CTAs"):
        result(program("  mapa.shared::cluster.u32 %there, %at, 4;"))


def test_what_a_kernel_requires() -> None:
    source = program(
        READ_OWN.replace("ld.shared.u32 %r4, [%at]", "mov.u32 %r4, %cluster_nctarank"),
        directives=".reqnctapercluster 2, 1, 1",
    )
    assert (result(source, cluster=1) == 2).all()
    with pytest.raises(EmulationError, match="requires clusters"):
        result(source, cluster=4)
    with pytest.raises(EmulationError, match="not a multiple"):
        result(program(""), ctas=6)


# ---------------------------------------------------------------------- copies between CTAs

INITIALISE = f"""
  setp.eq.u32 %p, %t, 0;
  @%p mbarrier.init.shared::cta.b64 [bar], 1;
  @%p fence.mbarrier_init.release.cluster;
{SYNC}"""
AWAIT = """
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0;
  @!%done bra wait;
"""


COPY_THERE = f"""{INITIALISE}
  add.u32 %at, %at, 512;
  st.shared.u32 [%at], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p bra sent;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
  mov.u32 %r3, tile;
  mapa.shared::cluster.u32 %r4, %r3, %other;
  mov.u32 %r5, bar;
  mapa.shared::cluster.u32 %r5, %r5, %other;
  add.u32 %r3, %r3, 512;
  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r3], 256, [%r5];
sent:{AWAIT}
  sub.u32 %at, %at, 512;
{READ_OWN}{SYNC}"""


@pytest.mark.parametrize("seed", [0, 1])
def test_a_bulk_copy_to_the_next_cta(seed: int) -> None:
    out = result(program(COPY_THERE), seed=seed)
    cta, thread = np.arange(8)[:, None], np.arange(64)
    assert (out == (cta // 4 * 4 + (cta + 3) % 4) * 64 + thread).all()


def test_a_bulk_copy_completes_where_its_bytes_go() -> None:
    own = COPY_THERE.replace("mapa.shared::cluster.u32 %r5, %r5, %other;", "")
    with pytest.raises(EmulationFault, match=r"trap.*an mbarrier of another"):
        result(program(own))


@pytest.mark.parametrize("mask", [0b1111, 0b1010])
@pytest.mark.parametrize("seed", [0, 5])
def test_multicast(mask: int, seed: int) -> None:
    """Rank 1 loads for all ranks of the mask; the others get zeros of their own."""
    body = f"""{INITIALISE}
  mov.u32 %r3, 1;
  shl.b32 %r3, %r3, %rank;
  and.b32 %r3, %r3, {mask};
  setp.eq.u32 %q, %r3, 0;
  @%q st.shared.u32 [%at], 0;
  @%q bra received;
  @%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
  setp.ne.u32 %q, %rank, 1;
  @%q bra receive;
  @!%p bra receive;
  mov.u16 %mask, {mask};
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
      [tile], [%in], 256, [bar], %mask;
receive:{AWAIT}
received:
{READ_OWN}{SYNC}"""
    data, out = np.arange(64, dtype=np.uint32) + 5, np.zeros((8, 64), np.uint32)
    launch(program(body), data, out, seed=seed)
    gets = (mask >> np.arange(8) % 4 & 1)[:, None]
    assert (out == data * gets).all()


def test_multicast_of_a_tensor() -> None:
    source = (
        program(
            f"""{INITIALISE}
  @%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
  setp.ne.u32 %q, %rank, 3;
  @%q bra receive;
  @!%p bra receive;
  mov.u16 %mask, 15;
  mov.b64 %e, map;
  cvta.param.u64 %e, %e;
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
      [tile], [%e, {{8}}], [bar], %mask;
receive:{AWAIT}{READ_OWN}{SYNC}""".replace("map;", "in;")
        )
        .replace(".param .u64 in,", ".param .align 64 .b8 in[128],")
        .replace("  ld.param.u64 %in, [in];\n", "")
    )
    assemble(source)
    data, out = np.arange(100, dtype=np.uint32), np.zeros((8, 64), np.uint32)
    map_ = TensorMap(buffer=data, dtype="u32", shape=(60,), box=(64,))
    launch(source, map_, out)  # type: ignore[arg-type]
    assert (out == np.r_[8:60, [0] * 12]).all()


ARRIVE_THERE = f"""{INITIALISE}
  @!%p bra arrived;
  mov.u32 %r5, bar;
  mapa.shared::cluster.u32 %r5, %r5, %other;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
arrived:{AWAIT}"""


def test_an_arrival_must_not_outlive_the_cta_that_it_goes_to() -> None:
    result(program(ARRIVE_THERE + SYNC))
    # Whoever has waited knows of the arrival: no barrier is needed.
    result(program(ARRIVE_THERE))
    without_wait = ARRIVE_THERE.replace(AWAIT, "\n")
    result(program(without_wait + SYNC))
    with pytest.raises(EmulationFault, match="may have ended"):
        result(program(without_wait))


READ_THERE = """
  st.shared.u32 [%at], %r1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mapa.shared::cluster.u32 %there, %at, %other;
  ld.shared::cluster.u32 %r4, [%there];
  st.global.u32 [%d], %r4;
"""


def test_the_memory_of_a_cta_that_may_have_ended() -> None:
    for body in (READ_THERE, STORE_THERE["shared"], STORE_THERE["atomic"]):
        result(program(body + SYNC))
        with pytest.raises(EmulationFault, match=r"race: .* may have ended before"):
            result(program(body), seed=1)


# ---------------------------------------------------------------------- other instructions


def test_elect_and_dependent_grids() -> None:
    body = """
  griddepcontrol.wait;
  elect.sync %r3|%p, 0xfffffff0;
  selp.u32 %r4, 100, 0, %p;
  add.u32 %r4, %r4, %r3;
  st.global.u32 [%d], %r4;
  griddepcontrol.launch_dependents;
"""
    guarded = "  and.b32 %r3, %t, 31;\n  setp.lt.u32 %q, %r3, 4;\n  @%q bra over;\n"
    out = result(program(guarded + body + "over:\n"), cluster=1)
    assert (out[:, :32] == np.r_[[0] * 4, 104, [4] * 27]).all()


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        (("dec", 40, "inc", 152), None),
        (("dec", 40, "inc", 240), "deadlock"),
        (("inc", 216, "dec", 40), None),
    ],
)
def test_register_counts(counts: tuple[str, int, str, int], kind: str | None) -> None:
    first, low, second, high = counts
    body = f"""
  setp.ge.u32 %p, %t, 128;
  @%p bra other;
  setmaxnreg.{first}.sync.aligned.u32 {low};
  bra done;
other:
  setmaxnreg.{second}.sync.aligned.u32 {high};
done:
"""
    source = program(body, directives=".maxntid 256, 1, 1\n.minnctapersm 2")
    many = program(body, directives=".maxntid 512, 1, 1\n.minnctapersm 1")
    result(source, threads=256, cluster=1)
    if kind is None:
        result(many, threads=512, cluster=1)
    else:
        with pytest.raises(EmulationFault, match=kind):
            result(many, threads=512, cluster=1)


def test_register_counts_that_do_not_exist() -> None:
    for count in (16, 44, 264):
        with pytest.raises(EmulationError, match="multiples of 8 from 24 to 256"):
            source = HEAD + f"  setmaxnreg.inc.sync.aligned.u32 {count};\n  ret;\n}}\n"
            result(source, threads=128, cluster=1)
    wrong = "  setmaxnreg.inc.sync.aligned.u32 80;\n  setmaxnreg.inc.sync.aligned.u32 40;\n"
    with pytest.raises(EmulationFault, match="increases the 80 registers to 40"):
        result(
            program(wrong, directives=".maxntid 128, 1, 1\n.minnctapersm 1"), threads=128, cluster=1
        )
