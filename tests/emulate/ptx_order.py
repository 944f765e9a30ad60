"""What the tests of the order of global memory share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, Fault
from tests.emulate.ptx_programs import run

SEEDS = (0, 1, 2, 3)


def words(count: int = 256) -> np.ndarray[Any, Any]:
    return np.zeros(count, np.uint32)


def fault(source: str, *arguments: np.ndarray[Any, Any], **options: Any) -> Fault:
    with pytest.raises(EmulationFault) as caught:
        run(source, *arguments, **options)
    found = caught.value.fault
    assert " ".join(source.splitlines()[found.line - 1].split()) == found.instruction + ";"
    return found


def line_of(source: str, instruction: str) -> str:
    """`line N`, as messages name the first line that holds the instruction."""
    lines = source.splitlines()
    return f"line {next(n for n, line in enumerate(lines, 1) if instruction in line)}"
