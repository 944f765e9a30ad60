"""Enums of a matmul's options, and the dtypes that its operands and output may have."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from kgen.ops import functions
from kgen_runtime.dtypes import DType

#: Names of the members of the enums below, as literals for type checkers.
EpilogueName = Literal[
    "bias", "residual", "neg", "abs", "sign", "floor", "ceil", "round", "trunc", "square",
    "sqrt", "rsqrt", "reciprocal", "cast", "cast_f64", "cast_f32", "cast_f16", "cast_bf16",
    "cast_e4m3", "cast_e5m2", "cast_e4m3fnuz", "cast_e5m2fnuz", "cast_s64", "cast_s32",
    "cast_s8", "cast_u8", "cast_bool", "exp", "exp2", "expm1", "log", "log2", "log1p",
    "tanh", "sigmoid", "relu", "leaky_relu", "elu", "selu", "celu", "gelu", "gelu_tanh", "silu",
    "mish", "hard_sigmoid", "hard_swish", "softplus", "softsign", "erf", "sin", "cos", "atan"
]  # fmt: skip
MathName = Literal["exact", "tf32", "3xtf32"]
BTypeName = Literal["bf16", "f16", "s8", "s4"]
LayoutName = Literal["nn", "nt", "tn", "tt"]
ScaleName = Literal["a", "b", "out"]
OperandName = Literal["b"]


class Epilogue(StrEnum):
    """Steps applied to the product while it is in registers.

    Every function of one number (:mod:`kgen.ops.functions`) is a step too, under its own name.
    """

    BIAS = "bias"  # x + bias[n]
    RELU = "relu"  # max(x, 0), NaN stays NaN
    GELU = "gelu"  # x/2 (1 + erf(x/sqrt 2))
    GELU_TANH = "gelu_tanh"  # x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    SILU = "silu"  # x / (1 + exp(-x))
    RESIDUAL = "residual"  # x + residual[m, n]


#: Steps that add a tensor.
SUMS = (Epilogue.BIAS, Epilogue.RESIDUAL)


def steps_known() -> tuple[str, ...]:
    """Return every step of an epilogue: those in `SUMS`, and the functions of one number."""
    return (*(step.value for step in SUMS), *(f.name for f in functions().values() if f.is_of_one))


class Math(StrEnum):
    """How products of f32 numbers are computed. All sums are in f32."""

    EXACT = "exact"  # in f32
    TF32 = "tf32"  # operands rounded to TF32 (11 bits), on tensor cores
    TF32X3 = "3xtf32"  # operands split into two TF32 numbers; three products, close to f32


class Layout(StrEnum):
    """How A and B are stored, row-major: n for m x k and k x n, t for the transposed matrix."""

    NN = "nn"
    NT = "nt"
    TN = "tn"
    TT = "tt"

    @property
    def a_transposed(self) -> bool:
        return self.value[0] == "t"

    @property
    def b_transposed(self) -> bool:
        return self.value[1] == "t"


class Scale(StrEnum):
    """Tensor that a scale argument multiplies."""

    A = "a"
    B = "b"
    OUT = "out"


class ConstantOperand(StrEnum):
    """Operand that is constant over many calls, so that it is packed once."""

    B = "b"


class BType(StrEnum):
    """Dtype of a B that is narrower than A.

    An s4 matrix is stored in blocks of 32 numbers along k, with a scale each
    (:mod:`kgen_runtime.blocks`).
    """

    BF16 = "bf16"
    F16 = "f16"
    S8 = "s8"
    S4 = "s4"

    @classmethod
    def _missing_(cls, value: Any) -> BType | None:
        """Return the member for a dtype name of an array library."""
        try:
            return next((found for found in cls if found.value == DType(value).value), None)
        except ValueError:
            return None

    @property
    def dtype(self) -> DType:
        """Dtype of the elements of B; u8 for the blocks of s4."""
        return DType.U8 if self is BType.S4 else DType(self.value)


FLOATS = (DType.F32, DType.F16, DType.BF16)
FLOATS_8 = (DType.E4M3, DType.E5M2)
#: 8-bit floats of CDNA3.
FNUZ = (DType.E4M3FNUZ, DType.E5M2FNUZ)
#: Dtypes that B may have instead of A's, by A's dtype; they are widened for the multiplication.
NARROW: dict[DType, tuple[BType, ...]] = {DType.F32: tuple(BType)}
#: Narrow dtypes that are converted element by element.
WIDENED = (BType.BF16, BType.F16, BType.S8)
#: Output dtypes of a product by its operands' dtype, the default first.
OUTPUTS: dict[DType, tuple[DType, ...]] = {
    DType.F64: (DType.F64,),
    **{d: (d, *(other for other in FLOATS if other is not d), DType.S8) for d in FLOATS},
    **dict.fromkeys(FLOATS_8, (DType.BF16, DType.F16, DType.F32, *FLOATS_8)),
    **dict.fromkeys(FNUZ, (DType.BF16, DType.F16, DType.F32, *FNUZ)),
    DType.S8: (DType.S32, *FLOATS, DType.S8),
}
