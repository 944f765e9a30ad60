"""Machine instructions are traced to the lines of the kernel's text that they come from."""

from __future__ import annotations

import pytest

import kgen
from kgen.check.static.machine_code import instructions
from kgen.check.static.source_lines import locate
from kgen.check.verify.run import opened
from kgen.spec.text import parse
from kgen.targets.llvm_lines import with_lines


@pytest.mark.integration
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("sm_80", "mma.sync"),
        ("gfx942", "mfma"),
        ("gfx1100", "wmma"),
        ("x86-64-v3", "fma"),
        ("aarch64-neon", "fma"),
        ("vulkan1.3", "Fma"),
    ],
)
def test_the_hot_loop_comes_from_lines_that_multiply(target: str, words: str) -> None:
    dtype = "f16" if target.startswith(("sm", "gfx")) else "f32"
    spec = parse(f"matmul 1024x1024x4096 {dtype}")
    with opened(kgen.build(spec, targets=[target])) as reader:
        (entry,) = reader.manifest.kernels
        plain = instructions(reader, entry)
        found = locate(reader, entry)
    # Debug information changes no instruction, and at most their order.
    assert sorted(i.opcode for i in found.code) == sorted(i.opcode for i in plain)
    text = found.text.splitlines()
    lines = found.of("hot_loop_instructions")
    assert lines.total() == len(found.loop)
    assert any(words in text[line - 1] for line in lines)
    assert 0 < found.of("matrix_share").total() < len(found.loop)
    assert found.of("loads_per_matrix").total() > 0
    assert found.of("registers").total() == 0


def test_every_instruction_of_the_ir_is_marked_where_it_stands() -> None:
    ir = """\
; a comment
define void @f(
    ptr %a) #0 {
entry: ; preds
  %x = load i32, ptr %a ; a word
  switch i32 %x, label %out [
    i32 0, label %out
  ]
out:
  ret void
}
"""
    marked = with_lines(ir).splitlines()
    assert marked[2].endswith("#0 !dbg !100004 {")
    assert marked[4] == "  %x = load i32, ptr %a, !dbg !100005"
    assert (marked[5], marked[7]) == (ir.splitlines()[5], "  ], !dbg !100006")
    assert marked[9] == "  ret void, !dbg !100007"
    nodes = dict(line.split(" = ", 1) for line in marked if line.startswith("!1000"))
    assert nodes["!100005"] == "!DILocation(line: 5, scope: !100004)"
    assert nodes["!100006"] == "!DILocation(line: 8, scope: !100004)"
