"""Batches of several dimensions, executed on every family; each tensor has its own strides, 0
where it is shared."""

from __future__ import annotations

import pytest

import kgen
from kgen.errors import ScheduleError, SpecError
from kgen.spec import DType, Matmul
from tests.emulate.one_schedule import verify

#: Target, type, and m: small and large, on the CPU with scalar tiles, vectors, AMX.
CASES = [
    ("x86-64-v3", DType.F32, 1),
    ("x86-64-v3", DType.F32, 21),
    ("x86-64-v4", DType.BF16, 21),
    ("x86-64-amx", DType.BF16, 21),
    ("sm_80", DType.F32, 21),
    ("sm_80", DType.F16, 1),
    ("sm_80", DType.F16, 21),
    ("sm_90a", DType.BF16, 64),
    ("gfx942", DType.F32, 21),
    ("gfx1100", DType.F16, 21),
    ("vulkan1.3", DType.F32, 21),
]


def specs(dtype: DType, m: int) -> list[Matmul]:
    """Return batches of three packed dimensions; groups that share B, with interleaved outputs
    and addends; A shared along the middle dimension, and the outer dimension stored inside the
    inner one."""
    n, k = 19, 24
    return [
        Matmul(m=m, n=n, k=k, dtype=dtype, batch_dims=(2, 3, 2), layout="nt"),
        Matmul(
            m=m, n=n, k=k, dtype=dtype, batch_dims=(3, 2), layout="nt", ldc=6 * n + 3,
            lda=k + 8, batch_stride_a=(2000, 1000 * (m > 1) + k), batch_stride_b=(n * k, 0),
            batch_stride_c=(2 * n, n), beta=0.5, epilogue=("bias", "residual"),
        ),
        Matmul(
            m=m, n=n, k=k, dtype=dtype, batch_dims=(2, 2, 3), ldb=24,
            batch_stride_a=(m * k, 0, 2 * m * k), batch_stride_b=(3 * 24 * k, 24 * k, 0),
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(("target", "dtype", "m"), CASES)
def test_every_dimension_has_its_strides(target: str, dtype: DType, m: int) -> None:
    result = verify(kgen.build(specs(dtype, m), targets=[target]))
    assert result.passed, [(k.kernel, k.reason) for k in result.kernels if not k.passed]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"batch_dims": (4,)}, "batch_dims=4 are not 2 to 4 sizes above 1"),
        ({"batch_dims": (4, 1)}, "batch_dims=4x1 are not 2 to 4 sizes above 1"),
        ({"batch_dims": (2, 3), "batch": 5}, "batch=5 is not the product of batch_dims=2x3"),
        ({"batch_dims": (2, 3), "batch_stride_a": 8}, "batch_stride_a=8 is not one number for"),
        ({"batch_dims": (2, 3), "batch_stride_c": (64, 0)}, "batch_stride_c=64x0 makes the out"),
        ({"batch_dims": (2, 3), "constant": ("b",)}, "constant=b needs one batch dimension"),
    ],
)
def test_batches_that_are_none(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Matmul(m=8, n=8, k=8, **fields)  # type: ignore[arg-type]


def test_what_takes_one_dimension_says_so() -> None:
    spec = Matmul(m=64, n=64, k=512, batch_dims=(2, 3), batch_stride_b=(32768, 0))
    with pytest.raises(
        ScheduleError,
        match="split_k=2 supports a batch of one dimension, and batch_dims=2x3 has 2; "
        "try split_k=1",
    ):
        kgen.build(spec, targets=["sm_80"], schedule={"split_k": 2})
