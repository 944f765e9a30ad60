"""Kernels under the newest validation layer, which finds what a result does not show: races in
workgroup memory, and accesses out of bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.drivers import LAVAPIPE, LAYER_LOG, SWIFTSHADER, Driver


def executed(driver: Driver, kind: str, layer: Path) -> list[dict[str, Any]]:
    """Return the findings of `under_the_layer`, one entry per run."""
    log = layer / LAYER_LOG
    program = ("-m", "tests.device.vulkan.validation.under_the_layer", str(log), kind)
    lines = driver.python(*program, layer=layer).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.mark.parametrize("driver", [LAVAPIPE, SWIFTSHADER], ids=lambda driver: driver.name)
def test_sound_kernels(driver: Driver, tmp_path: Path) -> None:
    """Results are right on both drivers, and the layer reports nothing."""
    runs = executed(driver, "sound", tmp_path)
    assert len(runs) == 4 and all(run["right"] for run in runs)
    log = tmp_path / LAYER_LOG
    assert "Validation Error" not in (log.read_text() if log.exists() else "")


def test_every_barrier_that_is_taken_out_is_a_race(tmp_path: Path) -> None:
    """The layer finds each; lavapipe runs lanes in step, so some results are right."""
    runs = executed(LAVAPIPE, "barriers", tmp_path)
    assert len(runs) >= 15 and [run for run in runs if not run["messages"]] == []
    assert any(run["right"] for run in runs)


def test_every_guard_that_is_dropped_is_seen(tmp_path: Path) -> None:
    """The layer, changed memory around the buffers, or the result shows it."""
    runs = executed(LAVAPIPE, "guards", tmp_path)
    assert len(runs) >= 4
    assert [run for run in runs if run["right"] and not run["messages"]] == []
