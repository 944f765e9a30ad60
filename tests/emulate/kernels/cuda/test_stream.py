"""Stream-k, executed: shared block tiles against the reference, and workspaces after a launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.emulate import kept_workspaces
from tests.emulate.one_schedule import verify

TILE = {"block_m": 64, "block_n": 64, "block_k": 64, "consumers": 1, "num_stages": 3, "stream_k": 1}
PLAIN = {"pingpong": 0, "cluster_m": 1, "tma_store": 0, "group_m": 1}
#: More CTAs than block tiles; whole waves besides, edges, a batch; two warpgroups of
#: reduced-precision sums; a tile along k for each CTA.
CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "many": ({"m": 64, "n": 72, "k": 520, "ldb": 80}, {"num_workgroups": 5}),
    "waves": (
        {"m": 100, "n": 136, "k": 136, "batch": 2, "beta": 1.0, "epilogue": (Epilogue.BIAS,)},
        {"num_workgroups": 5, "group_m": 2, "tma_store": 1, "num_stages": 2},
    ),
    "short-sums": (
        {"m": 256, "n": 130, "k": 400, "dtype": DType.E4M3, "layout": Layout.NT},
        {"num_workgroups": 4, "block_m": 128, "consumers": 2, "block_k": 128},
    ),
    "one-tile-each": ({"m": 64, "n": 64, "k": 256}, {"num_workgroups": 4}),
}


@pytest.mark.parametrize("name", CASES)
def test_stream(name: str, tmp_path: Path) -> None:
    fields, schedule = CASES[name]
    bundle = kgen.build(Matmul(**fields), ["sm_90a"], schedule=TILE | PLAIN | schedule)
    report = verify(bundle.save(tmp_path / "stream.kgen"))
    assert report.passed, report.kernels[0]


def test_tickets_and_flags_are_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each launch leaves zeros, from which the next one starts."""
    held = kept_workspaces.keep(monkeypatch)
    schedule = TILE | PLAIN | {"num_workgroups": 3}
    bundle = kgen.build(Matmul(m=64, n=64, k=320), ["sm_90a"], schedule=schedule)
    path = bundle.save(tmp_path / "stream.kgen")
    assert verify(path).passed
    assert not held["tickets"].any() and held["parts"].any()
