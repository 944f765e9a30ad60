"""Element types, as kernels name them. numpy is imported only when an array is asked for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class DType(StrEnum):
    """An element type. The value is the name used on the command line and in manifests."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return _ITEMSIZE[self]

    @property
    def mantissa_bits(self) -> int:
        """Explicit mantissa bits; the unit roundoff is 2**-(mantissa_bits + 1)."""
        return _MANTISSA_BITS[self]

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of rounding a normal number to nearest."""
        return 2.0 ** -(self.mantissa_bits + 1)

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** _MIN_EXPONENT[self]

    @property
    def smallest_subnormal(self) -> float:
        return 2.0 ** (_MIN_EXPONENT[self] - self.mantissa_bits)

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy type that holds the bits; bf16 has none of its own and is held as uint16."""
        import numpy as np

        return np.dtype(_STORAGE[self])


_ITEMSIZE = {DType.F64: 8, DType.F32: 4, DType.F16: 2, DType.BF16: 2}
_MANTISSA_BITS = {DType.F64: 52, DType.F32: 23, DType.F16: 10, DType.BF16: 7}
_MIN_EXPONENT = {DType.F64: -1022, DType.F32: -126, DType.F16: -14, DType.BF16: -126}
_STORAGE = {DType.F64: "f8", DType.F32: "f4", DType.F16: "f2", DType.BF16: "u2"}
