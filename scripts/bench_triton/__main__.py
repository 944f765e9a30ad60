"""Count the instructions of fused formulas beside those of Triton's kernels; no GPU is needed.

    make bench-triton

Both compilers' kernels are assembled and taken apart again, and every instruction counts that a
thread may execute, NOP aside. None of the kernels has a loop, or it is refused; so a count times the
threads is what is executed. Of Triton's blocks and numbers of warps the one with the fewest
instructions for an element stands for it, among those that keep all registers.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kgen
from kgen.check.machine_code import Instruction, instructions, parse_assembly, parse_cubin
from kgen.check.verify import opened
from kgen.spec import text
from scripts import documents

KERNELS = Path(__file__).with_name("kernels.py")
TARGETS = ("sm_80", "gfx942")
#: Triton's kernels, and the same formulas in kgen's words: as budgets name them.
FORMULAS = {
    "gelu": "gelu 4096x4096 f16",
    "silu_mul": '"silu(gate) * up" 4096x4096 f16',
    "layer_norm": '"layer_norm(x, scale, shift)" x=4096x4096,scale=4096,shift=4096 f16',
    "add_rms_norm": '"rms_norm(x + residual, scale)" x=4096x8192,residual=4096x8192,scale=8192 f16',
    "causal_softmax": '"softmax(where(column <= row, x * 0.125, -inf))" 4096x4096 f16',
}
#: What ends a program.
ENDS = {"EXIT", "s_endpgm"}
#: What only fills space.
FILLS = {"NOP", "s_nop"}


@dataclass(frozen=True, kw_only=True)
class Count:
    """A kernel's instructions: of a thread, and of all threads for an element of the output."""

    thread: int
    element: float
    shape: str


def executed(code: Sequence[Instruction]) -> int:
    """What a thread may execute of a kernel without loops."""
    last = max(i for i, instruction in enumerate(code) if instruction.opcode in ENDS)
    first = 0
    for i, instruction in enumerate(code[: last + 1]):
        if instruction.goes_to is None:
            continue
        if instruction.goes_to <= i:
            raise SystemExit(f"{instruction.opcode} {instruction.operands}: the kernel has a loop")
        if instruction.opcode == "s_branch" and instruction.goes_to == i + 1:
            # Before it arguments are loaded, for firmware that does not preload them.
            first = i + 1
    return sum(instruction.opcode not in FILLS for instruction in code[first : last + 1])


def of_kgen(formula: str, target: str) -> Count:
    spec = text.parse(formula)
    with opened(kgen.build(spec, target)) as reader:
        (entry,) = reader.manifest.kernels
        (launch,) = entry.launches
        thread = executed(instructions(reader, entry))
    threads = math.prod(launch.grid) * math.prod(launch.block)
    return Count(
        thread=thread,
        element=thread * threads / spec.elements,
        shape=f"{math.prod(launch.block)} threads, {spec.elements // math.prod(launch.grid)} elements",
    )


def of_triton(made: Mapping[str, Any]) -> Count | None:
    """None if registers were spilled."""
    if made["target"].startswith("sm_"):
        code = parse_cubin(base64.b64decode(made["code"]), made["kernel"])
    else:
        code = parse_assembly(made["code"])
    if any(i.spill or i.opcode.startswith("scratch_") for i in code):
        return None
    thread, threads = executed(code), made["warps"] * made["lanes"]
    return Count(
        thread=thread,
        element=thread * threads / made["size"],
        shape=f"{threads} threads, {made['size']} elements",
    )


def rows(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| formula | target | kgen: block | instructions of a thread | for an element | Triton: block | instructions of a thread | for an element | kgen / Triton |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, formula in FORMULAS.items():
        for target in TARGETS:
            theirs = [
                count
                for made in found
                if (made["kernel"], made["target"]) == (name, target)
                and (count := of_triton(made)) is not None
            ]
            best = min(theirs, key=lambda count: count.element)
            ours = of_kgen(formula, target)
            cells = [f"`{formula}`", target]
            for count in (ours, best):
                cells += [count.shape, str(count.thread), f"{count.element:.2f}"]
            yield "| " + " | ".join([*cells, f"{ours.element / best.element:.2f}"]) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triton", required=True, help="the Python interpreter that has Triton")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "kernels.json")
        subprocess.run([arguments.triton, str(KERNELS), str(output)], check=True)
        found = json.loads(output.read_text())
    lines = [
        "",
        f"Triton {found[0]['triton']}, kgen {kgen.__version__}. "
        + documents.measured([documents.moment()]),
        "",
        *rows(found),
        "",
    ]
    print("\n".join(lines))
    if arguments.write:
        documents.put(documents.PERFORMANCE, "make bench-triton", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
