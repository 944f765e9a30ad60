"""Calls of device functions of the module."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import kernel, launch
from tests.emulate.ptx.ptxas import assemble

#: Euclid's algorithm, with a loop, an early return and memory of its own.
GCD = """
.visible .func (.param .b32 result) gcd(.param .b32 first, .param .b32 second)
{
  .local .align 4 .b8 kept[8];
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  ld.param.u32 %r0, [first];
  ld.param.u32 %r1, [second];
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra loop;
  st.param.b32 [result], %r1;
  ret;
loop:
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra done;
  st.local.u32 [kept+4], %r1;
  rem.u32 %r1, %r0, %r1;
  ld.local.u32 %r0, [kept+4];
  bra loop;
done:
  st.param.b32 [result], %r0;
  ret;
}
.visible .func (.reg .b32 most) largest(.reg .b32 one, .reg .b32 other)
{
  max.u32 most, one, other;
  ret;
}
"""


def call(first: str, second: str, target: str, guard: str = "") -> str:
    return f"""
  {{
  .param .b32 param0;
  st.param.b32 [param0], {first};
  .param .b32 param1;
  st.param.b32 [param1], {second};
  .param .b32 retval0;
  {guard} call.uni (retval0), gcd,
  (
  param0,
  param1
  );
  ld.param.b32 {target}, [retval0];
  }}
"""


def module(body: str) -> str:
    source = kernel(body, params=("a", "b", "out"))
    head, rest = source.split(".visible .entry", 1)
    return head + GCD + ".visible .entry" + rest


LOAD = """
  mov.u32 %r60, %tid.x;
  mad.wide.u32 %d0, %r60, 4, %a;
  ld.global.u32 %r0, [%d0];
  mad.wide.u32 %d0, %r60, 4, %b;
  ld.global.u32 %r1, [%d0];
  mad.wide.u32 %d0, %r60, 4, %out;
"""


def test_functions_are_called_with_loops_and_returns_of_their_own() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 300, 64, np.uint32) for _ in range(2))
    a[0] = 0
    out = np.zeros(64, np.uint32)
    source = module(
        LOAD
        + call("%r0", "%r1", "%r2")
        + call("%r2", "%r60", "%r3")
        + "  call (%r4), largest, (%r2, %r3);\n  st.global.u32 [%d0], %r4;"
    )
    assemble(source)
    launch(source, a, b, out, block=(64, 1, 1))
    inner = np.gcd(a, b)
    assert (out == np.maximum(inner, np.gcd(inner, np.arange(64)))).all()


def test_a_guarded_call() -> None:
    a, b = np.full(32, 12, np.uint32), np.full(32, 18, np.uint32)
    out = np.zeros(32, np.uint32)
    body = (
        LOAD
        + "  mov.u32 %r5, 7;\n  setp.lt.u32 %p0, %r60, 10;\n"
        + "  @%p0 call (%r5), largest, (%r0, %r1);\n  st.global.u32 [%d0], %r5;"
    )
    assemble(module(body))
    launch(module(body), a, b, out)
    assert (out == np.where(np.arange(32) < 10, 18, 7)).all()


def test_what_cannot_be_called_is_named() -> None:
    arguments = [np.zeros(32, np.uint32)] * 3
    with pytest.raises(UnknownInstruction, match="vprintf"):
        launch(kernel("  call (%r0), vprintf, (%r1);", params=("a", "b", "c")), *arguments)
    source = module("  call (%r0), largest, (%r1, %r2);").replace(
        "max.u32 most, one, other", "call (most), largest, (one, other)"
    )
    with pytest.raises(EmulationError, match="largest calls itself"):
        launch(source, *arguments)
