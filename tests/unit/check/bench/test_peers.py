"""Peers: each computes what the kernel computes, or gives the reason why it cannot."""

from __future__ import annotations

import dataclasses
import platform
import re
import shutil
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from kgen.check import peers
from kgen.check.bench import timing
from kgen.check.oracle import attention_bounds, window_products
from kgen.check.oracle import operations as oracle
from kgen.check.peers import Peer, dnnl, onednn, torch_peers
from kgen.check.tensors import Bytes, decode
from kgen.check.verify import inputs
from kgen.errors import DeviceError
from kgen.spec import Attention, Conv2d, DType, Epilogue, Layout, Matmul, Spec, text
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry
from tests import needs
from tests.specs import relu_of, softmax_of

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
    Matmul(m=9, n=7, k=5, dtype=DType.S8),
    Matmul(m=9, n=7, k=5, dtype=DType.F32, epilogue=(Epilogue.BIAS, Epilogue.RELU)),
    relu_of((3, 5, 7), dtype=DType.F16),
    softmax_of(9, 33, dtype=DType.F32),
    softmax_of(9, 33, dtype=DType.F32, log=True),
)


@pytest.mark.integration
@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_torch_computes_what_the_kernel_computes(entry_for: EntryFor, spec: Spec) -> None:
    pytest.importorskip("torch")
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    peer = ready("torch", entry, data, spec)
    if peer is None:
        return
    result: Any = peer.run()
    got = result.double().numpy().reshape(oracle.output_shape(entry))
    box = tuple(slice(0, n) for n in got.shape)
    # torch rounds to the tensors' type after every step.
    tolerance = 8 * spec.dtype.unit_roundoff
    value = oracle.estimate(entry, data, box).value
    np.testing.assert_allclose(got, value, rtol=tolerance, atol=tolerance)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["torch-onednn", "torch-mkl"])
def test_torch_with_packed_weights_computes_the_product(entry_for: EntryFor, name: str) -> None:
    pytest.importorskip("torch")
    entry = entry_for(SPECS[0])
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    result: Any = peers.make(name, entry, data, CPU).run()
    value = oracle.estimate(entry, data, (slice(0, 1), slice(0, 9), slice(0, 7))).value[0]
    np.testing.assert_allclose(result.numpy(), value, rtol=1e-5, atol=1e-5)


#: Leading dimensions, transposed operands and epilogues where the library takes them.
PRODUCTS = {
    "onednn": (
        Matmul(m=9, n=7, k=5, dtype=DType.F32, layout=Layout.TT, lda=11, ldc=13),
        Matmul(m=9, n=7, k=5, dtype=DType.BF16, epilogue=(Epilogue.BIAS, Epilogue.GELU)),
        Matmul(m=9, n=7, k=5, dtype=DType.F32, epilogue=(Epilogue.BIAS, Epilogue.SILU)),
        Matmul(m=9, n=7, k=5, dtype=DType.S8),
    ),
    "iree": (
        Matmul(m=9, n=7, k=5, dtype=DType.F32, lda=11),
        Matmul(m=9, n=7, k=5, dtype=DType.BF16),
        Matmul(m=9, n=7, k=5, dtype=DType.S8),
    ),
}
PRODUCTS["onednn-packed"] = PRODUCTS["onednn"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "spec"),
    [pytest.param(n, s, id=f"{n}-{s.key}") for n, specs in PRODUCTS.items() for s in specs],
)
def test_libraries_behind_c_compute_the_product(
    entry_for: EntryFor, name: str, spec: Matmul
) -> None:
    if name == "iree":
        pytest.importorskip("iree.compiler")
    else:
        need_onednn()
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    peer = ready(name, entry, data, spec)
    if peer is None:
        return
    assert peer.result is not None
    got = decode(peer.result(), entry.output.dtype)
    want = oracle.estimate(entry, data, (slice(0, 1), slice(0, 9), slice(0, 7))).value[0]
    tolerance = 8 * entry.output.dtype.unit_roundoff
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def ready(name: str, entry: KernelEntry, data: dict[str, Bytes], spec: Spec) -> Peer | None:
    """Return a peer that has run once; None if the library has no exact product on this CPU,
    which only a CPU without the instructions excuses."""
    try:
        peer = peers.make(name, entry, data, CPU)
        peer.run()
        peers.check_exact(peer, entry, data)
    except DeviceError as reason:
        if not re.search(
            f"={name} does not add s8 products exactly|oneDNN supports no such operation on these",
            str(reason),
        ):
            raise
        return None
    return peer


def test_a_peer_that_is_not_exact_says_so(entry_for: EntryFor) -> None:
    """The peer stands for libraries whose instruction saturates sums of two products in 16 bits."""
    entry = entry_for(Matmul(m=70, n=9, k=6, dtype=DType.S8))
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    box = (slice(0, 1), slice(0, 70), slice(0, 9))
    exact = oracle.estimate(entry, data, box).value[0].astype(np.int32)
    peers.check_exact(Peer(name="x", run=lambda: exact), entry, data)
    off = exact.copy()
    off[3, 4] += 1
    for peer in (
        Peer(name="x", run=lambda: off),
        Peer(name="x", run=lambda: None, result=lambda: off.view(np.uint32)),
    ):
        with pytest.raises(DeviceError, match="=x does not add s8 products exactly on this CPU"):
            peers.check_exact(peer, entry, data)
    # A ceiling computes nothing, and numpy computes in f32.
    for nothing in (lambda: None, lambda: exact * np.float32(0.5)):
        peers.check_exact(Peer(name="x", run=nothing), entry, data)
    # The C library's copy returns where it copied to.
    peers.check_exact(Peer(name="copy", run=lambda: 4096), entry, data)


def need_onednn() -> None:
    """Skip the test without oneDNN; in CI, where it can be installed, fail."""
    try:
        dnnl.dnnl()
    except DeviceError as reason:
        if (sys.platform, platform.machine()) == ("linux", "x86_64"):
            needs.absent(str(reason))
        pytest.skip(str(reason))


@pytest.mark.slow
@pytest.mark.parametrize("epilogue", [(), (Epilogue.BIAS, Epilogue.GELU)], ids=["plain", "gelu"])
def test_torch_compiles_the_product(entry_for: EntryFor, epilogue: tuple[Epilogue, ...]) -> None:
    pytest.importorskip("torch")
    if shutil.which("g++") is None:
        pytest.skip("torch.compile needs g++")
    entry = entry_for(Matmul(m=9, n=7, k=5, dtype=DType.F32, epilogue=epilogue))
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    result: Any = peers.make("torch-compile", entry, data, CPU).run()
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


CONVOLUTIONS = (
    Conv2d(input=(2, 4, 5, 6), weights=(6, 2, 3, 2), groups=2, padding=(1, 0, 2, 1), dtype="f32",
           stride=(2, 1), epilogue="relu(x + bias) + residual"),
    Conv2d(input=(2, 3, 7), weights=(4, 3, 2), dilation=3, layout="nchw", dtype="bf16",
           epilogue="x * scale + residual", epilogue_shapes=("scale=n", "residual=mxn")),
    Conv2d(input=(1, 3, 3, 4, 5), weights=(4, 3, 2, 1, 3), weight_layout="hwio", dtype="f32",
           padding=(0, 0, 1, 1, 0, 1)),
    Conv2d(input=(1, 5, 6, 7), weights=(4, 5, 3, 3), padding=1, dtype="f32", math="winograd2",
           constant=("b",), epilogue="relu(x + bias)"),
    Conv2d(input=(2, 3, 5, 6), weights=(4, 3, 3, 3), dtype="f32", math="winograd4",
           constant=("b",), weight_layout="hwio"),
)  # fmt: skip


@pytest.mark.parametrize("spec", CONVOLUTIONS, ids=lambda s: s.key)
def test_numpy_convolves(entry_for: EntryFor, spec: Conv2d) -> None:
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    check_convolved(
        entry, data, np.asarray(peers.make("numpy", entry, data, CPU).run(), np.float64)
    )


WITH_RELU = dataclasses.replace(CONVOLUTIONS[0], epilogue="relu(x + bias)")
SYMMETRIC = dataclasses.replace(WITH_RELU, padding=1, dilation=2)


@pytest.mark.integration
@pytest.mark.parametrize("is_own", [False, True], ids=["as given", "own"])
@pytest.mark.parametrize("spec", [WITH_RELU, SYMMETRIC, CONVOLUTIONS[4]], ids=lambda s: s.key)
def test_onednn_convolves(entry_for: EntryFor, spec: Conv2d, is_own: bool) -> None:
    """Images have the kernel's layout, or the one that oneDNN chooses."""
    need_onednn()
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    steps = onednn._post_operations("onednn-packed", entry, CPU)
    peer = onednn._convolved("onednn-packed", entry, data, steps, is_own)
    peer.run()
    assert peer.result is not None
    check_convolved(entry, data, decode(peer.result(), DType.F32))


@pytest.mark.integration
def test_the_faster_layout_of_onednn_is_taken(
    entry_for: EntryFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_onednn()
    entry = entry_for(SYMMETRIC)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    made = [Peer(name=name, run=lambda: None) for name in ("as given", "own")]
    for seconds, name in (([1.0, 2.0], "as given"), ([2.0, 1.0], "own")):
        left = iter(made)
        monkeypatch.setattr(onednn, "_convolved", lambda *_, left=left: next(left))
        monkeypatch.setattr(timing, "interleaved", lambda *_, seconds=seconds: seconds)
        assert peers.make("onednn-packed", entry, data, CPU).name == name


@pytest.mark.integration
@pytest.mark.parametrize("spec", [SYMMETRIC, CONVOLUTIONS[4]], ids=lambda s: s.key)
def test_torch_convolves_by_onednn(entry_for: EntryFor, spec: Conv2d) -> None:
    pytest.importorskip("torch")
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    result: Any = peers.make("torch-onednn", entry, data, CPU).run()
    check_convolved(entry, data, result.movedim(1, -1).double().numpy())


def check_convolved(entry: KernelEntry, data: dict[str, Bytes], stored: Any) -> None:
    assert stored.shape == entry.output.shape
    got = window_products.by_group(entry.spec, stored)
    box = tuple(slice(0, n) for n in got.shape)
    np.testing.assert_allclose(got, oracle.estimate(entry, data, box).value, rtol=1e-4, atol=1e-5)


ATTENTIONS = (
    Attention(q=(2, 4, 5, 8), k=(2, 4, 7, 8), v=(2, 4, 7, 16), dtype="f32"),
    Attention(q=(2, 4, 5, 8), k=(2, 2, 7, 8), dtype="f32", causal=True, layout="bshd"),
    Attention(q=(1, 2, 5, 8), k=(1, 1, 7, 8), dtype="f32", causal=True, diagonal="bottom_right",
              window=3, mask=(5, 7), scale=0.5),
    Attention(q=(2, 2, 5, 8), k=(2, 2, 7, 8), dtype="f32", kv_layout="bshd", lse=True,
              mask=(2, 1, 5, 7), mask_dtype="bool"),
    Attention(q=(2, 2, 5, 8), k=(2, 2, 7, 8), dtype="bf16", kv_length=True, softcap=3.0),
)  # fmt: skip


@pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=pytest.mark.integration)])
@pytest.mark.parametrize("spec", ATTENTIONS, ids=lambda s: s.key)
def test_numpy_and_torch_compute_attention(
    entry_for: EntryFor, spec: Attention, library: str
) -> None:
    if library == "torch":
        pytest.importorskip("torch")
    entry = entry_for(spec)
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    if library == "torch" and (spec.softcap or spec.mask_dtype == "bool"):
        with pytest.raises(DeviceError, match=r"torch.*; try against=numpy$"):
            peers.make(library, entry, data, CPU)
        return
    stored = np.asarray(peers.make(library, entry, data, CPU).run(), np.float64)
    assert stored.shape == entry.output.shape
    got = attention_bounds.by_head(entry.spec, "out", stored)
    box = tuple(slice(0, n) for n in got.shape)
    value = oracle.estimate(entry, data, box).value
    np.testing.assert_allclose(got, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["torch", "onednn", "iree"])
def test_other_libraries_do_not_convolve(entry_for: EntryFor, name: str) -> None:
    entry = entry_for(CONVOLUTIONS[0])
    with pytest.raises(DeviceError, match=f"against={name} does not support conv2d; try against"):
        peers.make(name, entry, {}, CPU)


def test_what_a_peer_cannot_do_is_said(entry_for: EntryFor) -> None:
    entry = entry_for(Matmul(m=2, n=2, k=2, epilogue=(Epilogue.GELU,)))
    data = next(iter(inputs.data_sets(entry, 0))).buffers
    with pytest.raises(DeviceError, match="no erf"):
        peers.make("numpy", entry, data, CPU).run()
    with pytest.raises(DeviceError, match="does not run on cuda:0"):
        peers.make("numpy", entry, data, GPU)
    with pytest.raises(DeviceError, match="cublas does not run on cpu:0; try against=torch"):
        peers.make("cublas", entry, data, CPU)
    batch, other = entry_for(SPECS[1]), entry_for(relu_of((3,)))
    for given, device in ((entry, GPU), (batch, CPU), (other, CPU)):
        with pytest.raises(DeviceError, match="supports single matmuls on CPUs"):
            peers.make("torch-onednn", given, {}, device)
    bias = entry_for(Matmul(m=2, n=2, k=2, epilogue=(Epilogue.BIAS, Epilogue.RESIDUAL)))
    for name in ("onednn", "iree"):
        with pytest.raises(DeviceError, match=f"={name} does not support matmul_2x2x2_f16_nn_bias"):
            peers.make(name, bias, {}, CPU)
    with pytest.raises(DeviceError, match="against=mkl is unknown; known are numpy, torch"):
        peers.make("mkl", entry, data, CPU)


def test_torch_is_not_timed_on_other_types(
    entry_for: EntryFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operand of another type, or a gather whose first operand is not f32, is refused."""
    monkeypatch.setitem(sys.modules, "torch", Mock())
    entry = entry_for(text.parse("gather(table,rows) 9x16,31 f32 index_dtype=s32"))
    with pytest.raises(DeviceError, match=r"torch does not support s32; try against=numpy$"):
        peers.make("torch", entry, {}, CPU)


def test_torch_is_not_timed_on_other_functions() -> None:
    """Functions that move elements are not calls of the scalar language."""
    expression = torch_peers._Expression(Mock(), {})
    for name in ("slice", "concat", "transpose"):
        with pytest.raises(DeviceError, match=f"torch does not support {name}; try against=numpy"):
            expression.apply(name, [])
