"""Dot-product instructions: each adds the products of a group along K to every 32-bit sum."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.limits import PRODUCT_FEATURES
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen

_EXACT = "products of s8 are added in s32, exactly"


@frozen
class Dot:
    """Instruction that multiplies `group` elements of A by as many of B for each sum.

    `intrinsics` maps the bytes of a vector to the form of the instruction; `bytes` chooses it.
    `factor` is the LLVM type of an element. With `b_is_unsigned`, the instruction reads B as
    unsigned, so the kernel adds 128 to B and compensates for it (packing/compensation.py). If it
    does not `add`, another instruction adds its result to the sums. An instruction with `pairs`
    adds products in pairs to words that may overflow; it reads A as unsigned, and B in parts that
    do not overflow (packing/split_groups.py). `pairs` are the forms that add pairs of words.
    """

    mnemonic: str
    intrinsics: Mapping[int, str]
    group: int
    factor: str
    reason: str = _EXACT
    b_is_unsigned: bool = False
    adds: bool = True
    pairs: Mapping[int, str] | None = None
    #: Vector registers besides those of sums and factors.
    extra_registers: int = 0
    bytes: int = 0
    #: Features that the target must have.
    features: Collection[str] = ()

    def of(self, feature: str, nbytes: int) -> Dot:
        """Return the form for vectors of `nbytes` bytes, which requires a feature."""
        features = {feature}.intersection(PRODUCT_FEATURES)
        return dataclasses.replace(self, bytes=nbytes, features=features)

    @property
    def intrinsic(self) -> str:
        return self.intrinsics[self.bytes]

    @property
    def adds_pairs(self) -> str:
        """Instruction that adds pairs of words; empty unless products come in words."""
        return self.pairs[self.bytes] if self.pairs else ""

    @property
    def half(self) -> str | None:
        """Form for vectors of half the width; None unless vectors have 64 bytes (AVX512VL)."""
        return self.intrinsics[32] if self.bytes == 64 else None

    @property
    def halved(self) -> Dot:
        return dataclasses.replace(self, bytes=self.bytes // 2)


@frozen
class DotOperands:
    """Types of a dot-product instruction: `stored` of groups of B in memory, `sums` of its sums."""

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
        """Groups as integers, one for each sum: a group of A is broadcast to it."""
        return self.sums.of("i32")

    @property
    def a_elements(self) -> Vector:
        """Elements of a group of A, as integers of the width of factors."""
        return Vector(count=self.dot.group, scalar=f"i{self.factors.bits}")


#: Intel SDM volume 2: VDPBF16PS adds to each f32 two products of bf16, in two additions rounded to
#: nearest, subnormals taken for zero.
VDPBF16PS = Dot(
    mnemonic="vdpbf16ps",
    intrinsics={n: f"llvm.x86.avx512bf16.dpbf16ps.{8 * n}" for n in (32, 64)},
    group=2,
    factor="bfloat",
    reason="vdpbf16ps adds pairs in f32, rounds to nearest and flushes subnormals",
)
#: Intel SDM volume 2: VPDPBUSD adds four products of an unsigned and a signed byte to a s32 modulo
#: 2^32 (VPDPBUSDS saturates). A register holds 128 in every byte.
VPDPBUSD = Dot(
    mnemonic="vpdpbusd",
    intrinsics={n: f"llvm.x86.avx512.vpdpbusd.{8 * n}" for n in (32, 64)},
    group=4,
    factor="i8",
    b_is_unsigned=True,
    extra_registers=1,
)
#: Intel SDM volume 2: VPDPWSSD adds two products of s16 to a s32 modulo 2^32.
VPDPWSSD = Dot(
    mnemonic="vpdpwssd",
    intrinsics={n: f"llvm.x86.avx512.vpdpwssd.{8 * n}" for n in (16, 32, 64)},
    group=2,
    factor="i16",
)
#: Intel SDM volume 2: VPMADDWD adds two products of s16; of bytes here, so that their sum fits. A
#: register holds the products before they are added.
VPMADDWD = Dot(
    mnemonic="vpmaddwd",
    intrinsics={
        16: "llvm.x86.sse2.pmadd.wd",
        32: "llvm.x86.avx2.pmadd.wd",
        64: "llvm.x86.avx512.pmaddw.d.512",
    },
    group=2,
    factor="i16",
    adds=False,
    extra_registers=1,
)
#: Intel SDM volume 2: VPMADDUBSW adds two products of an unsigned and a signed byte to a s16 with
#: saturation. Registers hold the products, and the words that VPMADDWD multiplies them by, all 1.
VPMADDUBSW = Dot(
    mnemonic="vpmaddubsw",
    intrinsics={32: "llvm.x86.avx2.pmadd.ub.sw", 64: "llvm.x86.avx512.pmaddubs.w.512"},
    group=4,
    factor="i8",
    adds=False,
    pairs=VPMADDWD.intrinsics,
    extra_registers=2,
)
#: The form of SSE2 overwrites one factor, in the register that products take anyway.
PMADDWD = dataclasses.replace(VPMADDWD, mnemonic="pmaddwd", extra_registers=0)
#: Arm Architecture Reference Manual, SDOT (vector): four products of s8, added to a s32. LLVM loads
#: a group of A while it multiplies by the one before, which takes a register.
SDOT = Dot(
    mnemonic="sdot",
    intrinsics={16: "llvm.aarch64.neon.sdot.v4i32.v16i8"},
    group=4,
    factor="i8",
    extra_registers=1,
)

#: Instructions for each type of operands, with the feature that brings it and the bytes of vectors;
#: the first one that the target has is used.
DOTS: Mapping[DType, tuple[tuple[str, Dot], ...]] = {
    dtype: tuple((feature, dot.of(feature, nbytes)) for feature, nbytes, dot in forms)
    for dtype, forms in {
        DType.BF16: [("avx512_bf16", 64, VDPBF16PS)],
        DType.S8: [
            ("avx512_vnni", 64, VPDPBUSD),
            ("avx512bw", 64, VPMADDWD),
            ("avx_vnni", 32, VPDPBUSD),
            ("avx2", 32, VPMADDWD),
            ("sse2", 16, PMADDWD),
            ("asimddp", 16, SDOT),
        ],
    }.items()
}
#: Instructions for pairs of s16, with the feature that brings each and the bytes of its vectors.
WORD_DOTS: tuple[tuple[str, tuple[int, ...], Dot], ...] = (
    ("avx512_vnni", (16, 32, 64), VPDPWSSD),
    ("avx_vnni", (16, 32), VPDPWSSD),
    ("avx512bw", (64,), VPMADDWD),
    ("avx2", (16, 32), VPMADDWD),
    ("sse2", (16,), PMADDWD),
)


def dot_for(dtype: DType, target: Target) -> Dot | None:
    """Return the instruction for operands of a type, if the target has one."""
    return next((dot for feature, dot in DOTS.get(dtype, ()) if target.has(feature)), None)


def split_dot(dtype: DType, target: Target) -> Dot | None:
    """Return the instruction on bytes that may replace the instruction on words, if the target has
    one."""
    dot = dot_for(dtype, target)
    if dot is None or dot.mnemonic != VPMADDWD.mnemonic or dtype is not DType.S8:
        return None
    return dataclasses.replace(VPMADDUBSW, bytes=dot.bytes, features=dot.features)


def word_dot(sums: Vector, target: Target) -> Dot | None:
    """Return the instruction that adds pairs of s16 to sums of s32, if the target has one."""
    for feature, sizes, dot in WORD_DOTS:
        if target.has(feature) and sums.bytes in sizes:
            return dot.of(feature, sums.bytes)
    return None


#: Elements of bf16 in a 32-bit word. A shift widens the lower half to f32, a mask the upper half,
#: which needs fewer loads and shuffles than widening single elements.
WORD = 2


def takes_words(spec: Matmul, target: Target) -> bool:
    """Return whether operands are bf16 and the target lacks a dot product of bf16."""
    return has_words(spec) and dot_for(spec.dtype, target) is None


def has_words(spec: Matmul) -> bool:
    """Return whether both operands are bf16, which can be read in words."""
    return spec.dtype is spec.b_type is DType.BF16
