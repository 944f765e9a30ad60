"""Epilogues: the factor of all sums is computed once."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline, targets
from kgen.spec import text


@pytest.mark.parametrize(
    ("scales", "factor"),
    [
        ("a", None),
        ("b", None),
        ("a,b", "mul.f32 %factor, %scale_a, %scale_b;"),
        ("a alpha=0.5", "mul.f32 %factor, 0f3F000000, %scale_a;"),
    ],
)
@pytest.mark.parametrize("target", ["sm_80", "sm_89"])
def test_a_factor_that_is_read_was_written(target: str, scales: str, factor: str | None) -> None:
    spec = text.parse(f"matmul 64x64x64 s8 layout=nt out=f16 scales={scales}")
    source = pipeline.source(pipeline.plan(spec, targets.find(target))).text
    reads = re.findall(r"mul\.f32 %acc\w*, %acc\w*, (%\w+);", source)
    if factor is None:
        assert set(reads) == {f"%scale_{scales[0]}"} and "%factor" not in source
    else:
        assert set(reads) == {"%factor"} and factor in source
