"""ONNX element types: those that kgen supports, and remedies for the others."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import onnx

from kgen_runtime.dtypes import DType

#: Supported element types.
DTYPES: Mapping[int, DType] = {
    onnx.TensorProto.DOUBLE: DType.F64,
    onnx.TensorProto.FLOAT: DType.F32,
    onnx.TensorProto.FLOAT16: DType.F16,
    onnx.TensorProto.BFLOAT16: DType.BF16,
    onnx.TensorProto.INT64: DType.S64,
    onnx.TensorProto.INT32: DType.S32,
    onnx.TensorProto.INT8: DType.S8,
    onnx.TensorProto.UINT8: DType.U8,
    onnx.TensorProto.BOOL: DType.BOOL,
}

#: 8-bit floats, which kernels compute as f32 numbers that are rounded to the type.
FLOATS_8: Mapping[int, DType] = {
    onnx.TensorProto.FLOAT8E4M3FN: DType.E4M3,
    onnx.TensorProto.FLOAT8E4M3FNUZ: DType.E4M3FNUZ,
    onnx.TensorProto.FLOAT8E5M2: DType.E5M2,
    onnx.TensorProto.FLOAT8E5M2FNUZ: DType.E5M2FNUZ,
}
#: Integers that kernels compute as f32 numbers.
INTEGERS = (
    *(onnx.TensorProto.INT16, onnx.TensorProto.UINT16),
    *(onnx.TensorProto.INT4, onnx.TensorProto.UINT4),
    *(onnx.TensorProto.INT2, onnx.TensorProto.UINT2),
)
#: Types that kernels lack, with the type in which kernels store their values exactly. Inputs and
#: outputs of the model have types of `DTYPES` or `STORED`.
WIDENED: Mapping[int, DType] = dict.fromkeys((*INTEGERS, *FLOATS_8), DType.F32)
#: Widened types that inputs and outputs of a model may have too, with their types in memory.
STORED: Mapping[int, DType] = {
    onnx.TensorProto.INT16: DType.S16,
    onnx.TensorProto.UINT16: DType.U16,
    **FLOATS_8,
}
#: Operators that may make values of a widened type: their results always fit the narrow type.
KEEPS_RANGE = frozenset(
    {
        *("Cast", "Clip", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather"),
        *("GatherElements", "GatherND", "Identity", "Max", "MaxPool", "Min", "Pad"),
        *("QuantizeLinear", "Relu", "Reshape", "ReverseSequence", "Slice", "SpaceToDepth", "Split"),
        *("Squeeze", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where"),
    }
)


def limits_of(kind: int) -> tuple[int, int]:
    """Return the least and the greatest number of an integer type."""
    info = ml_dtypes.iinfo(onnx.helper.tensor_dtype_to_np_dtype(kind))
    return int(info.min), int(info.max)


def name_of(kind: int) -> str:
    """Return ONNX's name of an element type, or the number of an unknown one."""
    known = onnx.TensorProto.DataType.values()
    return str(onnx.TensorProto.DataType.Name(kind)) if kind in known else f"type {kind}"


def unsupported(kind: int) -> str:
    """Return the end of a message about values of an unsupported type."""
    return f"is of {name_of(kind)}, which kernels do not support; {remedy(kind)}"


def remedy(kind: int) -> str:
    """Return the remedy for values of an unsupported type."""
    name = name_of(kind)
    if name == "STRING":
        return "turn text into numbers outside of the model"
    if name.startswith("COMPLEX"):
        return "make real and imaginary parts two tensors of FLOAT"
    if name.endswith(("INT4", "INT2")):
        return f"make it {name[:-1]}8"
    if "INT" in name:
        return "make it INT32, or INT64 if its values need that"
    if name.startswith("FLOAT"):
        return "make it FLOAT or FLOAT16"
    return "make it one of ONNX's types of tensors"
