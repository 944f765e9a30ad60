"""Atomics on buffers, each lane on another element, against plain Python; also buffers whose
resource is four dwords."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulate.llvm.llvm_kernels import LANE, OTHERS, WORDS, as_signed, kernel, run

#: The same buffer as :data:`RESOURCE`, word by word: address, size, flags.
DWORDS = """
  %address = ptrtoint ptr addrspace(1) %mem to i64
  %low = trunc i64 %address to i32
  %upper = lshr i64 %address, 32
  %high = trunc i64 %upper to i32
  %b0 = insertelement <4 x i32> <i32 0, i32 0, i32 256, i32 159744>, i32 %low, i32 0
  %b = insertelement <4 x i32> %b0, i32 %high, i32 1
  %o = mul i32 %t, 4
"""
ATOMICS: dict[str, Callable[[int, int], int]] = {
    "swap": lambda old, new: new,
    "add": lambda old, new: (old + new) % (1 << 32),
    "sub": lambda old, new: (old - new) % (1 << 32),
    "smin": lambda old, new: min(as_signed(old), as_signed(new)) & 0xFFFFFFFF,
    "smax": lambda old, new: max(as_signed(old), as_signed(new)) & 0xFFFFFFFF,
    "umin": min,
    "umax": max,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "inc": lambda old, new: 0 if old >= new else old + 1,
    "dec": lambda old, new: new if old == 0 or old > new else old - 1,
}
#: A buffer of 64 words at %mem, and the offset of the lane's.
RESOURCE = """
  %b = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(
      ptr addrspace(1) %mem, i16 0, i64 256, i32 159744)
  %o = mul i32 %t, 4
"""


@pytest.mark.parametrize("name", [*ATOMICS, "cmpswap"])
def test_atomics_in_buffers(name: str) -> None:
    call = f"i32 @llvm.amdgcn.raw.ptr.buffer.atomic.{name}.i32"
    first = "i32 %y, i32 %x" if name == "cmpswap" else "i32 %y"
    types = "i32, i32" if name == "cmpswap" else "i32"
    body = f"""
  %in = getelementptr i32, ptr addrspace(1) %src, i64 %i
  %y = load i32, ptr addrspace(1) %in
  %x = add i32 %t, 0
{RESOURCE}
  %old = call {call}({first}, ptr addrspace(8) %b, i32 %o, i32 0, i32 0)
  %at = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %old, ptr addrspace(1) %at
  ret void"""
    source = kernel(
        body,
        "ptr addrspace(1) %mem, ptr addrspace(1) %src, ptr addrspace(1) %out",
        declarations=f"""declare {call}({types}, ptr addrspace(8), i32, i32, i32 immarg)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)""",
    )
    memory = LANE.copy() if name == "cmpswap" else WORDS.copy()
    memory[40], memory[41] = 1000, OTHERS[41]
    before, old = memory.copy(), np.zeros(64, np.uint32)
    run(source, entry="k", grid=(1, 1, 1), block=(64, 1, 1), arguments=[memory, OTHERS, old])
    np.testing.assert_array_equal(old, before)
    pairs = zip(before.tolist(), OTHERS.tolist(), LANE.tolist(), strict=True)
    if name == "cmpswap":
        expected = [new if was == lane else was for was, new, lane in pairs]
    else:
        expected = [ATOMICS[name](was, new) for was, new, _ in pairs]
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("operation", ["fadd", "fmin", "fmax"])
@pytest.mark.parametrize("pointer", ["ptr.", ""])
def test_floats_and_resources_of_four_dwords(operation: str, pointer: str) -> None:
    """The buffer becomes operation(old, lane), plus 1 by a load and a store."""
    type_ = "ptr addrspace(8)" if pointer else "<4 x i32>"
    raw = f"@llvm.amdgcn.raw.{pointer}buffer"
    access = "i32 %o, i32 0, i32 0"
    body = f"""
{RESOURCE if pointer else DWORDS}
  %f = uitofp i32 %t to float
  %old = call float {raw}.atomic.{operation}.f32(float %f, {type_} %b, {access})
  %now = call float {raw}.load.f32({type_} %b, {access})
  %next = fadd float %now, 1.0
  call void {raw}.store.f32(float %next, {type_} %b, {access})
  %at = getelementptr float, ptr addrspace(1) %out, i64 %i
  store float %old, ptr addrspace(1) %at
  ret void"""
    source = kernel(
        body,
        "ptr addrspace(1) %mem, ptr addrspace(1) %out",
        declarations=f"""
declare float {raw}.atomic.{operation}.f32(float, {type_}, i32, i32, i32 immarg)
declare float {raw}.load.f32({type_}, i32, i32, i32 immarg)
declare void {raw}.store.f32(float, {type_}, i32, i32, i32 immarg)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)""",
    )
    memory = np.full(64, 31.5, np.float32)
    before, old = memory.copy(), np.zeros(64, np.float32)
    run(source, entry="k", grid=(1, 1, 1), block=(64, 1, 1), arguments=[memory, old])
    update = {"fadd": np.add, "fmin": np.minimum, "fmax": np.maximum}[operation]
    np.testing.assert_array_equal(old, before)
    np.testing.assert_array_equal(memory, update(before, LANE.astype(np.float32)) + 1)
