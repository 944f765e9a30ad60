"""State spaces, vectors, parameters and addresses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import (
    HEADER,
    THREAD,
    TILE,
    Array,
    fault,
    kernel,
    launch,
)


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(
    ("type_", "count"), [("b8", 1), ("b8", 4), ("b16", 2), ("b32", 4), ("b64", 2), ("f32", 2)]
)
def test_vectors(type_: str, count: int, space: str) -> None:
    size = int(type_[1:]) // 8
    kind = {1: "%h", 2: "%h", 4: "%r1", 8: "%d"}[size] if type_ != "f32" else "%f"
    names = ", ".join(f"{kind}{i}" for i in range(count))
    operand = f"{{{names}}}" if count > 1 else names
    vector = f".v{count}" if count > 1 else ""
    nbytes = size * count
    body = (
        THREAD
        + f"""
  mad.wide.u32 %d8, %r0, {nbytes}, %in;
  ld.global.nc.L1::no_allocate{vector}.{type_} {operand}, [%d8];
"""
    )
    if space == "shared":
        body += f"""
  mad.lo.u32 %r2, %r0, {nbytes}, %r1;
  st.shared{vector}.{type_} [%r2+64], {operand};
  ld.volatile.shared{vector}.{type_} {operand}, [%r2+64];
"""
    body += f"""
  mad.wide.u32 %d8, %r0, {nbytes}, %out;
  st.global.cs{vector}.{type_} [%d8], {operand};
"""
    data = np.random.default_rng(1).integers(0, 256, 32 * nbytes, np.uint8)
    out = np.zeros_like(data)
    launch(kernel(body, params=("in", "out"), declarations=TILE), data, out)
    assert (out == data).all()


def test_loads_extend_by_their_type() -> None:
    body = """
  ld.global.s8 %r2, [%in];
  ld.global.u8 %r3, [%in];
  ld.global.s16 %d1, [%in];
  st.global.v2.b32 [%out], {%r2, %r3};
  st.global.b64 [%out+8], %d1;
"""
    out = np.zeros(2, np.int64)
    launch(kernel(body, params=("in", "out")), np.array([-2, -1], np.int8), out, block=(1, 1, 1))
    assert out.view(np.uint32).tolist()[:2] == [2**32 - 2, 254]
    assert out[1] == -2


def test_mov_takes_registers_apart() -> None:
    body = """
  ld.global.b64 %d1, [%in];
  mov.b64 {%r2, %r3}, %d1;
  mov.b32 {%h1, %h2}, %r2;
  mov.b32 %r2, {%h2, %h1};
  mov.b64 %d1, {%r3, %r2};
  st.global.b64 [%out], %d1;
"""
    out = np.zeros(1, np.uint64)
    data = np.array([0x1111222233334444], np.uint64)
    launch(kernel(body, params=("in", "out")), data, out, block=(1, 1, 1))
    assert out[0] == 0x4444333311112222


def test_buffers_of_odd_sizes_are_used_in_place() -> None:
    data = np.arange(13, dtype=np.uint8)
    out = np.zeros(7, np.uint16)[1:6]
    body = "  ld.global.u8 %h0, [%in+12];\n  st.global.u16 [%out+8], %h0;\n"
    launch(kernel(body, params=("in", "out")), data, out, block=(1, 1, 1))
    assert out.tolist() == [0, 0, 0, 0, 12]
    found = fault(kernel(body.replace("+12", "+13"), params=("in", "out")), data, out)
    assert (found.kind, found.address is not None) == ("out-of-bounds", True)
    assert found.message == "global load in in of 1 bytes at offset 13 of 13 bytes"


def test_offsets_beyond_32_bits_are_seen() -> None:
    body = """
  mov.u32 %r0, 65536;
  mul.lo.u32 %r1, %r0, 65537;
  cvt.u64.u32 %d1, %r1;
  mul.wide.u32 %d2, %r0, 65537;
  add.u64 %d1, %d1, %in;
  ld.global.u32 %r2, [%d1];
  add.u64 %d2, %d2, %in;
  ld.global.u32 %r2, [%d2];
"""
    found = fault(kernel(body, params=("in",)), np.zeros(65536 // 4 + 1, np.uint32))
    assert found.kind == "out-of-bounds" and "[%d2]" in found.instruction


def test_a_store_to_a_read_only_buffer() -> None:
    data = np.zeros(4, np.uint32)
    data.flags.writeable = False
    body = "  st.global.u32 [%in], 1;\n"
    assert fault(kernel(body, params=("in",)), data).kind == "out-of-bounds"


def test_scalar_parameters_and_their_alignment() -> None:
    source = f"""{HEADER}
.visible .entry k(.param .u8 a, .param .f32 b, .param .u64 .ptr .global .align 16 out,
  .param .align 8 .b8 c[16])
{{
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  .reg .f32 %f<2>;
  ld.param.u8 %r0, [a];
  ld.param.f32 %f0, [b];
  ld.param.u64 %d0, [out];
  ld.param.v2.u32 {{%r1, %r2}}, [c+8];
  st.global.u32 [%d0], %r0;
  st.global.f32 [%d0+4], %f0;
  st.global.v2.u32 [%d0+8], {{%r1, %r2}};
}}
"""
    out = np.zeros(4, np.uint32)
    struct = np.frombuffer(np.arange(4, dtype=np.uint32).tobytes(), "V16")[0]
    launch(source, np.uint8(7), np.float32(1.5), out, struct)
    assert out.tolist() == [7, np.float32(1.5).view(np.uint32), 2, 3]


def test_generic_addresses_and_all_spaces() -> None:
    source = f"""{HEADER}
.const .align 4 .u32 table[4] = {{10, 20, 0x1E, -1}};
.global .align 4 .b8 scratch[128];
.visible .entry k(.param .u64 out)
{{
  .local .align 8 .b8 stack[16];
  .shared .align 8 .b8 tile[256];
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  .reg .pred %p<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 3;
  mul.wide.u32 %d1, %r1, 4;
  mov.u64 %d2, table;
  add.u64 %d2, %d2, %d1;
  ld.const.u32 %r2, [%d2];
  st.local.u32 [stack+4], %r2;
  mov.u64 %d3, stack;
  cvta.local.u64 %d3, %d3;
  ld.u32 %r2, [%d3+4];
  mul.wide.u32 %d1, %r0, 4;
  mov.u64 %d4, tile;
  cvta.shared.u64 %d4, %d4;
  mov.u64 %d5, scratch;
  cvta.global.u64 %d5, %d5;
  setp.lt.u32 %p0, %r0, 16;
  selp.b64 %d6, %d4, %d5, %p0;
  isspacep.shared %p1, %d6;
  add.u64 %d6, %d6, %d1;
  st.u32 [%d6], %r2;
  ld.u32 %r3, [%d6];
  @%p1 add.u32 %r3, %r3, 1000;
  add.u64 %d0, %d0, %d1;
  st.u32 [%d0], %r3;
  ret;
}}
"""
    out = np.zeros(32, np.uint32)
    launch(source, out)
    table = np.array([10, 20, 30, -1], np.int64)[np.arange(32) % 4]
    assert (out == (table + 1000 * (np.arange(32) < 16)).astype(np.uint32)).all()


def test_dynamic_shared_memory_lies_behind_the_static() -> None:
    source = (
        HEADER
        + ".extern .shared .align 16 .b8 dynamic[];\n"
        + kernel(
            """
  mov.u32 %r0, tile;
  mov.u32 %r1, dynamic;
  sub.u32 %r1, %r1, %r0;
  st.global.u32 [%out], %r1;
  mov.u32 %r1, dynamic;
  st.shared.u32 [%r1+60], %r1;
""",
            params=("out",),
            declarations="  .shared .align 4 .b8 tile[20];",
        ).removeprefix(HEADER)
    )
    out = np.zeros(1, np.uint32)
    launch(source, out, block=(1, 1, 1), dynamic_shared=64)
    assert out[0] == 32
    found = fault(source, out, block=(1, 1, 1), dynamic_shared=60)
    assert (found.kind, found.address) == ("out-of-bounds", 92)


def test_memory_as_array_type() -> None:
    """Buffers may have any dtype and rank."""
    data: Array = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    body = "  ld.global.b16 %h0, [%in+46];\n  st.global.b16 [%in], %h0;\n"
    launch(kernel(body, params=("in",)), data, block=(1, 1, 1))
    assert data[0, 0, 0] == 23
