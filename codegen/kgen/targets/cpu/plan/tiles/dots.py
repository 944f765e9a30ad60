"""The vector instructions that add to each sum of 32 bits the products of a group of K."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.limits import (
    AVX_VNNI_FEATURES,
    BF16_FEATURES,
    DOTPROD_FEATURES,
    VNNI_FEATURES,
)
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen


@frozen
class Dot:
    """`group` elements of A times as many of B for each sum; `factor` is LLVM's type of them.

    `b_is_unsigned`: B is taken for numbers from 0 on, so 128 is added to its elements, and 128
    times the sum of a row of A is too much. If it does not `add`, its result is added to the sums.
    """

    mnemonic: str
    intrinsic: str
    group: int
    factor: str
    features: Mapping[str, str]
    reason: str
    #: The same for vectors of half the width, if there is one.
    half: str | None = None
    b_is_unsigned: bool = False
    adds: bool = True
    #: Vector registers that it takes besides those of sums and factors.
    extra_registers: int = 0

    @property
    def halved(self) -> Dot:
        """The one for vectors of half the width."""
        assert self.half
        return dataclasses.replace(self, intrinsic=self.half, half=None)


@frozen
class DotOperands:
    """Operands of a dot-product instruction: `stored` is a vector of groups of B in memory, `sums`
    what the instruction adds to."""

    dot: Dot
    sums: Vector
    stored: Vector

    @property
    def factors(self) -> Vector:
        """Groups of A or B for all sums of a vector."""
        return Vector(count=self.sums.count * self.dot.group, scalar=self.dot.factor)

    @property
    def widens(self) -> bool:
        return self.stored.bits < self.factors.bits

    @property
    def group_of_a(self) -> Vector:
        """A group for each sum, as integers: what one of A is broadcast to."""
        return self.sums.of("i32")

    @property
    def a_elements(self) -> Vector:
        """Elements of a group of A, as integers and as wide as they are multiplied."""
        return Vector(count=self.dot.group, scalar=f"i{self.factors.bits}")


_EXACT = "products of s8 are added in s32, exactly"

#: Intel SDM volume 2: VDPBF16PS adds to each f32 two products of bf16, in two additions rounded to
#: nearest, subnormals taken for zero.
VDPBF16PS = Dot(
    mnemonic="vdpbf16ps",
    intrinsic="llvm.x86.avx512bf16.dpbf16ps.512",
    group=2,
    factor="bfloat",
    features=BF16_FEATURES,
    reason="vdpbf16ps adds pairs in f32, rounds to nearest and flushes subnormals",
    half="llvm.x86.avx512bf16.dpbf16ps.256",
)


def _vpdpbusd(bits: int, features: Mapping[str, str]) -> Dot:
    """Intel SDM volume 2, VPDPBUSD: four products of an unsigned and a signed byte, added to a s32
    modulo 2^32 (VPDPBUSDS is the one that saturates)."""
    return Dot(
        mnemonic="vpdpbusd",
        intrinsic=f"llvm.x86.avx512.vpdpbusd.{bits}",
        group=4,
        factor="i8",
        features=features,
        reason=_EXACT,
        half="llvm.x86.avx512.vpdpbusd.256" if bits == 512 else None,
        b_is_unsigned=True,
        # 128 in every byte.
        extra_registers=1,
    )


def _vpmaddwd(intrinsic: str, half: str | None = None) -> Dot:
    """Intel SDM volume 2, VPMADDWD: two products of s16; here of bytes, so their sum fits."""
    return Dot(
        mnemonic="vpmaddwd",
        intrinsic=intrinsic,
        group=2,
        factor="i16",
        features={},
        reason=_EXACT,
        half=half,
        adds=False,
        # The products, before they are added.
        extra_registers=1,
    )


#: The same on 128 bits, into the register of one factor: the one that SSE's products take anyway.
PMADDWD = dataclasses.replace(
    _vpmaddwd("llvm.x86.sse2.pmadd.wd"), mnemonic="pmaddwd", extra_registers=0
)

#: Arm Architecture Reference Manual, SDOT (vector): four products of s8, added to a s32.
SDOT = Dot(
    mnemonic="sdot",
    intrinsic="llvm.aarch64.neon.sdot.v4i32.v16i8",
    group=4,
    factor="i8",
    features=DOTPROD_FEATURES,
    reason=_EXACT,
    # LLVM loads a group of A while it still multiplies by the one before.
    extra_registers=1,
)

#: For a type of operands, the feature that brings each instruction; the first that is there.
DOTS: dict[DType, tuple[tuple[str, Dot], ...]] = {
    DType.BF16: (("avx512_bf16", VDPBF16PS),),
    DType.S8: (
        ("avx512_vnni", _vpdpbusd(512, VNNI_FEATURES)),
        ("avx512bw", _vpmaddwd("llvm.x86.avx512.pmaddw.d.512", half="llvm.x86.avx2.pmadd.wd")),
        ("avx_vnni", _vpdpbusd(256, AVX_VNNI_FEATURES)),
        ("avx2", _vpmaddwd("llvm.x86.avx2.pmadd.wd")),
        ("sse2", PMADDWD),
        ("asimddp", SDOT),
    ),
}


def dot_for(dtype: DType, target: Target) -> Dot | None:
    """The instruction for operands of a type, if the target has one."""
    return next((dot for feature, dot in DOTS.get(dtype, ()) if target.has(feature)), None)


def _vpdpwssd(bits: int, features: Mapping[str, str]) -> Dot:
    """Intel SDM volume 2, VPDPWSSD: two products of s16, added to a s32 modulo 2^32."""
    return Dot(
        mnemonic="vpdpwssd",
        intrinsic=f"llvm.x86.avx512.vpdpwssd.{bits}",
        group=2,
        factor="i16",
        features=features,
        reason=_EXACT,
    )


#: Instructions for pairs of s16 by the feature that brings each, and by the bytes of its vectors.
WORD_DOTS: tuple[tuple[str, dict[int, Dot]], ...] = (
    ("avx512_vnni", {n: _vpdpwssd(8 * n, VNNI_FEATURES) for n in (16, 32, 64)}),
    ("avx_vnni", {n: _vpdpwssd(8 * n, AVX_VNNI_FEATURES) for n in (16, 32)}),
    ("avx512bw", {64: _vpmaddwd("llvm.x86.avx512.pmaddw.d.512")}),
    ("avx2", {32: _vpmaddwd("llvm.x86.avx2.pmadd.wd"), 16: _vpmaddwd("llvm.x86.sse2.pmadd.wd")}),
    ("sse2", {16: PMADDWD}),
)


def word_dot(sums: Vector, target: Target) -> Dot | None:
    """The instruction for pairs of s16 beside sums of s32, if the target has one."""
    found = (dots.get(sums.bytes) for feature, dots in WORD_DOTS if target.has(feature))
    return next(filter(None, found), None)


#: Neighbouring elements of bf16 in a word of 32 bits: a shift makes an f32 of the lower half, a
#: mask of the upper one, half the loads and shuffles of widening each element by itself.
WORD = 2


def takes_words(spec: Matmul, target: Target) -> bool:
    """Operands of bf16 for which the target has no products."""
    return has_words(spec) and dot_for(spec.dtype, target) is None


def has_words(spec: Matmul) -> bool:
    """Both operands are made of such words."""
    return spec.dtype is spec.b_type is DType.BF16
