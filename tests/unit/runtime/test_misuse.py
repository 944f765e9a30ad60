"""Wrong calls of a kernel, and the line that reports each."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from kgen_runtime.errors import ArgumentError, DeviceMismatchError
from tests.unit.runtime.fakes import HostFake, OpaqueFake, array, entry, host, kernels_on, param

A, B = array((3, 5)), array((3, 5), start=100)


@pytest.mark.parametrize(
    ("a", "message"),
    [
        (array((3, 4)), r"add_kernel: a has shape 3x4; expected 3x5; pass that shape, or build"),
        (array((15,)), r"a has shape 15; expected 3x5"),
        (array((3, 5), np.float64), r"a is f64; expected f32; convert it first"),
        (array((3, 5), np.int32), r"a is s32; expected f32"),
        (array((3, 5), ">f4"), r"a is >f4; expected f32"),
        ([[1.0] * 5] * 3, r"a is a list, not an array; pass a numpy array"),
        (None, r"a is a NoneType, not an array"),
    ],
)
def test_wrong_argument(a: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as error:
        host()["add_kernel"](a, B)
    assert "\n" not in str(error.value)


def between_addresses() -> Any:
    raw = np.zeros(61, np.uint8)[1:].view(np.float32).reshape(3, 5)
    raw[...] = A
    return raw


@pytest.mark.parametrize(
    ("a", "message"),
    [
        (array((5, 3)).T, r"a has element strides \(1, 3\); expected \(5, 1\); pass numpy\.asc"),
        (array((3, 10))[:, ::2], r"a has element strides \(10, 2\)"),
        (array((3, 5))[::-1], r"a has element strides \(-5, 1\)"),
        (np.broadcast_to(array((5,)), (3, 5)), r"a has element strides \(0, 1\)"),
        (between_addresses(), r"a starts at address 0x\w+; expected a multiple of 4"),
    ],
    ids=["transposed", "strided", "reversed", "broadcast", "misaligned"],
)
def test_inputs_that_lie_otherwise_are_copied(a: Any, message: str) -> None:
    """A call copies inputs with other strides; a prepared call refuses them."""
    before = a.copy()
    np.testing.assert_array_equal(host().add(a, B), before + B)
    np.testing.assert_array_equal(host().add(B, a), before + B)
    np.testing.assert_array_equal(a, before)
    with pytest.raises(ArgumentError, match=message) as error:
        host().add.prepare(a, B)
    assert "\n" not in str(error.value)


def test_a_copied_input_may_lie_under_the_output() -> None:
    """The input is copied before the kernel runs."""
    block = array((30,))
    a, out = block[::2].reshape(3, 5), block[:15].reshape(3, 5)
    expected = a + B
    np.testing.assert_array_equal(host().add(a, B, out=out), expected)


def test_a_kernel_that_takes_them_as_they_lie_comes_first() -> None:
    turned = param("a", (3, 5), strides=(1, 3)), param("b", (3, 5)), param("out", (3, 5))
    kernels = host(entry(), entry(*turned, key="turned"))
    for a in (A, np.asfortranarray(A)):
        np.testing.assert_array_equal(kernels.add(a, B), A + B)
    assert isinstance(kernels.backend, HostFake)
    assert [call["kernel"] for call in kernels.backend.calls] == ["add_kernel", "turned"]
    with pytest.raises(ArgumentError, match="several kernels take these arguments: add_kernel, tu"):
        kernels.add(array((3, 10))[:, ::2], B)


def test_wrong_count() -> None:
    with pytest.raises(ArgumentError, match=r"add_kernel: takes 2 arguments \(a, b\), got 3"):
        host().add(A, B, B)


def test_read_only_out() -> None:
    out = np.zeros((3, 5), np.float32)
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match=r"add_kernel: out is read-only; pass a writable array"):
        host().add(A, B, out=out)
    host().add(out, B)  # to read it is fine


@pytest.mark.parametrize(
    "out", [np.zeros((3, 5)), np.zeros((3, 10), np.float32)[:, ::2]], ids=["f64", "strided"]
)
def test_an_output_that_does_not_fit_is_not_to_be_copied(out: Any) -> None:
    with pytest.raises(ArgumentError, match=r"; pass such an array, or omit out= for a new one$"):
        host().add(A, B, out=out)


def test_overlapping_out() -> None:
    a = A.copy()
    with pytest.raises(ArgumentError, match=r"add_kernel: out overlaps a"):
        host().add(a, B, out=a)
    block = np.zeros(20, np.float32)
    with pytest.raises(ArgumentError, match=r"out overlaps b"):
        host().add(A, block[:15].reshape(3, 5), out=block[5:].reshape(3, 5))


def test_interleaved_memory_is_no_overlap() -> None:
    strided = (param("a", (3, 5), strides=(10, 1)), param("out", (3, 5), strides=(10, 1)))
    block = np.ones((3, 10), np.float32)
    left, right = block[:, :5], block[:, 5:]
    host(entry(*strided)).add(left, out=right)
    np.testing.assert_array_equal(right, left)
    with pytest.raises(ArgumentError, match=r"out overlaps a"):
        host(entry(*strided)).add(block[:, :5], out=block[:, 4:9])


def test_host_array_for_a_device_kernel() -> None:
    kernels = kernels_on(OpaqueFake(), entry())
    message = (
        r"add_kernel: b is on the host; the kernel runs on vulkan:0; "
        r"copy it with kernels\.to_device\(\.\.\.\)"
    )
    with pytest.raises(DeviceMismatchError, match=message):
        kernels.add(kernels.to_device(A), B)


def test_array_of_another_device() -> None:
    here, there = host(), kernels_on(OpaqueFake(), entry())
    with pytest.raises(DeviceMismatchError, match=r"a is on vulkan:0; the kernel runs on cpu:0; "):
        here.add(there.to_device(A), B)
    with pytest.raises(DeviceMismatchError, match=r"is on cpu:0; the kernel runs on vulkan:0"):
        there.add(here.to_device(A), B)
    # Two open Vulkan devices share nothing; two loads on the CPU share everything.
    with pytest.raises(DeviceMismatchError, match=r"is on vulkan:0 of another load, "):
        kernels_on(OpaqueFake(), entry()).add(there.to_device(A), there.to_device(B))
    np.testing.assert_array_equal(host().add(here.to_device(A), B).numpy(), A + B)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nothing_loaded_is_pickled_or_copied(copied: Any) -> None:
    """A worker process must load the bundle itself."""
    kernels = host()
    kernel = kernels["add_kernel"]
    for found in (kernels, kernels.add, kernel, kernel.prepare(A, B)):
        with pytest.raises(ArgumentError, match=r"cannot be pickled .* load the bundle in"):
            copied(found)
