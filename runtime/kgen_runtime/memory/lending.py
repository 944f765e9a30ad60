"""DLPack export of arrays to other libraries.

numpy makes the capsules. Its deleters are C functions, so that a tensor can be released while an
exception is pending; callbacks of ctypes would lose that exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgen_runtime.dtypes import DType
from kgen_runtime.memory import dlpack

if TYPE_CHECKING:
    import numpy.typing as npt


def export(
    array: npt.NDArray[Any], dtype: DType, device: tuple[int, int], *, versioned: bool
) -> object:
    """Return a DLPack capsule for an array of a type's bits, whose memory is on `device`.

    The array stays alive until the consumer, or the destructor of the unused capsule, releases the
    tensor. The capsule is unversioned if numpy is older than 2.1.
    """
    bits = array.view(dtype.storage)
    try:
        capsule = bits.__dlpack__(max_version=(1, 0) if versioned else None)
    except TypeError:  # numpy before 2.1 does not know the argument.
        capsule = bits.__dlpack__()
    tensor = dlpack.tensor_of(capsule)
    tensor.device = dlpack.DlpackDevice(*device)
    tensor.dtype = dlpack.DataType(*dlpack.CODES[dtype], 1)
    return capsule


class HostTensor:
    """Numpy array that `from_dlpack` of other libraries can import, including bf16 and 8-bit
    floats."""

    __slots__ = ("_array", "_dtype")

    def __init__(self, array: npt.NDArray[Any], dtype: DType) -> None:
        self._array, self._dtype = array, dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return (dlpack.HOST, 0)

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> object:
        versioned = max_version is not None and max_version >= (1, 0)
        return export(self._array, self._dtype, (dlpack.HOST, 0), versioned=versioned)
