"""Arrays on a device: copies, strides, ownership."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest

from kgen_runtime.array import Array, lent_array
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError, OutOfMemory
from tests.unit.runtime.fakes import HostFake, OpaqueFake

BACKENDS = [HostFake, OpaqueFake]


@pytest.mark.parametrize("make", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_there_and_back(make: Any, dtype: Any) -> None:
    x = np.random.default_rng(1).normal(size=(3, 1, 7)).astype(dtype)
    x[0, 0, :3] = np.nan, np.inf, -0.0
    array = Array.from_host(make(), x)
    y = array.numpy()
    assert y.dtype == x.dtype and y.tobytes() == x.tobytes()
    assert array.shape == (3, 1, 7) and array.nbytes == x.nbytes


@pytest.mark.parametrize("make", BACKENDS)
def test_strides_are_kept(make: Any) -> None:
    wide = np.arange(40, dtype=np.float32).reshape(4, 10)
    for x in (wide[:, 2:5], wide.T, wide[1:2], np.broadcast_to(wide[0], (3, 10))):
        array = Array.from_host(make(), x)
        assert array.strides == tuple(s // 4 for s in x.strides)
        np.testing.assert_array_equal(array.numpy(), x)
        assert array.numpy().strides == x.strides


@pytest.mark.parametrize("make", BACKENDS)
def test_negative_strides_are_packed(make: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)[::-1]
    array = Array.from_host(make(), x)
    assert array.strides == (4, 1)
    np.testing.assert_array_equal(array.numpy(), x)


def test_a_scalar_array() -> None:
    assert Array.from_host(OpaqueFake(), np.array(3.0)).numpy() == 3.0


def test_the_copy_is_independent() -> None:
    x = np.zeros(3, np.float32)
    array = Array.from_host(HostFake(), x)
    x[:] = 1
    y = array.numpy()
    y[:] = 2
    np.testing.assert_array_equal(array.numpy(), np.zeros(3))


def test_an_array_without_elements() -> None:
    """The array has memory, because drivers cannot allocate 0 bytes, and nothing is copied."""
    for backend in (HostFake(), OpaqueFake()):
        array = Array.from_host(backend, np.zeros((3, 0), np.float32))
        assert (array.shape, array.strides, array.nbytes) == ((3, 0), (0, 1), 0)
        assert array.numpy().shape == (3, 0)
    assert array.buffer.nbytes == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            np.zeros(3, np.uint32),
            r"to_device: dtype uint32 is not supported; convert the array to one of f64, f32",
        ),
        (np.zeros(3, ">f4"), r"dtype >f4 is not supported"),
        ([1.0, 2.0], r"to_device: list is neither a numpy nor a DLPack array; pass numpy\.asarray"),
    ],
)
def test_wrong_values(value: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Array.from_host(OpaqueFake(), value)


@pytest.mark.parametrize(
    ("value", "bits_of", "message"),
    [
        (
            np.zeros(3, np.uint8),
            "e4m4",
            r"bits_of=e4m4 is not an 8-bit float; known are e4m3, e5m2",
        ),
        (np.zeros(3, np.uint8), "bf16", r"bits_of=bf16 is not an 8-bit float"),
        (np.zeros(3, np.int8), "e4m3", r"bits_of=e4m3 needs an array of uint8, not s8; view it"),
    ],
)
def test_wrong_bits(value: Any, bits_of: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Array.from_host(OpaqueFake(), value, bits_of)


@pytest.mark.parametrize("make", BACKENDS)
@pytest.mark.parametrize("taken", [np.array, np.asarray, lambda array: np.ones(3) + array])
def test_numpy_does_not_copy_unseen(make: Any, taken: Any) -> None:
    array = Array.from_host(make(), np.ones(3, np.float32))
    with pytest.raises(ArgumentError, match=r"is not a numpy array; copy it with \.numpy\(\)$"):
        taken(array)


def test_failed_allocation_frees_nothing() -> None:
    class Full(OpaqueFake):
        def alloc(self, nbytes: int) -> Any:
            raise OutOfMemory("full")

    backend = Full()
    with pytest.raises(OutOfMemory):
        Array.empty(backend, DType.F32, (4,))
    gc.collect(1)
    assert backend.live == 0


def test_freed_with_the_last_reference() -> None:
    backend = OpaqueFake()
    array = Array.empty(backend, DType.BF16, (4, 3), (5, 1))
    assert repr(array) == "Array(4x3 bf16 on vulkan:0)"
    assert array.nbytes == 2 * (3 * 5 + 3)
    assert backend.live == 1
    del array
    gc.collect(1)
    assert backend.live == 0


def test_lent_arrays_keep_their_owner() -> None:
    class Owner:
        pass

    data, owner = np.arange(3.0), Owner()
    alive = __import__("weakref").ref(owner)
    seen = lent_array(data.ctypes.data, DType.F64, (3,), (8,), owner=owner)
    del owner
    gc.collect(1)
    assert alive() is not None
    np.testing.assert_array_equal(seen, data)
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 1
    del seen
    gc.collect(1)
    assert alive() is None


@pytest.mark.parametrize("make", BACKENDS)
@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_a_second_owner_is_refused(make: Any, copied: Any) -> None:
    """Two owners would free the same memory; another process does not have it."""
    array = Array.from_host(make(), np.ones(3, np.float32))
    with pytest.raises(ArgumentError, match=r"Memory objects cannot be .*\.numpy\(\)$"):
        copied(array)
    same = copy.copy(array)
    del array
    np.testing.assert_array_equal(same.numpy(), np.ones(3))
