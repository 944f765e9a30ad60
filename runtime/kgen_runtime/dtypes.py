"""Element types, as kernels name them. numpy is imported only when an array is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from kgen_runtime.values import frozen

#: The names of the members of `DType`, and what numpy, ml_dtypes and PyTorch call the same.
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
]


if TYPE_CHECKING:
    import numpy as np

    class TorchDType(Protocol):
        """Attributes by which a torch.dtype is recognised."""

        @property
        def is_floating_point(self) -> bool: ...

        @property
        def itemsize(self) -> int: ...

    #: Whatever `DType` makes a member of.
    DTypeLike: TypeAlias = (
        "DType | DTypeName | ArrayDTypeName | type[np.generic] | np.dtype[Any] | TorchDType"
    )
else:
    DTypeLike = object  # for who reads type hints where numpy is not imported


class DType(StrEnum):
    """An element type. The value is the name used on the command line and in manifests.

    `DType(x)` also accepts the names of numpy, ml_dtypes and PyTorch ("float32", numpy.float32,
    numpy.dtype("f4"), torch.float32), "half", "double", and LLVM's "i8", "i32", "i64".

    e4m3 and e5m2 are the 8-bit floats of the Open Compute Project (ml_dtypes' and torch's
    float8_e4m3fn and float8_e5m2). e4m3fnuz and e5m2fnuz are those of AMD's CDNA3: of half the
    value, without infinity, with NaN for -0 only. Rounding to an integer or to 8 bits saturates:
    what is too large becomes the largest number of its sign, infinity too. NaN becomes 0 as an
    integer. A bool is a byte, 0 or 1; every number but zero, NaN too, becomes 1.
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
        """Its numbers are whole; those of bool are 0 and 1."""
        return self in (DType.S64, DType.S32, DType.S8, DType.U8, DType.BOOL)

    @property
    def is_fnuz(self) -> bool:
        """Finite, with NaN for a negative zero ("unsigned zero")."""
        return self in (DType.E4M3FNUZ, DType.E5M2FNUZ)

    @property
    def mantissa_bits(self) -> int:
        """Explicit mantissa bits of a float; the unit roundoff is 2**-(mantissa_bits + 1)."""
        return _FORMATS[self].mantissa_bits

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of rounding a normal number to nearest; integers have none."""
        return 0.0 if self.is_integer else 2.0 ** -(self.mantissa_bits + 1)

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** _FORMATS[self].least_exponent

    @property
    def smallest_subnormal(self) -> float:
        """The step between the smallest numbers: 1 for integers."""
        return 2.0 ** (_FORMATS[self].least_exponent - self.mantissa_bits)

    @property
    def limits(self) -> tuple[Any, Any] | None:
        """The least and the largest number of a type whose conversions saturate; of integers,
        ints."""
        return _FORMATS[self].limits

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy type that holds the bits; an unsigned integer for floats that it lacks."""
        import numpy as np

        return np.dtype(_FORMATS[self].storage)


@frozen
class _Format:
    """Floats: explicit mantissa bits and the least exponent of a normal number."""

    array_name: str
    itemsize: int
    storage: str
    mantissa_bits: int = 0
    least_exponent: int = 0
    limits: tuple[Any, Any] | None = None


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
}
#: Other names of types, by which `DType(name)` finds them.
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

#: The 8-bit floats.
FLOATS_8 = (DType.E4M3, DType.E5M2, DType.E4M3FNUZ, DType.E5M2FNUZ)


def computed_in(dtypes: Iterable[DType], outs: Iterable[DType]) -> DType:
    """The type that an expression of inputs of these types is computed in: f64 if one of them or
    an output is that, f32 if an input is another float, else s64 or s32 if one is that, else f32,
    which has all numbers of 8 bits."""
    found = set(dtypes)
    if DType.F64 in outs:
        return DType.F64
    if any(not dtype.is_integer for dtype in found):
        return DType.F64 if DType.F64 in found else DType.F32
    return next((dtype for dtype in (DType.S64, DType.S32) if dtype in found), DType.F32)


def input_dtypes(spec: Mapping[str, Any], count: int) -> list[DType]:
    """Return the types of an expression's inputs: one for each, or one for all."""
    return list(map(DType, spec.get("dtypes") or [spec["dtype"]] * count))


def output_dtypes(spec: Mapping[str, Any], count: int) -> list[DType]:
    """Return the types of an expression's outputs: one for each, or one for all."""
    return list(map(DType, spec.get("out_dtypes") or [spec["out_dtype"]] * count))


def _array_name(value: object) -> str:
    """Return an array library's name of the type that a value stands for, or any other text."""
    if isinstance(value, str):
        return value
    if isinstance(value, type):  # numpy's scalars, and those of ml_dtypes
        return value.__name__
    if not getattr(value, "isnative", True):
        return ""
    return getattr(value, "name", None) or str(value).removeprefix("torch.")
