"""Conversions between f32 and 8-bit floats, for which LLVM has no type.

Words hold four 8-bit floats; an instruction converts two of them (CDNA3 and RDNA4 manuals,
"V_CVT_PK_FP8_F32", "V_CVT_PK_F32_FP8").
"""

from __future__ import annotations

from kgen.targets.amdgpu.matrix import BYTES
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: 8-bit floats in a word.
WORD = 4


@frozen
class Pair:
    """Two lanes of a vector in one half of a word. The last lane of an odd number is in both."""

    first: int
    second: int
    word: int
    is_high: bool

    @property
    def flag(self) -> str:
        """Flag as an LLVM operand."""
        return "true" if self.is_high else "false"


@frozen
class Float8:
    """Operands of the two conversions between a vector of fp8 numbers and f32."""

    type: FloatType

    @property
    def kind(self) -> str:
        """Name of the format in instructions."""
        return BYTES[self.type.dtype]

    @property
    def wide(self) -> FloatType:
        return self.type.of(DType.F32)

    @property
    def lanes(self) -> range:
        return range(self.type.lanes)

    @property
    def is_single(self) -> bool:
        return self.type.lanes == 1

    @property
    def pairs(self) -> tuple[Pair, ...]:
        last = self.type.lanes - 1
        return tuple(
            Pair(
                first=first,
                second=min(first + 1, last),
                word=first // WORD,
                is_high=first % WORD > 0,
            )
            for first in range(0, self.type.lanes, 2)
        )

    @property
    def words(self) -> int:
        """Number of 32-bit words of a vector. A vector of one word may fill it partly."""
        return -(-self.type.lanes // WORD)

    @property
    def whole_words(self) -> bool:
        return self.type.lanes % WORD == 0

    @property
    def words_type(self) -> str:
        return f"<{self.words} x i32>"

    @property
    def bits_type(self) -> str:
        """Type of an integer that holds all lanes of a vector shorter than a word."""
        return f"i{8 * self.type.lanes}"

    @property
    def bounds(self) -> tuple[str, str]:
        """Lowest and highest number, as f32."""
        wide = FloatType(dtype=DType.F32)
        assert self.type.dtype.limits is not None
        least, largest = map(wide.constant, self.type.dtype.limits)
        return least, largest

    @property
    def declarations(self) -> tuple[str, ...]:
        return (
            "float @llvm.amdgcn.fmed3.f32(float, float, float)",
            f"i32 @llvm.amdgcn.cvt.pk.{self.kind}.f32(float, float, i32, i1 immarg)",
            f"<2 x float> @llvm.amdgcn.cvt.pk.f32.{self.kind}(i32, i1 immarg)",
        )
