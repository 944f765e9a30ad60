"""Compare the instruction counts of GPU kernels with those of Triton's kernels; needs no GPU.

    python -m benchmarks.triton [--triton PYTHON]

Formulas: instructions that a thread executes. GEMMs of AMD targets: instructions of the main loop
(main_loops.py). A ratio is Triton's count over kgen's.

Both compilers' kernels are assembled and disassembled. Every instruction except NOP counts. Kernels
with loops are left out, so that each instruction is executed once per thread. `triton` uses the
block size and number of warps of Triton's tutorials; `triton-fewest` is the block size with the
fewest instructions among those without register spills.
"""

from __future__ import annotations

import base64
import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kgen
from benchmarks import suite
from benchmarks.machine import Machine
from benchmarks.results import Peer, Row
from benchmarks.triton import main_loops
from kgen.check.static.machine_code import (
    MachineInstruction,
    instructions,
    parse_assembly,
    parse_cubin,
)
from kgen.check.verify.run import opened
from kgen.spec import Formula, text

KERNELS, MATMULS = (Path(__file__).with_name(f"{name}.py") for name in ("kernels", "matmuls"))
TARGETS = ("sm_80", "gfx942")
#: Formula in kgen's syntax, as in budgets, for each of Triton's kernels.
FORMULAS = {
    "gelu": "gelu 4096x4096 f16",
    "silu_mul": "silu(gate)*up 4096x4096 f16",
    "layer_norm": "layer_norm(x,scale,shift) x=4096x4096,scale=4096,shift=4096 f16",
    "add_rms_norm": "rms_norm(x+residual,scale) x=4096x8192,residual=4096x8192,scale=8192 f16",
    "causal_softmax": "softmax(where(column<=row,x*0.125,-inf)) 4096x4096 f16",
}
#: Instructions that end a program.
ENDS = {"EXIT", "s_endpgm"}
#: Instructions that only fill space.
FILLS = {"NOP", "s_nop"}


@dataclass(frozen=True, kw_only=True)
class Count:
    """Instructions of all threads of a block, per element."""

    element: float
    block: str


def executed(code: Sequence[MachineInstruction]) -> int | None:
    """Return the number of instructions that a thread executes; None if the kernel has loops."""
    last = max(i for i, instruction in enumerate(code) if instruction.opcode in ENDS)
    first = 0
    for i, instruction in enumerate(code[: last + 1]):
        if instruction.goes_to is None:
            continue
        if instruction.goes_to <= i:
            return None
        if instruction.opcode == "s_branch" and instruction.goes_to == i + 1:
            # The code before loads arguments, for firmware that does not preload them.
            first = i + 1
    return sum(instruction.opcode not in FILLS for instruction in code[first : last + 1])


def of_kgen(formula: str, target: str) -> Count:
    spec = text.parse(formula)
    assert isinstance(spec, Formula)
    with opened(kgen.build(spec, target)) as reader:
        (entry,) = reader.manifest.kernels
        (launch,) = entry.launches
        thread = executed(instructions(reader, entry))
    if thread is None:
        raise SystemExit(f"{formula} for {target} has a loop; count it with kgen perf check")
    return count(thread, math.prod(launch.block), spec.elements // math.prod(launch.grid))


def count(instructions: int, threads: int, elements: int) -> Count:
    return Count(element=instructions * threads / elements, block=f"{threads} / {elements}")


def of_triton(made: Mapping[str, Any]) -> Count | None:
    """Return the count of a Triton kernel; None if it spills registers or has a loop."""
    if made["target"].startswith("sm_"):
        code = parse_cubin(base64.b64decode(made["code"]), made["kernel"])
    else:
        code = parse_assembly(made["code"])
    if any(i.spill or i.opcode.startswith("scratch_") for i in code):
        return None
    thread = executed(code)
    return None if thread is None else count(thread, made["warps"] * made["lanes"], made["size"])


def is_tutorials(made: Mapping[str, Any]) -> bool:
    """Return whether block and warps are those of Triton's tutorials: 1024 elements and 4 warps, or
    a row with a warp per 256 elements, at most 8."""
    if made["kernel"] in ("gelu", "silu_mul"):
        return (made["size"], made["warps"]) == (1024, 4)
    return bool(made["warps"] == min(made["size"] // 256, 8))


def rows(found: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield rows of the fused formulas: instructions that a block's threads execute per element."""
    for name, formula in FORMULAS.items():
        for target in TARGETS:
            alike = [m for m in found if (m["kernel"], m["target"]) == (name, target)]
            theirs = next(filter(None, map(of_triton, filter(is_tutorials, alike))))
            fewest = min(filter(None, map(of_triton, alike)), key=lambda count: count.element)
            ours = of_kgen(formula, target)
            yield Row(
                table="formulas",
                work=formula,
                variant={"target": target},
                peers={
                    "triton": Peer(ratio=theirs.element / ours.element),
                    "triton-fewest": Peer(ratio=fewest.element / ours.element),
                },
                values={
                    "instructions": ours.element,
                    "threads_per_elements": ours.block,
                    "triton_instructions": theirs.element,
                    "triton_threads_per_elements": theirs.block,
                    "triton_fewest_instructions": fewest.element,
                    "triton_fewest_threads_per_elements": fewest.block,
                },
            )


def made_by(triton: str, program: Path) -> Any:
    """Run a program with Triton's interpreter; return what it writes."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "kernels.json")
        subprocess.run([triton, str(program), str(output)], check=True)
        return json.loads(output.read_text())


def main() -> None:
    parser = suite.options(__doc__)
    parser.add_argument(
        "--triton", default=".venv-triton/bin/python", help="Python with Triton (%(default)s)"
    )
    args = parser.parse_args()
    formulas, matmuls = (made_by(args.triton, program) for program in (KERNELS, MATMULS))
    versions = {"triton": formulas[0]["triton"], "kgen": kgen.__version__}
    run = suite.Run("triton", args, versions=versions, machine=Machine(name="no GPU"))
    for row in (*rows(formulas), *main_loops.rows(matmuls)):
        run.add(row)
    print(f"written: {run.path}")


if __name__ == "__main__":
    main()
