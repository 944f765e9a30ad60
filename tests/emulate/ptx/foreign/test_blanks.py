"""Blanks, newlines and comments between tokens: as few as possible, or one between any two."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.emulate.ptx.frontend.parser import parse
from kgen.emulate.ptx.frontend.syntax import PtxKernel
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_programs import program, run
from tests.emulate.ptx.ptxas import assemble

DATA = Path(__file__).parents[2] / "data"
SOURCES = {
    "nvcc": (DATA / "kernels.ptx", "sm_80"),
    "libcu++": (DATA / "libcudacxx" / "kernels.ptx", "sm_80"),
    "clang": (DATA / "clang" / "kernels.O0.ptx", "sm_80"),
    "hopper": (DATA / "hopper" / "gemm.ptx", "sm_90a"),
}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
#: Fractions are tokens here; what the emulator makes of them is its own affair. The assembler looks
#: for the version before all else.
TOKEN = re.compile(r'\.version\s+[\d.]+|"[^"]*"|\d+\.\d+|\.\w+(?:::\w+)*|[%$\w][\w$]*|\S')

OPCODE_OR_TOKEN = re.compile(rf"[a-z]\w*(?:\.\w+(?:::\w+)*)+|{TOKEN.pattern}")


def needs_blank(one: str, other: str) -> bool:
    """Whether two tokens would become one without a blank; `16.b8` would begin with a fraction."""
    if not re.match(r"[\w$]", one[-1]):
        return False
    return bool(re.match(r"[\w$]", other)) or (one[0].isdigit() and other[0] == ".")


def squeezed(text: str) -> str:
    found = TOKEN.findall(COMMENT.sub(" ", text))
    pairs = zip(found, [*found[1:], ";"], strict=True)
    return "".join(one + " " * needs_blank(one, other) for one, other in pairs)


def spread(text: str) -> str:
    """Return the text with blanks between tokens, except inside an opcode and its modifiers,
    which the assembler reads as one."""
    found = OPCODE_OR_TOKEN.findall(COMMENT.sub(" ", text))
    return "\n\t/* ; { */ ".join(found)


def of_one_shape(kernel: PtxKernel) -> PtxKernel:
    """Return the instructions without line numbers and original text."""
    instructions = tuple(replace(i, line=0, text="") for i in kernel.instructions)
    return replace(kernel, instructions=instructions)


def text_of(name: str) -> str:
    # Toolkits later than the assembler of the tests write a version that it does not know.
    return SOURCES[name][0].read_text().replace(".version 9.0", ".version 8.0")


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("change", [squeezed, spread])
def test_blanks_change_nothing(name: str, change: Callable[[str], str]) -> None:
    text = text_of(name)
    changed = change(text)
    entries = re.findall(r"\.entry\s+(\w+)", text)
    assert entries
    for entry in entries:
        assert of_one_shape(parse(changed, entry)) == of_one_shape(parse(text, entry))


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("change", [squeezed, spread])
def test_the_assembler_takes_it(name: str, change: Callable[[str], str]) -> None:
    assemble(change(text_of(name)), SOURCES[name][1])


#: What a thread leaves in %r1, 7 in all.
FORMS = [
    "{.reg.b16 hl, hu; mov.b32 {hl, hu}, 0x70007; cvt.u32.u16 %r1, hu;}",
    ".reg.b32%x<3>;mov.u32%x2,7;mov.u32%r1,%x2;",
    ".reg .b32 %x < 3 > , y; mov .u32 y , 7; mov.u32\n%r1\n,\ny;",
    "mov .b64{%r2,%r1},30064771072;",
    "setp.eq.u32%q1|%q2,%r0,%r0;@%q1 mov.u32 %r1,7;@ ! %q1 mov.u32 %r1,8;",
    "mov.u32 %r1,%tid .x;mov.u32%r1,7;",
    "{.shared.align 16 .b8 own[ 4 ] [4];st.shared.u32[own+4],7;bar.sync\t0;"
    "ld.shared.u32%r1,[ own + 4 ];}",
    "{.local.b32 own[2];st.local.u32[own],- 7;ld .local .s32 %r1,[own];neg.s32%r1,%r1;}",
    "bra.uni past;mov.u32 %r1,8;past :mov.u32 %r1,7;",
    '.pragma"nounroll;";mov/*;*/.u32/* */%r1,7;',
    ".loc 1 2 3 mov.u32 %r1,7;",
    "mov.f32%f1,0f40E00000;cvt.rni.u32.f32%r1,%f1;",
    "add.f32%f1,0f40C00000,1.0;cvt.rni.u32.f32%r1,%f1;",
    "max.s32%r1,7,-1;",
]


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    body = f"mov.u32 %r0, 0; {form} mad.wide.u32 %a9, %t, 4, %p0; st.global.u32 [%a9], %r1;"
    source = program(body, params=1)
    assemble(source, "sm_90")
    out = np.zeros(32, np.uint32)
    run(source, out)
    assert (out == 7).all()


MODULE = (
    '.version 8.0 .target sm_90 .address_size 64 .file 1 "a//b.cu" .global.align 4 .u32 seven=7;'
    ".const.f32 half=0f3F000000;.global.s32 row[3]={- 1,0x2,3};"
    ".visible.func(.param.b32 r)twice(.param.b32 a){.reg.b32%x;ld.param.b32%x,[a];add.u32%x,%x,%x;"
    "st.param.b32[r],%x;ret;}"
    ".visible.entry f(.param.u64.ptr.global.align 8 p0,.param.align 4 .b8 p1[4]).maxntid 32,1,1"
    "{.reg.b64%p<2>;.reg.b32%r<9>;.reg.f32%f<2>;ld.param.u64%p0,[p0];ld.param.u32%r0,[p1];"
    "ld.global.u32%r1,[seven];ld.const.f32%f0,[half];cvt.rpi.u32.f32%r2,%f0;"
    "ld.global.s32%r3,[row];ld.global.s32%r4,[row+8];"
    "{.param.b32 in;.param.b32 back;st.param.b32[in],%r0;call.uni(back),twice,(in);"
    "ld.param.b32%r5,[back];}"
    "st.global.u32[%p0],%r1;st.global.u32[%p0+4],%r2;st.global.v2.u32[%p0+8],{%r3,%r4};"
    "st.global.u32[%p0+16],%r5;ret;}"
)

#: What the function `twice` is called with.
HALF: Any = np.int32(21)


def test_a_module_on_one_line() -> None:
    assemble(MODULE, "sm_90")
    out = np.zeros(5, np.int32)
    run(MODULE, out, HALF, threads=1)
    assert out.tolist() == [7, 1, -1, 3, 42]


@pytest.mark.parametrize(("type_", "value"), [("u64", "other"), ("f32", "1"), ("b8", "1.5")])
def test_an_initial_value_that_cannot_be_read(type_: str, value: str) -> None:
    module = MODULE.replace(".u32 seven=7", f".{type_} seven={value}")
    with pytest.raises(EmulationError, match=f"the initial value of seven: `{value}` is"):
        run(module, np.zeros(5, np.int32), HALF, threads=1)
