"""Every operation, type, layout and kind of edge of the support table on two drivers, under the
newest validation layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kgen.ops import functions, steps
from kgen.spec import Elementwise, Matmul, Rowwise
from tests.device.vulkan.support_table import FAMILY, specs
from tests.drivers import LAVAPIPE, LAYER_LOG, SWIFTSHADER, Driver

pytestmark = pytest.mark.slow


def executed(driver: Driver, targets: str, layer: Path) -> list[dict[str, Any]]:
    program = ("-m", "tests.device.vulkan.support_table", targets, str(layer / LAYER_LOG))
    lines = driver.python(*program, layer=layer, instrumented=False).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def check(driver: Driver, names: str, layer: Path) -> None:
    """Check that every kernel runs, is right and causes no message, or has the same program as
    one that did."""
    runs = executed(driver, names, layer)
    assert len(runs) == len(specs()) * len(names.split(","))
    wrong = [r for r in runs if r["messages"] or not ("as" in r or r.get("wrong") == [])]
    assert wrong == []
    assert len([run for run in runs if "as" not in run]) > len(specs())


def test_on_lavapipe(tmp_path: Path) -> None:
    """Products of f16 and s8 with and without cooperative matrices; rows with and without
    shuffles."""
    check(LAVAPIPE, "vulkan1.3+coopmat,vulkan1.3+cpu,vulkan1.1", tmp_path)


def test_on_swiftshader(tmp_path: Path) -> None:
    """SwiftShader has no 16-bit or 8-bit storage, so elements share words; its exp2(NaN) is 0,
    and its log2(0) is -127."""
    check(SWIFTSHADER, "vulkan1.1,vulkan1.3,vulkan1.3+cpu", tmp_path)


def test_the_table_is_all_of_it() -> None:
    """Every cell of `kgen targets` is covered: each operation, type and target."""
    covered = {(spec.op, dtype) for spec in specs() for dtype in spec.needed_dtypes}
    narrow = {spec.b_dtype for spec in specs() if isinstance(spec, Matmul)}
    for target in FAMILY.targets:
        operations = [operation.spec.op for operation in FAMILY.operations]
        cells = {(op, dtype) for op in operations for dtype in FAMILY.dtypes(op, target)}
        assert cells <= covered
        assert {*FAMILY.narrow(target)} <= narrow
    others = [spec for spec in specs() if isinstance(spec, Elementwise | Rowwise)]
    called = {step.name for spec in others for step in steps(*spec.result_calls)}
    assert {*functions()} <= called
