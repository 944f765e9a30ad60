"""VPSHUFB and VPCVTPS2DQ: bytes that are selected, and floats that are rounded to integers."""

from __future__ import annotations

import numpy as np

from tests.emulate.llvm.llvm_kernels import on_cpu


def test_bytes_are_selected_in_each_half() -> None:
    table = np.arange(100, 132, dtype=np.uint8)
    index = np.resize([0, 15, 16, 31, 127, 128, 255, 7], 32).astype(np.uint8)
    source = """
declare <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8>, <32 x i8>)
define void @f(ptr %a, ptr %b, ptr %out) {
  %x = load <32 x i8>, ptr %a, align 1
  %y = load <32 x i8>, ptr %b, align 1
  %z = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %x, <32 x i8> %y)
  store <32 x i8> %z, ptr %out, align 1
  ret void
}
"""
    out = np.zeros(32, np.uint8)
    on_cpu(source, "f", [table, index, out])
    lower = np.array([100, 115, 100, 115, 115, 0, 0, 107], np.uint8)
    upper = np.where(lower == 0, 0, lower + 16)
    np.testing.assert_array_equal(out, [*lower, *lower, *upper, *upper])


def test_floats_beyond_32_bits_become_the_least_integer() -> None:
    numbers = np.array([0.5, 1.5, -2.5, np.nan, 2.0**31, -np.inf, 2147483520, -3.7], np.float32)
    source = """
declare <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float>)
define void @f(ptr %a, ptr %out) {
  %x = load <8 x float>, ptr %a, align 4
  %y = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %x)
  store <8 x i32> %y, ptr %out, align 4
  ret void
}
"""
    out = np.zeros(8, np.int32)
    on_cpu(source, "f", [numbers, out])
    least = -(2**31)
    np.testing.assert_array_equal(out, [0, 2, -2, least, least, least, 2147483520, -4])
