"""The hot loop of a cubin as nvdisasm reads it, for the bars of tensor-core kernels."""

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
    """nvdisasm. Skips the test where it is not installed; in CI that is a failure."""
    found = _find("nvdisasm")
    if found is None:
        needs.absent("nvdisasm is missing; pip install nvidia-cuda-nvdisasm")
    return found


def read(cubin: bytes, folder: Path) -> list[dict[str, str]]:
    """The instructions of the only function."""
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    done = subprocess.run(
        [program(), "-json", str(path)], capture_output=True, text=True, check=True
    )
    (function,) = json.loads(done.stdout)[1]
    instructions: list[dict[str, str]] = function["sass-instructions"]
    return instructions


def hot_loop(cubin: bytes, folder: Path) -> Counter[str]:
    """Opcodes, without modifiers, of the innermost loop with matrix instructions.

    A loop is what lies between a branch and an earlier instruction that it goes to. Instructions
    have 16 bytes.
    """
    instructions = read(cubin, folder)
    opcodes = [each["opcode"].partition(".")[0] for each in instructions]
    loops = []
    for i, each in enumerate(instructions):
        target = re.search(r"0x([0-9a-f]+)\s*$", each.get("operands", ""))
        if opcodes[i] == "BRA" and target and (first := int(target[1], 16) // 16) < i:
            loops.append(Counter(opcodes[first : i + 1]))
    return min(filter(matrix, loops), key=Counter.total)


def matrix(loop: Counter[str]) -> int:
    """How many matrix instructions a loop has."""
    return sum(loop[name] for name in MATRIX)
