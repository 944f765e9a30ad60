"""Fast path of argument checks: find the memory of an array that fits its parameter exactly.

A finder belongs to one parameter and one array type. It returns the buffer if the array has the
expected element type, shape, strides, alignment and permission to write, and None otherwise. For
None, `arguments` examines the value and reports what is wrong. Finders read only properties that
are cheap in the array's library. numpy is the only library that this module imports.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kgen_runtime.array import Array, host_dtype
from kgen_runtime.backend import Backend
from kgen_runtime.manifest import TensorParam
from kgen_runtime.memory import dlpack
from kgen_runtime.memory.strides import packed_strides

Finder = Callable[[Any], Any]

#: NumPy C-API, "Array flags".
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
#: Tensor types whose methods have the documented meaning. Subclasses may override them.
_TORCH_TYPES = ("torch.Tensor", "torch.nn.parameter.Parameter")


class Finders(dict[type, Finder]):
    """Finders of one parameter on one device, by array type; each is made on first use."""

    def __init__(self, param: TensorParam, backend: Backend) -> None:
        super().__init__({Array: array_finder(param, backend)})
        self._param = param
        self._on_host = backend.memory == dlpack.HOST
        if self._on_host and _READS_HEADS:
            self[np.ndarray] = numpy_finder(param)

    def __missing__(self, kind: type) -> Finder:
        find = torch_finder(self._param) if self._on_host and is_torch(kind) else nothing
        self[kind] = find
        return find


def nothing(_: Any) -> None:
    """Return None: the finder of types that need a full examination."""


def array_finder(param: TensorParam, backend: Backend) -> Finder:
    """Return the finder of kgen's own arrays, which returns their buffer on any device."""
    dtype, shape, strides = param.dtype, param.shape, param.strides

    def find(array: Array) -> Any:
        memory = array.memory
        if (
            memory.backend is backend
            and array.dtype is dtype
            and array.shape == shape
            and array.strides == strides
        ):
            return memory.buffer
        return None

    return find


def numpy_finder(param: TensorParam) -> Finder:
    dtypes = (host_dtype(param.dtype), param.dtype.storage)
    shape, pointer_at, head = param.shape, _pointer_at, _HEAD
    strides = tuple(s * param.dtype.itemsize for s in param.strides)
    flags = ALIGNED | (WRITEABLE if param.is_output else 0)
    if packed := _is_packed(param):
        flags |= C_CONTIGUOUS

    def find(array: Any) -> int | None:
        if (
            array.dtype in dtypes
            and array.shape == shape
            and array.flags.num & flags == flags
            and (packed or array.strides == strides)
        ):
            return pointer_at(id(array) + head).value
        return None

    return find


def torch_finder(param: TensorParam) -> Finder:
    """Return the finder of PyTorch tensors, which is faster than their DLPack methods.

    The finder returns None for tensors that need a gradient or are on another device; DLPack
    refuses them. Tensors without memory of their own (sparse, inside of `vmap`) raise RuntimeError
    or have address 0.
    """
    dtype = getattr(sys.modules["torch"], param.dtype.array_name, None)
    shape, strides, itemsize = param.shape, param.strides, param.dtype.itemsize
    packed = _is_packed(param)

    def find(tensor: Any) -> int | None:
        try:
            if (
                tensor.dtype is dtype
                and tensor.shape == shape
                and (tensor.is_contiguous() if packed else tensor.stride() == strides)
                and tensor.is_cpu
                and not tensor.requires_grad
                and not tensor.is_neg()
            ):
                address: int = tensor.data_ptr()
                return address if address and address % itemsize == 0 else None
        except RuntimeError:
            pass
        return None

    return find


def _is_packed(param: TensorParam) -> bool:
    return param.strides == packed_strides(param.shape)


@functools.cache
def is_torch(kind: type) -> bool:
    """Return whether this is one of PyTorch's own tensor types."""
    return f"{kind.__module__}.{kind.__qualname__}" in _TORCH_TYPES


def holder(value: Any) -> object:
    """Return the object that keeps an array's memory alive. For a PyTorch tensor that is its
    storage: the tensor may get other memory at any time."""
    kind: type = type(value)
    return value.untyped_storage() if is_torch(kind) else value


def _reads_heads() -> bool:
    """Return whether PyArrayObject starts with the object header and the pointer to the elements
    (NumPy C-API, "Python types and C-structures"). Reading that pointer is faster than
    `__array_interface__`."""
    if sys.implementation.name != "cpython":
        return False
    probe = np.zeros(1, np.uint8)
    return _pointer_at(id(probe) + _HEAD).value == probe.ctypes.data


_HEAD = object.__basicsize__
_pointer_at = ctypes.c_void_p.from_address
_READS_HEADS = _reads_heads()
