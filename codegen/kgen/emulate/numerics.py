"""Differences between a matrix unit's sums and f32 arithmetic, from published measurements."""

from __future__ import annotations

from kgen.errors import EmulationError
from kgen_runtime.values import frozen

#: Bits of an f32 significand after the leading one.
F32_FRACTION = 23


@frozen
class Numerics:
    """Options of matrix instructions; the default is a sum in f32, each addition rounded.

    No vendor documents how its matrix units add, so each option is a published measurement. Both
    adders shift the products of one instruction and the accumulator to the largest exponent among
    them, truncate and add them exactly, and truncate the sum to f32.

    fp8: SageAttention2, arXiv 2411.10958 (an accumulator of 1 sign, 8 exponent and 13 mantissa
    bits); DeepSeek-V3, arXiv 2412.19437, section 3.5.2 ("the highest 14 bits of each mantissa
    product"). Truncation: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor
    cores", PeerJ CS 2021, 7:e330 (no extra bit on V100, at least one on T4 and A100); FTTN, arXiv
    2403.00232 (two on H100). MFMA of MI200: PyTorch documentation, Numerical accuracy ("flush input
    and output denormal values to zero"). NVIDIA's tensor cores keep subnormals, so a launch of PTX
    refuses `flush_subnormals`.
    """

    #: accumulator bits of fp8 (e4m3, e5m2) products after the leading one; 13 on Ada and Hopper
    fp8_accumulator_bits: int | None = None
    #: sums of f16, bf16 and tf32 products are truncated instead of rounded
    truncating_adder: bool = False
    #: bits that a truncating adder keeps below those of f32
    extra_bits: int = 2
    #: subnormal f16 and bf16 inputs and results of MFMA are zero, as on gfx90a
    flush_subnormals: bool = False

    def __post_init__(self) -> None:
        bits = self.fp8_accumulator_bits
        if bits is not None and not 4 <= bits <= F32_FRACTION:
            raise EmulationError(f"fp8_accumulator_bits is {bits}; give 4 to {F32_FRACTION}")
        if not 0 <= self.extra_bits <= 8:
            raise EmulationError(f"extra_bits is {self.extra_bits}; give 0 to 8")

    def kept_bits(self, element: str) -> int | None:
        """Return the bits after the leading one that an addend keeps; None if sums are rounded f32
        sums."""
        if element in ("e4m3", "e5m2") and self.fp8_accumulator_bits is not None:
            return self.fp8_accumulator_bits
        inexact = element in ("f16", "bf16", "tf32", "e4m3", "e5m2")
        return F32_FRACTION + self.extra_bits if self.truncating_adder and inexact else None
