"""Conversion of host values (arrays of any library, lists, numbers) to a program's inputs and
back."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kgen_runtime.array import dtype_of, host_array, host_dtype, host_empty, typed_bytes
from kgen_runtime.backend import Backend
from kgen_runtime.calls.arguments import Slot, View
from kgen_runtime.errors import ArgumentError
from kgen_runtime.memory import dlpack
from kgen_runtime.memory.lending import HostTensor
from kgen_runtime.memory.strides import packed_strides

#: Function that converts a DLPack array to an array of another library.
Importer = Callable[[Any], Any]
Put = Callable[[Any], "Importer | None"]
_NUMBERS = (bool, int, float, list, tuple, range, np.generic)


def importer(value: Any) -> Importer | None:
    """Return `from_dlpack` of the library that an array belongs to; None for arrays of numpy and
    kgen, and for libraries without that function."""
    kind: type = type(value)
    return _importer(kind)


@functools.cache
def _importer(kind: type) -> Importer | None:
    if issubclass(kind, np.ndarray) or not hasattr(kind, "__dlpack__"):
        return None
    for base in kind.__mro__:
        library = sys.modules.get(base.__module__.partition(".")[0])
        found: Importer | None = getattr(library, "from_dlpack", None)
        if found is not None:
            return found
    return None


def host_value(slot: Slot, value: Any) -> np.ndarray[Any, Any]:
    """Return the value as an array of the slot's shape, with its element type or the bits of it.

    Lists and numbers are converted like in numpy; integers must keep their value. Raises
    ArgumentError.
    """
    return _checked(slot, _array(slot, value))


def state_value(slot: Slot, value: Any) -> np.ndarray[Any, Any]:
    """Return a value as an array of a state's element type, of any shape. Raises ArgumentError."""
    array = _array(slot, value)
    _checked(slot, np.broadcast_to(np.empty((), array.dtype), slot.param.shape))
    return array


def _array(slot: Slot, value: Any) -> np.ndarray[Any, Any]:
    who = f"{slot.kernel}: {slot.name}"
    return _converted(slot, value, who) if isinstance(value, _NUMBERS) else host_array(value, who)


def _checked(slot: Slot, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array if it has the slot's shape and element type. Raises ArgumentError."""
    found = View(
        dtype=dtype_of(array.dtype),
        shape=array.shape,
        strides=array.strides,
        buffer=None,
        writable=False,
        owner=array,
    )
    if (problem := slot.mismatch(found)) is not None:
        raise ArgumentError(f"{slot.kernel}: {slot.name} {problem}")
    return array


def _converted(slot: Slot, value: Any, who: str) -> np.ndarray[Any, Any]:
    """Convert a list or number to an array of the slot's element type. Raises ArgumentError."""
    dtype = slot.param.dtype
    wanted = host_dtype(dtype)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" and array.size:
            held = next((x for x in array.flat if not isinstance(x, int | float)), None)
            raise TypeError(
                "a number is out of range" if held is None else f"it holds {str(held)[:40]!r}"
            )
        if not dtype.is_integer and wanted.kind == "u":
            raise TypeError("the package ml_dtypes, which converts numbers to it, is not installed")
        with np.errstate(all="ignore"):
            converted = array.astype(wanted)
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0][:200]
        raise ArgumentError(
            f"{who}: cannot convert this {type(value).__name__} to {dtype}: {reason}; "
            "pass a numpy array"
        ) from None
    if dtype.is_integer and (changed := converted != array).any():
        raise ArgumentError(
            f"{who}: {array[changed].flat[0]} is not a value of {dtype}; pass integers in its range"
        )
    return converted


def putter(slot: Slot, backend: Backend, buffer: Any) -> Put:
    """Return a function that copies a host value to an input's buffer and returns the importer of
    the value's library."""
    if not slot.nbytes:
        return functools.partial(_put_nothing, slot)
    if backend.memory != dlpack.HOST:
        return functools.partial(_put_on_device, slot, backend, buffer)
    shape, dtype, ndarray = slot.param.shape, host_dtype(slot.param.dtype), np.ndarray
    place = typed_bytes(buffer, slot.param)
    bits = place.view(slot.param.dtype.storage)

    def put(value: Any) -> Importer | None:
        if type(value) is ndarray and value.dtype == dtype and value.shape == shape:
            place[...] = value
            return None
        bits[...] = host_value(slot, value).view(bits.dtype)
        return importer(value)

    return put


def _put_nothing(slot: Slot, value: Any) -> Importer | None:
    host_value(slot, value)
    return importer(value)


def _put_on_device(slot: Slot, backend: Backend, buffer: Any, value: Any) -> Importer | None:
    param = slot.param
    base, array = host_empty(param.dtype, param.shape, param.strides)
    bits = param.dtype.storage
    array.view(bits)[...] = host_value(slot, value).view(bits)
    backend.copy_to_device(buffer, base)
    return importer(value)


def getter(slot: Slot, backend: Backend, buffer: Any) -> Callable[[], np.ndarray[Any, Any]]:
    """Return a function that copies an output's buffer to a new numpy array."""
    param = slot.param
    if not slot.nbytes:
        return slot.empty
    if backend.memory == dlpack.HOST and param.strides == packed_strides(param.shape):
        return typed_bytes(buffer, param).copy

    def get() -> np.ndarray[Any, Any]:
        base, array = host_empty(param.dtype, param.shape, param.strides)
        backend.copy_from_device(base, buffer)
        return array

    return get


def first_importer(values: Iterable[Any]) -> Importer | None:
    """Return the importer of the first array that belongs to another library than numpy; else
    None."""
    return next(filter(None, map(importer, values)), None)


def new_output(slot: Slot, library: Importer | None) -> Any:
    """Allocate a host array for an output, as an array of `library` or, for None, of numpy."""
    array = slot.empty()
    return array if library is None else imported(library, slot, array)


def imported(library: Importer, slot: Slot, array: np.ndarray[Any, Any]) -> Any:
    """Return a view of a result as an array of another library."""
    return library(HostTensor(array, slot.param.dtype))
