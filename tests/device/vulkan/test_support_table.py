"""Every operation, type, layout and kind of edge of the support table on two drivers, under the
newest validation layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.device.vulkan.support_table import specs
from tests.drivers import LAVAPIPE, LAYER_LOG, SWIFTSHADER, Driver

pytestmark = pytest.mark.slow


def executed(driver: Driver, targets: str, layer: Path) -> list[dict[str, Any]]:
    program = ("-m", "tests.device.vulkan.support_table", targets, str(layer / LAYER_LOG))
    lines = driver.python(*program, layer=layer, instrumented=False).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_on_lavapipe(tmp_path: Path) -> None:
    """All are executed, and right; products of f16 by cooperative matrices."""
    runs = executed(LAVAPIPE, "vulkan1.3+coopmat,vulkan1.3+cpu", tmp_path)
    assert len(runs) > len(specs())
    assert [run for run in runs if run["messages"] or run.get("wrong") != []] == []


def test_on_swiftshader(tmp_path: Path) -> None:
    """All are executed, and right. It has no memory of 16 or 8 bits, so that elements share words;
    its own exp2(NaN) is 0, and its log2(0) is -127."""
    runs = executed(SWIFTSHADER, "vulkan1.1,vulkan1.3+cpu", tmp_path)
    assert len(runs) > len(specs())
    assert [run for run in runs if run["messages"] or run.get("wrong") != []] == []
