"""DLPack by ctypes: reading tensors of other libraries and lending ours to them.

numpy's own reader refuses bfloat16 and device memory, so this one reads the capsule itself.
Layouts are those of dlpack.h 1.0, both the versioned and the unversioned form.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from dataclasses import dataclass
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError

HOST, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 10, 11, 13  # DLDeviceType
_BACKENDS = {CUDA: "cuda", CUDA_MANAGED: "cuda", ROCM: "hip"}
#: Capsule names; a capsule keeps the pointer only, so these must outlive all capsules.
_UNVERSIONED, _VERSIONED = b"dltensor", b"dltensor_versioned"
READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY

#: (DLDataTypeCode, bits) of every element type that kernels take (codes of 8-bit floats: dlpack.h
#: 1.1); uint16 holds bf16's bits.
_DTYPES = {
    (2, 64): DType.F64,
    (2, 32): DType.F32,
    (2, 16): DType.F16,
    (4, 16): DType.BF16,
    (1, 16): DType.BF16,
    (10, 8): DType.E4M3,
    (12, 8): DType.E5M2,
    (0, 32): DType.S32,
    (0, 8): DType.S8,
}
_CODES = {dtype: pair for pair, dtype in reversed(_DTYPES.items())}
_CODE_NAMES = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}


class _Device(Structure):
    _fields_ = (("type", c_int32), ("index", c_int32))


class _DataType(Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class _Tensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", _Device),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(Structure):
    _fields_ = (("tensor", _Tensor), ("manager", c_void_p), ("deleter", _Deleter))


class _ManagedVersioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", _Deleter),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


#: A _ManagedVersioned, word by word.
_Words = c_uint64 * (ctypes.sizeof(_ManagedVersioned) // 8)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tensor:
    """What a capsule describes; `strides` are in bytes, `owner` keeps the memory alive.

    `dtype` is a DType, or for a type that no kernel takes its name in words.
    """

    address: int
    device: tuple[int, int]
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read_only: bool
    owner: object


def read(value: Any, stream: int | None = None) -> Tensor:
    """The tensor that an object with `__dlpack__` lends. `stream` is where it will be used.

    The capsule stays unconsumed as `owner`: its own destructor gives the tensor back. Raises
    ArgumentError if the producer refuses.
    """
    capsule = _capsule(value, stream)
    try:
        name = _get_name(capsule)
    except ValueError:
        given = type(capsule).__name__
        raise ArgumentError(
            f"{type(value).__name__}.__dlpack__ gave no capsule but {given}"
        ) from None
    if name == _VERSIONED:
        managed = _ManagedVersioned.from_address(_get_pointer(capsule, name))
        if managed.major != 1:
            raise ArgumentError(f"DLPack version {managed.major}.{managed.minor} is not known")
        return _describe(managed.tensor, bool(managed.flags & READ_ONLY), capsule)
    if name == _UNVERSIONED:
        return _describe(_Managed.from_address(_get_pointer(capsule, name)).tensor, False, capsule)
    raise ArgumentError(f"{type(value).__name__}.__dlpack__ gave a capsule named {name!r}")


class Form:
    """A host tensor's type, shape and strides (in elements), to be compared in one go."""

    __slots__ = ("_head", "_nbytes", "_shape", "_strides")

    def __init__(self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        n = len(shape)
        kind = _DataType(*_CODES[dtype], 1)
        self._head = (HOST, n | int.from_bytes(bytes(kind), "little") << 32)
        self._nbytes = 8 * n
        self._shape, self._strides = bytes((c_int64 * n)(*shape)), bytes((c_int64 * n)(*strides))

    def lend(self, value: Any, *, writable: bool) -> tuple[int, object] | None:
        """The address of a tensor of this form and what keeps it alive; None for any other value,
        which `read` describes.

        A third of the time that `read` takes: the words of DLManagedTensorVersioned are compared
        with those that are expected, on machines of little-endian order.
        """
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
            place = _get_pointer(capsule, _VERSIONED)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            return None
        version, _, _, flags, data, device, kind, shape, strides, offset = _Words.from_address(
            place
        )
        if (
            version & 0xFFFFFFFF == 1
            and (device, kind) == self._head
            and not (writable and flags & READ_ONLY)
            and strides
            and ctypes.string_at(shape, self._nbytes) == self._shape
            and ctypes.string_at(strides, self._nbytes) == self._strides
        ):
            return data + offset, capsule
        return None


def _capsule(value: Any, stream: int | None) -> Any:
    wanted: dict[str, Any] = {} if stream is None else {"stream": stream}
    try:
        try:
            return value.__dlpack__(**wanted, max_version=(1, 0))
        except TypeError:  # a producer from before DLPack 1.0
            return value.__dlpack__(**wanted)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ArgumentError(f"{type(value).__name__}.__dlpack__ refuses: {reason}") from None


def _describe(tensor: _Tensor, read_only: bool, owner: object) -> Tensor:
    kind, n = tensor.dtype, tensor.ndim
    known = _DTYPES.get((kind.code, kind.bits)) if kind.lanes == 1 else None
    itemsize = kind.bits * kind.lanes // 8
    shape = tuple(tensor.shape[:n])
    elements = tuple(tensor.strides[:n]) if tensor.strides else packed_strides(shape)
    return Tensor(
        address=(tensor.data or 0) + tensor.byte_offset,
        device=(tensor.device.type, tensor.device.index),
        dtype=known or f"{_CODE_NAMES.get(kind.code, 'type')}{kind.bits}",
        shape=shape,
        strides=tuple(s * itemsize for s in elements),
        read_only=read_only,
        owner=owner,
    )


def place(kind: int, index: int) -> str:
    """A DLPack device in the words of `DeviceInfo.id`; pinned memory counts as the host's."""
    if kind in (HOST, CUDA_HOST, ROCM_HOST):
        return "the host"
    return f"{_BACKENDS[kind]}:{index}" if kind in _BACKENDS else f"DLPack device {kind}:{index}"


def stream_number(kind: int, stream: int | None) -> int | None:
    """A stream handle in DLPack's words: the default is 1 for CUDA and 0 for ROCm."""
    if kind in (CUDA, CUDA_MANAGED):
        return stream or 1
    return stream or 0 if kind == ROCM else None


def packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Element strides of a packed row-major tensor."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


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
    """A capsule that lends memory to another library; `strides` are in elements.

    `owner` stays alive until the consumer, or the unused capsule, gives the tensor back.
    """
    n = len(shape)
    extents, steps = (c_int64 * n)(*shape), (c_int64 * n)(*strides)
    managed = _ManagedVersioned(major=1, minor=0) if versioned else _Managed()
    managed.tensor = _Tensor(
        address,
        _Device(*device),
        n,
        _DataType(*_CODES[dtype], 1),
        ctypes.cast(extents, POINTER(c_int64)),
        ctypes.cast(steps, POINTER(c_int64)),
        0,
    )
    managed.deleter = _release
    place = ctypes.addressof(managed)
    _lent[place] = (managed, extents, steps, owner)
    if versioned:
        return _new_capsule(place, _VERSIONED, _drop_versioned)
    return _new_capsule(place, _UNVERSIONED, _drop)


#: Exports that a consumer still holds, by the address of their struct.
_lent: dict[int, tuple[object, ...]] = {}


def _forget(place: int) -> None:
    _lent.pop(place, None)


_release = _Deleter(_forget)


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)
_get_name = _function("PyCapsule_GetName", c_char_p, py_object)
_get_pointer = _function("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
_new_capsule = _function("PyCapsule_New", py_object, c_void_p, c_char_p, _Destructor)
# A destructor sees its capsule after the last reference is gone, so it must not make a new one.
_dying_is = _function("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p)
_dying_pointer = _function("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)


def _dropper(name: bytes) -> Any:
    def drop(capsule: int) -> None:
        if _dying_is(capsule, name):  # a consumer renames it, and then calls the deleter itself
            _forget(_dying_pointer(capsule, name))

    return _Destructor(drop)


_drop, _drop_versioned = _dropper(_UNVERSIONED), _dropper(_VERSIONED)
