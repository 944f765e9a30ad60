"""Calling kernels: results, ownership, workspaces and dispatch."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from kgen_runtime.array import Array
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.kernels import Kernels
from kgen_runtime.manifest import Workspace
from tests import needs
from tests.unit.runtime.fakes import HostFake, OpaqueFake, array, entry, host, kernels_on, param

A, B = array((3, 5)), array((3, 5), start=100)


def test_numpy_in_numpy_out() -> None:
    y = host().add(A, B)
    assert type(y) is np.ndarray and y.dtype == np.float32
    np.testing.assert_array_equal(y, A + B)


def test_out_is_written_in_place_and_returned() -> None:
    out = np.zeros((3, 5), np.float32)
    assert host().add(A, B, out=out) is out
    np.testing.assert_array_equal(out, A + B)


def test_by_key_and_as_a_mapping() -> None:
    kernels = host(entry(), entry(key="other", op="mul"))
    assert list(kernels) == ["add_kernel", "other"] and len(kernels) == 2
    assert "other" in kernels and "nothing" not in kernels
    assert kernels["other"].key == "other"
    assert "mul" in dir(kernels)
    assert repr(kernels) == "<Kernels on cpu:0 (a cpu): add_kernel, other>"
    assert repr(kernels["other"]) == "<Kernel fake1/other(a, b) on cpu:0>"
    with pytest.raises(
        AttributeError, match=r"no kernel for softmax on cpu:0; operations here are add, mul"
    ):
        _ = kernels.softmax
    with pytest.raises(
        ArgumentError, match=r"no kernel x on cpu:0; kernels here are add_kernel, other"
    ):
        kernels["x"]


def test_get_takes_a_default() -> None:
    kernels = host()
    assert kernels.get("add_kernel") is kernels["add_kernel"]
    assert kernels.get("other") is None and kernels.get("other", 7) == 7


def test_a_missing_kernel_says_why() -> None:
    backend = HostFake()
    kernels = Kernels(backend, [], {"sm_80/add_kernel": "code for another device"})
    with pytest.raises(ArgumentError, match=r"sm_80/add_kernel is not used: code for another"):
        kernels["add_kernel"]


def test_arrays_in_array_out() -> None:
    backend = HostFake()
    kernels = kernels_on(backend, entry())
    y = kernels.add(kernels.to_device(A), B)
    assert isinstance(y, Array) and repr(y) == "Array(3x5 f32 on cpu:0)"
    np.testing.assert_array_equal(y.numpy(), A + B)
    del y
    gc.collect(1)
    assert backend.live == 0


def test_opaque_device() -> None:
    backend = OpaqueFake()
    kernels = kernels_on(backend, entry())
    ad, bd = kernels.to_device(A), kernels.to_device(B)
    out = kernels.add(ad, bd)
    np.testing.assert_array_equal(out.numpy(), A + B)
    assert kernels.add(bd, bd, out=out) is out
    np.testing.assert_array_equal(out.numpy(), B + B)
    with pytest.raises(
        ArgumentError, match=r"add_kernel: out overlaps b in memory; pass separate memory"
    ):
        kernels.add(ad, bd, out=bd)
    del ad, bd, out
    gc.collect(1)
    assert backend.live == 0


def test_strided_and_typed_tensors() -> None:
    e = entry(
        param("a", (3, 5), "f16", strides=(7, 1)),
        param("b", (5,), "f64"),
        param("out", (3, 5), "f32", strides=(1, 3)),
    )
    wide = np.zeros((3, 7), np.float16)
    wide[:, :5] = A
    y = host(e).add(wide[:, :5], np.arange(5.0))
    assert y.strides == (4, 12)
    np.testing.assert_array_equal(y, A + np.arange(5))
    kernels = kernels_on(OpaqueFake(), e)
    y = kernels.add(kernels.to_device(wide[:, :5]), kernels.to_device(np.arange(5.0)))
    np.testing.assert_array_equal(y.numpy(), A + np.arange(5))


def test_strides_of_a_dimension_of_one_do_not_matter() -> None:
    e = entry(param("a", (1, 4)), param("b", (4, 1)), param("out", (4, 4)))
    row, column = array((2, 4))[:1], array((4, 3))[:, :1]
    with pytest.raises(ArgumentError, match=r"b has element strides \(3, 1\); expected \(1, 1\)"):
        host(e).add.prepare(row, column)
    wide = np.lib.stride_tricks.as_strided(array((4,)), (1, 4), (999, 4))
    np.testing.assert_array_equal(host(e).add(wide, column.copy()), wide + column)


def test_bfloat16() -> None:
    ml_dtypes = needs.module("ml_dtypes")
    e = entry(*(param(name, (3, 5), "bf16") for name in ("a", "out")))

    class Copy(HostFake):
        def launch(self, kernel: Any, buffers: Any, stream: int | None = None) -> None:
            self.tensor(buffers["out"], kernel.output)[...] = self.tensor(
                buffers["a"], kernel.inputs[0]
            )

    kernels = kernels_on(Copy(), e)
    x = A.astype(ml_dtypes.bfloat16)
    y = kernels.add(x)
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(kernels.add(x.view(np.uint16)), x)
    bits = np.zeros((3, 5), np.uint16)
    kernels.add(x, out=bits)
    np.testing.assert_array_equal(bits, x.view(np.uint16))
    for value in (x, x.view(np.uint16)):
        xd = kernels.to_device(value)
        assert xd.dtype == "bf16"
        np.testing.assert_array_equal(kernels.add(xd).numpy(), x)


def test_bfloat16_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    e = entry(*(param(name, (2,), "bf16") for name in ("a", "out")))
    y = host(e).add(np.zeros(2, np.uint16))
    assert y.dtype == np.uint16


def test_dispatch_by_arguments() -> None:
    small = entry(*(param(n, (2, 2)) for n in ("a", "b", "out")), key="small")
    halves = entry(*(param(n, (2, 2), "f16") for n in ("a", "b", "out")), key="halves")
    unary = entry(*(param(n, (2, 2)) for n in ("a", "out")), key="unary")
    kernels = host(small, halves, unary)
    ones = np.ones((2, 2), np.float32)
    assert kernels.add(ones, ones)[0, 0] == 2
    assert kernels.add(ones.astype(np.float16), ones.astype(np.float16)).dtype == np.float16
    assert kernels.add(ones)[0, 0] == 1
    message = r"add: no kernel takes \(3x5 f32, 2x2 f32\); the bundle has small, halves, unary"
    with pytest.raises(ArgumentError, match=message):
        kernels.add(A, ones)
    assert repr(kernels.add) == "<add: small, halves, unary>"


def test_the_only_kernel_for_these_shapes_says_what_is_wrong() -> None:
    kernels = host(entry(), entry(param("a", (2,)), param("out", (2,)), key="unary"))
    with pytest.raises(ArgumentError, match=r"unary: a is f64; expected f32; convert it first"):
        kernels.add(np.zeros(2))
    with pytest.raises(
        ArgumentError, match=r"add: no kernel takes \(7 f32\); the bundle has add_kernel"
    ):
        kernels.add(np.zeros(7, np.float32))
    with pytest.raises(ArgumentError, match=r"a is a list, not an array"):
        kernels.add([1.0, 2.0])


def test_ambiguous_dispatch() -> None:
    kernels = host(entry(key="alpha1"), entry(key="alpha2"))
    message = r"add: several kernels take these arguments: alpha1, alpha2; use kernels\[key\]"
    with pytest.raises(ArgumentError, match=message):
        kernels.add(A, B)
    np.testing.assert_array_equal(kernels["alpha2"](A, B), A + B)


def test_out_decides_between_kernels() -> None:
    wide = entry(param("a", (2,)), param("out", (2,), "f64"), key="wide")
    narrow = entry(param("a", (2,)), param("out", (2,), "f32"), key="narrow")
    out = np.zeros(2)
    host(wide, narrow).add(np.ones(2, np.float32), out=out)
    assert out[0] == 1


def test_workspace_is_zero_once_and_per_stream_and_thread() -> None:
    scratch = Workspace(name="scratch", nbytes=64, initial="zero")
    backend = HostFake()
    kernels = kernels_on(backend, entry(workspaces=(scratch,)))
    kernels.add(A, B)
    address = backend.calls[0]["buffers"]["scratch"]
    assert not backend.held[address].any()
    backend.held[address][:] = 7
    kernels.add(A, B)
    assert backend.calls[1]["buffers"]["scratch"] == address
    assert (backend.held[address] == 7).all()
    kernels.add(A, B, stream=3)
    assert backend.calls[2]["stream"] == 3
    assert backend.calls[2]["buffers"]["scratch"] != address
    thread = threading.Thread(target=kernels.add, args=(A, B))
    thread.start()
    thread.join()
    others = {call["buffers"]["scratch"] for call in backend.calls}
    assert len(others) == 3
    kernels.close()
    gc.collect(1)
    assert backend.live == 0


def test_prepared_calls_have_workspaces_of_their_own() -> None:
    """Several threads may run prepared calls at once."""
    scratch = Workspace(name="scratch", nbytes=64, initial="zero")
    backend = HostFake()
    kernels = kernels_on(backend, entry(workspaces=(scratch,)))
    calls = [kernels.add.prepare(A, B) for _ in range(2)]
    for call in (*calls, calls[0]):
        call()
    kernels.add(A, B)
    first, second, again, other = (call["buffers"]["scratch"] for call in backend.calls)
    assert first == again
    assert len({first, second, other}) == 3
    del call, calls
    kernels.close()
    gc.collect(1)
    assert backend.live == 0


def test_closed() -> None:
    backend = HostFake()
    with kernels_on(backend, entry()) as kernels:
        add = kernels.add
    assert backend.closed and backend.calls == [{"unload": "add_kernel"}]
    kernels.close()
    assert len(backend.calls) == 1
    with pytest.raises(DeviceError, match=r"add_kernel: the bundle was closed; load it again"):
        add(A, B)
