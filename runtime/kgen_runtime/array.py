"""Device tensors: memory that is freed with its object, and copies from and to numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from kgen_runtime.dtypes import FLOATS_8, DType
from kgen_runtime.errors import ArgumentError
from kgen_runtime.memory import dlpack, lending
from kgen_runtime.memory.host import bytes_at, host_bytes
from kgen_runtime.uncopied import Uncopied

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kgen_runtime.backend import Backend
    from kgen_runtime.manifest import TensorParam
    from kgen_runtime.memory.host import HostBytes
from kgen_runtime.memory.strides import extent, packed_strides

#: Types that numpy does not support; the package ml_dtypes does.
_ML_DTYPES = (DType.BF16, *FLOATS_8)
#: DType by the name of the numpy type.
_DTYPES = {dtype.array_name: dtype for dtype in DType}
#: Types of arrays that can hold the bits of an 8-bit float, and of bf16.
BITS_8, BITS_16 = DType.U8, DType.U16


class Memory(Uncopied):
    """Owner of one buffer of a backend; the buffer is freed with the object."""

    __slots__ = ("backend", "buffer", "nbytes")
    _instead = "copy its array with .numpy()"

    def __init__(self, backend: Backend, nbytes: int, *, zero: bool = False) -> None:
        """Allocate `nbytes` bytes, uninitialised or filled with zeros."""
        self.backend = backend
        self.nbytes = nbytes
        allocated = max(1, nbytes)  # Drivers refuse allocations of 0 bytes.
        self.buffer = backend.alloc_zeroed(allocated) if zero else backend.alloc(allocated)

    @classmethod
    def of(cls, backend: Backend, data: HostBytes) -> Memory:
        """Allocate a buffer and copy these host bytes into it."""
        memory = cls(backend, data.nbytes)
        backend.copy_to_device(memory.buffer, data)
        return memory

    def __repr__(self) -> str:
        return f"<Memory of {self.nbytes} bytes on {self.backend.info.id}>"

    def __del__(self) -> None:
        if hasattr(self, "buffer"):  # False if alloc raised.
            self.backend.free(self.buffer)


class Array:
    """Tensor in a device's memory; `strides` are in elements, innermost last.

    Create an array with `Kernels.to_device` and copy it to the host with `numpy()`. The memory is
    freed with the last reference to the array. Libraries that share the device's memory import the
    array through DLPack.
    """

    __slots__ = ("dtype", "memory", "shape", "strides")

    def __init__(
        self, memory: Memory, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.memory = memory
        self.dtype = dtype
        self.shape = shape
        self.strides = strides

    @classmethod
    def empty(
        cls,
        backend: Backend,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> Array:
        """Allocate an uninitialised array, contiguous unless `strides` (in elements) are passed."""
        shape = tuple(shape)
        strides = packed_strides(shape) if strides is None else tuple(strides)
        nbytes = extent(shape, strides) * dtype.itemsize
        return cls(Memory(backend, nbytes), dtype, shape, strides)

    @classmethod
    def from_host(cls, backend: Backend, value: Any, bits_of: str | None = None) -> Array:
        """Copy a numpy array or another host DLPack array to the device, strides included.

        uint16 is read as the bits of bf16. uint8 is read as the bits of the 8-bit float `bits_of`,
        if that is passed. An array with negative strides is copied to a contiguous one first.
        Raises ArgumentError for other types, OutOfMemory if the device memory does not suffice.
        """
        host = host_array(value)
        dtype = dtype_of(host.dtype)
        if dtype == BITS_16:
            dtype = DType.BF16
        if bits_of is not None:
            dtype = _float_8(bits_of, dtype)
        if dtype not in tuple(DType):
            raise ArgumentError(
                f"to_device: dtype {dtype} is not supported; convert the array to one of "
                f"{', '.join(DType)}"
            )
        if not host.size:
            return cls.empty(backend, DType(dtype), host.shape)
        if any(s < 0 or s % host.itemsize for s in host.strides):
            host = host.copy()
        strides = tuple(s // host.itemsize for s in host.strides)
        array = cls.empty(backend, DType(dtype), host.shape, strides)
        backend.copy_to_device(array.buffer, bytes_at(host.ctypes.data, array.nbytes))
        return array

    @property
    def backend(self) -> Backend:
        return self.memory.backend

    @property
    def buffer(self) -> Any:
        return self.memory.buffer

    @property
    def nbytes(self) -> int:
        """Bytes from the start of the first element to the end of the last one."""
        return extent(self.shape, self.strides) * self.dtype.itemsize

    @property
    def device(self) -> str:
        return self.backend.info.id

    def numpy(self) -> npt.NDArray[Any]:
        """Copy to the host after all earlier launches, with the same strides.

        bf16 and 8-bit floats become `ml_dtypes` arrays if that package is installed, else their
        bits as uint16 and uint8.
        """
        base, result = host_empty(self.dtype, self.shape, self.strides)
        if self.nbytes:
            self.backend.copy_from_device(base, self.buffer)
        return result

    def __repr__(self) -> str:
        return f"Array({'x'.join(map(str, self.shape))} {self.dtype} on {self.device})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Raise ArgumentError: numpy would copy implicitly, or make an array of objects."""
        raise ArgumentError(f"{self!r} is not a numpy array; copy it with .numpy()")

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.backend.memory is None:
            raise BufferError(f"memory of {self.device} cannot be shared; copy it with .numpy()")
        return (self.backend.memory, self.backend.info.index)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the memory through DLPack. All earlier launches are finished on return, on any
        stream."""
        device = self.__dlpack_device__()
        if copy or dl_device not in (None, device):
            raise BufferError(f"{self!r} cannot be exported as a copy; copy it with .numpy()")
        self.backend.synchronize()
        strides = tuple(s * self.dtype.itemsize for s in self.strides)
        view = lent_array(self.buffer, self.dtype, self.shape, strides, owner=self, read_only=False)
        versioned = max_version is not None and max_version >= (1, 0)
        return lending.export(view, self.dtype, device, versioned=versioned)


def _float_8(bits_of: str, dtype: str) -> str:
    """Return `bits_of` after checking that it names an 8-bit float and that `dtype` is uint8."""
    if bits_of not in FLOATS_8:
        raise ArgumentError(
            f"to_device: bits_of={bits_of} is not an 8-bit float; known are {', '.join(FLOATS_8)}"
        )
    if dtype != BITS_8:
        raise ArgumentError(
            f"to_device: bits_of={bits_of} needs an array of uint8, not {dtype}; view it as uint8"
        )
    return bits_of


def host_dtype(dtype: DType) -> np.dtype[Any]:
    """Return the numpy type of results: for floats that numpy lacks the ml_dtypes type if that
    package is installed, else an unsigned integer."""
    if dtype not in _ML_DTYPES:
        return dtype.storage
    import numpy as np

    try:
        import ml_dtypes
    except ImportError:
        return dtype.storage
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype.array_name))
    return found


def dtype_of(dtype: np.dtype[Any]) -> str:
    """Return the name of the DType for a numpy type, or numpy's own name if there is none."""
    return _DTYPES.get(dtype.name, dtype.name) if dtype.isnative else str(dtype)


def host_empty(
    dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[HostBytes, npt.NDArray[Any]]:
    """Allocate host memory; return it as bytes and as an array with these strides (in elements)."""
    import numpy as np

    base = host_bytes(extent(shape, strides) * dtype.itemsize)
    steps = tuple(s * dtype.itemsize for s in strides)
    return base, np.ndarray(shape, host_dtype(dtype), buffer=base, strides=steps)


def typed_bytes(address: int, param: TensorParam) -> npt.NDArray[Any]:
    """Return a view of a tensor in host memory; the caller keeps the memory alive."""
    import numpy as np

    strides = tuple(s * param.dtype.itemsize for s in param.strides)
    memory = bytes_at(address, param.nbytes)
    return np.ndarray(param.shape, host_dtype(param.dtype), buffer=memory, strides=strides)


def host_array(value: Any, who: str = "to_device") -> npt.NDArray[Any]:
    """Return a numpy array, or a view of a host DLPack array. Raises ArgumentError with a message
    that starts with `who`."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "__dlpack__"):
        raise ArgumentError(
            f"{who}: {type(value).__name__} is neither a numpy nor a DLPack array; "
            "pass numpy.asarray(value)"
        )
    try:
        place = dlpack.place(*dlpack.device_of(value))
        if place != dlpack.place(dlpack.HOST, 0):
            raise ArgumentError(
                f"the array is on {place}; copy it to the host, or use a kernel of that device"
            )
        tensor = dlpack.read(value)
    except ArgumentError as error:
        raise ArgumentError(f"{who}: {error}") from None
    if tensor.dtype not in tuple(DType):
        raise ArgumentError(
            f"{who}: dtype {tensor.dtype} is not supported; convert the array to one of "
            f"{', '.join(DType)}"
        )
    dtype = DType(tensor.dtype)
    return lent_array(
        tensor.address,
        dtype,
        tensor.shape,
        tensor.strides,
        owner=tensor.owner,
        read_only=tensor.read_only,
    ).view(host_dtype(dtype))


def lent_array(
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    owner: object = None,
    read_only: bool = True,
) -> npt.NDArray[Any]:
    """Return a view of the storage type at an address, which keeps `owner` alive; `strides` are in
    bytes."""
    import numpy as np

    return np.asarray(_Lent(address, dtype, shape, strides, owner, read_only))


class _Lent:
    """Memory of another owner in numpy's array interface; numpy keeps the object as the array's
    base."""

    def __init__(
        self,
        address: int,
        dtype: DType,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        owner: object,
        read_only: bool,
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, read_only),
            "typestr": dtype.storage.str,
            "shape": shape,
            "strides": strides,
        }
