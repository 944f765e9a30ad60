"""Traffic of CTAs that share a block tile, by the schedule's formula."""

from __future__ import annotations

from pathlib import Path

import kgen
from kgen.check.profile import merged, profile
from kgen.spec import DType, Matmul

TILE = {"block_m": 32, "block_n": 32, "block_k": 32, "warp_m": 16, "warp_n": 16, "num_stages": 3}
SPEC = Matmul(m=96, n=64, k=640, out_dtype=DType.F32)
BLOCKS, PART = 3 * 2, 32 * 32 * 4
TILES, OUTPUTS = BLOCKS * (32 + 32) * 640 * 2, 96 * 64 * 4


def counters(schedule: dict[str, int], path: Path) -> dict[str, int]:
    kgen.build(SPEC, ["sm_80"], schedule=TILE | schedule).save(path)
    (kernel,) = profile(path)
    return merged(kernel.launches)


def test_parts_that_the_last_cta_adds(tmp_path: Path) -> None:
    """Each part is written once and read once in whole sectors, and counted once."""
    found = counters({"split_k": 5, "one_kernel": 1}, tmp_path / "one_kernel.kgen")
    parts = BLOCKS * 5
    assert found["global_load_bytes"] == TILES + parts * PART
    assert found["global_store_bytes"] == OUTPUTS + parts * (PART + 4)
    assert found["bank_conflicts"] == 0


def test_parts_of_a_stream(tmp_path: Path) -> None:
    """Seven CTAs share 120 steps; all but the first begin inside a block tile and store a part,
    whose flag is read and reset once."""
    found = counters({"num_workgroups": 7, "stream_k": 1}, tmp_path / "stream.kgen")
    parts = sum(120 * cta // 7 % 20 != 0 for cta in range(7))
    assert parts == 6
    assert found["global_load_bytes"] == TILES + parts * (PART + 4)
    assert found["global_store_bytes"] == OUTPUTS + parts * (PART + 2 * 4) + 7 * 4
    assert found["bank_conflicts"] == 0
