"""Dot products of packed operands.

AMD V_DOT2 and V_DOT4; Intel AVX512-BF16, VNNI, VPMADDWD and VPMADDUBSW.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.floats import bf16_to_f32, flush
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.numbers import floating, widen
from kgen.emulate.llvm.types import Array, Floating


def _fdot2(ins: LlvmInstruction) -> Callable[..., Array]:
    """V_DOT2: return c + a0 * b0 + a1 * b1, with exact products and the float64 sum rounded
    once."""
    if immediate(ins.operands[3]):
        raise TypeError("fdot2 with clamp")
    element = ins.operands[0].type.element

    def wide(packed: Array) -> Array:
        if isinstance(element, Floating):
            return widen(packed, floating(element)).astype(np.float64)
        return bf16_to_f32(packed).astype(np.float64)

    def dot(a: Array, b: Array, c: Array, *_: Array) -> Array:
        return np.asarray((wide(a) * wide(b)).sum(axis=2) + c).astype(np.float32)

    return dot


def _dot4(ins: LlvmInstruction) -> Callable[..., Array]:
    """V_DOT4: return c plus the products of the four 8-bit integers of each word, modulo 2**32."""
    if immediate(ins.operands[3]):
        raise TypeError("dot4 with clamp")
    dtype = np.int8 if "sdot4" in ins.callee else np.uint8

    def dot(a: Array, b: Array, c: Array, *_: Array) -> Array:
        products = parts(a, dtype).astype(np.int64) * parts(b, dtype)
        return np.asarray(products.sum(axis=2) + c).astype(np.uint32)

    return dot


def _dpbf16ps(c: Array, a: Array, b: Array) -> Array:
    """VDPBF16PS (Intel SDM volume 2): add the products of two BF16 pairs to each float32.

    The product of the odd elements is added first, then that of the even elements. Each sum is
    rounded to nearest. Subnormal inputs and results become zero.
    """
    x, y = (flush(bf16_to_f32(packed)).astype(np.float64) for packed in (a, b))
    product = x * y
    total = flush(np.asarray(flush(c) + product[..., 1::2]).astype(np.float32))
    return flush(np.asarray(total + product[..., 0::2]).astype(np.float32))


def _dpbusd(c: Array, a: Array, b: Array) -> Array:
    """VPDPBUSD (Intel SDM volume 2): add four u8 * s8 products to each 32-bit sum, modulo 2**32."""
    return _grouped(c, a.view(np.uint8), b.view(np.int8), 4)


def _dpwssd(c: Array, a: Array, b: Array) -> Array:
    """VPDPWSSD (Intel SDM volume 2): add two s16 * s16 products to each 32-bit sum, modulo
    2**32."""
    return _grouped(c, a.view(np.int16), b.view(np.int16), 2)


def _pmaddwd(a: Array, b: Array) -> Array:
    """VPMADDWD (Intel SDM volume 2): return the sum of two s16 * s16 products per 32 bits."""
    return _grouped(np.uint32(0), a.view(np.int16), b.view(np.int16), 2)


def _pmaddubsw(a: Array, b: Array) -> Array:
    """VPMADDUBSW (Intel SDM volume 2): return the sum of two u8 * s8 products per 16 bits,
    saturated."""
    sums = _grouped(np.uint32(0), a.view(np.uint8), b.view(np.int8), 2).view(np.int32)
    return np.asarray(np.clip(sums, -(2**15), 2**15 - 1).astype(np.int16).view(np.uint16))


def _grouped(c: Array | np.uint32, a: Array, b: Array, group: int) -> Array:
    """Return c plus the sum of products of each ``group`` neighbouring elements, modulo 2**32."""
    products = a.astype(np.int64) * b.astype(np.int64)
    sums = products.reshape(*products.shape[:-1], -1, group).sum(axis=-1)
    return np.asarray(c + sums.astype(np.uint32), np.uint32)


PURE: dict[str, Build] = {
    "llvm.amdgcn.fdot2": _fdot2,
    "llvm.amdgcn.fdot2.f32.bf16": _fdot2,
    "llvm.amdgcn.sdot4": _dot4,
    "llvm.amdgcn.udot4": _dot4,
    **{f"llvm.x86.avx512bf16.dpbf16ps.{bits}": fixed(_dpbf16ps) for bits in (128, 256, 512)},
    **{f"llvm.x86.avx512.vpdpbusd.{bits}": fixed(_dpbusd) for bits in (128, 256, 512)},
    **{f"llvm.x86.avx512.vpdpwssd.{bits}": fixed(_dpwssd) for bits in (128, 256, 512)},
    "llvm.x86.sse2.pmadd.wd": fixed(_pmaddwd),
    "llvm.x86.avx2.pmadd.wd": fixed(_pmaddwd),
    "llvm.x86.avx512.pmaddw.d.512": fixed(_pmaddwd),
    "llvm.x86.ssse3.pmadd.ub.sw.128": fixed(_pmaddubsw),
    "llvm.x86.avx2.pmadd.ub.sw": fixed(_pmaddubsw),
    "llvm.x86.avx512.pmaddubs.w.512": fixed(_pmaddubsw),
}
