"""Argument checks of a kernel call against the manifest, and the memory of each argument.

A `Slot` is one parameter of one kernel on one device. `finders` recognise an array that fits. Any
other value goes through a `View`, which describes an array of any library; if it does not fit, the
error says why in one line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen_runtime.array import BITS_8, BITS_16, Array, dtype_of, host_dtype, lent_array
from kgen_runtime.backend import Backend
from kgen_runtime.calls.address_finders import Finders
from kgen_runtime.dtypes import FLOATS_8, DType
from kgen_runtime.errors import ArgumentError, DeviceMismatchError
from kgen_runtime.manifest import TensorParam
from kgen_runtime.memory import dlpack
from kgen_runtime.memory.host import host_bytes
from kgen_runtime.memory.overlap import share_an_element
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.values import frozen

#: Kernels of device backends load up to 16 bytes at once from the start of a tensor.
DEVICE_ALIGNMENT = 16


@frozen
class View:
    """Array argument of any library, on the kernel's device. `strides` are in bytes.

    `buffer` is the argument for the backend; `owner` keeps its memory alive.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    buffer: Any
    writable: bool
    owner: object

    def __str__(self) -> str:
        return f"{_dimensions(self.shape)} {self.dtype}"


def view(value: Any, backend: Backend, stream: int | None) -> View:
    """Describe an argument.

    Raises ArgumentError for a value that is not an array, DeviceMismatchError for an array on
    another device. The message does not contain the argument's name.
    """
    if isinstance(value, Array):
        return _array_view(value, backend)
    if isinstance(value, np.ndarray):
        return _numpy_view(value, backend)
    if hasattr(value, "__dlpack__"):
        return _dlpack_view(value, backend, stream)
    raise ArgumentError(
        f"is a {type(value).__name__}, not an array; pass a numpy array, an Array or a DLPack array"
    )


def _array_view(array: Array, backend: Backend) -> View:
    if array.backend is not backend and _home(array.backend) != _home(backend):
        raise _elsewhere(array.device, backend)
    return View(
        dtype=array.dtype,
        shape=array.shape,
        strides=tuple(s * array.dtype.itemsize for s in array.strides),
        buffer=array.buffer,
        writable=True,
        owner=array,
    )


def _numpy_view(array: np.ndarray[Any, Any], backend: Backend) -> View:
    if backend.memory != dlpack.HOST:
        raise _elsewhere("the host", backend)
    return View(
        dtype=dtype_of(array.dtype),
        shape=array.shape,
        strides=array.strides,
        buffer=array.ctypes.data,
        writable=array.flags.writeable,
        owner=array,
    )


def _dlpack_view(value: Any, backend: Backend, stream: int | None) -> View:
    kind, index = dlpack.device_of(value)
    place = dlpack.place(kind, index)
    if place != _home(backend):
        raise _elsewhere(place, backend)
    tensor = dlpack.read(value, dlpack.stream_number(kind, stream))
    return View(
        dtype=tensor.dtype,
        shape=tensor.shape,
        strides=tensor.strides,
        buffer=tensor.address,
        writable=not tensor.read_only,
        owner=tensor,
    )


def _home(backend: Backend) -> object:
    """Return the location of arrays for this backend: a name if the memory is shared, else the
    backend."""
    if backend.memory is None:
        return backend
    return dlpack.place(backend.memory, backend.info.index)


def _elsewhere(place: str, backend: Backend) -> DeviceMismatchError:
    if backend.memory == dlpack.HOST:
        remedy = "copy it to the host (an Array with .numpy())"
    elif place == "the host":
        remedy = "copy it with kernels.to_device(...)"
    else:
        remedy = "copy it to the host, then to the device with kernels.to_device(...)"
    if place == backend.info.id:
        place = f"{place} of another load, whose memory cannot be shared"
    return DeviceMismatchError(f"is on {place}; the kernel runs on {backend.info.id}; {remedy}")


class Slot:
    """Parameter of a kernel on a device: checks arguments and finds their buffers."""

    def __init__(
        self, kernel: str, param: TensorParam, backend: Backend, *, is_model_input: bool = False
    ) -> None:
        self.param = param
        self._is_model_input = is_model_input
        self.name = param.name
        self.kernel = kernel
        self.is_packed = param.packing is not None
        self._backend = backend
        self._on_host = backend.memory == dlpack.HOST
        self._shape = param.shape
        self._itemsize = param.dtype.itemsize
        self._strides = tuple(s * param.dtype.itemsize for s in param.strides)
        self._host_dtype = host_dtype(param.dtype)
        self.nbytes = param.nbytes
        self._writes = param.is_output
        #: By the type of an argument, a function that returns the buffer of one that fits, else
        #: None.
        self.finders = Finders(param, backend)
        self._form = dlpack.Form(param.dtype, param.shape, param.strides)
        self._packed = param.strides == packed_strides(param.shape)

    def buffer(self, value: Any, stream: int | None, keep: list[object]) -> Any:
        """Return the buffer of an argument; objects that must outlive the call are appended to
        `keep`.

        Raises ArgumentError or DeviceMismatchError if the argument does not fit.
        """
        found = self.finders[type(value)](value)
        return self.closer(value, stream, keep) if found is None else found

    def closer(
        self, value: Any, stream: int | None, keep: list[object], *, copies: bool = True
    ) -> Any:
        """Find the buffer of an argument that the slot's finder does not know.

        With `copies`, an input on the host whose strides or alignment differ is copied.
        """
        lent = self._form.lend(value, writable=self._writes) if self._on_host else None
        if lent is not None and lent[0] % self._itemsize == 0:
            keep.append(lent[1])
            return lent[0]
        found = self.view(value, stream)
        if (problem := self.problem(found)) is not None:
            if not (copies and self.can_copy(found)):
                raise ArgumentError(f"{self.kernel}: {self.name} {problem}")
            found = self._copied(found)
        keep.append(found.owner)
        return found.buffer

    def can_copy(self, found: View) -> bool:
        """Return whether a copy of the argument would fit: it is an input on the host, and only its
        layout differs."""
        return self._on_host and not self._writes and self.mismatch(found) is None

    def _copied(self, found: View) -> View:
        """Copy the elements to the layout that the kernel requires."""
        copy = self.empty()
        source = lent_array(found.buffer, self.param.dtype, found.shape, found.strides)
        copy.view(self.param.dtype.storage)[...] = source
        return _numpy_view(copy, self._backend)

    def view(self, value: Any, stream: int | None) -> View:
        """Describe an argument; errors name the kernel and the argument."""
        try:
            return view(value, self._backend, stream)
        except (ArgumentError, DeviceMismatchError) as error:
            raise type(error)(f"{self.kernel}: {self.name} {error}") from None

    def problem(self, found: View) -> str | None:
        """Return the first mismatch with its remedy, or None."""
        return self.mismatch(found) or self._misplacement(found)

    def mismatch(self, found: View) -> str | None:
        """Return the first mismatch that a copy does not repair (shape, element type), or None."""
        param = self.param
        if found.shape != self._shape:
            remedy = "pass that shape, or build a kernel for yours"
            if self.is_packed:
                remedy = f"pass the result of this kernel's pack({self.name})"
            elif self._is_model_input:
                remedy = "pass that shape"
                if len(found.shape) == len(self._shape):
                    sizes = _dimensions(found.shape)
                    remedy += f" or recompile with --shape {self.name}={sizes}"
            return (
                f"has shape {_dimensions(found.shape)}; expected {_dimensions(self._shape)}; "
                f"{remedy}"
            )
        is_bits = found.dtype == BITS_8 and param.dtype in FLOATS_8
        is_bits |= found.dtype == BITS_16 and param.dtype is DType.BF16
        if found.dtype != param.dtype and not is_bits:
            return f"is {found.dtype}; expected {param.dtype}; {self._remedy('convert it first')}"
        return None

    def _misplacement(self, found: View) -> str | None:
        """Return the first mismatch in memory layout (strides, write permission, alignment), or
        None."""
        param = self.param
        if not self._strides_fit(found.strides):
            remedy = (
                "pass numpy.ascontiguousarray(array)"
                if self._packed
                else "pass an array with these strides"
            )
            return (
                f"has element strides {_steps(found.strides, param.dtype.itemsize)}; expected "
                f"{_steps(self._strides, param.dtype.itemsize)}; {self._remedy(remedy)}"
            )
        if self._writes and not found.writable:
            return "is read-only; pass a writable array"
        if self._backend.memory is not None and found.buffer % self._alignment:
            return (
                f"starts at address {found.buffer:#x}; expected a multiple of {self._alignment}; "
                f"{self._remedy('pass a copy of it')}"
            )
        return None

    def _remedy(self, of_input: str) -> str:
        """Return the remedy `of_input` for an input. For an output, a copy would not help: the
        caller would not see the result."""
        return "pass such an array, or omit out= for a new one" if self._writes else of_input

    def _strides_fit(self, strides: tuple[int, ...]) -> bool:
        """Return whether strides (in bytes) fit; strides of dimensions of size 1 do not matter."""
        return all(
            given == wanted or n == 1
            for n, given, wanted in zip(self._shape, strides, self._strides, strict=True)
        )

    @property
    def _alignment(self) -> int:
        return self.param.dtype.itemsize if self._on_host else DEVICE_ALIGNMENT

    def empty(self) -> np.ndarray[Any, Any]:
        """Allocate an uninitialised host array that fits."""
        if self._packed:
            try:
                return np.empty(self._shape, self._host_dtype)
            except (MemoryError, ValueError):
                pass  # host_bytes below raises an error with a reason.
        base = host_bytes(self.param.nbytes)
        return np.ndarray(self._shape, self._host_dtype, buffer=base, strides=self._strides)

    def overlaps(self, own: Any, other: Slot, others: Any) -> bool:
        """Return whether this parameter's buffer shares an element with another parameter's
        buffer."""
        if self._backend.memory is None:
            return own is others
        meet = bool(others < own + self.nbytes and own < others + other.nbytes)
        return meet and share_an_element(own, self.param, others, other.param)


def _dimensions(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "()"


def _steps(strides: tuple[int, ...], itemsize: int) -> str:
    """Format byte strides in elements; as a fraction if they are not a whole number of elements."""
    return f"({', '.join(f'{s / itemsize:.10g}' for s in strides)})"
