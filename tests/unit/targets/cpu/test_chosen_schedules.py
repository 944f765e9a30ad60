"""The chosen schedule of every product fits, with or without measured schedules of the core."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgen import pipeline, targets
from kgen.schedule import CpuSplitMatmul
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.cores import cores
from tests.unit.targets.cpu.cpu_plans import plan

TARGETS = [t.name for t in FAMILY.targets]
EXTENTS = st.one_of(st.integers(1, 300), st.integers(1, 65536))
SIDES = st.one_of(EXTENTS, st.integers(65536, 1 << 20))
WIDE = [core.name for core in cores().values() if 64 in core.multiply_adds]


@settings(max_examples=40, deadline=None)
@example(m=11, n=45, k=5937, dtype=DType.F32, layout=Layout.NN, constant=(), target="x86-64-v3")
@given(
    m=st.one_of(st.integers(1, 32), SIDES),
    n=SIDES,
    k=EXTENTS,
    dtype=st.sampled_from([DType.F64, DType.F32, DType.F16, DType.BF16, DType.S8]),
    layout=st.sampled_from(list(Layout)),
    constant=st.sampled_from([(), (), (ConstantOperand.B,)]),
    target=st.sampled_from(TARGETS),
)
def test_a_chosen_schedule_fits(
    m: int,
    n: int,
    k: int,
    dtype: DType,
    layout: Layout,
    constant: tuple[ConstantOperand, ...],
    target: str,
) -> None:
    spec = Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout, constant=constant)
    planned = plan(spec, target)
    mc, nc = (getattr(planned.schedule, field) for field in ("mc", "nc"))
    if not isinstance(planned.schedule, CpuSplitMatmul):
        assert planned.launches[-1].grid == (-(-m // mc) * -(-n // nc), 1, 1)


@pytest.mark.parametrize("device", WIDE)
def test_a_chosen_schedule_fits_on_every_core(device: str) -> None:
    target = dataclasses.replace(targets.find("x86-64-v4+bf16"), device=device)
    for m, n, k, layout in (
        (1, 4096, 4096, Layout.NN),
        (7, 1008, 777, Layout.NT),
        (300, 45, 2892, Layout.TN),
    ):
        for dtype in (DType.F32, DType.BF16):
            assert pipeline.plan(Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout), target)


@pytest.mark.parametrize("stack", [24 << 10, 40 << 10, 64 << 10])
@pytest.mark.parametrize(
    ("name", "m", "shape", "dtype"),
    [
        ("x86-64-v3", 6, (2016, 5000), DType.F32),
        ("x86-64-v4", 12, (1008, 4096), DType.F32),
        ("x86-64-v4", 4, (4096, 4096), DType.BF16),
        ("x86-64-v4+vnni", 16, (4096, 4096), DType.S8),
    ],
)
def test_sums_fit_however_small_the_stack_is(
    name: str, m: int, shape: tuple[int, int], dtype: DType, stack: int
) -> None:
    """Sums fit with the padding between rows, which depends on the columns of a block."""
    found = targets.find(name)
    small = dataclasses.replace(found, limits={**found.limits, "stack_bytes": stack})
    assert pipeline.plan(Matmul(m=m, n=shape[0], k=shape[1], dtype=dtype), small)


@pytest.mark.parametrize(("n", "k"), [(45, 2892), (64, 6956)])
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "x86-64-v4+vnni"])
def test_few_rows_of_a_transposed_a_fit(name: str, n: int, k: int) -> None:
    """Rows are packed in whole vectors: 3 take as much room as 48."""
    assert plan(Matmul(m=3, n=n, k=k, dtype=DType.S8, layout=Layout.TN), name)
