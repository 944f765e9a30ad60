"""LLVM vector types of CPU kernels, and loads and stores of each dtype as vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kgen.spec import DType
from kgen.targets.llvm_ir import UNSIGNED, FloatType, float_literal
from kgen.targets.llvm_remainder import Remainder
from kgen.targets.powers_of_two import RoundingUnit
from kgen_runtime.values import frozen

#: Mask of the upper half of an f32, whose bits are a bf16.
UPPER_HALF = -0x10000

_SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}
_SCALAR = {
    DType.F64: "double",
    DType.F32: "float",
    DType.F16: "half",
    DType.S32: "i32",
    DType.S64: "i64",
}
_FLOAT_BITS = {"bfloat": 16, "half": 16, "float": 32, "double": 64}


def scalar_type(dtype: DType) -> str:
    return _SCALAR[dtype]


def index_list(indices: Iterable[int | str]) -> str:
    return "<" + ", ".join(f"i32 {i}" for i in indices) + ">"


@frozen
class Vector:
    """Vector of `count` elements of an LLVM scalar type; `str` returns the LLVM type."""

    count: int
    scalar: str

    def __str__(self) -> str:
        return f"<{self.count} x {self.scalar}>"

    @property
    def suffix(self) -> str:
        """Type in the names of overloaded intrinsics."""
        return f"v{self.count}{_SUFFIX.get(self.scalar, self.scalar)}"

    @property
    def bits(self) -> int:
        return int(self.scalar[1:]) if self.is_integer else _FLOAT_BITS[self.scalar]

    @property
    def itemsize(self) -> int:
        return self.bits // 8

    @property
    def bytes(self) -> int:
        return self.count * self.bits // 8

    @property
    def is_integer(self) -> bool:
        return self.scalar.startswith("i")

    @property
    def has_longs(self) -> bool:
        return self.scalar == "i64"

    @property
    def remainder(self) -> Remainder:
        return Remainder(type=self.floats, attributes="#2")

    @property
    def unit(self) -> RoundingUnit:
        return RoundingUnit(self.count)

    @property
    def mask(self) -> Vector:
        return Vector(count=self.count, scalar="i1")

    @property
    def add(self) -> str:
        return "add" if self.is_integer else "fadd"

    @property
    def upper_halves(self) -> str:
        """Mask of the upper halves of 32-bit words, each of which holds two bf16."""
        return self.splat(UPPER_HALF)

    @property
    def floats(self) -> FloatType:
        """Type for renderers of expressions; f32 for integers."""
        dtype = DType.F64 if self.scalar == "double" else DType.F32
        return FloatType(dtype=dtype, lanes=self.count)

    @property
    def integers(self) -> Vector:
        return Vector(count=self.count, scalar=f"i{self.bits}")

    @property
    def half(self) -> Vector:
        return Vector(count=self.count // 2, scalar=self.scalar)

    @property
    def doubled(self) -> Vector:
        return Vector(count=2 * self.count, scalar=self.scalar)

    @property
    def joined(self) -> str:
        """Shuffle mask that joins two such vectors."""
        return index_list(range(2 * self.count))

    @property
    def low(self) -> str:
        """Shuffle mask of the lower half."""
        return index_list(range(self.count // 2))

    @property
    def widened(self) -> str:
        """Shuffle mask that extends a half to a whole vector."""
        return index_list([*range(self.count // 2), *["poison"] * (self.count // 2)])

    @property
    def round_magic(self) -> float:
        """Addend 1.5 * 2^mantissa, which leaves a small float, rounded, in the low bits."""
        return 1.5 * 2.0 ** {"float": 23, "double": 52}[self.scalar]

    def of(self, scalar: str) -> Vector:
        return Vector(count=self.count, scalar=scalar)

    def splat(self, value: float) -> str:
        """Return the constant whose elements are all `value`, rounded to the element type."""
        return f"splat ({self.scalar} {self.constant(value)})"

    @property
    def nan(self) -> str:
        return self.splat(math.nan)

    def power_of_two(self, exponent: int) -> str:
        return self.splat(2.0**exponent)

    def of_values(self, values: Sequence[float]) -> str:
        return "<" + ", ".join(f"{self.scalar} {self.constant(value)}" for value in values) + ">"

    def numbers(self, first: int = 0) -> str:
        """Return the constant whose elements count up from `first`."""
        return self.of_values(range(first, first + self.count))

    def constant(self, value: float) -> str:
        if self.is_integer:
            return str(int(value))
        return float_literal(value, self.floats.dtype)

    def of_first(self, count: int) -> Vector:
        """Return the type of a vector of the first `count` elements."""
        return Vector(count=count, scalar=self.scalar)

    def first(self, count: int) -> str:
        """Return the mask that is true for the first `count` elements."""
        return "<" + ", ".join(f"i1 {int(i < count)}" for i in range(self.count)) + ">"

    def powers_of_two(self, count: int) -> tuple[PowerOfTwo, ...]:
        """Return the first `count` elements as vectors of powers of two, the largest first."""
        sizes = [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]
        ends = itertools.accumulate(sizes)
        return tuple(
            PowerOfTwo(type=self.of_first(size), first=end - size)
            for size, end in zip(sizes, ends, strict=True)
        )


@frozen
class PowerOfTwo:
    """Adjacent elements of a vector, from `first` on, as a vector of a power of two of them."""

    type: Vector
    first: int

    @property
    def elements(self) -> str:
        """Shuffle mask that takes them."""
        return index_list(range(self.first, self.first + self.type.count))


@frozen
class VectorPart:
    """Vector `index` of a run, from element `first` on. `valid` is the number of its elements
    inside the run if it is partial, and 0 if it is whole."""

    index: int
    first: int
    valid: int


def vector_parts(length: int, count: int, start: int = 0) -> tuple[VectorPart, ...]:
    """Return the vectors of `count` elements that cover `length` elements from `start` on."""
    return tuple(
        VectorPart(index=i, first=start + at, valid=length - at if at + count > length else 0)
        for i, at in enumerate(range(0, length, count))
    )


@frozen
class Access:
    """Access to a tensor of `dtype`, as vectors of the compute type."""

    dtype: DType
    compute: Vector
    #: VCVTNEPS2BF16 rounds to bf16; it turns subnormal numbers into zero.
    rounded_by_cpu: bool = False
    #: Conversion instructions widen and round f16; otherwise integer operations do.
    f16_by_cpu: bool = True

    @property
    def itemsize(self) -> RoundingUnit:
        return RoundingUnit(self.dtype.itemsize)

    @property
    def is_wide(self) -> bool:
        """Whether elements are stored in the compute type."""
        # A compute type of 16-bit integers holds the bits of f16 or bf16.
        same_kind = self.dtype.is_integer == self.compute.is_integer or self.compute.bits == 16
        return self.itemsize * 8 == self.compute.bits and same_kind

    @property
    def is_whole_words(self) -> bool:
        """Whether elements are 32-bit or 64-bit integers that are computed as floats."""
        return self.dtype in (DType.S32, DType.S64) and not self.compute.is_integer

    @property
    def saturating(self) -> str:
        """Declaration of the intrinsic that converts computed floats to the stored integers."""
        whole, t = self.stored, self.compute
        return f"{whole} @llvm.fptosi.sat.{whole.suffix}.{t.suffix}({t})"

    @property
    def is_longer(self) -> bool:
        """Whether elements have more bits in memory than in computation."""
        return self.stored.bits > self.compute.bits

    @staticmethod
    def is_one(valid: int | str) -> bool:
        """Return whether one element is valid; `valid` is a count or the name of a mask."""
        return valid == 1

    @property
    def is_bool(self) -> bool:
        return self.dtype is DType.BOOL

    @property
    def is_unsigned(self) -> bool:
        return self.dtype in UNSIGNED

    @property
    def of_doubles(self) -> bool:
        """Whether elements are f32, f16 or bf16 that are computed as doubles."""
        return self.compute.scalar == "double" and not (self.dtype.is_integer or self.is_wide)

    @property
    def of_floats(self) -> Access:
        """Access to the same tensor with f32 as the compute type."""
        return replace(self, compute=self.compute.of("float"))

    @property
    def is_f32(self) -> bool:
        return self.dtype is DType.F32

    @property
    def is_f16(self) -> bool:
        return self.dtype is DType.F16

    @property
    def of_pairs(self) -> Access:
        """Access to the same tensor that reads or writes two vectors of f32 together."""
        return replace(self, compute=Vector(count=2 * self.compute.count, scalar="float"))

    @property
    def round_pair(self) -> str:
        """Intrinsic that rounds two vectors of f32, the upper one first (VCVTNE2PS2BF16)."""
        return f"llvm.x86.avx512bf16.cvtne2ps2bf16.{8 * self.compute.bytes}"

    @property
    def stored(self) -> Vector:
        """Vector type in memory; 16-bit floats are loaded and stored as integers."""
        return self.compute if self.is_wide else self.compute.of(f"i{8 * self.itemsize}")
