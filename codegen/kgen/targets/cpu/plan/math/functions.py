"""Constants of elementary functions on CPUs, in f32 and f64.

templates/cpu/lib/math.j2 has the functions; lib/activation.j2 has gelu, which needs the tail of the
normal distribution.
"""

from __future__ import annotations

import dataclasses
import math
import struct
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import ClassVar

from kgen.ops.functions.polynomials import ERFC_F64
from kgen.spec import DType
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import fuses, multiply_add
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen

#: Elements of VSCALEFPS's widest vector; and entries per table of the normal distribution.
SCALEF_COUNT, ENTRIES = 16, 16


@frozen
class Functions:
    """Constants of exp, log and erfc in one element type.

    exp(x) = 2^n p(r) with n = round(x / ln 2) and r = x - n ln 2. ln 2 has two parts, so that
    n * `ln2_high` is exact (Cody and Waite, "Software Manual for the Elementary Functions", 1980).
    Adding the vector's `round_magic` to x / ln 2 leaves n in the low bits of the sum.

    erfc(z) = t exp(-z^2 + q(2t - 1)) with t = 2 / (2 + z) and z >= 0 (Press et al., "Numerical
    Recipes", 3rd edition, 6.2.2). The coefficients are our own Chebyshev fit, computed with 60
    digits and converted to powers.
    """

    scalar: str
    mantissa_bits: int
    exponent_bias: int
    #: exp is 0 below exp_low and infinite above exp_high.
    exp_low: float
    exp_high: float
    ln2_high: float
    ln2_low: float
    #: Coefficients of p(r), from the highest power to the constant term.
    exp_coefficients: tuple[float, ...]
    #: Coefficients of log2((1 + u) / (1 - u)) / u in powers of u^2; relative error 3e-8 in f32.
    log2_coefficients: tuple[float, ...] = (0.43174228, 0.57671416, 0.96179885, 2.8853900)
    #: exp2 is 0 below exp2_low and infinite above exp2_high.
    exp2_low: float = -150.0
    exp2_high: float = 129.0
    smallest_normal: float = 2.0**-126
    #: log2 scales subnormal numbers by 2^24, which makes them normal.
    subnormal_bits: float = 24.0
    subnormal_scale: float = 2.0**24
    #: Coefficients of q for erfc in f64; gelu in f32 uses NormalTail.
    erfc_coefficients: tuple[float, ...] = ()
    #: Name of the multiply-add intrinsic, without the type.
    multiply_add: str = "llvm.fma"
    #: VSCALEFPS multiplies by 2^n for any n, subnormal results included (Intel SDM volume 2).
    has_scalef: bool = False

    log2_e: ClassVar[float] = 1 / math.log(2)
    ln2: ClassVar[float] = math.log(2)
    sqrt_half: ClassVar[float] = math.sqrt(0.5)

    @property
    def sqrt_half_bits(self) -> int:
        number, integer = ("<f", "<I") if self.scalar == "float" else ("<d", "<Q")
        (bits,) = struct.unpack(integer, struct.pack(number, self.sqrt_half))
        return int(bits)

    @property
    def lowest_exponent(self) -> float:
        """Exponent below which exp2_nonpositive is zero, because results are not normal numbers."""
        return -126.0 if self.has_scalef else -127.0

    @property
    def exp2_coefficients(self) -> tuple[float, ...]:
        """Coefficients of 2^r = e^(r ln 2), for |r| <= 1/2."""
        degree = len(self.exp_coefficients) - 1
        return tuple(c * self.ln2 ** (degree - i) for i, c in enumerate(self.exp_coefficients))

    #: Addend with which exp2_nonpositive leaves n + 127 in the low bits, in f32.
    biased_magic: ClassVar[float] = 1.5 * 2.0**23 + 127.0
    infinity: ClassVar[float] = math.inf
    minus_infinity: ClassVar[float] = -math.inf
    nan: ClassVar[float] = math.nan

    def declarations(self, t: Vector) -> tuple[str, ...]:
        """Return the declarations of the functions that exp2 and log2 of vectors call."""
        found = [f"{t} @{self.multiply_add}.{t.suffix}({t}, {t}, {t})"]
        if self.has_scalef:
            found += [
                f"{t} @llvm.roundeven.{t.suffix}({t})",
                f"{t} @llvm.x86.avx512.mask.reduce.ps.512({t}, i32 immarg, {t}, i16, i32 immarg)",
                f"{t} @llvm.x86.avx512.mask.scalef.ps.512({t}, {t}, {t}, i16, i32 immarg)",
            ]
        return tuple(found)

    # gelu_tanh(x) = x/2 (1 + tanh u) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3).
    gelu_linear: ClassVar[float] = -2 * math.sqrt(2 / math.pi)
    gelu_cubic: ClassVar[float] = gelu_linear * 0.044715


#: Coefficients of e^r for |r| <= ln 2 / 2, by the type of results. They minimise the relative error
#: of 1 + r + r^2 (...) in f32 (our own fit, by Remez' algorithm): 1.1e-7, 5.4e-6 and 1.3e-4. e^0 is
#: exactly 1, so log(e^0 + small terms) keeps the digits of the small terms.
EXP_COEFFICIENTS: dict[DType, tuple[float, ...]] = {
    DType.F32: (0.00831252057, 0.0418901555, 0.166671142, 0.499992311, 1.0, 1.0),
    DType.F16: (0.0412776731, 0.167535320, 0.500051200, 1.0, 1.0),
    DType.BF16: (0.166628078, 0.503941774, 1.0, 1.0),
}

FLOAT = Functions(
    scalar="float",
    mantissa_bits=23,
    exponent_bias=127,
    exp_low=-104.0,
    exp_high=89.0,
    # ln 2 in one part is enough: its relative error is 3e-9, and x is rounded by up to 6e-8.
    ln2_high=math.log(2),
    ln2_low=0.0,
    exp_coefficients=EXP_COEFFICIENTS[DType.F32],
)

#: Constants for CPUs without fused multiply-add, which round n ln 2 before they subtract it from x.
#: The product of the 9 bits of `ln2_high` and the 8 bits of n is exact (C1 and C2 of Cody and
#: Waite).
UNFUSED_FLOAT = dataclasses.replace(FLOAT, ln2_high=0.693359375, ln2_low=math.log(2) - 0.693359375)

DOUBLE = Functions(
    scalar="double",
    mantissa_bits=52,
    exponent_bias=1023,
    exp_low=-746.0,
    exp_high=710.0,
    # Source: fdlibm's e_exp.c. The high part has 33 bits.
    ln2_high=6.93147180369123816490e-01,
    ln2_low=1.90821492927058770002e-10,
    # Taylor series; the first omitted term is below 4e-18 of the sum for |r| <= ln 2 / 2.
    exp_coefficients=tuple(1 / math.factorial(i) for i in range(13, -1, -1)),
    erfc_coefficients=ERFC_F64,
    # Taylor series; the first omitted term is 6e-19 of the sum.
    log2_coefficients=tuple(2 / math.log(2) / (2 * i + 1) for i in range(10, -1, -1)),
    exp2_low=-1080.0,
    exp2_high=1025.0,
    smallest_normal=2.0**-1022,
    subnormal_bits=54.0,
    subnormal_scale=2.0**54,
)


def functions_for(target: Target, vector: Vector, out: DType) -> Functions:
    """Return the constants for a vector type whose results are rounded to `out`."""
    intrinsic = multiply_add(target)
    if vector.scalar == "double":
        return dataclasses.replace(DOUBLE, multiply_add=intrinsic)
    return dataclasses.replace(
        FLOAT if fuses(target) else UNFUSED_FLOAT,
        multiply_add=intrinsic,
        has_scalef=target.has("avx512f") and vector.count == SCALEF_COUNT,
        exp_coefficients=EXP_COEFFICIENTS.get(out, FLOAT.exp_coefficients),
    )


@frozen
class NormalTail:
    """Approximation of the normal distribution's tail: Phi(-z) = 2^L(z) for z >= 0.

    `coefficients` are those of L, a polynomial in z - `center`; `power_coefficients` are those of
    2^r for |r| <= 1/2. Both begin with the highest power. For z >= `limit`, z Phi(-z) is zero in
    the type of the results.

    AVX-512 looks up an element's coefficients of L in `tables` in registers (VPERMPS), by the whole
    number i nearest to z. Each table has one coefficient of the polynomials for all i; the highest
    power comes first. Polynomials are in z, or in z - i if `tables_are_centered`. On such short
    intervals a polynomial of low degree suffices.
    """

    limit: float
    center: float
    coefficients: Sequence[float]
    power_coefficients: Sequence[float]
    tables: Sequence[Sequence[float]]
    tables_are_centered: bool


@cache
def normal_tail(out: DType) -> NormalTail:
    """Return the cheapest approximation for gelu in f32 whose error is below the rounding of
    results to `out`."""
    path = resources.files("kgen.targets.cpu.plan.math") / "normal.toml"
    by_type = tomllib.loads(path.read_text(encoding="utf-8"))
    found = by_type.get(out, by_type[DType.F32])
    tables = [[*table, *[0.0] * (ENTRIES - len(table))] for table in found["tables"]]
    return NormalTail(**{**found, "tables": tables})
