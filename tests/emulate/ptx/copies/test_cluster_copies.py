"""Copies between the CTAs of a cluster, multicast, and CTAs that have ended."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault, TensorMap
from tests.emulate.ptx.cluster_programs import READ_OWN, STORE_THERE, SYNC, launch, program, result
from tests.emulate.ptx.ptxas import assemble

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
    """Rank 1 loads for all ranks of the mask; the others load zeros."""
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
