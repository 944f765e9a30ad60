"""Addresses: ends of buffers, alignment, and read-only memory."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault
from kgen.errors import EmulationError
from tests.emulate.llvm.llvm_kernels import kernel, on_cpu
from tests.emulate.memory_kernels import LANES, fault, launch


def test_private_memory_ends() -> None:
    source = kernel(
        """
  %slot = alloca [4 x i32], addrspace(5)
  %at = getelementptr [4 x i32], ptr addrspace(5) %slot, i32 0, i32 %n
  store i32 %t, ptr addrspace(5) %at
  ret void""",
        "i32 %n",
    ).replace('amdhsa"', 'amdhsa"\ntarget datalayout = "A5"', 1)
    launch(source, np.int32(3))
    found = fault(source, np.int32(4))
    assert (found.kind, found.address) == ("out-of-bounds", 16)
    deep = """
define void @f(i64 %n) {
  %p = alloca i64, i64 %n
  ret void
}
"""
    on_cpu(deep, "f", [np.int64(1000)])
    with pytest.raises(EmulationError, match="stack"):
        on_cpu(deep, "f", [np.int64(1 << 20)])


@pytest.mark.parametrize("width", ["i16", "float", "<4 x i32>"])
def test_buffer_resources_check_their_range(width: str) -> None:
    """Elements past the buffer's size load as zero and are not stored."""
    source = kernel(
        f"""
  %from = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(
      ptr addrspace(1) %in, i16 0, i64 %bytes, i32 159744)
  %to = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(
      ptr addrspace(1) %out, i16 0, i64 %bytes, i32 159744)
  %size = ptrtoint ptr getelementptr ({width}, ptr null, i32 1) to i32
  %offset = mul i32 %t, %size
  %further = add i32 %offset, 4
  %x = call {width} @llvm.amdgcn.raw.ptr.buffer.load(
      ptr addrspace(8) %from, i32 %offset, i32 0, i32 0)
  call void @llvm.amdgcn.raw.ptr.buffer.store(
      {width} %x, ptr addrspace(8) %to, i32 %further, i32 0, i32 0)
  ret void""",
        "ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %bytes",
        declarations=f"""
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare {width} @llvm.amdgcn.raw.ptr.buffer.load(ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store({width}, ptr addrspace(8), i32, i32, i32)""",
    )
    data = np.arange(1, 26, dtype=np.uint32)  # ends inside a vector, and before the last lane
    out = np.full(25, 99, np.uint32)
    launch(source, data, out, np.int64(100))
    expected = np.concatenate([[99], data[:24]])
    if width == "i16":  # 64 lanes of two bytes do not reach the end
        assert out[:25].tolist() == expected.tolist()
    else:
        np.testing.assert_array_equal(out, expected)


def test_what_is_added_by_soffset_must_be_in_range_anyway() -> None:
    """Sources disagree whether the checked offset includes soffset."""
    source = kernel(
        """
  %from = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(
      ptr addrspace(1) %in, i16 0, i64 256, i32 159744)
  %offset = mul i32 %t, 4
  %mine = icmp ult i32 %t, %lanes
  %at = select i1 %mine, i32 %offset, i32 -1
  %x = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(
      ptr addrspace(8) %from, i32 %at, i32 64, i32 0)
  %o = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %x, ptr addrspace(1) %o
  ret void""",
        "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %lanes",
        declarations="""
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8), i32, i32, i32)""",
    )
    data, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(source, data, out, np.int32(48))
    np.testing.assert_array_equal(out, np.where(np.arange(64) < 48, data + 16, 0))
    with pytest.raises(EmulationFault, match="soffset") as error:
        launch(source, data, out, np.int32(50))
    assert error.value.fault.lanes == (48, 49)


COPY = kernel(
    """
  %from = getelementptr i8, ptr addrspace(1) %in, i64 %skip
  %at = getelementptr float, ptr addrspace(1) %from, i32 %t
  %x = load float, ptr addrspace(1) %at, align 4
  %to = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %x, ptr addrspace(1) %to, align 4
  ret void""",
    "ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %skip",
)


def test_global_bounds_are_exact() -> None:
    data, out = np.arange(LANES, dtype=np.float32), np.zeros(LANES, np.float32)
    launch(COPY, data, out, np.int64(0))
    np.testing.assert_array_equal(out, data)

    past = fault(COPY, data[:-3].copy(), out, np.int64(0))
    assert (past.kind, past.lanes, past.address) == ("out-of-bounds", (61,), 61 * 4)
    assert past.line == 11 and past.instruction.startswith("%x = load float")
    assert "argument in" in past.message
    before = fault(COPY, data, out, np.int64(-4))
    assert (before.kind, before.lanes, before.address) == ("out-of-bounds", (0,), -4)
    store = fault(COPY, data, out[:-1].copy(), np.int64(0))
    assert (store.kind, store.lanes, store.line) == ("out-of-bounds", (63,), 13)
    assert fault(COPY, data, out[:0].copy(), np.int64(0), checks=0).kind == "out-of-bounds"


def test_alignment_is_that_of_the_instruction() -> None:
    data, out = np.arange(LANES + 1, dtype=np.float32), np.zeros(LANES, np.float32)
    found = fault(COPY, data, out, np.int64(2))
    assert (found.kind, found.address) == ("misaligned", 2)
    launch(COPY.replace("align 4", "align 2"), data, out, np.int64(2))
    np.testing.assert_array_equal(out.view(np.uint16), data.view(np.uint16)[1 : 2 * LANES + 1])
    launch(COPY, data, out, np.int64(2), checks=0)


def test_a_constant_buffer_is_not_written() -> None:
    data, out = np.zeros(LANES, np.float32), np.zeros(LANES, np.float32)
    out.flags.writeable = False
    assert "constant" in fault(COPY, data, out, np.int64(0)).message
