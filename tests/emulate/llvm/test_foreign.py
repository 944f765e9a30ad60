"""Kernels that clang made from OpenCL C (``data/amd/kernels.cl``): IR that kgen did not write,
optimised and not, and each kernel with one bug."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen import emulate
from kgen.emulate import EmulationFault, Fault, LaunchReport

Array = npt.NDArray[Any]

DATA = Path(__file__).parents[1] / "data" / "amd"
FILES = ("gfx90a.O0", "gfx90a.O2", "gfx1100.O2")
THREADS = 256


@cache
def text(name: str) -> str:
    return (DATA / f"kernels.{name}.ll").read_text()


class Problem:
    """Launch of a kernel with its data, and the expected result."""

    def __init__(self, entry: str, grid: tuple[int, int], *arguments: Any) -> None:
        self.entry = entry
        self.grid = (*grid, 1)
        self.arguments = arguments

    def run(self, source: str, **options: Any) -> LaunchReport:
        return emulate.run(
            source,
            language="llvm",
            entry=self.entry,
            grid=self.grid,
            block=(THREADS, 1, 1),
            arguments=self.arguments,
            **options,
        )


def _random() -> np.random.Generator:
    return np.random.default_rng(7)


def matmul_tiled() -> tuple[Problem, Callable[[], None]]:
    n = 48
    a, b = (_random().integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    c = np.full((n, n), np.nan, np.float32)
    problem = Problem("matmul_tiled", (3, 3), a, b, c, np.int32(n))
    return problem, lambda: np.testing.assert_array_equal(c, a @ b)


def reduce_sum() -> tuple[Problem, Callable[[], None]]:
    data = _random().integers(-100, 100, 3000).astype(np.int32)
    total = np.zeros(1, np.int32)
    problem = Problem("reduce_sum", (4, 1), data, total, np.int32(len(data)))
    return problem, lambda: np.testing.assert_array_equal(total, data.sum())


def histogram() -> tuple[Problem, Callable[[], None]]:
    data = _random().integers(0, 50, 2000).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    problem = Problem("histogram", (3, 1), data, bins, np.int32(len(data)))
    expected = np.bincount(data, minlength=256)
    return problem, lambda: np.testing.assert_array_equal(bins, expected)


def softmax_rows() -> tuple[Problem, Callable[[], None]]:
    data = _random().normal(size=(5, 300)).astype(np.float32)
    out = np.full_like(data, np.nan)
    exponentials = np.exp(data.astype(np.float64) - data.max(axis=1, keepdims=True))
    expected = exponentials / exponentials.sum(axis=1, keepdims=True)
    problem = Problem("softmax_rows", (5, 1), data, out, np.int32(300))
    return problem, lambda: np.testing.assert_allclose(out, expected, rtol=3e-6)


def stencil() -> tuple[Problem, Callable[[], None]]:
    data = _random().integers(-9, 10, 700).astype(np.float32)
    out = np.full_like(data, np.nan)
    expected = np.convolve(np.pad(data, 1), [1, -2, 1], "valid")
    problem = Problem("stencil", (3, 1), data, out, np.int32(len(data)))
    return problem, lambda: np.testing.assert_array_equal(out, expected)


def transpose() -> tuple[Problem, Callable[[], None]]:
    data = np.arange(32 * 32, dtype=np.int16).reshape(32, 32)
    out = np.zeros_like(data)
    problem = Problem("transpose", (2, 2), data, out, np.int32(32))
    return problem, lambda: np.testing.assert_array_equal(out, data.T)


def scan_waves(wave: int) -> tuple[Problem, Callable[[], None]]:
    data = _random().integers(-9, 10, 2 * THREADS).astype(np.int32)
    out = np.zeros_like(data)
    expected = data.reshape(-1, wave).cumsum(axis=1).reshape(-1)
    problem = Problem("scan_waves", (2, 1), data, out)
    return problem, lambda: np.testing.assert_array_equal(out, expected)


def sum_in_two_steps() -> tuple[Problem, Callable[[], None]]:
    groups = 6
    data = _random().integers(-9, 10, groups * THREADS).astype(np.float32)
    parts, out = np.zeros(groups, np.float32), np.zeros(1, np.float32)
    ticket = np.zeros(1, np.uint32)
    problem = Problem("sum_in_two_steps", (groups, 1), data, parts, ticket, out, np.uint32(groups))
    return problem, lambda: np.testing.assert_array_equal(out, data.sum())


PROBLEMS: dict[str, Callable[..., tuple[Problem, Callable[[], None]]]] = {
    function.__name__: function
    for function in (
        matmul_tiled,
        reduce_sum,
        histogram,
        softmax_rows,
        stencil,
        transpose,
        scan_waves,
        sum_in_two_steps,
    )
}


def problem_of(name: str, file: str) -> tuple[Problem, Callable[[], None]]:
    if name == "scan_waves":
        return scan_waves(32 if "gfx11" in file else 64)
    return PROBLEMS[name]()


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("file", FILES)
def test_right_and_clean(file: str, name: str, seed: int) -> None:
    problem, check = problem_of(name, file)
    problem.run(text(file), seed=seed)
    check()


@pytest.mark.parametrize("name", PROBLEMS)
def test_counters_do_not_depend_on_the_order(name: str) -> None:
    reports = [
        problem_of(name, "gfx90a.O2")[0].run(text("gfx90a.O2"), seed=s, profile=True)
        for s in (0, 1, 5)
    ]
    assert reports[0].counters == reports[1].counters == reports[2].counters
    assert reports[0].lines == reports[2].lines


# -- broken -------------------------------------------------------------------------------------

RELEASE, ACQUIRE = (f'fence syncscope("workgroup") {o}' for o in ("release", "acquire"))
BARRIER = "tail call void @llvm.amdgcn.s.barrier()"


def broken(file: str, name: str, old: str, new: str, count: int) -> Fault:
    """Return the fault of a kernel in which the ``count``-th ``old`` is replaced by ``new``."""
    source = text(file)
    start = source.index(f"@{name}(")
    end = source.index("\n}", start)
    body = source[start:end]
    assert body.count(old) > count
    at = -1
    for _ in range(count + 1):
        at = body.index(old, at + 1)
    mutant = source[:start] + body[:at] + new + body[at + len(old) :] + source[end:]
    problem, _ = problem_of(name, file)
    with pytest.raises(EmulationFault) as error:
        problem.run(mutant)
    assert error.value.fault.entry == name
    return error.value.fault


@pytest.mark.parametrize(
    ("name", "old", "new", "count", "kind"),
    [
        ("matmul_tiled", BARRIER, "", 0, "race"),
        ("matmul_tiled", BARRIER, "", 1, "race"),
        ("matmul_tiled", RELEASE, "", 0, "race"),
        ("matmul_tiled", ACQUIRE, "", 0, "race"),
        ("reduce_sum", BARRIER, "", 0, "race"),
        ("reduce_sum", BARRIER, "", 1, "race"),
        ("stencil", "i32 255, label", "i32 300, label", 0, "uninitialised-read"),
        ("histogram", BARRIER, "", 0, "race"),
        ("histogram", BARRIER, "", 1, "race"),
        ("softmax_rows", BARRIER, "", 2, "race"),
        ("stencil", BARRIER, "", 0, "race"),
        ("transpose", BARRIER, "", 0, "race"),
        ("sum_in_two_steps", 'fence syncscope("agent") release', "", 0, "race"),
        ("sum_in_two_steps", 'fence syncscope("agent") acquire', "", 0, "race"),
    ],
)
@pytest.mark.parametrize("file", ["gfx90a.O2", "gfx1100.O2"])
def test_broken(file: str, name: str, old: str, new: str, count: int, kind: str) -> None:
    assert broken(file, name, old, new, count).kind == kind


def test_data_that_is_too_short() -> None:
    for name, index in (("stencil", 1), ("transpose", 0), ("matmul_tiled", 2)):
        problem, _ = problem_of(name, "gfx90a.O0")
        arguments = list(problem.arguments)
        arguments[index] = arguments[index].reshape(-1)[:-1].copy()
        problem.arguments = tuple(arguments)
        with pytest.raises(EmulationFault) as error:
            problem.run(text("gfx90a.O0"))
        assert error.value.fault.kind == "out-of-bounds"
