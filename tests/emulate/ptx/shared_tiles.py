"""Products in one kernel whose CTAs share block tiles: results, and workspaces after a launch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import kgen
from kgen.spec import Matmul
from tests.emulate import kept_workspaces
from tests.emulate.one_schedule import verify

#: By mma.sync.
TILE = {"block_m": 32, "block_n": 32, "block_k": 32, "warp_m": 16, "warp_n": 16, "num_stages": 3}


def passes(spec: Matmul, target: str, schedule: Mapping[str, int], folder: Path) -> None:
    """Check that the only kernel gives the reference's result."""
    bundle = kgen.build(spec, [target], schedule=dict(schedule))
    assert len(bundle.manifest.kernels[0].launches) == 1
    report = verify(bundle.save(folder / "product.kgen"))
    assert report.passed, report.kernels[0]


def leaves_zeros(
    spec: Matmul,
    schedule: Mapping[str, int],
    counters: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Check that a launch resets a workspace to zeros, and that the next one starts from them."""
    held = kept_workspaces.keep(monkeypatch)
    passes(spec, "sm_80", {**TILE, **schedule}, folder)
    assert not held[counters].any() and held["parts"].any()
