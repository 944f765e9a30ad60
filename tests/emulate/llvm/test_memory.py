"""Address spaces, types in memory, atomics, and pointers into several buffers."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault
from tests.emulate.llvm.llvm_kernels import kernel, on_cpu
from tests.emulate.memory_kernels import LANES, fault, launch


def test_paths_through_structs_arrays_and_vectors() -> None:
    """The data layout is this machine's: { i8, [3 x { i32, double }], <4 x i16>, ptr }."""
    source = """
%pair = type { i16, i8 }
%inner = type { i32, double }
%outer = type { i8, [3 x %inner], <4 x i16>, ptr }
@table = private constant [2 x %pair] [%pair { i16 -2, i8 3 }, %pair { i16 9, i8 4 }]
@text = private constant [3 x i8] c"a\\00b"
define void @f(ptr %p, ptr %out, i64 %n) {
  %d = getelementptr %outer, ptr %p, i64 1, i32 1, i64 %n, i32 1
  %x = load double, ptr %d
  store double %x, ptr %out
  %v = getelementptr %outer, ptr %p, i64 0, i32 2, i64 2
  %h = load i16, ptr %v
  %z = zext i16 %h to i64
  %o1 = getelementptr i64, ptr %out, i64 1
  store i64 %z, ptr %o1
  %first = load i16, ptr @table
  %wide = sext i16 %first to i64
  %o2 = getelementptr i64, ptr %out, i64 2
  store i64 %wide, ptr %o2
  %byte = load i8, ptr getelementptr inbounds ([2 x %pair], ptr @table, i64 0, i64 1, i32 1)
  %b = load i8, ptr getelementptr inbounds (i8, ptr @text, i64 2)
  %sum = add i8 %byte, %b
  %sz = zext i8 %sum to i64
  %o3 = getelementptr i64, ptr %out, i64 3
  store i64 %sz, ptr %o3
  ret void
}
"""
    layout = np.dtype(
        {
            "names": ["tag", "inner", "v", "p"],
            "formats": [
                "u1",
                (np.dtype([("i", "i4"), ("d", "f8")], align=True), 3),
                ("u2", 4),
                "u8",
            ],
            "offsets": [0, 8, 56, 64],
            "itemsize": 72,
        }
    )
    data = np.zeros(2, layout)
    data["inner"]["d"][1] = [1.5, 2.5, 3.5]
    data["v"][0] = [1, 2, 0xFFFF, 4]
    out = np.zeros(4, np.int64)
    on_cpu(source, "f", [data, out, np.int64(2)])
    assert out[:1].view(np.float64)[0] == 3.5
    assert out[1:].tolist() == [0xFFFF, -2, 4 + ord("b")]


def test_odd_types_in_memory() -> None:
    source = """
define void @f(ptr %in, ptr %out) {
  %v = load <8 x i1>, ptr %in
  %w = xor <8 x i1> %v, splat (i1 true)
  store <8 x i1> %w, ptr %out
  %p1 = getelementptr i8, ptr %in, i64 1
  %a = load i24, ptr %p1, align 1
  %b = add i24 %a, 1
  %o1 = getelementptr i8, ptr %out, i64 1
  store i24 %b, ptr %o1, align 1
  %p4 = getelementptr i8, ptr %in, i64 4
  %c = load <3 x i16>, ptr %p4, align 2
  %o4 = getelementptr i8, ptr %out, i64 4
  store <3 x i16> %c, ptr %o4, align 2
  %slot = alloca { i32, [2 x i16] }
  store { i32, [2 x i16] } { i32 7, [2 x i16] [i16 1, i16 2] }, ptr %slot
  %s = load { i32, [2 x i16] }, ptr %slot
  %e = extractvalue { i32, [2 x i16] } %s, 1, 1
  %t = insertvalue { i32, [2 x i16] } %s, i16 9, 1, 0
  %f = extractvalue { i32, [2 x i16] } %t, 1, 0
  %g = add i16 %e, %f
  %o10 = getelementptr i8, ptr %out, i64 10
  store i16 %g, ptr %o10
  ret void
}
"""
    data = np.array([0b10110001, 0xFF, 0xFF, 0x01, 1, 2, 3, 4, 5, 6], np.uint8)
    out = np.zeros(12, np.uint8)
    on_cpu(source, "f", [data, out])
    assert out.tolist() == [0b01001110, 0, 0, 2, 1, 2, 3, 4, 5, 6, 11, 0]


def test_memory_blocks_and_masked_access() -> None:
    source = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
declare <8 x i1> @llvm.get.active.lane.mask.v8i1.i64(i64, i64)
define void @f(ptr %in, ptr %out, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %out, i8 255, i64 16, i1 false)
  %half = getelementptr i8, ptr %out, i64 4
  call void @llvm.memcpy.p0.p0.i64(ptr %half, ptr %in, i64 8, i1 false)
  %mask = call <8 x i1> @llvm.get.active.lane.mask.v8i1.i64(i64 0, i64 %n)
  %v = call <8 x float> @llvm.masked.load.v8f32.p0(
      ptr %in, <8 x i1> %mask, <8 x float> splat (float 5.0))
  %w = fadd <8 x float> %v, %v
  %tail = getelementptr i8, ptr %out, i64 16
  call void @llvm.masked.store.v8f32.p0(<8 x float> %w, ptr align 4 %tail, <8 x i1> %mask)
  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 0, i1 false)
  %sum = call float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %v)
  %last = getelementptr float, ptr %tail, i64 %n
  store float %sum, ptr %last
  ret void
}
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
"""
    data = np.array([1, 2, 3], np.float32)  # exactly as long as the mask is
    out = np.zeros(8, np.float32)
    on_cpu(source, "f", [data, out, np.int64(3)])
    assert out[1:3].tolist() == [1, 2]
    assert np.isnan(out[[0, 3]]).all()
    assert out[4:].tolist() == [2, 4, 6, 6 + 25]
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        on_cpu(source, "f", [data, out, np.int64(4)])


def test_lds_global_and_flat_pointers_meet() -> None:
    """Static and dynamic LDS are reversed within the workgroup through a flat pointer."""
    source = kernel(
        """
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %g, 64
  %n = add i32 %base, %t
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %n
  %x = load i32, ptr addrspace(1) %from
  %a = getelementptr [64 x i32], ptr addrspace(3) @static, i32 0, i32 %t
  store i32 %x, ptr addrspace(3) %a
  %d = getelementptr i32, ptr addrspace(3) @dynamic, i32 %t
  store i32 %t, ptr addrspace(3) %d
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %r = sub i32 63, %t
  %b = getelementptr [64 x i32], ptr addrspace(3) @static, i32 0, i32 %r
  %flat = addrspacecast ptr addrspace(3) %b to ptr
  %y = load i32, ptr %flat
  %d2 = getelementptr i32, ptr addrspace(3) @dynamic, i32 %r
  %z = load i32, ptr addrspace(3) %d2
  %last = load i32, ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @static, i32 252)
  %yz = add i32 %y, %z
  %sum = add i32 %yz, %last
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %n
  %to.flat = addrspacecast ptr addrspace(1) %to to ptr
  store i32 %sum, ptr %to.flat
  ret void""",
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        declarations="""
@static = internal addrspace(3) global [64 x i32] poison, align 16
@dynamic = external addrspace(3) global [0 x i32], align 16
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()""",
    )
    data = np.arange(192, dtype=np.uint32) * 3
    out = np.zeros(192, np.uint32)
    launch(source, data, out, groups=3, dynamic_shared=256)
    rows = data.reshape(3, 64)
    expected = rows[:, ::-1] + np.arange(64)[::-1] + rows[:, -1:]
    np.testing.assert_array_equal(out, expected.reshape(-1))
    # One byte less, and the last lane is outside.
    found = fault(source, data, out, groups=3, dynamic_shared=255)
    assert (found.kind, found.lanes) == ("out-of-bounds", (63,))
    # One element on, and it is outside of the first array, though not of LDS.
    found = fault(
        source.replace("i32 0, i32 %t\n", "i32 0, i32 %t1\n").replace(
            "  %x = load", "  %t1 = add i32 %t, 1\n  %x = load", 1
        ),
        data,
        out,
        groups=3,
        dynamic_shared=256,
    )
    assert (found.kind, found.lanes, found.address) == ("out-of-bounds", (63,), 256)


def test_private_memory_is_each_lanes_own() -> None:
    source = kernel(
        """
  %slot = alloca [4 x i32], addrspace(5)
  %k = and i32 %t, 3
  %at = getelementptr [4 x i32], ptr addrspace(5) %slot, i32 0, i32 %k
  %zero = getelementptr [4 x i32], ptr addrspace(5) %slot, i32 0, i32 0
  store i32 7, ptr addrspace(5) %zero
  store i32 %t, ptr addrspace(5) %at
  %x = load i32, ptr addrspace(5) %zero
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %x, ptr addrspace(1) %to
  ret void""",
        "ptr addrspace(1) %out",
    ).replace('amdhsa"', 'amdhsa"\ntarget datalayout = "A5"', 1)
    out = np.zeros(LANES, np.uint32)
    launch(source, out)
    lane = np.arange(LANES)
    np.testing.assert_array_equal(out, np.where(lane % 4 == 0, lane, 7))


def test_atomics_take_turns() -> None:
    source = kernel(
        """
  %few = icmp ult i32 %t, 40
  br i1 %few, label %work, label %done
work:
  %n = atomicrmw add ptr addrspace(1) %counter, i32 2 syncscope("agent") monotonic
  %slot = lshr i32 %n, 1
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %slot
  store i32 %t, ptr addrspace(1) %to
  %k = and i32 %t, 3
  %k1 = add i32 %k, 1
  %max = getelementptr i32, ptr addrspace(1) %counter, i32 %k1
  %old = atomicrmw umax ptr addrspace(1) %max, i32 %t monotonic
  %pair = cmpxchg ptr addrspace(1) %flag, i32 0, i32 %n monotonic monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %first, label %done
first:
  %float = getelementptr i32, ptr addrspace(1) %flag, i32 1
  %f = atomicrmw fadd ptr addrspace(1) %float, float 1.5 monotonic
  br label %done
done:
  ret void""",
        "ptr addrspace(1) %counter, ptr addrspace(1) %out, ptr addrspace(1) %flag",
    )
    counter, out, flag = (np.zeros(n, np.uint32) for n in (5, 40, 2))
    launch(source, counter, out, flag)
    assert counter.tolist() == [80, 36, 37, 38, 39]
    np.testing.assert_array_equal(np.sort(out), np.arange(40))
    assert flag[0] == 2  # the lane that came second: the first one put its 0 in place of 0
    assert flag[1:].view(np.float32)[0] == 3.0


def test_the_last_lane_wins_where_all_store() -> None:
    source = kernel(
        """
  store i32 %t, ptr addrspace(1) %out
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %one = getelementptr i32, ptr addrspace(1) %at, i32 1
  store i32 %n, ptr addrspace(1) %one
  ret void""",
        "ptr addrspace(1) %out, i32 %n",
    )
    out = np.zeros(LANES + 1, np.uint32)
    launch(source, out, np.int32(7), groups=2, checks=False)
    assert out.tolist() == [LANES - 1] + [7] * LANES


def test_a_store_changes_no_value_that_was_loaded() -> None:
    source = kernel(
        """
  %before = load i32, ptr addrspace(1) %out
  store i32 9, ptr addrspace(1) %out
  %one = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %before, ptr addrspace(1) %one
  ret void""",
        "ptr addrspace(1) %out",
    )
    out = np.array([5, 0], np.uint32)
    launch(source, out, checks=False)
    assert out.tolist() == [9, 5]


def test_pointers_into_several_buffers_in_one_load() -> None:
    source = kernel(
        """
  %odd = trunc i32 %t to i1
  %p = select i1 %odd, ptr addrspace(1) %a, ptr addrspace(1) %b
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %t
  %x = load i32, ptr addrspace(1) %at
  %y = add i32 %x, 1
  store i32 %y, ptr addrspace(1) %at
  ret void""",
        "ptr addrspace(1) %a, ptr addrspace(1) %b",
    )
    a, b = np.arange(LANES, dtype=np.uint32), np.arange(LANES, dtype=np.uint32) + 1000
    launch(source, a, b)
    lane = np.arange(LANES)
    np.testing.assert_array_equal(a, lane + lane % 2)
    np.testing.assert_array_equal(b, lane + 1000 + (1 - lane % 2))
