"""VPMADDUBSW: sums of two products of an unsigned and a signed byte, saturated to 16 bits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.llvm.llvm_kernels import on_cpu


@pytest.mark.parametrize(
    ("name", "count"),
    [("ssse3.pmadd.ub.sw.128", 16), ("avx2.pmadd.ub.sw", 32), ("avx512.pmaddubs.w.512", 64)],
)
def test_pairs_of_bytes(name: str, count: int) -> None:
    a = np.resize([255, 255, 255, 255, 200, 10, 0, 255], count).astype(np.uint8)
    b = np.resize([127, 127, -128, -128, 100, -100, -128, 1], count).astype(np.int8)
    wide, half = f"<{count} x i8>", f"<{count // 2} x i16>"
    source = f"""
declare {half} @llvm.x86.{name}({wide}, {wide})
define void @f(ptr %a, ptr %b, ptr %out) {{
  %x = load {wide}, ptr %a, align 1
  %y = load {wide}, ptr %b, align 1
  %sums = call {half} @llvm.x86.{name}({wide} %x, {wide} %y)
  store {half} %sums, ptr %out, align 2
  ret void
}}
"""
    out = np.zeros(count // 2, np.int16)
    on_cpu(source, "f", [a, b, out])
    expected = [2**15 - 1, -(2**15), 200 * 100 - 10 * 100, 255]
    np.testing.assert_array_equal(out, np.resize(expected, count // 2))
