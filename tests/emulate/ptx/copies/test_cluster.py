"""Clusters: ranks, distributed shared memory and barriers."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from kgen.errors import EmulationError
from tests.emulate.ptx.cluster_programs import READ_OWN, STARTED, STORE_THERE, SYNC, program, result


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


ACCESSES = {
    "st": "st.shared::cluster.u32 [%there], %r1;",
    "ld": "ld.shared::cluster.u32 %r4, [%there];",
    "red": "red.shared::cluster.add.u32 [%there], %r1;",
    "generic": "cvt.u64.u32 %e, %there; cvta.shared.u64 %e, %e; st.u32 [%e], %r1;",
    "mbarrier": "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%there];",
}


@pytest.mark.parametrize("access", ACCESSES.values(), ids=ACCESSES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_cta_that_may_not_have_started(access: str, seed: int) -> None:
    """Only barriers of a CTA precede the access."""
    there = "  mapa.shared::cluster.u32 %there, %at, {};\n  bar.sync 0;\n  {}\n"
    with pytest.raises(EmulationFault, match=r"race: .* may not have started before"):
        result(program(there.format("%other", access)), seed=seed)
    if access.startswith("st"):
        result(program(there.format("%rank", access)), seed=seed)
        result(program(STARTED + there.format("%other", access) + SYNC), seed=seed)


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
    with pytest.raises(EmulationError, match="requires cluster"):
        result(source, cluster=4)
    with pytest.raises(
        EmulationError,
        match="6 workgroups along x of the grid are not a multiple of the cluster of 4; try 8",
    ):
        result(program(""), ctas=6)
