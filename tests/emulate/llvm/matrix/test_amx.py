"""AMX tiles on one emulated lane, and the AVX-512 intrinsics that go with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault
from tests.emulate.llvm.llvm_kernels import Array, on_cpu

DECLARATIONS = """
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8 immarg)
declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)
declare void @llvm.x86.tileloaddt164(i8 immarg, ptr, i64)
declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)
declare void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)
declare void @llvm.x86.tdpfp16ps(i8 immarg, i8 immarg, i8 immarg)
declare void @llvm.x86.tdpbssd(i8 immarg, i8 immarg, i8 immarg)
declare void @llvm.x86.tdpbusd(i8 immarg, i8 immarg, i8 immarg)
"""


def configuration(shapes: dict[int, tuple[int, int]]) -> str:
    """Return the global @cfg: {tile: (rows, bytes per row)}."""
    data = bytearray(64)
    data[0] = 1
    for tile, (rows, columns) in shapes.items():
        data[16 + 2 * tile : 18 + 2 * tile] = columns.to_bytes(2, "little")
        data[48 + tile] = rows
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'@cfg = private unnamed_addr constant [64 x i8] c"{text}", align 64\n'


def bfloat(values: Array) -> Array:
    """Return small integers, which bfloat represents exactly."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


STORAGE: dict[str, Callable[[Array], Array]] = {
    "tdpbf16ps": bfloat,
    "tdpfp16ps": lambda x: x.astype(np.float16),
    "tdpbssd": lambda x: x.astype(np.uint8),
    "tdpbusd": lambda x: x.astype(np.uint8),
}


@pytest.mark.parametrize(
    ("name", "pack", "low"),
    [("tdpbf16ps", 2, -8), ("tdpfp16ps", 2, -8), ("tdpbssd", 4, -128), ("tdpbusd", 4, 0)],
)
@pytest.mark.parametrize("shape", [(16, 16, 16), (5, 7, 3)])
def test_tile_product(name: str, pack: int, low: int, shape: tuple[int, int, int]) -> None:
    """D = A B is added twice, with ``k`` groups of packed elements and any row strides."""
    m, n, k = shape
    rng = np.random.default_rng(0)
    high = 256 if name == "tdpbusd" else -low
    a = rng.integers(low, high, (m, k * pack))
    b = rng.integers(-8 if pack == 2 else -128, 8 if pack == 2 else 128, (k * pack, n))
    packed = b.reshape(k, pack, n).transpose(0, 2, 1).reshape(k, n * pack)  # as tiles want B
    store = STORAGE[name]
    of_a = np.zeros((m, k * pack + 3), store(a).dtype)
    of_a[:, : k * pack] = store(a)
    out = np.full((m, n + 2), 77, np.int32 if pack == 4 else np.float32)
    source = (
        DECLARATIONS
        + configuration({0: (m, 4 * n), 2: (m, 4 * k), 7: (k, 4 * n)})
        + f"""
define void @f(ptr %a, ptr %b, ptr %out, i64 %stride) {{
  call void @llvm.x86.ldtilecfg(ptr @cfg)
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tileloadd64(i8 2, ptr %a, i64 %stride)
  call void @llvm.x86.tileloaddt164(i8 7, ptr %b, i64 {4 * n})
  call void @llvm.x86.{name}(i8 0, i8 2, i8 7)
  call void @llvm.x86.{name}(i8 0, i8 2, i8 7)
  call void @llvm.x86.tilestored64(i8 0, ptr %out, i64 {4 * n + 8})
  call void @llvm.x86.tilerelease()
  ret void
}}
"""
    )
    stride = np.int64(of_a.strides[0])
    on_cpu(source, "f", [of_a, np.ascontiguousarray(store(packed)), out, stride])
    np.testing.assert_array_equal(out[:, :n], 2 * (a @ b))
    assert (out[:, n:] == 77).all()


def test_faults_of_tiles() -> None:
    source = (
        DECLARATIONS
        + configuration({1: (4, 64), 2: (4, 32)})
        + """
define void @f(ptr %a, i64 %what) {
  call void @llvm.x86.ldtilecfg(ptr @cfg)
  switch i64 %what, label %load [
    i64 1, label %unknown
    i64 2, label %released
    i64 3, label %shapes
  ]
load:
  call void @llvm.x86.tileloadd64(i8 1, ptr %a, i64 64)
  ret void
unknown:
  call void @llvm.x86.tilezero(i8 3)
  ret void
released:
  call void @llvm.x86.tilerelease()
  call void @llvm.x86.tilezero(i8 1)
  ret void
shapes:
  call void @llvm.x86.tdpbf16ps(i8 1, i8 1, i8 2)
  ret void
}
"""
    )
    on_cpu(source, "f", [np.zeros(256, np.uint8), np.int64(0)])
    for what, message in ((1, "not configured"), (2, "not configured"), (3, "do not match")):
        with pytest.raises(EmulationFault, match=message):
            on_cpu(source, "f", [np.zeros(256, np.uint8), np.int64(what)])
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        on_cpu(source, "f", [np.zeros(255, np.uint8), np.int64(0)])


def test_avx512_conversion_and_dot_product() -> None:
    source = """
declare <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float>, <16 x float>)
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
define void @f(ptr %in, ptr %packed, ptr %out) {
  %low = load <16 x float>, ptr %in
  %second = getelementptr <16 x float>, ptr %in, i64 1
  %high = load <16 x float>, ptr %second
  %v = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(
      <16 x float> %high, <16 x float> %low)
  store <32 x bfloat> %v, ptr %packed
  %d = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
      <16 x float> %low, <32 x bfloat> %v, <32 x bfloat> %v)
  store <16 x float> %d, ptr %out
  ret void
}
"""
    values = np.arange(-16, 16).astype(np.float32)
    packed, out = np.zeros(32, np.uint16), np.zeros(16, np.float32)
    on_cpu(source, "f", [values, packed, out])
    np.testing.assert_array_equal(packed, bfloat(values))
    np.testing.assert_array_equal(out, values[:16] + (values.reshape(16, 2) ** 2).sum(axis=1))


def test_avx512_looks_up_by_the_low_bits_of_an_index() -> None:
    source = """
declare <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float>, <16 x i32>)
define void @f(ptr %table, ptr %index, ptr %out) {
  %t = load <16 x float>, ptr %table
  %i = load <16 x i32>, ptr %index
  %v = call <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float> %t, <16 x i32> %i)
  store <16 x float> %v, ptr %out
  ret void
}
"""
    table, index = np.arange(16).astype(np.float32) ** 2, np.arange(16).astype(np.int32) * 37 - 99
    out = np.zeros(16, np.float32)
    on_cpu(source, "f", [table, index, out])
    np.testing.assert_array_equal(out, table[index & 15])
