"""Helpers of the tests of memory order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, Fault
from tests.emulate.ptx.ptx_programs import program, run

SEEDS = (0, 1, 2, 3)


def words(count: int = 256) -> np.ndarray[Any, Any]:
    return np.zeros(count, np.uint32)


def tile_program(body: str, params: int = 1) -> str:
    """Return a program with `tile` at %r0, and the thread's own 16 bytes of it at %r1."""
    place = "    mov.u32 %r0, tile;\n    mad.lo.u32 %r1, %t, 16, %r0;\n"
    shared = ".shared .align 16 .b8 tile[4096];"
    return program(place + body, params=params, shared=shared)


def fault(source: str, *arguments: np.ndarray[Any, Any], **options: Any) -> Fault:
    with pytest.raises(EmulationFault) as caught:
        run(source, *arguments, **options)
    found = caught.value.fault
    text = " ".join(" ".join(source.splitlines()[found.line - 1 :]).split())
    assert text.startswith(found.instruction + ";")
    return found


def line_of(source: str, instruction: str) -> str:
    """Return `line N` of the first line with the instruction, as in messages."""
    lines = source.splitlines()
    return f"line {next(n for n, line in enumerate(lines, 1) if instruction in line)}"
