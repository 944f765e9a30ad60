"""Reference definitions of element-wise operators."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import helper
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_add import Add
from onnx.reference.ops.op_and import And
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_23 as OnnxDequantizeLinear
from onnx.reference.ops.op_div import Div
from onnx.reference.ops.op_equal import Equal
from onnx.reference.ops.op_greater import Greater
from onnx.reference.ops.op_less import Less
from onnx.reference.ops.op_mul import Mul
from onnx.reference.ops.op_or import Or
from onnx.reference.ops.op_pow import Pow
from onnx.reference.ops.op_quantize_linear import QuantizeLinear_23 as OnnxQuantizeLinear
from onnx.reference.ops.op_sub import Sub
from onnx.reference.ops.op_trilu import Trilu
from onnx.reference.ops.op_xor import Xor

from kgen.graph.reading.definitions.opsets import opset_of
from kgen.graph.reading.dequantized import along

Array = npt.NDArray[Any]


class DequantizeLinear(OnnxDequantizeLinear):  # type: ignore[misc]
    """DequantizeLinear of onnx, registered for opsets before 19 too."""


class QuantizeLinear(OnnxQuantizeLinear):  # type: ignore[misc]
    """QuantizeLinear that saturates numbers of any size."""

    def _run(
        self, x: Array, scale: Array, zero: Array | None = None, axis: int = 1,
        saturate: int = 1, block_size: int = 0, output_dtype: int = 0, precision: int = 0,
    ) -> tuple[Array]:  # fmt: skip
        kind = np.dtype(np.uint8) if zero is None else zero.dtype
        if zero is None and output_dtype:
            kind = helper.tensor_dtype_to_np_dtype(output_dtype)
        try:
            limits = ml_dtypes.iinfo(kind)
        except ValueError:
            (found,) = super()._run(
                x, scale, zero, axis=axis, saturate=saturate, block_size=block_size,
                output_dtype=output_dtype, precision=precision,
            )  # fmt: skip
            return (found,)
        if precision:
            work = helper.tensor_dtype_to_np_dtype(precision)
            x, scale = x.astype(work), scale.astype(work)
        found = np.rint(x / along(scale, x.shape, axis, block_size)).astype(np.float64)
        if zero is not None:
            found += along(zero, x.shape, axis, block_size).astype(np.float64)
        return (np.clip(found, int(limits.min), int(limits.max)).astype(kind),)


class ExpandDims(OpRun):  # type: ignore[misc]
    """Unsqueeze of one axis, a scalar or a list of one."""

    def _run(self, x: Array, axis: Array) -> tuple[Array]:
        return (np.expand_dims(x, int(axis.reshape(-1)[0])),)


#: Operators in ONNX Runtime's own domain.
OF_ONNX_RUNTIME = tuple(
    type(each.__name__, (each,), {"op_domain": "com.microsoft"})
    for each in (DequantizeLinear, ExpandDims, QuantizeLinear, Trilu)
)


class Erf(OpRun):  # type: ignore[misc]
    def _run(self, x: Array) -> tuple[Array]:
        return (np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype),)


class PRelu(OpRun):  # type: ignore[misc]
    """PRelu. Before opset 7 the slope is one number, or one number for each channel."""

    def _run(self, x: Array, slope: Array) -> tuple[Array]:
        if opset_of(self) < 7 and slope.size > 1:
            slope = slope.reshape(-1, *(1,) * (x.ndim - 2))
        return (np.where(x < 0, x * slope, x).astype(x.dtype),)


def by_attributes(base: type[OpRun]) -> type[OpRun]:
    """Return onnx's operator with the broadcasting of opsets before 7.

    The axes of the second operand match those of the first from the attribute `axis` on.
    """

    def _run(self: OpRun, a: Array, b: Array, **attributes: Any) -> tuple[Array]:
        axis = next((at.i for at in self.onnx_node.attribute if at.name == "axis"), None)
        if axis is not None and b.size > 1:
            b = b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))
        return base._run(self, a, b)  # type: ignore[no-any-return]

    return type(base.__name__.split("_")[0], (base,), {"_run": _run})


#: Operators of two operands that broadcast by attributes before opset 7.
BY_ATTRIBUTES = tuple(
    by_attributes(base) for base in (Add, And, Div, Equal, Greater, Less, Mul, Or, Pow, Sub, Xor)
)


class Dropout(OpRun):  # type: ignore[misc]
    """Dropout in inference, which onnx's reference lacks before opset 7."""

    def _run(
        self, x: Array, ratio: Any = None, training_mode: Any = None, **attributes: Any
    ) -> tuple[Array, ...]:
        if training_mode is not None and np.any(training_mode):
            raise NotImplementedError("training mode")
        return (x, np.ones(x.shape, np.bool_))[: len(self.onnx_node.output)]
