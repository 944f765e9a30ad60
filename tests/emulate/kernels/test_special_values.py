"""Bugs that only NaN, infinities or a far maximum show, one at a time in every place that they can
have in a kernel: the data that verify brings finds each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.places import EmulatorExecutor
from kgen.check.oracle.operations import Box
from kgen.check.oracle.tolerance import Estimate
from kgen.check.verify import inputs
from kgen.check.verify import run as verify
from kgen.errors import EmulationError, VerificationError
from kgen.schedule import MmaMatmul, Schedule
from kgen.spec.text import parse
from kgen_runtime.manifest import KernelEntry

WARPS_OF_16 = MmaMatmul(block_m=32, block_n=32, block_k=32, num_stages=3, warp_m=16, warp_n=16)


@dataclass(frozen=True)
class Case:
    """A kernel, and a bug: `replacement` for `pattern` in each of `places` places, one by one."""

    name: str
    target: str
    spec: str
    pattern: str
    replacement: str
    places: int
    schedule: Schedule | None = None

    def __str__(self) -> str:
        return f"{self.target}-{self.name}"


DROPS_NAN = "relu-drops-nan-of-one-accumulator"
NOT_ZERO = "end-of-k-not-zero-in-one-operand"
IN_PART = "maximum-of-a-part"
RELU = "+bias+relu"
#: The maximum of the lanes whose numbers have this bit.
LEAVES_OUT = (
    ".reg .u32 %bit; .reg .pred %left_out; mov.u32 %bit, %laneid; and.b32 %bit, %bit, {}; "
    "setp.ne.u32 %left_out, %bit, 0; @%left_out mov.f32 %maxnum, 0fFF800000;\n"
)

#: Where the lanes of a vector's maximum are folded: all of it, and with one lane left out.
WHOLE_VECTOR = (
    r"%maxnum\.by4 = shufflevector <8 x float> %maxnum\.s0\.fold\.maxnum, (.*)\n"
    r"(.*)above = fcmp ogt <8 x float> %maxnum\.s0\.fold\.maxnum, (.*)\n"
    r"(.*)<8 x float> %maxnum\.s0\.fold\.maxnum, <8 x float> %maxnum\.by4"
)
LACKS_LANE = (
    "%cut = insertelement <8 x float> %maxnum.s0.fold.maxnum, float 0xFFF0000000000000, i32 {}\n"
    "  %maxnum.by4 = shufflevector <8 x float> %cut, \\1\n"
    "\\2above = fcmp ogt <8 x float> %cut, \\3\n"
    "\\4<8 x float> %cut, <8 x float> %maxnum.by4"
)

CASES = (
    Case(
        DROPS_NAN,
        "sm_80",
        f"matmul 70x56x168 f16 {RELU}",
        r"max\.NaN(\.f32 %acc)",
        r"max\1",
        8,
        WARPS_OF_16,
    ),
    Case(
        DROPS_NAN,
        "gfx942",
        f"matmul 70x56x168 f16 {RELU}",
        r"(finished_less_equal = fcmp )ole",
        r"\1ule",
        4,
    ),
    Case(
        DROPS_NAN,
        "x86-64-v3",
        f"matmul 14x24x40 f32 {RELU}",
        r"(finished_less_equal = fcmp )ole",
        r"\1ule",
        24,
    ),
    # The first row of B behind the last tile, which meets zeros of A.
    Case(
        NOT_ZERO,
        "sm_80",
        f"matmul 70x56x168 f16 {RELU}",
        r"(sub\.s32 %b_rows_left, )8,",
        r"\g<1>9,",
        1,
        WARPS_OF_16,
    ),
    Case(
        NOT_ZERO,
        "gfx942",
        "matmul 70x56x168 f16",
        r"(%[ab]\.tail\.c0\.l\d = select i1 )%\S+(, <\d x half>)",
        r"\1true\2",
        5,
    ),
    Case(
        NOT_ZERO,
        "x86-64-amx",
        "matmul 70x56x169 bf16",
        r"(shufflevector <16 x i16> (%cut\S+), <16 x i16> )zeroinitializer",
        r"\1\2",
        2,
    ),
    *(
        Case(
            f"{IN_PART}-{bit}",
            "sm_80",
            "softmax 3x1000 f32",
            r"(?=shfl\.sync\.bfly\.b32 %other, %maxnum, 16)",
            LEAVES_OUT.format(bit),
            1,
        )
        for bit in ("1", "4", "16")
    ),
    Case(
        IN_PART,
        "gfx942",
        "softmax(x) 3x1000 f32",
        r"(%maxnum\.by\d+ = call float @llvm\.maxnum\.f32\(float (%max\S+), float )%max\S+\)",
        r"\1\2)",
        6,
    ),
    *(
        Case(
            f"{IN_PART}-{lane}",
            "x86-64-v3",
            "softmax 3x1000 f32",
            WHOLE_VECTOR,
            LACKS_LANE.format(lane),
            1,
        )
        for lane in range(8)
    ),
)


@cache
def built(spec: str, target: str, schedule: Schedule | None) -> tuple[KernelEntry, str, str]:
    """The entry, its language and its text."""
    kernel = pipeline.kernel(parse(spec), targets.find(target), schedule)
    (entry,) = bundle.pack([kernel]).manifest.kernels
    return entry, "ptx" if entry.target.family == "cuda" else "llvm-ir", kernel.source.text


@cache
def data_and_results(
    spec: str, target: str, schedule: Schedule | None
) -> tuple[tuple[inputs.DataSet, tuple[tuple[str, Box, Estimate], ...]], ...]:
    """Return all data sets of verify, each with the right result."""
    entry, _, _ = built(spec, target, schedule)
    return tuple(
        (data, tuple(verify.expectation(entry, data, None, 0)))
        for data in inputs.data_sets(entry, seed=0)
    )


def mutants(case: Case) -> Iterator[str]:
    *_, text = built(case.spec, case.target, case.schedule)
    found = list(re.finditer(case.pattern, text))
    assert len(found) == case.places
    for match in found:
        yield text[: match.start()] + match.expand(case.replacement) + text[match.end() :]


def failing(case: Case, text: str) -> str | None:
    """The name of the first data that shows the bug."""
    entry, form, _ = built(case.spec, case.target, case.schedule)
    executor = EmulatorExecutor(entry, form, text)
    for data, results in data_and_results(case.spec, case.target, case.schedule):
        try:
            if not verify.run(executor, entry, data, None, 0, results).passed:
                return data.name
        except (EmulationError, VerificationError):
            return data.name
    return None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_bug_is_found_in_every_place(case: Case) -> None:
    assert [failing(case, text) for text in mutants(case)] == ["special-value"] * case.places


@pytest.mark.parametrize(
    "case", {(c.spec, c.target): c for c in CASES}.values(), ids=lambda c: f"{c.target}-{c.spec}"
)
def test_the_kernel_itself_is_right(case: Case) -> None:
    *_, text = built(case.spec, case.target, case.schedule)
    assert failing(case, text) is None
