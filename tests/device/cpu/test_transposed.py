"""Element-wise kernels that transpose blocks in registers."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from kgen import bundle, pipeline, targets
from kgen.check.verify.run import verify
from kgen.errors import KgenError
from kgen.schedule import CpuStream, CpuTransposed
from kgen.spec import Elementwise
from kgen.targets.cpu import FAMILY
from tests import needs

V3 = "x86-64-v3"


def formula(expression: str, *shapes: tuple[int, ...], dtype: Any = "f32") -> Elementwise:
    return Elementwise(expression=expression, shapes=shapes, dtype=dtype)


FORMULAS = {
    "matrix": formula("permute(x, 1, 0)", (13, 11)),
    "whole blocks": formula("permute(x, 1, 0)", (16, 8)),
    "planes and a bias for each column": formula(
        "relu(permute(x, 0, 2, 1) + b)", (3, 10, 9), (10,)
    ),
    "two matrices": formula("permute(x, 1, 0) * permute(y, 1, 0)", (19, 17), (19, 17)),
    "three columns": formula("permute(x, 1, 0)", (3, 43)),
    "two columns of planes": formula("relu(permute(x, 0, 2, 1) * s)", (3, 2, 9), (1,)),
    "seven columns": formula("permute(x, 1, 0) - permute(y, 1, 0)", (7, 17), (7, 17)),
    "channels of a part of an image": formula("permute(slice(x, 1, 0, 11), 2, 0, 1)", (9, 13, 19)),
    "channels of parts of images, with numbers for rows and columns": formula(
        "permute(slice(x, 2, 1, 12), 0, 3, 1, 2) * y + b", (2, 3, 13, 10), (3, 1), (11,)
    ),
    "a part of a matrix": formula("slice(permute(x, 1, 0), 0, 2, 15, 1)", (21, 18)),
}


def checked(spec: Elementwise, target: str = V3, schedule: CpuTransposed | None = None) -> None:
    found = needs.cpu(target)
    chosen = schedule or FAMILY.choose(spec, found)
    assert chosen.mainloop == "transposed"
    report = verify(bundle.pack([pipeline.kernel(spec, found, chosen)]))
    assert report.passed, report.to_json()


@pytest.mark.parametrize("name", FORMULAS)
def test_blocks_that_overlap(name: str) -> None:
    checked(FORMULAS[name])


@pytest.mark.parametrize("name", ["matrix", "planes and a bias for each column"])
def test_tasks_of_one_block(name: str) -> None:
    checked(FORMULAS[name], schedule=CpuTransposed(task=1))


@pytest.mark.parametrize("field", ["unroll", "nontemporal", "prefetch"])
def test_fields_of_streams_are_not_those_of_blocks(field: str) -> None:
    with pytest.raises(KgenError, match=f"{field}=0 is not a field of the transposed schedule"):
        pipeline.plan_with(FORMULAS["matrix"], targets.find(V3), {field: 0})


@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16", "u8", "s32", "s64"])
def test_dtypes(dtype: str) -> None:
    for columns in (33, 3):
        checked(formula("permute(x, 0, 2, 1)", (2, columns, 35), dtype=dtype))


def test_wide_vectors() -> None:
    checked(formula("permute(x, 1, 0)", (35, 41)), "x86-64-v4")
    checked(formula("permute(x, 1, 0)", (35, 41), dtype="f16"), "x86-64-v4")


@pytest.mark.parametrize(
    "spec",
    [
        formula("permute(x, 1, 0) + b", (3, 40), (3,)),
        formula("permute(x, 1, 0)", (40, 7)),
        # An input that may lie in the output's memory.
        formula("permute(x, 1, 0) + y", (16, 16), (16, 16)),
        formula("x + b", (16, 16), (16,)),
    ],
    ids=[
        "an element for each of three columns",
        "columns of half a block",
        "element by element",
        "nothing is turned",
    ],
)
def test_other_formulas_are_streams(spec: Elementwise) -> None:
    found = targets.find(V3)
    assert type(FAMILY.choose(spec, found)) is CpuStream
    with pytest.raises(KgenError, match="mainloop=transposed requires a matrix"):
        pipeline.plan(spec, found, CpuTransposed(task=1))


PLANE, PART = "matrix", "channels of a part of an image"


@pytest.mark.parametrize(
    ("name", "pattern", "text"),
    [
        # The last block a row, or a column, too early.
        (PLANE, r"(%block\.row = select i1 %block\.row\.less, i64 %block\.far, i64) 3", r"\1 2"),
        (PLANE, r"(%c = select i1 %c\.less, i64 %columns, i64) 5", r"\1 4"),
        # A column taken for its neighbour.
        (PLANE, r"(%b\.x\.at3 = getelementptr i8, ptr %b\.x\.from), i64 132", r"\1, i64 88"),
        # A row written over its neighbour.
        (PLANE, r"(%b2\.out\.element = add nuw i64 %c), 26", r"\1, 13"),
        # Rows of a block taken for adjacent ones, in the image or in the output.
        (PART, r"(%block\.along = mul nuw i64 %block\.row), 9", r"\1, 8"),
        (PART, r"(%block\.beside = urem i64 %blocks), 9", r"\1, 8"),
        (PART, r"(%b2\.out\.element = add nuw i64 %c), 198", r"\1, 22"),
    ],
)
def test_faults_are_seen(name: str, pattern: str, text: str) -> None:
    kernel = pipeline.assembled(pipeline.plan(FORMULAS[name], needs.cpu(V3)))
    changed, count = re.subn(pattern, text, kernel.source.text)
    assert count == 1, f"{pattern} is not in the kernel"
    source = dataclasses.replace(kernel.source, text=changed)
    code = FAMILY.assemble(source, kernel.plan)
    (result,) = verify(
        bundle.pack([dataclasses.replace(kernel, source=source, assembled=code)])
    ).kernels
    assert result.status == "failed", result.to_json()
