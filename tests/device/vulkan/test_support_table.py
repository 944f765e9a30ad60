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
    """It has no memory of 16 or 8 bits: what needs it is refused by its name. Its exp2(NaN) is 0:
    rows with NaN are wrong in softmax of f32. Everything else is right."""
    runs = executed(SWIFTSHADER, "vulkan1.1,vulkan1.3+cpu", tmp_path)
    assert [run for run in runs if run["messages"]] == []
    refused = [run["refused"] for run in runs if "refused" in run]
    assert all("BitAccess, which the device lacks" in reason for reason in refused), refused
    wrong = {run["kernel"]: run["wrong"] for run in runs if run.get("wrong")}
    assert all("/softmax_" in kernel for kernel in wrong)
    assert all("special-value data" in each for found in wrong.values() for each in found)
    assert len(runs) - len(refused) > len(specs()) / 2
