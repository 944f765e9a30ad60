"""Kernels under the newest validation layer, whose instrumented kernels see what a result does not:
races in workgroup memory, and accesses out of bounds."""

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
    """Right on both drivers, and the layer has nothing to say."""
    runs = executed(driver, "sound", tmp_path)
    assert len(runs) == 4 and all(run["right"] for run in runs)
    log = tmp_path / LAYER_LOG
    assert "Validation Error" not in (log.read_text() if log.exists() else "")


def test_every_barrier_that_is_taken_out_is_a_race(tmp_path: Path) -> None:
    """The layer finds each; lavapipe, whose lanes run in step, gives the right result for some."""
    runs = executed(LAVAPIPE, "barriers", tmp_path)
    assert len(runs) >= 15 and [run for run in runs if not run["messages"]] == []
    assert any(run["right"] for run in runs)


def test_every_guard_that_is_dropped_is_seen(tmp_path: Path) -> None:
    """The layer, memory outside the kernel's, or the result shows each dropped guard."""
    runs = executed(LAVAPIPE, "guards", tmp_path)
    assert len(runs) >= 4
    assert [run for run in runs if run["right"] and not run["messages"]] == []
