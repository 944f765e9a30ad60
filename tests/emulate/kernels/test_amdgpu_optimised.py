"""Products of every dtype and layout, and formulas of every dtype, as rendered and as LLVM's -O3
leaves them, on every AMD target; with a ragged edge on every side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kgen import bundle, pipeline
from kgen.spec import DType, Layout, Matmul, Spec
from kgen.targets.amdgpu import FAMILY
from kgen.targets.base import Target
from tests.emulate.kernels.test_amdgpu_pingpong import optimised
from tests.emulate.one_schedule import verify
from tests.specs import relu_of, softmax_of


def products(target: Target) -> Iterator[Matmul]:
    for dtype in FAMILY.dtypes("matmul", target):
        for layout in Layout:
            # No side is a whole number of vectors or tiles.
            yield Matmul(m=17, n=19, k=37, dtype=dtype, layout=layout)


def formulas(target: Target) -> Iterator[Spec]:
    for dtype in FAMILY.dtypes("elementwise", target):
        if dtype is not DType.BOOL:
            yield relu_of((3, 35), dtype=dtype)
    for dtype in (DType.F32, DType.F16, DType.BF16):
        yield softmax_of(3, 37, dtype=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
@pytest.mark.parametrize("lines", [products, formulas], ids=["products", "formulas"])
def test_before_and_after_the_optimiser(lines: object, target: Target) -> None:
    assert callable(lines)
    wrong = []
    for spec in lines(target):
        rendered = pipeline.kernel(spec, target)
        for kernel, form in ((rendered, "rendered"), (optimised(rendered), "-O3")):
            (result,) = verify(bundle.pack([kernel])).kernels
            if not result.passed:
                wrong.append(f"{result.kernel} {form}: {result.reason}")
    assert not wrong
