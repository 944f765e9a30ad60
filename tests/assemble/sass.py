"""Hot loop of a cubin, as disassembled by nvdisasm, for limits on tensor-core kernels."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

from kgen.check.static.disassemble import _find
from tests import needs

#: Instructions of the tensor cores.
MATRIX = ("HMMA", "IMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA")


def program() -> str:
    """Return the path of nvdisasm. Skip the test if it is not installed; fail in CI."""
    found = _find("nvdisasm")
    if found is None:
        needs.absent("nvdisasm is missing; pip install nvidia-cuda-nvdisasm")
    return found


def read(cubin: bytes, folder: Path) -> list[dict[str, str]]:
    """Return the instructions of the only function."""
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    done = subprocess.run(
        [program(), "-json", str(path)], capture_output=True, text=True, check=True
    )
    (function,) = json.loads(done.stdout)[1]
    instructions: list[dict[str, str]] = function["sass-instructions"]
    return instructions


def hot_loop(cubin: bytes, folder: Path) -> Counter[str]:
    """Return the opcodes, without modifiers, of the innermost loop with matrix instructions."""
    instructions = read(cubin, folder)
    return opcodes(instructions, innermost(instructions))


def innermost(instructions: list[dict[str, str]]) -> range:
    """Return the range of the innermost loop with matrix instructions.

    A loop is the instructions between a branch and an earlier target. If there are conditional
    branches, unconditional ones do not count: they return from waits outside of the loop.
    """
    branches = (
        (i, target) for i in range(len(instructions)) if (target := goes_to(instructions, i))
    )
    loops = (range(first, i + 1) for i, first in branches if first < i)
    found = [loop for loop in loops if matrix(opcodes(instructions, loop))]
    conditional = [loop for loop in found if "predicate" in instructions[loop[-1]]]
    return min(conditional or found, key=len)


def goes_to(instructions: list[dict[str, str]], place: int) -> int | None:
    """Return the index of a branch's target; None for other instructions. Each has 16 bytes."""
    each = instructions[place]
    target = re.search(r"0x([0-9a-f]+)\s*$", each.get("operands", ""))
    is_branch = each["opcode"].partition(".")[0] == "BRA"
    return int(target[1], 16) // 16 if is_branch and target else None


def opcodes(instructions: list[dict[str, str]], places: range) -> Counter[str]:
    """Return the opcodes of a range, without modifiers."""
    return Counter(instructions[i]["opcode"].partition(".")[0] for i in places)


def matrix(loop: Counter[str]) -> int:
    """Return the number of matrix instructions in a loop."""
    return sum(loop[name] for name in MATRIX)
