"""Values of constant operands known at build time: checked, and packed in the kernel's order."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.errors import SpecError
from kgen.spec import Conv2d, ConvMath, Spec, WeightLayout
from kgen.spec.winograd import transformed
from kgen_runtime.array import dtype_of
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import TensorParam
from kgen_runtime.memory import packing

Array = npt.NDArray[Any]
#: Dtype that numpy's files have for 16-bit types unknown to numpy, such as bf16.
BITS_16 = "V2"
#: Exponent bits of bf16, which are all set in NaN and infinity.
BF16_INFINITY = 0x7F80


def read(path: str, what: str = "constant") -> Array:
    """Return the array of a .npy file, mapped into memory.

    Raises SpecError, whose message begins with `what`, if the file cannot be read as one.
    """
    try:
        found = np.load(Path(path), mmap_mode="r", allow_pickle=False)
    except OSError as error:
        why = error.strerror or error
        raise SpecError(f"{what} {path!r} cannot be read: {why}; name a .npy file") from None
    except ValueError:
        found = None
    if not isinstance(found, np.ndarray):
        raise SpecError(f"{what} {path} is not a .npy file; write one with numpy.save")
    return found


def count_not_finite(array: Array) -> int:
    """Return the number of elements that are NaN or infinite."""
    if array.dtype == BITS_16 or dtype_of(array.dtype) in (DType.BF16, DType.U16):
        bits = array.view(np.uint16)
        return int(np.count_nonzero(bits & BF16_INFINITY == BF16_INFINITY))
    return int(np.count_nonzero(~np.isfinite(array)))


def ahead(spec: Spec, array: Array) -> Array:
    """Return the weights of a Winograd convolution transformed, and other constants unchanged.

    Raises SpecError if the array does not have the shape and dtype of such weights as a matrix, the
    operand B of the convolution's product.
    """
    if not (isinstance(spec, Conv2d) and spec.transforms):
        return array
    matrix = dataclasses.replace(spec, math=ConvMath.EXACT).parameter("b")
    check(matrix, array)
    hwio = array.T if spec.weight_layout is WeightLayout.OHWI else array
    return transformed(hwio.reshape(*spec.kernel, spec.channels, spec.outputs), spec.transforms)


def check(param: TensorParam, array: Array) -> None:
    """Raise SpecError if an array does not have a constant's shape and dtype."""
    matrix = param.unpacked
    shape = "x".join(map(str, array.shape))
    if array.shape != matrix.shape:
        expected = "x".join(map(str, matrix.shape))
        raise SpecError(
            f"constant {param.name} has shape {shape}; expected {expected}; pass the matrix as its "
            "layout stores it"
        )
    dtype = dtype_of(array.dtype)
    is_bits = param.dtype is DType.BF16 and (array.dtype == BITS_16 or dtype == DType.U16)
    if dtype != param.dtype and not is_bits:
        raise SpecError(
            f"constant {param.name} is {dtype}; expected {param.dtype}; convert it first"
        )


def stored(param: TensorParam, array: Array) -> bytes:
    """Return the bytes that a kernel takes for a constant.

    They are packed, or the matrix as the spec stores it, with zeros between its rows. bf16 is an
    array of `ml_dtypes` or its bits as uint16. Raises SpecError if the array does not fit.
    """
    check(param, array)
    matrix = param.unpacked
    source = np.zeros(matrix.nbytes, np.uint8)
    bits = np.dtype(f"u{param.dtype.itemsize}")
    strides = tuple(stride * bits.itemsize for stride in matrix.strides)
    np.ndarray(matrix.shape, bits, source, strides=strides)[...] = array.view(bits)
    if param.packing is None:
        return source.tobytes()
    data = np.empty(param.nbytes, np.uint8)
    packing.pack(param, source, data)
    return data.tobytes()
