"""Flagship shapes that take no minutes; `python -m benchmarks.flagships` verifies all of them."""

from __future__ import annotations

import pytest

import kgen
from benchmarks.flagships import MAIN, SHAPES, Case, cases, checked, digest_of, schedule_words
from benchmarks.results import Row
from kgen import pipeline
from kgen.spec import DType
from tests.emulate.one_schedule import verify

pytestmark = pytest.mark.slow

#: At most this many multiply-adds twice over, and not what test_matrix.py has.
SMALL = 2**28
ELSEWHERE = ("127x131x113", "1x4096x4096", "1000x1000x1000")


def small() -> list[Case]:
    """Return every small shape in f16 and s8, on the main targets in turn."""
    # Filter before naming: names of all cases would dominate the collection of tests.
    found = [
        case
        for case in cases()
        if case.spec.flops <= 2 * SMALL and case.spec.dtype in (DType.F16, DType.S8)
    ]
    typed = [case for case in found if case.name.split()[2] not in ELSEWHERE]
    return [c for i, c in enumerate(typed) if c.target.name == MAIN[i // 2 % len(MAIN)]]


@pytest.mark.parametrize("case", small(), ids=lambda case: case.name)
def test_small_flagships(case: Case) -> None:
    report = verify(kgen.build(case.spec, [case.target]), on="emulator")
    assert report.passed, report.kernels


def test_every_shape_and_type_is_there() -> None:
    found = cases()
    names = {case.name for case in found}
    assert len(names) == len(found)
    for m, n, k in SHAPES:
        for target in MAIN:
            for dtype in ("f16", "bf16", "f32", "f32 math=tf32", "f32 math=3xtf32", "s8"):
                assert f"{target} matmul {m}x{n}x{k} {dtype}" in names


def test_a_schedule_is_shown_in_words() -> None:
    fields = {
        "mainloop": "mma", "block_m": 32, "block_n": 32, "block_k": 32, "warp_m": 16, "warp_n": 16,
        "num_stages": 6, "split_k": 16, "one_kernel": True,
    }  # fmt: skip
    words = "mma 32x32x32, warps of 16x16, 6 stages, k in 16 parts, added by the last CTA"
    assert schedule_words(fields) == words
    gemv = {"mainloop": "gemv", "block_m": 1, "block_n": 32, "block_k": 512, "num_stages": 1}
    assert schedule_words(gemv) == "gemv 1x32x512"


def test_a_kernel_with_the_same_instructions_is_not_verified_again() -> None:
    case = min(cases(), key=lambda case: case.spec.flops)
    digest = digest_of(pipeline.plan(case.spec, case.target))
    row = Row(table=case.target.name, work="w", values={"instructions": digest})
    assert checked(case, {case.name: row}) is row
