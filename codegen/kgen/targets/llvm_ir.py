"""LLVM IR's spelling of types and constants, and its compiler's version, for the families whose
kernels are LLVM IR."""

from __future__ import annotations

import struct
from functools import cache

from kgen.targets.base import Toolchain
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: The IR name of an element type.
ELEMENT = {DType.F64: "double", DType.F32: "float", DType.F16: "half", DType.BF16: "bfloat"}
#: Its name in an overloaded intrinsic's suffix.
_SUFFIX = {DType.F64: "f64", DType.F32: "f32", DType.F16: "f16", DType.BF16: "bf16"}

#: p of degree 9, highest power first, with Phi(-|x|) = u exp(p(u) - x^2/2) / 2, where Phi is the
#: normal distribution function and u = 1 / (1 + |x| / sqrt 8). Least squares on 400 Chebyshev nodes
#: of |x| <= 14, reweighted until the errors levelled; a test derives the error again.
GELU_POLYNOMIAL = (
    *(0.141418324, -0.661799854, 1.11227125, -0.637623743, -0.128185817),
    *(0.0263269706, 0.0262440334, 0.388348144, 0.998439528, -1.26543879),
)


@frozen
class FloatType:
    """`lanes` elements: the scalar type itself for 1, else a vector. Prints as the IR type."""

    dtype: DType
    lanes: int = 1

    @property
    def element(self) -> str:
        return ELEMENT[self.dtype]

    @property
    def suffix(self) -> str:
        """What an intrinsic's name ends in: f32, v4f32."""
        return _SUFFIX[self.dtype] if self.lanes == 1 else f"v{self.lanes}{_SUFFIX[self.dtype]}"

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
        """`value` rounded to the element type (f32 or f64), in every lane."""
        literal = float_literal(value, self.dtype)
        return literal if self.lanes == 1 else f"splat ({self.element} {literal})"

    def __str__(self) -> str:
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"


def float_literal(value: float, dtype: DType) -> str:
    """A f32 or f64 constant exactly: LLVM writes both as the bits of a double.

    LLVM Language Reference, "Simple Constants".
    """
    if dtype is DType.F32:
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"0x{bits:016X}"


@cache
def toolchain() -> Toolchain:
    """The LLVM that llvmlite brings."""
    import llvmlite
    import llvmlite.binding as llvm

    version = ".".join(map(str, llvm.llvm_version_info))
    return Toolchain(
        name="llvm",
        version=f"{version} (llvmlite {llvmlite.__version__})",
        package=f"llvmlite=={llvmlite.__version__}",
    )
