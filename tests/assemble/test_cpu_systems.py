"""Machine code of CPU kernels follows the rules of Linux, macOS and Windows alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgen.targets.cpu.assemble import assembly
from tests.golden.goldens import ROOT

GOLDENS = sorted(p for p in ROOT.rglob("*.ll") if p.parent.name.startswith(("x86", "aarch64")))
#: Attributes of a function that runs on Linux, macOS and Windows.
SYSTEMS = ("noredzone", '"probe-stack"="inline-asm"')
#: A function with a frame of 64 KiB, and a leaf function with 16 bytes.
FRAMES = """
declare void @use(ptr)
define void @large() #0 {{
  %a = alloca [65536 x i8], align 16
  call void @use(ptr %a)
  ret void
}}
define i32 @small(i32 %x) #0 {{
  %a = alloca [4 x i32], align 16
  store volatile i32 %x, ptr %a
  %v = load volatile i32, ptr %a
  ret i32 %v
}}
{}
"""
MODULE = (ROOT.parent / "templates" / "cpu" / "lib" / "module.j2").read_text()


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_function_has_the_attributes_of_all_systems(path: Path) -> None:
    groups = re.findall(r"^attributes (#\d+) = \{(.*)\}$", text := path.read_text(), re.MULTILINE)
    known = {name for name, words in groups if all(word in words for word in SYSTEMS)}
    defined = re.findall(r"^define .*\) *(#\d+)? .*\{$", text, re.MULTILINE)
    assert defined and set(defined) <= known


def attributes() -> str:
    """Return the attributes that templates give a function."""
    found = re.search(r"^attributes #\$\{number\} = .*$", MODULE, re.MULTILINE)
    assert found is not None
    words = {"number": "0", "inlining": "", "plan.vector_bits": "128"}
    return re.sub(r"\$\{([\w.]+)\}", lambda name: words[name[1]], found[0])


def code(name: str, arch: str) -> list[str]:
    """Return the instructions of one function of FRAMES."""
    text = assembly(FRAMES.format(attributes()), arch, ())
    body = text.split(f"\n{name}:", 1)[1].split(".size", 1)[0]
    lines = (" ".join(re.split("//|#(?= )|##", line)[0].split()) for line in body.splitlines())
    return [line for line in lines if line and not line.startswith((".", "@"))]


@pytest.mark.parametrize(
    ("arch", "moves", "touches"),
    [
        ("x86_64", "subq $4096, %rsp", "movq $0, (%rsp)"),
        ("aarch64", "sub sp, sp, #1, lsl #12", "str xzr, [sp]"),
    ],
)
def test_a_large_frame_is_probed_page_by_page(arch: str, moves: str, touches: str) -> None:
    """An access beyond the guard page ends a Windows thread, or misses the guard."""
    lines = code("large", arch)
    assert lines.index(moves) < lines.index(touches)
    assert not any(re.search(r"chkstk|probe", line) for line in lines)


def test_nothing_is_kept_below_the_stack_pointer() -> None:
    """Windows may overwrite memory below the stack pointer for exceptions."""
    for line in code("small", "x86_64"):
        assert not re.search(r"-\d+\(%rsp\)", line), line
    assert any(re.match(r"(sub|push)q", line) for line in code("small", "x86_64"))


def test_x18_is_left_alone() -> None:
    """macOS and Windows reserve the register (AAPCS64, 6.1.1)."""
    lines = [f"  %v{i} = load volatile i64, ptr %p" for i in range(40)]
    lines += [f"  store volatile i64 %v{i}, ptr %p" for i in range(40)]
    body = "\n".join(lines)
    text = assembly(f"define void @f(ptr %p) {{\n{body}\n  ret void\n}}", "aarch64", ())
    assert re.search(r"\bx17\b", text) and re.search(r"\bx19\b", text)
    assert not re.search(r"\b[xw]18\b", text)
