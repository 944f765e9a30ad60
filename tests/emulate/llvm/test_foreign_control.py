"""Control flow, generic pointers and a matrix instruction as clang compiles them from OpenCL C
(``data/amd/control.cl``), optimised and not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen import emulate
from kgen.emulate import EmulationFault, LaunchReport
from tests.emulate.llvm.llvm_kernels import Array

DATA = Path(__file__).parents[1] / "data" / "amd"
LANES, GROUPS = 64, 3
COUNT = LANES * GROUPS

pytestmark = pytest.mark.parametrize("level", ["O0", "O2"])


@cache
def text(level: str) -> str:
    return (DATA / f"control.gfx90a.{level}.ll").read_text()


def launch(
    source: str, entry: str, *arguments: Array, groups: int = GROUPS, **options: Any
) -> LaunchReport:
    return emulate.run(
        source,
        language="llvm",
        entry=entry,
        grid=(groups, 1, 1),
        block=(LANES, 1, 1),
        arguments=arguments,
        **options,
    )


def steps(n: int) -> int:
    count = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n // 2
        count += 1
    return count


def test_lanes_leave_a_loop_one_by_one(level: str) -> None:
    data, out = np.arange(1, COUNT + 1, dtype=np.uint32), np.zeros(COUNT, np.uint32)
    report = launch(text(level), "collatz", data, out, profile=True)
    np.testing.assert_array_equal(out, [steps(int(n)) for n in data])
    assert report.counters["divergent_branches"] > 0


def interpreted(program: int, value: int) -> int:
    """Return the top of the kernel's stack machine; 32-bit integers wrap around."""
    stack = [value]
    while program:
        code, program = program & 15, program >> 4
        if code == 1:
            stack.append(1)
        elif code == 2:
            stack.append(stack[-1])
        elif code in (3, 4):
            if len(stack) > 1:
                top = stack.pop()
                stack[-1] = stack[-1] + top if code == 3 else stack[-1] * top
        elif code == 5:
            stack[-1] = -stack[-1]
        elif code == 6:
            stack[-1] -= 3 if stack[-1] >= 0 else 0
        elif code == 7:
            break
        else:
            stack[-1] ^= code
        stack[-1] = (stack[-1] + 2**31) % 2**32 - 2**31
    return stack[-1]


def test_a_switch_in_a_loop(level: str) -> None:
    programs = np.random.default_rng(0).integers(0, 1 << 32, COUNT, dtype=np.uint32)
    out = np.zeros(COUNT, np.int32)
    launch(text(level), "interpreter", programs, out)
    np.testing.assert_array_equal(out, [interpreted(int(p), i) for i, p in enumerate(programs)])


def test_pointers_into_one_memory_or_the_other(level: str) -> None:
    data = np.random.default_rng(1).integers(-99, 99, COUNT).astype(np.int32)
    out = np.zeros_like(data)
    launch(text(level), "either_memory", data, out)
    odd = np.arange(COUNT) % 2 == 1
    np.testing.assert_array_equal(out, np.where(odd, 2 * np.roll(data, 1), data))
    # Without the fences nothing orders lanes of a wave.
    broken = text(level)
    for order in ("release", "acquire"):
        broken = broken.replace(f'fence syncscope("workgroup") {order}', "")
    with pytest.raises(EmulationFault) as error:
        launch(broken, "either_memory", data, out)
    assert error.value.fault.kind == "race"


def test_a_matrix_instruction(level: str) -> None:
    random = np.random.default_rng(2)
    a, b = (random.integers(-4, 5, (16, 16)).astype(np.float16) for _ in range(2))
    c = np.full((16, 16), np.nan, np.float32)
    launch(text(level), "matrix_product", a, np.ascontiguousarray(b.T), c, groups=1)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
