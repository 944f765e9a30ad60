"""Build, save, load and call on the CPU, as a user does; and the reference on the same bundle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.spec import DType, Epilogue
from kgen_runtime import Array, Kernels
from kgen_runtime.errors import ArgumentError, DeviceError
from tests import needs
from tests.specs import relu_of, softmax_of

pytestmark = pytest.mark.integration

SPECS = (
    kgen.Matmul(m=7, n=13, k=5, dtype=DType.F32, epilogue=(Epilogue.BIAS, Epilogue.RELU)),
    kgen.Matmul(m=6, n=5, k=9, dtype=DType.F32, layout=kgen.Layout.NT, lda=11, ldc=8, batch=3),
    kgen.Matmul(m=4, n=3, k=17, dtype=DType.BF16),
    relu_of((3, 5, 7), dtype=DType.F16),
    softmax_of(3, 10, dtype=DType.F32),
)
MLP, STRIDED, BF16 = (spec.key for spec in SPECS[:3])


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "kernels.kgen"
    return kgen.build(SPECS, targets=["native"]).save(path)


@pytest.fixture
def kernels(bundle: Path) -> Iterator[Kernels]:
    with kgen_runtime.load(bundle, device="cpu", num_threads=2) as loaded:
        yield loaded


def integers(*shape: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return small whole numbers, so that every sum is exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def test_matmul_with_an_epilogue(kernels: Kernels) -> None:
    x, w, bias = integers(7, 5), integers(5, 13, seed=1), integers(13, seed=2)
    expected = np.maximum(x @ w + bias, 0)
    np.testing.assert_array_equal(kernels.matmul(x, w, bias), expected)
    out = np.full((7, 13), np.nan, np.float32)
    assert kernels[MLP](x, w, bias, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_strides_and_batch(kernels: Kernels) -> None:
    a = np.full((3, 6, 11), np.nan, np.float32)[:, :, :9]
    b, c = integers(3, 5, 9, seed=1), np.full((3, 6, 8), 77, np.float32)
    a[...] = integers(3, 6, 9)
    expected = a @ b.transpose(0, 2, 1)
    np.testing.assert_array_equal(kernels[STRIDED](a, b), expected)
    np.testing.assert_array_equal(kernels.matmul(a, b, out=c[:, :, :5]), expected)
    assert (c[:, :, 5:] == 77).all()
    np.testing.assert_array_equal(kernels[STRIDED](a.copy(), b), expected)
    with pytest.raises(ArgumentError, match=r"a has element strides \(54, 9, 1\); expected \(66, "):
        kernels[STRIDED].prepare(a.copy(), b)


def test_device_arrays_work_the_same_way_everywhere(kernels: Kernels) -> None:
    x, w, bias = integers(7, 5), integers(5, 13, seed=1), integers(13, seed=2)
    y = kernels.matmul(*map(kernels.to_device, (x, w, bias)))
    assert isinstance(y, Array)
    np.testing.assert_array_equal(y.numpy(), np.maximum(x @ w + bias, 0))
    np.testing.assert_array_equal(np.from_dlpack(y), y.numpy())


def test_bfloat16(kernels: Kernels) -> None:
    ml_dtypes = needs.module("ml_dtypes")
    a = integers(4, 17).astype(ml_dtypes.bfloat16)
    b = integers(17, 3, seed=1).astype(ml_dtypes.bfloat16)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    y = kernels[BF16](a, b)
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(kernels[BF16](a.view(np.uint16), b.view(np.uint16)), expected)


def test_relu_and_softmax(kernels: Kernels) -> None:
    x = integers(3, 5, 7).astype(np.float16)
    x[0, 0, :3] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(kernels.relu(x), np.where(np.isnan(x), x, np.maximum(x, 0)))
    z = integers(3, 10)
    z[1, 4] = np.nan
    e = np.exp(z - z.max(1, keepdims=True))
    np.testing.assert_allclose(kernels.softmax(z), e / e.sum(1, keepdims=True), rtol=1e-6)


def test_the_cpu_has_no_streams(kernels: Kernels) -> None:
    with pytest.raises(ArgumentError, match="no streams"):
        kernels.relu(np.zeros((3, 5, 7), np.float16), stream=5)


def test_the_reference_agrees(bundle: Path, kernels: Kernels) -> None:
    x, w, bias = integers(7, 5), integers(5, 13, seed=1), integers(13, seed=2)
    with kgen_runtime.load(bundle, device="reference") as reference:
        y = reference.matmul(*map(reference.to_device, (x, w, bias)))
        np.testing.assert_array_equal(y.numpy(), kernels.matmul(x, w, bias))


def test_bad_devices(bundle: Path) -> None:
    with pytest.raises(DeviceError, match=r"device=cpu:7 does not exist; this machine has cpu:0"):
        kgen_runtime.load(bundle, device="cpu:7")
    with pytest.raises(ArgumentError, match=r"device=gpu is unknown; known are cuda, hip, vulkan"):
        kgen_runtime.load(bundle, device="gpu")
    with pytest.raises(ArgumentError, match=r"num_threads=0 is out of range; give 1 to 1024"):
        kgen_runtime.load(bundle, device="cpu", num_threads=0)
