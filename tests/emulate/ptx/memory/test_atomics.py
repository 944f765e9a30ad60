"""Atomics and reductions on global and shared memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import (
    THREAD,
    TILE,
    fault,
    kernel,
    launch,
)


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


@pytest.mark.parametrize("space", [".global", ""])
def test_lanes_that_change_different_buffers(space: str) -> None:
    body = (
        THREAD
        + f"""
  and.b32 %r3, %r0, 1;
  setp.eq.u32 %p0, %r3, 0;
  selp.b64 %d1, %even, %odd, %p0;
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d3, %out, %d2;
  atom{space}.add.u32 %r4, [%d1], 1;
  red{space}.max.u32 [%d1+4], %r0;
  st.global.u32 [%d3], %r4;
"""
    )
    even, odd, out = np.full(2, 100, np.uint32), np.full(2, 0, np.uint32), np.zeros(32, np.uint32)
    launch(kernel(body, params=("even", "odd", "out"), declarations=TILE), even, odd, out)
    assert (even.tolist(), odd.tolist()) == ([116, 100], [16, 31])
    assert (out == np.where(np.arange(32) % 2, 0, 100) + np.arange(32) // 2).all()


def test_atomics_on_vectors() -> None:
    """Each element is added separately; the result has each old element."""
    body = """
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  add.f32 %f1, %f0, 0f3F800000;
  mov.f32 %f2, 0f40000000;
  neg.f32 %f3, %f0;
  atom.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%out+16], {%f3, %f2, %f1, %f0};
  mad.wide.u32 %d2, %r0, 16, %out;
  st.global.v4.f32 [%d2+32], {%f0, %f1, %f2, %f3};
"""
    t = np.arange(64, dtype=np.float32)
    added = np.stack([-t, np.full(64, 2, np.float32), t + 1, t], axis=1)
    out = np.zeros((66, 4), np.float32)
    out[1] = 1, 10, 100, 1000
    before = out[1] + np.concatenate([np.zeros((1, 4)), added.cumsum(axis=0)[:-1]])
    total = out[1] + added.sum(axis=0)
    launch(kernel(body, params=("out",)), out, block=(64, 1, 1))
    assert (out[1] == total).all()
    assert (out[2:] == before).all()


def test_reductions_on_vectors_of_halves() -> None:
    body = """
  mov.b32 %r1, 0x40003C00;
  mov.b32 %r2, 0x44004200;
  red.global.add.noftz.v2.f16x2 [%out+8], {%r1, %r2};
"""
    out = np.zeros(8, np.float16)
    launch(kernel(body, params=("out",)), out, block=(32, 1, 1))
    assert (out == [0, 0, 0, 0, 32, 64, 96, 128]).all()


def test_a_vector_must_be_aligned_as_a_whole() -> None:
    body = "  red.global.add.v4.f32 [%out+8], {%f0, %f1, %f2, %f3};"
    assert fault(kernel(body, params=("out",)), np.zeros(16, np.float32)).kind == "misaligned"
