"""Generated kernels on a real NVIDIA or AMD GPU, as a user runs them: build, save, load, call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import targets
from kgen.spec import Spec
from kgen.targets.base import Target
from kgen_runtime.backend import Backend
from kgen_runtime.backends.cuda import CudaBackend
from kgen_runtime.backends.hip import HipBackend
from kgen_runtime.errors import DeviceError
from kgen_runtime.kernels import Kernels
from tests import needs
from tests.specs import relu_of, softmax_of


class Machine:
    """A GPU of one vendor, with functions that build for it."""

    def __init__(self, backend: type[Backend], family: str) -> None:
        self.backend = backend
        self.family = targets.family(family)

    def load(self, path: Path, *specs: Spec) -> Kernels:
        """Load kernels for every target of the family; the runtime chooses those for this
        device."""
        kgen.build(specs, targets=[t for t in self.family.targets if self.has(t, specs)]).save(path)
        return kgen_runtime.load(path, device=self.backend.name)

    def has(self, target: Target, specs: Sequence[Spec]) -> bool:
        return all(spec.dtype in self.family.dtypes(spec.op, target) for spec in specs)


@pytest.fixture(
    scope="module", params=[(CudaBackend, "cuda"), (HipBackend, "amdgpu")], ids=["cuda", "hip"]
)
def machine(request: pytest.FixtureRequest) -> Machine:
    backend, family = request.param
    try:
        backend.devices()
    except DeviceError as error:
        pytest.skip(str(error))
    return Machine(backend, family)


def normal(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1, 1), (127, 131, 113), (256, 256, 256), (64, 2048, 33)])
@pytest.mark.parametrize(("dtype", "out"), [("f32", "f32"), ("f16", "f32"), ("f16", "f16")])
def test_matmul(
    machine: Machine, tmp_path: Path, shape: tuple[int, int, int], dtype: str, out: str
) -> None:
    m, n, k = shape
    spec = kgen.Matmul(m=m, n=n, k=k, dtype=kgen.DType(dtype), out_dtype=kgen.DType(out))
    numpy_dtype = {"f32": np.float32, "f16": np.float16}[dtype]
    a, b = normal((m, k), numpy_dtype, 1), normal((k, n), numpy_dtype, 2)
    with machine.load(tmp_path / "kernels.kgen", spec) as kernels:
        y = kernels.matmul(kernels.to_device(a), kernels.to_device(b)).numpy()
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    bound = 2.0**-20 * np.sqrt(k) * size + (2.0**-11 if out == "f16" else 2.0**-24) * np.abs(exact)
    assert (np.abs(y - exact) <= bound).all()


def test_matmul_of_integers_is_exact_in_bfloat16(machine: Machine, tmp_path: Path) -> None:
    ml_dtypes = needs.module("ml_dtypes")
    spec = kgen.Matmul(
        m=65,
        n=66,
        k=67,
        dtype=kgen.DType.BF16,
        out_dtype=kgen.DType.F32,
        epilogue=(kgen.Epilogue.BIAS, kgen.Epilogue.RELU),
    )
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-8, 9, s).astype(ml_dtypes.bfloat16) for s in ((65, 67), (67, 66)))
    bias = rng.integers(-8, 9, 66).astype(np.float32)
    with machine.load(tmp_path / "kernels.kgen", spec) as kernels:
        y = kernels.matmul(*map(kernels.to_device, (a, b, bias))).numpy()
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0)
    np.testing.assert_array_equal(y, exact)


def test_relu_and_softmax(machine: Machine, tmp_path: Path) -> None:
    relu = relu_of((3, 5, 7), dtype=kgen.DType.F32)
    softmax = softmax_of(33, 1000, dtype=kgen.DType.F32)
    x, z = normal((3, 5, 7), np.float32, 1), normal((33, 1000), np.float32, 2)
    x[0, 0, :3] = np.nan, np.inf, -np.inf
    z[4, 17], z[5, 3], z[6] = np.nan, np.inf, -np.inf
    with machine.load(tmp_path / "kernels.kgen", relu, softmax) as kernels:
        y = kernels.relu(kernels.to_device(x)).numpy()
        p = kernels.softmax(kernels.to_device(z)).numpy()
    np.testing.assert_array_equal(y, np.where(np.isnan(x), x, np.maximum(x, 0)))
    assert np.isnan(p[4:7]).all()
    rows = np.r_[:4, 7:33]
    e = np.exp(z[rows].astype(np.float64) - z[rows].max(1, keepdims=True))
    np.testing.assert_allclose(p[rows], e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-9)
