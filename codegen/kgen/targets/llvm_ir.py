"""LLVM IR's spelling of types and constants, and its compiler's version, for the families whose
kernels are LLVM IR."""

from __future__ import annotations

import struct
from functools import cache

from kgen.ops.storage import bits_of
from kgen.targets.base import Toolchain
from kgen_runtime.dtypes import FLOATS_8, DType
from kgen_runtime.values import frozen

#: The IR name of an element type.
ELEMENT = {
    DType.F64: "double",
    DType.F32: "float",
    DType.F16: "half",
    DType.BF16: "bfloat",
    DType.S64: "i64",
    DType.S32: "i32",
    **dict.fromkeys((DType.S8, DType.U8, DType.BOOL, *FLOATS_8), "i8"),
}
#: Its name in an overloaded intrinsic's suffix.
_SUFFIX = {
    DType.F64: "f64",
    DType.F32: "f32",
    DType.F16: "f16",
    DType.BF16: "bf16",
    **{d: name for d, name in ELEMENT.items() if d.is_integer or d in FLOATS_8},
}
#: Integers that have no sign.
UNSIGNED = (DType.U8, DType.BOOL)


@frozen
class FloatType:
    """`lanes` elements: the scalar type itself for 1, else a vector. Prints as the IR type."""

    dtype: DType
    lanes: int = 1

    @property
    def element(self) -> str:
        return ELEMENT[self.dtype]

    @property
    def is_vector(self) -> bool:
        return self.lanes > 1

    @property
    def suffix(self) -> str:
        """Suffix of an intrinsic's name: f32, v4f32."""
        return f"v{self.lanes}{_SUFFIX[self.dtype]}" if self.is_vector else _SUFFIX[self.dtype]

    @property
    def condition(self) -> str:
        """The type of a comparison of two values."""
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    @property
    def alignment(self) -> int:
        """Bytes that an element, and so any vector in a tensor, is known to be aligned to."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.lanes * self.dtype.itemsize

    def constant(self, value: float) -> str:
        """Return the literal with `value` in every lane, rounded to f32 or f64, or exact in f16 or
        bf16."""
        is_integer = self.dtype.is_integer
        literal = str(int(value)) if is_integer else float_literal(value, self.dtype)
        return literal if self.lanes == 1 else f"splat ({self.element} {literal})"

    @property
    def is_bool(self) -> bool:
        return self.dtype is DType.BOOL

    @property
    def is_float8(self) -> bool:
        return self.dtype in FLOATS_8

    @property
    def is_integer(self) -> bool:
        return self.dtype.is_integer

    @property
    def is_half(self) -> bool:
        """Whether elements are floats of 16 bits."""
        return self.dtype in (DType.F16, DType.BF16)

    def holds(self, value: FloatType) -> bool:
        """Return whether values of a type are stored without a conversion."""
        return self.dtype is value.dtype

    def is_wider(self, than: FloatType) -> bool:
        """Return whether elements have more bits than those of another type."""
        return self.dtype.itemsize > than.dtype.itemsize

    @property
    def saturating(self) -> str:
        """The intrinsic that makes floats the nearest of these integers, and NaN 0."""
        return f"llvm.fpto{'u' if self.dtype in UNSIGNED else 's'}i.sat"

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest integer."""
        assert self.dtype.limits is not None
        return self.dtype.limits

    @property
    def words(self) -> FloatType:
        """Type of the same bytes, at most 16, as 32-bit words. Fewer than 4 bytes are a type of
        their own."""
        if self.nbytes >= DType.S32.itemsize:
            return FloatType(dtype=DType.S32, lanes=self.nbytes // DType.S32.itemsize)
        return self if self.lanes == 1 else FloatType(dtype=DType.F16)

    def of(self, dtype: DType) -> FloatType:
        """Return a type with as many lanes of another dtype."""
        return FloatType(dtype=DType(dtype), lanes=self.lanes)

    def widening(self, value: FloatType) -> str:
        """Return the instruction that converts elements to this type, integers to the nearest
        value."""
        if not self.dtype.is_integer:
            return "fpext"
        unsigned = self.dtype in UNSIGNED
        if value.dtype.is_integer:
            return "zext" if unsigned else "sext"
        return "uitofp" if unsigned else "sitofp"

    def __str__(self) -> str:
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"


@frozen
class VectorType(FloatType):
    """`lanes` elements: a vector, even of one."""

    @property
    def is_vector(self) -> bool:
        return True

    @property
    def condition(self) -> str:
        return f"<{self.lanes} x i1>"

    def constant(self, value: float) -> str:
        return f"splat ({self.element} {FloatType(dtype=self.dtype).constant(value)})"

    def of(self, dtype: DType) -> VectorType:
        return VectorType(dtype=DType(dtype), lanes=self.lanes)

    def __str__(self) -> str:
        return f"<{self.lanes} x {self.element}>"


#: What the bits of a constant of these types are prefixed with.
_PREFIX = {DType.F16: "0xH", DType.BF16: "0xR"}


def float_literal(value: float, dtype: DType) -> str:
    """Return an exact constant: f16 and bf16 by their bits, f32 and f64 as those of a double. LLVM
    Language Reference, "Simple Constants"."""
    if dtype in _PREFIX:
        stored = bits_of(value, dtype)
        assert stored is not None, f"{dtype} has no {value}"
        return f"{_PREFIX[dtype]}{stored:04X}"
    if dtype is DType.F32:
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"0x{bits:016X}"


@cache
def toolchain() -> Toolchain:
    """Return the LLVM that llvmlite contains."""
    import llvmlite
    import llvmlite.binding as llvm

    version = ".".join(map(str, llvm.llvm_version_info))
    return Toolchain(
        name="llvm",
        version=f"{version} (llvmlite {llvmlite.__version__})",
        package=f"llvmlite=={llvmlite.__version__}",
    )
