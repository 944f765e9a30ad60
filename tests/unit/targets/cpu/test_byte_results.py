"""Which results of one byte are looked up in a table, and how the others are rounded."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.ops.expression import inputs
from kgen.ops.parse import parse
from kgen.spec import DType, Matmul
from kgen.targets.cpu.plan.byte_results import ByteResults
from kgen.targets.cpu.plan.kernels.dot import DotPlan
from tests.unit.targets.cpu.cpu_plans import plan

BYTE = "min(max(round(x * scale), {}), {})"
SILU = f"{BYTE} * sigmoid({BYTE} * s) + z"


def results(epilogue: str, target: str = "x86-64-v3", **fields: Any) -> ByteResults | None:
    shapes = {name: "1" for name in inputs(parse(epilogue)) if name in "sz"}
    spec = Matmul(
        m=8,
        n=16,
        k=8,
        **{"dtype": DType.S8, "out_dtype": DType.S8, **fields},
        epilogue=epilogue,
        epilogue_shapes=shapes or None,
    )
    found = plan(spec, target)
    assert isinstance(found, DotPlan)
    return found.results


@pytest.mark.parametrize(("limits", "is_limited"), [((-170, 85), False), ((-100, 90), True)])
def test_a_function_of_one_byte_is_a_table(limits: tuple[int, int], is_limited: bool) -> None:
    found = results(SILU.format(*limits, *limits))
    assert found is not None and found.table is not None
    assert (found.table.low, found.table.high, found.offset) == (*limits, -128 - limits[0])
    assert found.table.is_limited is is_limited


@pytest.mark.parametrize(
    "epilogue",
    [
        SILU.format(-128, 128, -128, 128),  # 257 numbers
        SILU.format(-9.5, 90, -9.5, 90),
        SILU.format("s", 90, "s", 90),
        f"sigmoid({BYTE.format(0, 9)} * bias)",  # a number of its own in each column
        f"{BYTE.format(0, 9)} * s + z",  # shorter than a look-up
        "sigmoid(min(max(x * scale, 0), 9))",  # not whole
    ],
)
def test_other_functions_are_computed(epilogue: str) -> None:
    found = results(epilogue)
    assert found is not None and found.table is None and found.buffers == ()


@pytest.mark.parametrize(
    ("epilogue", "offset"),
    [("round(x * scale) + -128", -128), ("round(x * scale) + 0.5", 0), ("x * scale + 7", 0)],
)
def test_a_zero_point_is_added_to_integers(epilogue: str, offset: int) -> None:
    found = results(epilogue)
    assert found is not None and found.offset == offset


def test_other_targets_and_types_store_each_vector() -> None:
    assert results("round(x * scale)", "x86-64-v4+vnni") is None
    assert results("round(x * scale)", "x86-64") is None
    assert results("round(x * scale)", out_dtype=DType.F32) is None
