"""Constants of GPU kernels: stored in the bundle unpacked, uploaded once, absent from calls."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.errors import ArgumentError
from kgen.spec import Matmul
from tests.device.vulkan.vulkan_support import open_vulkan
from tests.open_devices import verify
from tests.unit.runtime.drivers.fake_cuda import installed

#: Rows of B and batches have gaps between them.
PLAIN = Matmul(
    m=3, n=21, k=13, batch=2, ldb=24, batch_stride_b=400, dtype="f16", out_dtype="f32",
    epilogue=("bias",),
)  # fmt: skip
SPEC = dataclasses.replace(PLAIN, constant=("b",))
GENERATOR = np.random.default_rng(0)
A, B = (GENERATOR.standard_normal(s).astype(np.float16) for s in ((2, 3, 13), (2, 13, 21)))
BIAS = GENERATOR.standard_normal(21).astype(np.float32)
EXPECTED = A.astype(np.float64) @ B.astype(np.float64) + BIAS
TARGETS = ["sm_75", "gfx1100", "vulkan1.1", "native"]


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    """Bundle for CPU and GPUs that contains B."""
    return kgen.build([PLAIN, SPEC], TARGETS, constants={"b": B})


@pytest.fixture(scope="module")
def path(bundle: kgen.Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle.save(tmp_path_factory.mktemp("constants") / "stored.kgen")


def test_gpus_share_the_matrix_as_it_is_stored(bundle: kgen.Bundle) -> None:
    files = {e.target.name: e.constants[0].file for e in bundle.manifest.kernels if e.constants}
    assert list(files) == TARGETS
    assert len({files[target] for target in TARGETS[:3]}) == 1 and len(set(files.values())) == 2
    stored = np.frombuffer(bundle.files[files["sm_75"]], np.float16)
    rows = np.lib.stride_tricks.as_strided(stored, B.shape, (800, 48, 2))
    np.testing.assert_array_equal(rows, B)
    assert np.count_nonzero(stored) == np.count_nonzero(B)  # zeros in the gaps


def test_every_kernel_is_right(bundle: kgen.Bundle) -> None:
    open_vulkan().close()
    report = verify(bundle)
    assert report.passed and len(report.kernels) == 8


@pytest.mark.parametrize("device", ["vulkan:0", "cpu", "reference"])
def test_calls_leave_it_out(path: Path, device: str) -> None:
    if device == "vulkan:0":
        open_vulkan().close()
    with kgen_runtime.load(path, device=device) as kernels:
        y = kernels.matmul(kernels.to_device(A), bias=kernels.to_device(BIAS))
        np.testing.assert_allclose(y.numpy(), EXPECTED, rtol=1e-3, atol=1e-3)
        with pytest.raises(
            ArgumentError, match="b is stored in the bundle; leave it out of the call"
        ):
            kernels[SPEC.key].pack(kernels.to_device(B))
        del y


def test_it_is_uploaded_once_at_load(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(monkeypatch) as driver:
        driver.capability = (7, 5)
        kernels = kgen_runtime.load(path, device="cuda:0")
        copies = [call for call in driver.named("cuMemcpyHtoD") if call[2] == B_BYTES]
        assert len(copies) == 1 and len(driver.memory) == 1
        (address,) = driver.memory
        a, bias = kernels.to_device(A), kernels.to_device(BIAS)
        call = kernels[SPEC.key].prepare(a, bias)
        for _ in range(2):
            call()
        assert [c for c in driver.named("cuMemcpyHtoD") if c[2] == B_BYTES] == copies
        assert copies[0][0] == address
        del a, bias, call
        kernels.close()
        del kernels
        assert not driver.memory


#: From the first to the last element of B, gaps included.
B_BYTES = 2 * (400 + 12 * 24 + 21)


def test_without_a_value_a_gpu_has_one_kernel(tmp_path: Path) -> None:
    """GPUs do not pack, so a constant without a value needs no kernel of its own; one program
    runs on CPU and GPU."""
    plain = dataclasses.replace(PLAIN, ldb=None, batch_stride_b=None)
    spec = dataclasses.replace(plain, constant=("b",))
    bundle = kgen.build([plain, spec], ["vulkan1.1", "native"])
    assert [(e.target.name, e.key) for e in bundle.manifest.kernels] == [
        ("vulkan1.1", plain.key), ("native", plain.key), ("native", spec.key)
    ]  # fmt: skip
    file = bundle.save(tmp_path / "x.kgen")
    open_vulkan().close()
    for device in ("vulkan:0", "cpu"):
        with kgen_runtime.load(file, device=device) as kernels:
            weights = kernels.matmul.pack(kernels.to_device(B))
            y = kernels.matmul(kernels.to_device(A), weights, kernels.to_device(BIAS))
            np.testing.assert_allclose(y.numpy(), EXPECTED, rtol=1e-3, atol=1e-3)
            del y, weights


def test_bf16_from_a_file_of_bits(tmp_path: Path) -> None:
    spec = Matmul(m=4, n=8, k=16, dtype="bf16", out_dtype="f32", constant=("b",))
    b = GENERATOR.standard_normal((16, 8)).astype(ml_dtypes.bfloat16)
    bundle = kgen.build(spec, ["sm_80"], constants={"b": b.view(np.uint16)})
    (entry,) = bundle.manifest.kernels
    assert bundle.files[entry.constants[0].file] == b.tobytes()
