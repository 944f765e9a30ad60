"""Hand-written Hopper GEMM: TMA, mbarriers, wgmma, warp specialization, clusters."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from tests.emulate.ptx.hopper_gemm import SOURCES, multiply, operands
from tests.emulate.ptx.ptxas import assemble

NAMES = tuple(SOURCES)


@pytest.mark.parametrize("name", NAMES)
def test_the_programs_are_valid(name: str) -> None:
    assemble(SOURCES[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("m", "n", "k"), [(256, 64, 64), (512, 128, 320), (200, 72, 136)])
@pytest.mark.parametrize("checks", [True, False])
def test_products(name: str, m: int, n: int, k: int, checks: bool) -> None:
    a, b = operands(m, n, k)
    c, report = multiply(a, b, name=name, checks=checks)
    assert (c == (a.astype(float) @ b.T.astype(float)).astype(np.float16)).all()
    assert not report.warnings


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_order_gives_the_same(name: str, seed: int) -> None:
    a, b = operands(256, 128, 256)
    c, report = multiply(a, b, name=name, seed=seed, ctas=4)
    assert (c == (a.astype(float) @ b.T.astype(float)).astype(np.float16)).all()
    assert not report.warnings


def test_a_profile_counts_what_tma_moves() -> None:
    a, b = operands(256, 128, 256)
    _, report = multiply(a, b, profile=True)
    counters = report.counters
    # Each of 2 x 2 tiles loads 4 boxes of A and B; the products are 64 x 64 x 16 of a warpgroup.
    assert counters["global_load_bytes"] == 4 * 4 * (128 + 64) * 64 * 2
    assert counters["global_store_bytes"] == 256 * 128 * 2
    assert counters["global_sectors"] == counters["global_sectors_ideal"]
    assert counters["matrix.wgmma.m64n64k16.f16"] == 4 * 2 * 16 * 4
    assert counters["bank_conflicts"] == 0


#: What is dropped or changed, and the class of the fault that it is.
MISTAKES = [
    ("gemm", "    @!%done bra wait_full;\n", "", "pending-copy"),
    (
        "gemm",
        "    fence.proxy.async.shared::cta;\n    bar.sync %bar",
        "    bar.sync %bar",
        "missing-proxy-fence",
    ),
    ("gemm", "    wgmma.fence.sync.aligned;\n", "", "missing-wgmma-fence"),
    ("gemm", "[%bar], 24576;", "[%bar], 16384;", "transaction-count"),
    ("gemm", "[%bar], 24576;", "[%bar], 32768;", "transaction-count"),
    ("gemm", "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;", "race"),
    ("gemm", "    wgmma.wait_group.sync.aligned 0;\n", "", "race|pending-wgmma"),
    ("gemm", "    @%first cp.async.bulk.wait_group.read 0;\n", "", "race"),
    ("gemm_cluster", "mov.u16 %both, 3;", "mov.u16 %both, 1;", "deadlock|transaction-count"),
    (
        "gemm_cluster",
        "and.b32 %leader, %tmp, 1;",
        "mov.b32 %leader, %rank;",
        "race|transaction-count",
    ),
    ("gemm_cluster", "    barrier.cluster.wait.acquire;\n    ret;", "    ret;", "race"),
]


@pytest.mark.parametrize(("name", "old", "new", "kind"), MISTAKES)
def test_mistakes_are_named(name: str, old: str, new: str, kind: str) -> None:
    a, b = operands(512, 128, 320)
    assert old in SOURCES[name]
    with pytest.raises(EmulationFault, match=f"^({kind}): "):
        multiply(a, b, name=name, source=SOURCES[name].replace(old, new))
