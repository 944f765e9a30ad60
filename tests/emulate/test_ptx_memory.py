"""State spaces, vectors, atomics and asynchronous copies, and the checks on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulate.ptx_kernels import HEADER, Array, fault, kernel, launch

TILE = "  .shared .align 16 .b8 tile[4096];\n"
THREAD = "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, tile;\n"


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


# ---------------------------------------------------------------------- atomics


@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics_with_lanes_at_one_address(space: str) -> None:
    place = "%d1" if space == "global" else "%r2"
    body = (
        THREAD
        + f"""
  and.b32 %r3, %r0, 3;
  mad.wide.u32 %d1, %r3, 4, %out;
  mad.lo.u32 %r2, %r3, 4, %r1;
  setp.lt.u32 %p0, %r0, 4;
  @%p0 st.{space}.u32 [{place}], 0;
  bar.sync 0;
  atom.{space}.add.u32 %r4, [{place}], %r0;
  red.relaxed.cta.{space}.max.u32 [{place}], 3;
  bar.sync 0;
  @%p0 ld.{space}.u32 %r5, [{place}];
  @%p0 st.global.u32 [%d1], %r5;
  mad.wide.u32 %d2, %r0, 4, %out;
  st.global.u32 [%d2+16], %r4;
"""
    )
    out = np.zeros(68, np.uint32)
    launch(kernel(body, params=("out",), declarations=TILE), out, block=(64, 1, 1))
    t = np.arange(64)
    assert (out[:4] == [t[t % 4 == i].sum() for i in range(4)]).all()
    before = [t[(t % 4 == i % 4) & (t < i)].sum() for i in range(64)]
    assert (out[4:] == before).all()


OPERATIONS: dict[tuple[str, str], Callable[[int, int], int]] = {
    ("min", "s32"): (lambda old, a: min(old, a)),
    ("and", "b32"): (lambda old, a: old & a),
    ("or", "b32"): (lambda old, a: old | a),
    ("xor", "b32"): (lambda old, a: old ^ a),
    ("exch", "b32"): (lambda old, a: a),
    ("inc", "u32"): (lambda old, a: 0 if old >= a else old + 1),
    ("dec", "u32"): (lambda old, a: a if old == 0 or old > a else old - 1),
}


@pytest.mark.parametrize(("name", "type_"), OPERATIONS)
def test_atomic_operations(name: str, type_: str) -> None:
    body = "  mov.u32 %r0, %tid.x;\n  add.u32 %r0, %r0, 5;\n"
    body += f"  atom.global.{name}.{type_} %r1, [%out], %r0;\n"
    out = np.array([9], np.int32)
    launch(kernel(body, params=("out",)), out)
    wanted = 9
    for i in range(32):
        wanted = OPERATIONS[name, type_](wanted, i + 5)
    assert out[0] == wanted


def test_atomic_compare_and_swap_and_floats() -> None:
    body = """
  mov.u32 %r0, %tid.x;
  add.u32 %r2, %r0, 1;
  atom.global.cas.b32 %r1, [%out], %r0, %r2;
  cvt.rn.f32.u32 %f0, %r0;
  red.global.add.f32 [%out+4], %f0;
  mov.b32 %r3, 0x3C003C00;
  red.global.add.noftz.f16x2 [%out+8], %r3;
"""
    out = np.zeros(3, np.uint32)
    launch(kernel(body, params=("out",)), out, grid=(2, 1, 1))
    assert out[0] == 32
    assert out[1:2].view(np.float32)[0] == 2 * 496
    assert (out[2:].view(np.float16) == 64).all()


# ---------------------------------------------------------------------- races


def exchange(first: str, between: str, second: str) -> str:
    """Thread t touches word t, and after `between` word t ^ 1."""
    body = (
        THREAD
        + f"""
  mad.lo.u32 %r2, %r0, 4, %r1;
  xor.b32 %r3, %r2, 4;
  st.shared.u32 [%r2], 0;
  bar.sync 0;
  {first}
  {between}
  {second}
"""
    )
    return kernel(body, declarations=TILE)


ACCESSES = {
    "store": "st.shared.u32 [{}], %r0;",
    "load": "ld.shared.u32 %r4, [{}];",
    "atomic": "red.shared.add.u32 [{}], 1;",
}
RACING = [("store", "load"), ("load", "store"), ("store", "store"), ("store", "atomic"),
          ("atomic", "load"), ("load", "atomic")]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), RACING)
def test_two_lanes_of_a_warp_race_unless_the_warp_synchronises(first: str, second: str) -> None:
    one, two = ACCESSES[first].format("%r2"), ACCESSES[second].format("%r3")
    found = fault(exchange(one, "", two))
    assert (found.kind, found.instruction) == ("race", two.rstrip(";"))
    launch(exchange(one, "bar.warp.sync 0xffffffff;", two))
    launch(exchange(one, "bar.sync 0;", two))


def test_reads_and_atomics_do_not_race_with_each_other() -> None:
    for name in ("load", "atomic"):
        code = ACCESSES[name]
        launch(exchange(code.format("%r2"), "", code.format("%r3")))


def test_a_thread_does_not_race_with_itself() -> None:
    launch(
        exchange("st.shared.u32 [%r2], 1;", "ld.shared.u32 %r4, [%r2];", "st.shared.u32 [%r2], 2;")
    )


def test_half_words_of_one_word_are_told_apart() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 2, %r1;
  cvt.u16.u32 %h0, %r0;
  st.shared.u16 [%r2], %h0;
  bar.sync 0;
  ld.shared.u32 %r3, [%r1+4];
"""
    )
    launch(kernel(body, declarations=TILE), block=(64, 1, 1))


def test_a_race_in_one_cta_only() -> None:
    body = (
        THREAD
        + """
  mov.u32 %r5, %ctaid.x;
  mad.lo.u32 %r2, %r0, 4, %r1;
  st.shared.u32 [%r2], %r0;
  setp.ne.u32 %p0, %r5, 2;
  @%p0 bar.sync 0;
  xor.b32 %r3, %r2, 128;
  ld.shared.u32 %r4, [%r3];
"""
    )
    found = fault(kernel(body, declarations=TILE), grid=(4, 1, 1), block=(64, 1, 1))
    assert found.kind in ("race", "uninitialised-read")
    assert found.workgroup == (2, 0, 0)


def test_a_matrix_load_reads_for_the_whole_warp() -> None:
    """Each lane wrote the row whose address it gives, but other lanes get its elements."""
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 16, %r1;
  st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
  {}
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r3, %r4, %r5, %r6}}, [%r2];
"""
    )
    assert fault(kernel(body.format(""), declarations=TILE)).kind == "race"
    launch(kernel(body.format("bar.warp.sync 0xffffffff;"), declarations=TILE))


def test_a_lane_overwrites_what_a_matrix_load_gave_to_others() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 16, %r1;
  st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r3, %r4, %r5, %r6}}, [%r2];
  {}
  st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
"""
    )
    assert fault(kernel(body.format(""), declarations=TILE)).kind == "race"
    launch(kernel(body.format("bar.warp.sync 0xffffffff;"), declarations=TILE))


def test_matrix_loads_check_only_the_rows_that_they_read() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, {step}, %r1;
  setp.lt.u32 %p0, %r0, 8;
  @%p0 st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r3}}, [%r2];
"""
    )
    launch(kernel(body.format(step=512), declarations=TILE))
    found = fault(kernel(body.format(step=8), declarations=TILE))
    assert found.kind == "misaligned"


# ---------------------------------------------------------------------- asynchronous copies


def pipeline(groups: int, pending: int) -> str:
    """Each thread copies `groups` words one by one, waits, and sums those that must be there."""
    body = THREAD + "  mad.wide.u32 %d1, %r0, 4, %in;\n  mad.lo.u32 %r2, %r0, 4, %r1;\n"
    for i in range(groups):
        body += f"  cp.async.ca.shared.global [%r2+{256 * i}], [%d1+{256 * i}], 4;\n"
        body += "  cp.async.commit_group;\n"
    body += f"  cp.async.wait_group {pending};\n  mov.u32 %r4, 0;\n"
    for i in range(groups - pending):
        body += f"  ld.shared.u32 %r5, [%r2+{256 * i}];\n  add.u32 %r4, %r4, %r5;\n"
    body += "  mad.wide.u32 %d2, %r0, 4, %out;\n  st.global.u32 [%d2], %r4;\n"
    return kernel(body, params=("in", "out"), declarations=TILE)


@pytest.mark.parametrize("pending", [0, 1, 3])
def test_groups_finish_in_order(pending: int) -> None:
    data, out = np.arange(256, dtype=np.uint32), np.zeros(64, np.uint32)
    launch(pipeline(4, pending), data, out, block=(64, 1, 1))
    assert (out == data.reshape(4, 64)[: 4 - pending].sum(0)).all()


def test_a_thread_that_waits_for_too_few_groups() -> None:
    source = pipeline(4, 2).replace("wait_group 2", "wait_group 3")
    data, out = np.arange(256, dtype=np.uint32), np.zeros(64, np.uint32)
    assert fault(source, data, out, block=(64, 1, 1)).kind == "pending-copy"


def test_groups_belong_to_a_thread() -> None:
    """Odd lanes commit once more, so that wait_group 1 leaves the copy of even lanes pending."""
    body = (
        THREAD
        + """
  and.b32 %r3, %r0, 1;
  setp.eq.u32 %p0, %r3, 1;
  mad.wide.u32 %d1, %r0, 4, %in;
  mad.lo.u32 %r2, %r0, 4, %r1;
  cp.async.ca.shared.global [%r2], [%d1], 4;
  cp.async.commit_group;
  @%p0 cp.async.commit_group;
  cp.async.wait_group 1;
  {}ld.shared.u32 %r4, [%r2];
"""
    )
    data = np.arange(32, dtype=np.uint32)
    launch(kernel(body.format("@%p0 "), params=("in",), declarations=TILE), data)
    found = fault(kernel(body.format(""), params=("in",), declarations=TILE), data)
    assert (found.kind, found.lanes[:3]) == ("pending-copy", (0, 2, 4))


@pytest.mark.parametrize("size", [4, 8, 16])
def test_a_copy_fills_with_zeros_behind_its_source(size: int) -> None:
    """Thread t copies t % (size + 1) bytes; the source is not read beyond them."""
    count = size // 4
    registers = ", ".join(f"%r1{i}" for i in range(count))
    operand = f"{{{registers}}}" if count > 1 else registers
    vector = f".v{count}" if count > 1 else ""
    body = (
        THREAD
        + f"""
  rem.u32 %r3, %r0, {size + 1};
  mad.lo.u32 %r2, %r0, {size}, %r1;
  mad.wide.u32 %d1, %r0, {size}, %in;
  cp.async.ca.shared.global.L2::128B [%r2], [%d1], {size}, %r3;
  cp.async.wait_all;
  ld.shared{vector}.u32 {operand}, [%r2];
  mad.wide.u32 %d2, %r0, {size}, %out;
  st.global{vector}.u32 [%d2], {operand};
"""
    )
    threads = 32
    data = np.random.default_rng(2).integers(1, 256, threads * size, np.uint8)
    last = (threads - 1) % (size + 1)
    out = np.zeros_like(data)
    given = data[: (threads - 1) * size + last]
    launch(kernel(body, params=("in", "out"), declarations=TILE), given, out)
    kept = np.arange(size)[None] < (np.arange(threads) % (size + 1))[:, None]
    assert (out == np.where(kept, data.reshape(threads, size), 0).ravel()).all()


def test_a_copy_outside_its_source_is_a_fault_at_the_copy() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 4, %r1;
  mad.wide.u32 %d1, %r0, 4, %in;
  cp.async.ca.shared.global [%r2], [%d1], 4;
"""
    )
    found = fault(kernel(body, params=("in",), declarations=TILE), np.zeros(31, np.uint32))
    assert (found.kind, found.lanes) == ("out-of-bounds", (31,))


def test_a_copy_over_what_others_read_is_a_race() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 4, %r1;
  mad.wide.u32 %d1, %r0, 4, %in;
  st.shared.u32 [%r2], 0;
  bar.sync 0;
  xor.b32 %r3, %r2, 128;
  ld.shared.u32 %r4, [%r3];
  {}
  cp.async.ca.shared.global [%r2], [%d1], 4;
"""
    )
    data = np.zeros(64, np.uint32)
    options = {"block": (64, 1, 1)}
    source = kernel(body.format(""), params=("in",), declarations=TILE)
    assert fault(source, data, **options).kind == "race"
    launch(kernel(body.format("bar.sync 0;"), params=("in",), declarations=TILE), data, **options)


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
    """Buffers of any dtype and rank, as they are."""
    data: Array = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    body = "  ld.global.b16 %h0, [%in+46];\n  st.global.b16 [%in], %h0;\n"
    launch(kernel(body, params=("in",)), data, block=(1, 1, 1))
    assert data[0, 0, 0] == 23
