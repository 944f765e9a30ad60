"""Loads that transpose between neighbouring lanes."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault
from tests.emulate.llvm.llvm_kernels import Array, kernel, run


def from_lds(name: str, type_: str) -> str:
    """Return a kernel in which every lane loads its part of LDS, a copy of %in."""
    return kernel(
        f"""
  %f = getelementptr {type_}, ptr addrspace(1) %in, i32 %t
  %v = load {type_}, ptr addrspace(1) %f
  %p = getelementptr {type_}, ptr addrspace(3) @tile, i32 %t
  store {type_} %v, ptr addrspace(3) %p
  fence syncscope("wavefront") acq_rel
  %r = call {type_} @llvm.amdgcn.{name}(ptr addrspace(3) %p)
  %o = getelementptr {type_}, ptr addrspace(1) %out, i32 %t
  store {type_} %r, ptr addrspace(1) %o
  ret void""",
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        cpu="gfx950",
        declarations=f"""
@tile = internal addrspace(3) global [64 x {type_}] poison, align 16
declare {type_} @llvm.amdgcn.{name}(ptr addrspace(3))""",
    )


def from_memory(name: str, type_: str, cpu: str = "gfx1201") -> str:
    return kernel(
        f"""
  %f = getelementptr {type_}, ptr addrspace(1) %in, i32 %t
  %r = call {type_} @llvm.amdgcn.{name}(ptr addrspace(1) %f)
  %o = getelementptr {type_}, ptr addrspace(1) %out, i32 %t
  store {type_} %r, ptr addrspace(1) %o
  ret void""",
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        cpu=cpu,
        declarations=f"declare {type_} @llvm.amdgcn.{name}(ptr addrspace(1))",
    )


def loaded(source: str, data: Array, lanes: int) -> Array:
    out = np.zeros_like(data)
    run(source, entry="k", grid=(1, 1, 1), block=(lanes, 1, 1), arguments=[data, out])
    return out


@pytest.mark.parametrize(
    ("name", "type_", "dtype"),
    [
        ("ds.read.tr16.b64.v4i16", "<4 x i16>", np.uint16),
        ("ds.read.tr8.b64.v2i32", "<2 x i32>", np.uint8),
    ],
)
def test_columns_of_rows_in_lds(name: str, type_: str, dtype: type[np.unsignedinteger]) -> None:
    """Every lane gets a column of rows of 16 elements, which several lanes load."""
    data: Array = np.random.default_rng(0).integers(0, 256, 512 // np.dtype(dtype).itemsize)
    data = data.astype(dtype)
    elements = len(data) // 64
    rows = data.reshape(4, elements, 16)  # [lanes by 16, row, column]
    out = loaded(from_lds(name, type_), data, 64)
    np.testing.assert_array_equal(out.reshape(4, 16, elements), rows.transpose(0, 2, 1))


def test_columns_of_rows_in_global_memory() -> None:
    """Eight lanes load rows of eight elements; every lane gets a column."""
    data = np.arange(256, dtype=np.uint16)
    out = loaded(from_memory("global.load.tr.b128.v8i16", "<8 x i16>"), data, 32)
    np.testing.assert_array_equal(out.reshape(4, 8, 8), data.reshape(4, 8, 8).transpose(0, 2, 1))


def test_a_square_of_bytes_becomes_a_fragment() -> None:
    """Lanes load 8 bytes of a row each: lanes 8 i to 8 i + 3 the left halves of rows 4 i to 4 i +
    3, the next four lanes the right halves. A lane gets half of the rows of column l % 16."""
    square = np.random.default_rng(1).permutation(256).astype(np.uint8).reshape(16, 16)
    data = np.zeros((32, 8), np.uint8)
    for lane in range(32):
        row, column = lane // 8 * 4 + lane % 4, lane // 4 % 2 * 8
        data[lane] = square[row, column : column + 8]
    out = loaded(from_memory("global.load.tr.b64.v2i32", "<2 x i32>"), data, 32)
    for lane in range(32):
        half = slice(lane // 16 * 8, lane // 16 * 8 + 8)
        np.testing.assert_array_equal(out[lane], square[half, lane % 16])


def test_waves_of_another_width_cannot_transpose() -> None:
    source = from_memory("global.load.tr.b64.v2i32", "<2 x i32>", cpu="gfx950")
    with pytest.raises(EmulationFault, match="another width"):
        loaded(source, np.zeros(512, np.uint8), 64)
