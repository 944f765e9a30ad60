"""Element types of kernels, and their numpy types. numpy is imported only when one is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from kgen_runtime.values import frozen

#: Names of the members of `DType`, and names of the same types in numpy, ml_dtypes and PyTorch.
DTypeName = Literal[
    "f64",
    "f32",
    "f16",
    "bf16",
    "e4m3",
    "e5m2",
    "e4m3fnuz",
    "e5m2fnuz",
    "s64",
    "s32",
    "s8",
    "u8",
    "bool",
    "s16",
    "u16",
]
ArrayDTypeName = Literal[
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "int64",
    "int32",
    "int8",
    "uint8",
    "bool",
    "int16",
    "uint16",
]


if TYPE_CHECKING:
    import numpy as np

    class TorchDType(Protocol):
        """Attributes that identify a torch.dtype."""

        @property
        def is_floating_point(self) -> bool: ...

        @property
        def itemsize(self) -> int: ...

    #: Every value that `DType` accepts.
    DTypeLike: TypeAlias = (
        "DType | DTypeName | ArrayDTypeName | type[np.generic] | np.dtype[Any] | TorchDType"
    )
else:
    DTypeLike = object  # For tools that read type hints when numpy is not imported.


class DType(StrEnum):
    """Element type. The value is the name on the command line and in manifests.

    `DType(x)` also accepts the names of numpy, ml_dtypes and PyTorch ("float32", numpy.float32,
    numpy.dtype("f4"), torch.float32), "half", "double", and LLVM's "i8", "i32", "i64".

    e4m3 and e5m2 are the 8-bit floats of the Open Compute Project (float8_e4m3fn and float8_e5m2 of
    ml_dtypes and PyTorch). e4m3fnuz and e5m2fnuz are those of AMD's CDNA3: the same bits stand for
    half the value, there is no infinity, and the bits of -0 are the only NaN.

    Conversions to an integer or to an 8-bit float saturate: a number that is too large, or
    infinity, becomes the largest number of its sign. NaN becomes 0 as an integer. A bool is a byte,
    0 or 1; every number but zero, and NaN, becomes 1.

    Only inputs and outputs of a model have the types s16 and u16; kernels compute with other types.
    """

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    E4M3FNUZ = "e4m3fnuz"
    E5M2FNUZ = "e5m2fnuz"
    S64 = "s64"
    S32 = "s32"
    S8 = "s8"
    U8 = "u8"
    BOOL = "bool"
    S16 = "s16"
    U16 = "u16"

    @classmethod
    def _missing_(cls, value: object) -> DType | None:
        return OTHER_NAMES.get(_array_name(value))

    @property
    def array_name(self) -> str:
        """Name of the type in numpy, ml_dtypes and PyTorch."""
        return _FORMATS[self].array_name

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return _FORMATS[self].itemsize

    @property
    def is_integer(self) -> bool:
        """Whether values are integers; bool counts, with the values 0 and 1."""
        return _FORMATS[self].is_integer

    @property
    def is_fnuz(self) -> bool:
        """Whether the type is finite with an unsigned zero: the bits of -0 are the only NaN."""
        return self in (DType.E4M3FNUZ, DType.E5M2FNUZ)

    @property
    def mantissa_bits(self) -> int:
        """Explicit mantissa bits of a float; the unit roundoff is 2**-(mantissa_bits + 1)."""
        return _FORMATS[self].mantissa_bits

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of rounding a normal number to nearest; 0 for integers."""
        return 0.0 if self.is_integer else 2.0 ** -(self.mantissa_bits + 1)

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** _FORMATS[self].least_exponent

    @property
    def smallest_subnormal(self) -> float:
        """Distance between the smallest numbers; 1 for integers."""
        return 2.0 ** (_FORMATS[self].least_exponent - self.mantissa_bits)

    @property
    def limits(self) -> tuple[Any, Any] | None:
        """Smallest and largest number if conversions to the type saturate, else None."""
        return _FORMATS[self].limits

    @property
    def storage(self) -> np.dtype[Any]:
        """numpy type that holds the bits; an unsigned integer for floats that numpy does not
        support."""
        import numpy as np

        return np.dtype(_FORMATS[self].storage)


@frozen
class _Format:
    """Storage and range of a type. Floats have explicit mantissa bits and the smallest exponent of
    a normal number."""

    array_name: str
    itemsize: int
    storage: str
    mantissa_bits: int = 0
    least_exponent: int = 0
    limits: tuple[Any, Any] | None = None

    @property
    def is_integer(self) -> bool:
        return self.storage[0] in "iu?" and not self.mantissa_bits


def _format(array_name: str, itemsize: int, storage: str, **more: Any) -> _Format:
    return _Format(array_name=array_name, itemsize=itemsize, storage=storage, **more)


_FORMATS = {
    DType.F64: _format("float64", 8, "f8", mantissa_bits=52, least_exponent=-1022),
    DType.F32: _format("float32", 4, "f4", mantissa_bits=23, least_exponent=-126),
    DType.F16: _format("float16", 2, "f2", mantissa_bits=10, least_exponent=-14),
    DType.BF16: _format("bfloat16", 2, "u2", mantissa_bits=7, least_exponent=-126),
    DType.E4M3: _format(
        "float8_e4m3fn", 1, "u1", mantissa_bits=3, least_exponent=-6, limits=(-448.0, 448.0)
    ),
    DType.E5M2: _format(
        "float8_e5m2", 1, "u1", mantissa_bits=2, least_exponent=-14, limits=(-57344.0, 57344.0)
    ),
    DType.E4M3FNUZ: _format(
        "float8_e4m3fnuz", 1, "u1", mantissa_bits=3, least_exponent=-7, limits=(-240.0, 240.0)
    ),
    DType.E5M2FNUZ: _format(
        "float8_e5m2fnuz", 1, "u1", mantissa_bits=2, least_exponent=-15, limits=(-57344.0, 57344.0)
    ),
    DType.S64: _format("int64", 8, "i8", limits=(-(2**63), 2**63 - 1)),
    DType.S32: _format("int32", 4, "i4", limits=(-(2**31), 2**31 - 1)),
    DType.S8: _format("int8", 1, "i1", limits=(-128, 127)),
    DType.U8: _format("uint8", 1, "u1", limits=(0, 255)),
    DType.BOOL: _format("bool", 1, "?", limits=(0, 1)),
    DType.S16: _format("int16", 2, "i2", limits=(-32768, 32767)),
    DType.U16: _format("uint16", 2, "u2", limits=(0, 65535)),
}
#: Other names that `DType(name)` accepts.
OTHER_NAMES = {dtype.array_name: dtype for dtype in DType} | {
    "f8e4m3": DType.E4M3,
    "f8e5m2": DType.E5M2,
    "f8e4m3fnuz": DType.E4M3FNUZ,
    "f8e5m2fnuz": DType.E5M2FNUZ,
    "half": DType.F16,
    "double": DType.F64,
    "i64": DType.S64,
    "i32": DType.S32,
    "i8": DType.S8,
}

#: 8-bit floats.
FLOATS_8 = (DType.E4M3, DType.E5M2, DType.E4M3FNUZ, DType.E5M2FNUZ)


def computed_in(dtypes: Iterable[DType], outs: Iterable[DType]) -> DType:
    """Return the type in which an expression with these input and output types is computed.

    - f64 if any input or output is f64
    - f32 if any input is another float
    - s64, else s32, if an input has that type
    - f32 otherwise, which represents all 8-bit integers exactly
    """
    found = set(dtypes)
    if DType.F64 in outs:
        return DType.F64
    if any(not dtype.is_integer for dtype in found):
        return DType.F64 if DType.F64 in found else DType.F32
    return next((dtype for dtype in (DType.S64, DType.S32) if dtype in found), DType.F32)


def input_dtypes(spec: Mapping[str, Any], count: int) -> list[DType]:
    """Return one type per input of an expression; the spec has one for each or one for all."""
    return list(map(DType, spec.get("dtypes") or [spec["dtype"]] * count))


def output_dtypes(spec: Mapping[str, Any], count: int) -> list[DType]:
    """Return one type per output of an expression; the spec has one for each or one for all."""
    return list(map(DType, spec.get("out_dtypes") or [spec["out_dtype"]] * count))


def _array_name(value: object) -> str:
    """Return the name of the type in array libraries; a text is returned unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, type):  # Scalar types of numpy and ml_dtypes.
        return value.__name__
    if not getattr(value, "isnative", True):
        return ""
    return getattr(value, "name", None) or str(value).removeprefix("torch.")
