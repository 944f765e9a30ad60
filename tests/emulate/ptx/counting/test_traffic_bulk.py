"""Counts of bulk copies in the hand-written Hopper GEMMs, checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.hopper_gemm import multiply, operands
from tests.emulate.ptx.ptx_programs import program, run

#: Multiples of every tile, so that nothing lies outside.
M, N, K = 512, 128, 192
STEPS = K // 64


@pytest.mark.parametrize(("name", "ctas"), [("gemm", 3), ("gemm_cluster", 4)])
def test_hopper_gemm(name: str, ctas: int) -> None:
    """A multicast box is read once and written to shared memory in both CTAs of the cluster."""
    a, b = operands(M, N, K)
    cluster = 2 if name == "gemm_cluster" else 1
    shape = (cluster, 1, 1)
    _, report = multiply(a, b, name=name, ctas=ctas, cluster=shape, profile=True, checks=False)
    counters = report.counters
    tiles = (M // 128) * (N // 64)
    bytes_a, bytes_b = (tiles * STEPS * rows * 64 * 2 for rows in (128, 64))
    bytes_out = M * N * 2
    assert counters["global_load_bytes"] == bytes_a + bytes_b // cluster
    assert counters["global_store_bytes"] == bytes_out
    assert counters["global_sectors"] == counters["global_sectors_ideal"]
    assert counters["global_sectors"] == (bytes_a + bytes_b // cluster + bytes_out) // 32
    assert counters["global_unique_bytes"] == a.nbytes + b.nbytes + bytes_out
    # The result is written to shared memory by threads, and read from there by the copies.
    assert counters["shared_wavefronts"] == (bytes_a + bytes_b + 2 * bytes_out) // 128
    assert counters["bank_conflicts"] == 0
    # A warpgroup multiplies 64 rows, which is four warps' instruction.
    multiplies = tiles * STEPS * (64 // 16) * (128 // 64) * 4
    assert counters["matrix"] == counters["matrix.wgmma.m64n64k16.f16"] == multiplies


def test_what_lies_outside_is_not_fetched() -> None:
    a, b = operands(130, 72, 64)
    counters = multiply(a, b, ctas=1, profile=True)[1].counters
    # Two rows of tiles times two columns: each fetches what there is of its box.
    assert counters["global_load_bytes"] == (2 * a.nbytes) + (2 * b.nbytes)
    assert counters["global_store_bytes"] == 130 * 72 * 2


@pytest.mark.parametrize("seed", [1, 2])
def test_traffic_depends_on_no_seed(seed: int) -> None:
    """Only the iterations of loops that poll a barrier depend on the seed."""
    a, b = operands(256, 64, 128)

    def counted(seed: int) -> dict[str, int]:
        cluster = (2, 1, 1)
        _, report = multiply(
            a, b, name="gemm_cluster", ctas=2, cluster=cluster, profile=True, seed=seed
        )
        polls = ("instructions", "lane_instructions", "barrier", "control")
        return {k: v for k, v in report.counters.items() if k not in polls}

    assert counted(seed) == counted(0)


def test_a_bulk_copy_of_bytes() -> None:
    """Each CTA copies 96 bytes that start inside a sector: four sectors, where three would
    suffice."""
    body = """
    .shared .align 16 .b8 s[128];
    .shared .align 8 .b64 bar;
    setp.ne.u32 %q0, %t, 0;
    @%q0 bra DONE;
    add.u64 %a0, %p0, 16;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 %a1, [bar], 96;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%a0], 96, [bar];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %q1, [bar], 0;
    @!%q1 bra WAIT;
DONE:
    """
    counters = run(program(body, params=1), np.zeros(128, np.uint8), ctas=3, profile=True).counters
    assert counters["global_load_sectors"] == 3 * 4
    assert counters["global_sectors_ideal"] == 3 * 3
    assert counters["global_load_bytes"] == 3 * 96
    assert counters["global_unique_bytes"] == 96
    assert counters["shared_wavefronts"] == counters["shared_wavefronts_ideal"] == 3


def test_a_multicast_of_bytes_is_read_once_and_arrives_twice() -> None:
    body = """
    .shared .align 16 .b8 s[256];
    .shared .align 8 .b64 bar;
    .reg .b16 %both;
    setp.ne.u32 %q0, %t, 0;
    @%q0 bra READY;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 %a1, [bar], 256;
READY:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %r1, %cluster_ctarank;
    setp.ne.u32 %q2, %r1, 0;
    @%q0 bra WAIT;
    @%q2 bra WAIT;
    mov.b16 %both, 3;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [s], [%p0], 256, [bar], %both;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %q1, [bar], 0;
    @!%q1 bra WAIT;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    """
    data = np.zeros(256, np.uint8)
    counters = run(program(body, params=1), data, ctas=2, cluster=(2, 1, 1), profile=True).counters
    assert counters["global_load_bytes"] == 256
    assert counters["shared_wavefronts"] == 2 * 256 // 128
