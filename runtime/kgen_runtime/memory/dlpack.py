"""DLPack through ctypes: its structs, and import of tensors from other libraries.

numpy's importer refuses bfloat16 and device memory, so this module reads the capsule itself.
The layouts are those of dlpack.h 1.0, versioned and unversioned. :mod:`lending` exports tensors.
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
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.values import frozen

# Values of DLDeviceType.
HOST, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 10, 11, 13
_BACKENDS = {CUDA: "cuda", CUDA_MANAGED: "cuda", ROCM: "hip"}
#: Names of unconsumed capsules.
UNVERSIONED, VERSIONED = b"dltensor", b"dltensor_versioned"
#: Exceptions with which producers refuse to export a tensor.
REFUSALS = (BufferError, RuntimeError, TypeError, ValueError)
READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY.

#: Element type by (DLDataTypeCode, bits); the codes of 8-bit floats are those of dlpack.h 1.1.
_DTYPES = {
    (2, 64): DType.F64,
    (2, 32): DType.F32,
    (2, 16): DType.F16,
    (4, 16): DType.BF16,
    (0, 16): DType.S16,
    (1, 16): DType.U16,
    (10, 8): DType.E4M3,
    (12, 8): DType.E5M2,
    (11, 8): DType.E4M3FNUZ,
    (13, 8): DType.E5M2FNUZ,
    (0, 64): DType.S64,
    (0, 32): DType.S32,
    (0, 8): DType.S8,
    (1, 8): DType.U8,
    (6, 8): DType.BOOL,
}
CODES = {dtype: pair for pair, dtype in reversed(_DTYPES.items())}
_CODE_NAMES = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}


class DlpackDevice(Structure):
    _fields_ = (("type", c_int32), ("index", c_int32))


class DataType(Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class DLTensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", DlpackDevice),
        ("ndim", c_int32),
        ("dtype", DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class Managed(Structure):
    _fields_ = (("tensor", DLTensor), ("manager", c_void_p), ("deleter", c_void_p))


class ManagedVersioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DLTensor),
    )


#: ManagedVersioned as an array of 64-bit words.
_Words = c_uint64 * (ctypes.sizeof(ManagedVersioned) // 8)


@frozen
class DlpackTensor:
    """Tensor of a DLPack capsule; `strides` are in bytes, `owner` keeps the memory alive.

    `dtype` is a DType, or the name of a type that kernels do not support.
    """

    address: int
    device: tuple[int, int]
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read_only: bool
    owner: object


def device_of(value: Any) -> tuple[int, int]:
    """Return the DLPack type and index of the device of an object with `__dlpack__`.

    Raises ArgumentError if the producer refuses.
    """
    try:
        kind, index = value.__dlpack_device__()
    except REFUSALS as error:
        raise _refused(value, error) from None
    return kind, index


def read(value: Any, stream: int | None = None) -> DlpackTensor:
    """Import the tensor of an object with `__dlpack__`, for use on `stream`.

    The capsule stays unconsumed as `owner`; its own destructor releases the tensor. Raises
    ArgumentError if the producer refuses.
    """
    capsule = _capsule(value, stream)
    try:
        name = _get_name(capsule)
    except ValueError:
        given = type(capsule).__name__
        raise ArgumentError(
            f"{type(value).__name__}.__dlpack__ returned {given}, not a capsule; pass a numpy array"
        ) from None
    if name == VERSIONED:
        managed = ManagedVersioned.from_address(_get_pointer(capsule, name))
        if managed.major != 1:
            raise ArgumentError(
                f"DLPack version {managed.major}.{managed.minor} is not supported; pass a numpy "
                "array"
            )
        return _describe(managed.tensor, bool(managed.flags & READ_ONLY), capsule)
    if name == UNVERSIONED:
        return _describe(tensor_of(capsule), False, capsule)
    raise ArgumentError(
        f"{type(value).__name__}.__dlpack__ returned a capsule named {name!r}, which is not "
        "supported; pass a numpy array"
    )


def tensor_of(capsule: object) -> DLTensor:
    """Return the tensor in an unconsumed capsule; its fields can be changed."""
    name = _get_name(capsule)
    kind: Any = ManagedVersioned if name == VERSIONED else Managed
    tensor: DLTensor = kind.from_address(_get_pointer(capsule, name)).tensor
    return tensor


class Form:
    """Type, shape and strides (in elements) of a host tensor, in a form that compares quickly."""

    __slots__ = ("_head", "_nbytes", "_shape", "_strides")

    def __init__(self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        n = len(shape)
        kind = DataType(*CODES[dtype], 1)
        self._head = (HOST, n | int.from_bytes(bytes(kind), "little") << 32)
        self._nbytes = 8 * n
        self._shape, self._strides = bytes((c_int64 * n)(*shape)), bytes((c_int64 * n)(*strides))

    def lend(self, value: Any, *, writable: bool) -> tuple[int, object] | None:
        """Return the address of a tensor of this form and the object that keeps it alive; None for
        any other value, which `read` describes.

        This path is faster than `read`: it compares the words of DLManagedTensorVersioned with the
        expected ones. It assumes little-endian words.
        """
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
            if _is_negated(value):
                return None
            place = _get_pointer(capsule, VERSIONED)
        except (AttributeError, *REFUSALS):
            return None
        version, _, _, flags, data, device, kind, shape, strides, offset = _Words.from_address(
            place
        )
        if (
            version & 0xFFFFFFFF == 1
            and (device, kind) == self._head
            and not (writable and flags & READ_ONLY)
            and data
            and strides
            and ctypes.string_at(shape, self._nbytes) == self._shape
            and ctypes.string_at(strides, self._nbytes) == self._strides
        ):
            return data + offset, capsule
        return None


def _is_negated(value: Any) -> bool:
    """Return whether a PyTorch tensor is a lazily negated view of its memory: DLPack cannot express
    that, and PyTorch exports it anyway."""
    return hasattr(value, "is_neg") and bool(value.is_neg())


def _capsule(value: Any, stream: int | None) -> Any:
    if _is_negated(value):
        raise ArgumentError("is a negated view of its memory; pass its .resolve_neg()")
    wanted: dict[str, Any] = {} if stream is None else {"stream": stream}
    try:
        try:
            return value.__dlpack__(**wanted, max_version=(1, 0))
        except TypeError:  # The producer predates DLPack 1.0.
            return value.__dlpack__(**wanted)
    except REFUSALS as error:
        raise _refused(value, error) from None


def _refused(value: Any, error: Exception) -> ArgumentError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ArgumentError(f"{type(value).__name__}.__dlpack__ refuses: {reason}")


def _describe(tensor: DLTensor, read_only: bool, owner: object) -> DlpackTensor:
    kind, n = tensor.dtype, tensor.ndim
    known = _DTYPES.get((kind.code, kind.bits)) if kind.lanes == 1 else None
    itemsize = kind.bits * kind.lanes // 8
    shape = tuple(tensor.shape[:n])
    if not tensor.data and all(shape):
        raise ArgumentError("has no memory; pass a tensor with data")
    elements = tuple(tensor.strides[:n]) if tensor.strides else packed_strides(shape)
    return DlpackTensor(
        address=(tensor.data or 0) + tensor.byte_offset,
        device=(tensor.device.type, tensor.device.index),
        dtype=known or f"{_CODE_NAMES.get(kind.code, 'type')}{kind.bits}",
        shape=shape,
        strides=tuple(s * itemsize for s in elements),
        read_only=read_only,
        owner=owner,
    )


def place(kind: int, index: int) -> str:
    """Return the id of a DLPack device, as in `DeviceInfo.id`; pinned memory counts as host
    memory."""
    if kind in (HOST, CUDA_HOST, ROCM_HOST):
        return "the host"
    return f"{_BACKENDS[kind]}:{index}" if kind in _BACKENDS else f"DLPack device {kind}:{index}"


def stream_number(kind: int, stream: int | None) -> int | None:
    """Return DLPack's number of a stream handle: the default stream is 1 for CUDA and 0 for
    ROCm."""
    if kind in (CUDA, CUDA_MANAGED):
        return stream or 1
    return stream or 0 if kind == ROCM else None


_get_name = ctypes.PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
