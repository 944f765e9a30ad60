"""Timing: interleaving, medians, and peers that compute what the kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.check import bench, inputs, oracle, peers, tensors
from kgen.errors import DeviceError
from kgen.spec import DType, Epilogue, Layout, Matmul, Operand, Relu, Softmax, Spec
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry

EntryFor = Callable[..., KernelEntry]
CPU = DeviceInfo(backend="cpu", index=0, name="test", kind="cpu")
GPU = DeviceInfo(backend="cuda", index=0, name="test", kind="gpu")

SPECS: tuple[Spec, ...] = (
    Matmul(m=9, n=7, k=5, dtype=DType.F32, layout=Layout.TT, alpha=0.5, beta=2.0),
    Matmul(
        m=9,
        n=7,
        k=5,
        dtype=DType.BF16,
        batch=3,
        batch_stride_b=0,
        epilogue=(Epilogue.BIAS, Epilogue.GELU_TANH, Epilogue.RESIDUAL, Epilogue.SILU),
    ),
    Relu(shape=(3, 5, 7), dtype=DType.F16),
    Softmax(rows=9, cols=33, dtype=DType.F32),
    Softmax(rows=9, cols=33, dtype=DType.F32, log=True),
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_torch_computes_what_the_kernel_computes(entry_for: EntryFor, spec: Spec) -> None:
    pytest.importorskip("torch")
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    result: Any = peers.make("torch", entry, data, CPU).run()
    got = result.double().numpy().reshape(oracle.output_shape(entry))
    box = tuple(slice(0, n) for n in got.shape)
    # torch rounds to the tensors' type after every step.
    tolerance = 8 * spec.dtype.unit_roundoff
    value = oracle.estimate(entry, data, box).value
    np.testing.assert_allclose(got, value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["torch-onednn", "torch-mkl"])
def test_torch_with_packed_weights_computes_the_product(entry_for: EntryFor, name: str) -> None:
    pytest.importorskip("torch")
    entry = entry_for(SPECS[0])
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    result: Any = peers.make(name, entry, data, CPU).run()
    value = oracle.estimate(entry, data, (slice(0, 1), slice(0, 9), slice(0, 7))).value[0]
    np.testing.assert_allclose(result.numpy(), value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_numpy_computes_what_the_kernel_computes(entry_for: EntryFor, spec: Spec) -> None:
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    peer = peers.make("numpy", entry, data, CPU)
    got = np.asarray(peer.run(), np.float64).reshape(oracle.output_shape(entry))
    box = tuple(slice(0, n) for n in got.shape)
    np.testing.assert_allclose(got, oracle.estimate(entry, data, box).value, rtol=1e-4, atol=1e-5)
    assert peer.name == ("numpy" if spec.dtype is DType.F32 else "numpy (f32)")


def test_what_a_peer_cannot_do_is_said(entry_for: EntryFor) -> None:
    entry = entry_for(Matmul(m=2, n=2, k=2, epilogue=(Epilogue.GELU,)))
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    with pytest.raises(DeviceError, match="no erf"):
        peers.make("numpy", entry, data, CPU).run()
    with pytest.raises(DeviceError, match="does not compute on cuda:0"):
        peers.make("numpy", entry, data, GPU)
    with pytest.raises(DeviceError, match="cublas does not compute on cpu:0; take numpy or torch"):
        peers.make("cublas", entry, data, CPU)
    for given, device in ((entry, GPU), (entry_for(SPECS[1]), CPU), (entry_for(SPECS[2]), CPU)):
        with pytest.raises(DeviceError, match="packs the weights of single products on CPUs"):
            peers.make("torch-onednn", given, {}, device)
    with pytest.raises(DeviceError, match="against=mkl is unknown; known are numpy, torch"):
        peers.make("mkl", entry, data, CPU)


def test_medians_are_taken_over_interleaved_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    cost = {"kernel": 0.5, "peer": 2.0}

    def timed(run: Callable[[], object], count: int) -> float:
        name = str(run())
        order.append(name)
        return cost[name] * count

    monkeypatch.setattr(bench, "timed", timed)
    medians = bench.interleaved([lambda: "kernel", lambda: "peer"], rounds=3)
    assert medians == [0.5, 2.0]
    assert order[2:] == ["kernel", "peer"] * 3


def test_buffers_start_at_a_cache_line() -> None:
    for nbytes in (1, 63, 1000):
        buffer = tensors.empty_buffer(nbytes)
        assert buffer.nbytes == nbytes and buffer.ctypes.data % 64 == 0


@pytest.mark.parametrize("constant", [(), (Operand.B,)], ids=["given", "packed"])
def test_a_bundle_is_timed_on_the_cpu(tmp_path: Path, constant: tuple[Operand, ...]) -> None:
    spec = Matmul(m=64, n=64, k=64, dtype=DType.F32, constant=constant)
    path = kgen.build(spec, targets=["native"]).save(tmp_path / "x.kgen")
    report = bench.bench(path, device="cpu", rounds=3)
    (result,) = report.kernels
    (peer,) = result.peers
    assert result.gflops == pytest.approx(2 * 64**3 / result.seconds / 1e9)
    assert peer.seconds is not None and peer.ratio == peer.seconds / result.seconds
    assert set(report.to_json()["kernels"][0]) >= {"kernel", "seconds", "gflops", "roofline"}
    with pytest.raises(DeviceError, match="against=mkl is unknown"):
        bench.bench(path, against=("mkl",))
