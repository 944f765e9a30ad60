"""How a matrix unit's sums differ from exact f32 arithmetic, where measurements have shown it."""

from __future__ import annotations

from kgen.errors import EmulationError
from kgen_runtime.values import frozen

#: Bits of a significand behind its leading one.
F32_FRACTION = 23


@frozen
class Numerics:
    """Options of matrix instructions; the default is a sum in f32, each addition rounded.

    No vendor documents how its matrix units add, so each option is a published measurement. Both
    adders work alike: the products of one instruction and the accumulator are shifted to the
    largest exponent among them, cut off below, and added exactly; the sum is cut off to f32.

    `fp8_accumulator_bits`: bits behind the leading one of the largest addend that survive that
    shift where A and B are e4m3 or e5m2. 13 on Ada and Hopper (SageAttention2, arXiv 2411.10958:
    an accumulator of 1 sign, 8 exponent and 13 mantissa bits; DeepSeek-V3, arXiv 2412.19437,
    section 3.5.2: "the highest 14 bits of each mantissa product").

    `truncating_adder`: the same for f16, bf16 and tf32, with 23 bits and `extra_bits` below them
    (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 2021,
    7:e330: sums are truncated, not rounded; no extra bit on V100, at least one on T4 and A100.
    FTTN, arXiv 2403.00232, finds two on H100).

    `flush_subnormals`: subnormal f16 and bf16 inputs and results of matrix instructions are zero,
    as MFMA has it on MI200 (PyTorch documentation, Numerical accuracy: "flush input and output
    denormal values to zero"). NVIDIA's tensor cores keep them (Fasi et al.), so PTX refuses it.
    """

    fp8_accumulator_bits: int | None = None
    truncating_adder: bool = False
    extra_bits: int = 2
    flush_subnormals: bool = False

    def __post_init__(self) -> None:
        bits = self.fp8_accumulator_bits
        if bits is not None and not 4 <= bits <= F32_FRACTION:
            raise EmulationError(f"fp8_accumulator_bits is {bits}; it is 4 to {F32_FRACTION}")
        if not 0 <= self.extra_bits <= 8:
            raise EmulationError(f"extra_bits is {self.extra_bits}; it is 0 to 8")

    def kept_bits(self, element: str) -> int | None:
        """Bits behind the leading one that an addend keeps; None if sums are rounded f32 sums."""
        if element in ("e4m3", "e5m2") and self.fp8_accumulator_bits is not None:
            return self.fp8_accumulator_bits
        inexact = element in ("f16", "bf16", "tf32", "e4m3", "e5m2")
        return F32_FRACTION + self.extra_bits if self.truncating_adder and inexact else None
