"""Every instruction of data/catalogue.ptx.txt is executed, or refused by name if the catalogue
says so. Other tests check what instructions do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgen.emulate import TensorMap, UnknownInstruction, run
from kgen.errors import EmulationError
from tests.emulate.ptx.ptxas import assemble_all

CATALOGUE = (Path(__file__).parents[2] / "data" / "catalogue.ptx.txt").read_text()
LINES = [line for line in CATALOGUE.splitlines() if line and not line.startswith("#")]
EXECUTED = [line for line in LINES if not line.startswith("!")]
REFUSED = [line[2:] for line in LINES if line.startswith("!")]
#: %d0 and %d1 point to global memory, %r0 and %r9 to shared memory, %r1 to an mbarrier for all
#: threads, %d3 to a tensor map; %one is thread 0. All else is zero.
AROUND = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])
{{
  .shared .align 1024 .b8 tile[8192];
  .shared .align 8 .b64 bar;
  .reg .pred %p<8>, %one;
  .reg .b16 %h<8>;
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  .reg .f32 %f<16>;
  .reg .f64 %g<8>;
{zeros}
  ld.param.u64 %d0, [in];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, tile;
  add.u32 %r9, %r0, 4096;
  mov.u32 %r1, bar;
  mov.b64 %d3, map;
  cvta.param.u64 %d3, %d3;
  mov.u32 %r2, %tid.x;
  setp.eq.u32 %one, %r2, 0;
  @%one mbarrier.init.shared.b64 [%r1], 128;
  bar.sync 0;
  mov.u32 %r2, 0;
  {line}
  ret;
}}
"""
ZEROS = "\n".join(
    [f"  mov.b16 %h{i}, 0;\n  mov.f64 %g{i}, 0d0000000000000000;" for i in range(8)]
    + [f"  mov.b32 %r{i}, 0;\n  mov.b64 %d{i}, 0;\n  mov.f32 %f{i}, 0f00000000;" for i in range(16)]
)


def opcode(line: str) -> str:
    return next(word for word in line.split() if word[0] not in "!@").rstrip(";")


def program(line: str) -> str:
    return AROUND.format(zeros=ZEROS, line=line)


def execute(line: str) -> None:
    tensor = np.zeros((64, 64), np.float16)
    map_ = TensorMap(buffer=tensor, dtype="f16", shape=tensor.shape, box=(64, 8))
    run(
        program(line),
        language="ptx",
        entry="k",
        grid=(1, 1, 1),
        block=(128, 1, 1),
        arguments=[np.zeros(4096, np.uint8), np.zeros(4096, np.uint8), map_],
        checks=False,
    )


@pytest.mark.parametrize("line", EXECUTED, ids=opcode)
def test_it_is_executed(line: str) -> None:
    execute(line)


@pytest.mark.parametrize("line", REFUSED, ids=opcode)
def test_it_is_refused_by_name(line: str) -> None:
    with pytest.raises(UnknownInstruction) as refused:
        execute(line)
    assert " ".join(refused.value.instruction.split()) in " ".join(line.split())


def test_registers_of_an_unknown_type_are_refused() -> None:
    with pytest.raises(EmulationError, match=r"line \d+: no registers of type \.b128"):
        execute(".reg .b128 %x;")


def test_ptxas_takes_them() -> None:
    assemble_all((program(line.removeprefix("! ")) for line in LINES), "sm_90a")


def test_ptxas_would_name_the_one_that_it_does_not_take() -> None:
    lines = [*LINES[:2], "add.f32 %f0, %d0, %f1;", *LINES[2:4]]
    with pytest.raises(AssertionError, match=r"line \d+; error .*'add'"):
        assemble_all((program(line.removeprefix("! ")) for line in lines), "sm_90a")
