"""DLPack export of arrays to other libraries."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int64, c_void_p, py_object
from typing import TYPE_CHECKING, Any

from kgen_runtime.dtypes import DType
from kgen_runtime.memory import dlpack

if TYPE_CHECKING:
    import numpy.typing as npt


def export(
    *,
    address: int,
    device: tuple[int, int],
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    owner: object,
    versioned: bool,
) -> object:
    """Return a DLPack capsule for memory; `strides` are in elements.

    `owner` stays alive until the consumer, or the destructor of the unused capsule, releases the
    tensor.
    """
    n = len(shape)
    extents, steps = (c_int64 * n)(*shape), (c_int64 * n)(*strides)
    managed = dlpack.ManagedVersioned(major=1, minor=0) if versioned else dlpack.Managed()
    managed.tensor = dlpack.DLTensor(
        address,
        dlpack.DlpackDevice(*device),
        n,
        dlpack.DataType(*dlpack.CODES[dtype], 1),
        ctypes.cast(extents, POINTER(c_int64)),
        ctypes.cast(steps, POINTER(c_int64)),
        0,
    )
    managed.deleter = _release
    place = ctypes.addressof(managed)
    _lent[place] = (managed, extents, steps, owner)
    if versioned:
        return _new_capsule(place, dlpack.VERSIONED, _drop_versioned)
    return _new_capsule(place, dlpack.UNVERSIONED, _drop)


class HostTensor:
    """Numpy array that `from_dlpack` of other libraries can import, including bf16 and 8-bit
    floats."""

    __slots__ = ("_array", "_dtype")

    def __init__(self, array: npt.NDArray[Any], dtype: DType) -> None:
        self._array, self._dtype = array, dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return (dlpack.HOST, 0)

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> object:
        array = self._array
        return export(
            address=array.ctypes.data,
            device=(dlpack.HOST, 0),
            dtype=self._dtype,
            shape=array.shape,
            strides=tuple(s // array.itemsize for s in array.strides),
            owner=array,
            versioned=max_version is not None and max_version >= (1, 0),
        )


#: Exports that are not released, by the address of their struct.
_lent: dict[int, tuple[object, ...]] = {}


def _forget(place: int) -> None:
    _lent.pop(place, None)


_release = dlpack.Deleter(_forget)

_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)
_new_capsule = dlpack.function("PyCapsule_New", py_object, c_void_p, c_char_p, _Destructor)
# A capsule's destructor runs after its last reference is gone, so it must not create a new one:
# these functions take the capsule as an address.
_dying_is = dlpack.function("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p)
_dying_pointer = dlpack.function("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)


def _dropper(name: bytes) -> Any:
    def drop(capsule: int) -> None:
        # A consumer has renamed the capsule and calls the deleter itself.
        if _dying_is(capsule, name):
            _forget(_dying_pointer(capsule, name))

    return _Destructor(drop)


_drop, _drop_versioned = _dropper(dlpack.UNVERSIONED), _dropper(dlpack.VERSIONED)
