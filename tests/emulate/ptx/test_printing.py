"""vprintf: the report has what threads print."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kgen.cli.main import main
from kgen.emulate import EmulationFault, LaunchReport
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import kernel, launch
from tests.emulate.ptx.ptxas import assemble

DECLARATION = """
.extern .func (.param .b32 func_retval0) vprintf
(
  .param .b64 vprintf_param_0,
  .param .b64 vprintf_param_1
)
;
"""
#: As nvcc writes it, with a buffer in the thread's local memory.
DEPOT = "  .local .align 8 .b8 depot[64];\n"
BUFFER = "  mov.u64 %d9, depot;\n  cvta.local.u64 %d8, %d9;\n  mov.u32 %r0, %tid.x;\n"
RESULT = "  mul.wide.u32 %d0, %r0, 4;\n  add.u64 %d0, %out, %d0;\n  st.global.u32 [%d0], %r9;\n"


def call(name: str = "format", buffer: str = "%d8", guard: str = "") -> str:
    return f"""
  mov.u64 %d6, {name};
  cvta.global.u64 %d7, %d6;
  {{ // callseq 0, 0
  .reg .b32 temp_param_reg;
  .param .b64 param0;
  st.param.b64 [param0+0], %d7;
  .param .b64 param1;
  st.param.b64 [param1+0], {buffer};
  .param .b32 retval0;
  {guard} call.uni (retval0),
  vprintf,
  (
  param0,
  param1
  );
  ld.param.b32 %r9, [retval0+0];
  }} // callseq 0
"""


def string(name: str, text: str) -> str:
    data = [*text.encode(), 0]
    return f".global .align 1 .b8 {name}[{len(data)}] = {{{', '.join(map(str, data))}}};\n"


def module(body: str, *strings: str) -> str:
    source = kernel(body, params=("out",), declarations=DEPOT)
    head, rest = source.split(".visible .entry", 1)
    return head + DECLARATION + "".join(strings) + ".visible .entry" + rest


def printed(body: str, *strings: str, threads: int = 2, ctas: int = 1) -> LaunchReport:
    source = module(body, *strings)
    assemble(source)
    return launch(source, np.zeros(threads, np.uint32), grid=(ctas, 1, 1), block=(threads, 1, 1))


def test_arguments_lie_at_their_natural_alignment() -> None:
    body = (
        BUFFER
        + """
  st.local.u32 [%d9], %r0;
  mov.u64 %d1, 0xFFFFFFFFFFFFFFFE;
  st.local.u64 [%d9+8], %d1;
  st.local.u32 [%d9+16], 65;
  mov.f32 %f0, 0f3FC00000;
  cvt.f64.f32 %g0, %f0;
  st.local.f64 [%d9+24], %g0;
  mov.u64 %d2, name;
  cvta.global.u64 %d3, %d2;
  st.local.u64 [%d9+32], %d3;
  st.local.u32 [%d9+40], 255;
"""
    )
    form = string("format", "t=%d %lld %c %6.2f %s %#x%%\n")
    report = printed(body + call(), form, string("name", "tile"))
    assert report.printed == tuple(f"t={t} -2 A   1.50 tile 0xff%" for t in (0, 1))


def test_lines_come_in_order_of_execution_by_cta_and_thread() -> None:
    body = BUFFER + "  mov.u32 %r1, %ctaid.x;\n  st.local.v2.u32 [%d9], {%r1, %r0};\n" + call()
    report = printed(body, string("format", "%u.%u\n"), threads=33, ctas=2)
    assert report.printed == tuple(f"{c}.{t}" for c in range(2) for t in range(33))


def test_a_guarded_call_without_arguments_and_its_result() -> None:
    body = (
        BUFFER
        + "  mov.u32 %r9, 7;\n  setp.eq.u32 %p0, %r0, 1;\n  @!%p0 bra skip;\n"
        + call("first", "0")
        + "skip:\n"
        + RESULT
    )
    out = np.full(2, 99, np.uint32)
    source = module(body, string("first", "one "), string("format", "%d"))
    assert launch(source, out, block=(2, 1, 1)).printed == ("one ",)
    assert out.tolist() == [7, 0]


def test_the_result_is_the_number_of_arguments() -> None:
    body = BUFFER + "  st.local.v4.u32 [%d9], {4, 7, 8, 9};\n" + call() + RESULT
    out = np.zeros(2, np.uint32)
    source = module(body, string("format", "%*d %d %d|"))
    assert launch(source, out, block=(2, 1, 1)).printed == ("   7 8 9|   7 8 9|",)
    assert out.tolist() == [4, 4]


def test_a_string_without_an_end_and_a_short_buffer_are_out_of_bounds() -> None:
    endless = string("format", "abc").replace(", 0}", ", 100}")
    with pytest.raises(EmulationFault, match="out-of-bounds: printf reads a string of 4 bytes"):
        launch(module(BUFFER + call(), endless), np.zeros(2, np.uint32))
    form = string("format", "%d" * 40)
    with pytest.raises(EmulationFault, match="out-of-bounds: local load of 4 bytes"):
        launch(module(BUFFER + call(), form), np.zeros(2, np.uint32))


def test_a_conversion_that_is_not_supported_is_one_line() -> None:
    with pytest.raises(EmulationError, match="'%n' is not supported") as refused:
        launch(module(BUFFER + call(), string("format", "%n")), np.zeros(2, np.uint32))
    assert len(str(refused.value)) <= 500


def test_what_was_printed_before_a_fault_is_told() -> None:
    body = BUFFER + call("format", "0") + "  trap;\n"
    with pytest.raises(EmulationFault, match="trap") as found:
        launch(module(body, string("format", "here\n")), np.zeros(1, np.uint32), block=(1, 1, 1))
    assert found.value.printed == ("here",)


def test_the_command_shows_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(module(BUFFER + call("format", "0"), string("format", "hello\n")))
    command = ["emulate", str(file), "--entry", "k", "--grid", "1", "--block", "2"]
    command += ["--arg", f"out:u32:2:{tmp_path / 'out.npy'}"]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["hello", "hello"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["printed"] == ["hello", "hello"]
