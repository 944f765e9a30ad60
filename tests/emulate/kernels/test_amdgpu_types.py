"""Products of the types that only some of AMD's processors have, before and after LLVM's optimiser:
dot products of lanes, f32 and xf32 by MFMA, FNUZ, outputs of 8-bit floats."""

from __future__ import annotations

import pytest

from kgen import pipeline, targets
from kgen.spec import DType, Epilogue, Layout, Math, Matmul
from tests.emulate.kernels.test_amdgpu_bars import assert_nothing_wasted
from tests.emulate.kernels.test_amdgpu_kernels import failures, optimised

CDNA = ("gfx90a", "gfx942", "gfx950")


def odd(dtype: DType, layout: Layout, math: Math = Math.EXACT) -> Matmul:
    """Return a product with partial tiles of M, N and K."""
    return Matmul(m=33, n=35, k=72, dtype=dtype, layout=layout, math=math)


DOTS = (
    odd(DType.F16, Layout.NN),
    odd(DType.S8, Layout.NT),
    Matmul(m=20, n=32, k=128, dtype=DType.S8, layout=Layout.TN, out_dtype=DType.S8, alpha=0.01),
    Matmul(m=33, n=18, k=40, epilogue=tuple(Epilogue), batch=2, beta=0.5),
)
F32 = (
    odd(DType.F32, Layout.NN),
    Matmul(m=32, n=64, k=64, dtype=DType.F32, layout=Layout.TT, epilogue=tuple(Epilogue), beta=2.0),
    Matmul(m=33, n=18, k=40, dtype=DType.F32, b_dtype="s8", layout=Layout.NT),
)
XF32 = tuple(odd(DType.F32, layout, Math.TF32) for layout in (Layout.NN, Layout.TT))


def float8_outputs(one: DType, other: DType) -> tuple[Matmul, ...]:
    """Return products whose stores have four, two and one outputs; C and the residual are of the
    same type, or absent."""
    return (
        Matmul(m=33, n=36, k=40, dtype=one, out_dtype=one, beta=1.0, epilogue=("residual",)),
        Matmul(m=33, n=34, k=40, dtype=one, out_dtype=other, epilogue=("bias", "relu")),
        Matmul(m=33, n=35, k=40, dtype=other, out_dtype=other, beta=0.5, scales=("out",)),
    )


FLOATS_8 = {
    "gfx942": float8_outputs(DType.E4M3FNUZ, DType.E5M2FNUZ),
    "gfx950": float8_outputs(DType.E4M3, DType.E5M2),
    "gfx1201": float8_outputs(DType.E4M3, DType.E5M2),
}
CASES = (
    ("gfx1030", DOTS),
    *((name, F32) for name in CDNA),
    ("gfx942", XF32),
    *FLOATS_8.items(),
)


@pytest.mark.parametrize(
    ("name", "specs"), CASES, ids=[f"{n}-{specs[0].dtype}-{specs[0].math}" for n, specs in CASES]
)
def test_right_before_and_after_the_optimiser(name: str, specs: tuple[Matmul, ...]) -> None:
    kernels = [pipeline.kernel(spec, targets.find(name)) for spec in specs]
    assert not failures(kernels)
    assert not failures([optimised(kernel) for kernel in kernels])
    assert all(kernel.assembled.resources.spills == 0 for kernel in kernels)


def test_xf32_wastes_no_access() -> None:
    spec = Matmul(m=128, n=128, k=128, dtype=DType.F32, math=Math.TF32)
    assert_nothing_wasted(pipeline.plan(spec, targets.find("gfx942")))
