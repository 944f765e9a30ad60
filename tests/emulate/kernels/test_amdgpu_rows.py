"""Row-wise AMD kernels under schedules that no heuristic chooses, in waves of 64 and of 32."""

from __future__ import annotations

import pytest

from kgen import bundle, pipeline
from kgen.schedule import GpuRows
from kgen.spec import Rowwise
from kgen.targets.amdgpu import FAMILY
from tests.emulate.one_schedule import verify

NORM = Rowwise(expression="layer_norm(x, scale, shift)", shapes=((3, 70), (70,), (70,)))
GROUPS = Rowwise(
    expression="layer_norm(x, scale, shift)",
    shapes=((2, 3, 4, 10), (3, 4, 1), (3, 4, 1)),
    axes=(2, 3),
)
CAUSAL = Rowwise(
    expression="softmax(where(column <= row, x + mask, -inf))",
    shapes=((2, 3, 16, 16), (2, 1, 1, 16)),
    dtype="bf16",
)
ARGMAX = Rowwise(expression="argmax(x)", shapes=((5, 37),), dtype="f32")
SPREAD = Rowwise(
    expression="where(mean(x) > s, x / (amax(x) - amin(x)), 0)", shapes=((7, 24), (7, 1))
)

#: (spec, num_threads, rows_per_block, vector, resident)
CASES = (
    # Several rows, each of several waves, in a workgroup.
    (NORM, 256, 2, 2, 1),
    (NORM, 512, 2, 2, 0),
    # Lanes that have nothing of the row at all.
    (ARGMAX, 128, 2, 1, 1),
    (ARGMAX, 128, 2, 1, 0),
    (NORM, 128, 1, 2, 0),
    # A thread for each row, and one that is alone.
    (SPREAD, 4, 4, 8, 1),
    (ARGMAX, 1, 1, 1, 1),
    (CAUSAL, 1, 1, 4, 0),
    # Coordinates of rows and of columns, in registers and in loops.
    (GROUPS, 16, 4, 1, 1),
    (GROUPS, 8, 2, 2, 0),
    (CAUSAL, 64, 16, 2, 1),
    (CAUSAL, 64, 32, 1, 0),
    (SPREAD, 128, 1, 8, 0),
)


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize(
    ("spec", "threads", "rows", "vector", "resident"),
    CASES,
    ids=lambda value: value.call_name if isinstance(value, Rowwise) else str(value),
)
def test_other_schedules_are_right(
    target: str, spec: Rowwise, threads: int, rows: int, vector: int, resident: int
) -> None:
    found = FAMILY.find(target)
    assert found is not None
    schedule = GpuRows(num_threads=threads, rows_per_block=rows, vector=vector, resident=resident)
    (result,) = verify(bundle.pack([pipeline.kernel(spec, found, schedule)])).kernels
    assert result.passed, result.reason
