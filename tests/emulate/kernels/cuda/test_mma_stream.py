"""Stream-k by mma.sync, executed: shared block tiles against the reference, and workspaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kgen.spec import DType, Epilogue, Layout, Math, Matmul
from tests.emulate.ptx.shared_tiles import TILE, leaves_zeros, passes

#: More CTAs than block tiles; whole waves besides, edges, a batch, every addend; odd rows through
#: registers, and k that ends inside a tile; ranges shorter than the ring; a tile along k for each
#: CTA; one step of k in a tile; integers; promoted sums; tf32; sm_75; few CTAs.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, int]]] = {
    "many": ("sm_80", {"m": 64, "n": 40, "k": 520}, {"num_workgroups": 7}),
    "waves": (
        "sm_80",
        {"m": 100, "n": 72, "k": 136, "batch": 2, "beta": 2.0, "epilogue": tuple(Epilogue)},
        {"num_workgroups": 5, "group_m": 2},
    ),
    "odd": (
        "sm_80",
        {"m": 65, "n": 67, "k": 201, "ldc": 69, "layout": Layout.TT, "alpha": 0.5},
        {"num_workgroups": 7},
    ),
    "short": ("sm_80", {"m": 64, "n": 64, "k": 96}, {"num_workgroups": 7, "num_stages": 4}),
    "one-tile-each": (
        "sm_80",
        {"m": 32, "n": 32, "k": 160},
        {"num_workgroups": 5, "num_stages": 5},
    ),
    "one-step": ("sm_80", {"m": 40, "n": 64, "k": 112}, {"num_workgroups": 3, "block_k": 16}),
    "one-tile-deep": ("sm_80", {"m": 100, "n": 64, "k": 32}, {"num_workgroups": 3}),
    "bytes": (
        "sm_80",
        {"m": 65, "n": 40, "k": 300, "batch": 2, "dtype": DType.S8},
        {"num_workgroups": 7},
    ),
    "promoted": (
        "sm_89",
        {"m": 64, "n": 40, "k": 640, "dtype": DType.E4M3, "layout": Layout.NT},
        {"num_workgroups": 3, "block_k": 128},
    ),
    "tf32": (
        "sm_80",
        {"m": 40, "n": 100, "k": 256, "dtype": DType.F32, "math": Math.TF32},
        {"num_workgroups": 5},
    ),
    "sm_75": ("sm_75", {"m": 65, "n": 40, "k": 160}, {"num_workgroups": 5, "num_stages": 2}),
    "alone": ("sm_80", {"m": 65, "n": 40, "k": 100}, {"num_workgroups": 1}),
}


@pytest.mark.parametrize("name", CASES)
def test_stream(name: str, tmp_path: Path) -> None:
    target, fields, schedule = CASES[name]
    passes(Matmul(**fields), target, TILE | schedule | {"stream_k": 1}, tmp_path)


def test_tickets_and_flags_are_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Matmul(m=64, n=64, k=320)
    leaves_zeros(spec, {"num_workgroups": 3, "stream_k": 1}, "tickets", tmp_path, monkeypatch)
