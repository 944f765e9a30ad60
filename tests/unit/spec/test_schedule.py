"""Schedules check all that needs no target; fields that a user sets are checked, too."""

from __future__ import annotations

import re

import pytest

from kgen.errors import ScheduleError
from kgen.schedule import (
    CpuMatmul,
    CpuStream,
    FmaMatmul,
    GpuRows,
    GpuStream,
    MmaMatmul,
    ScheduleOrigin,
)

MMA = MmaMatmul(block_m=64, block_n=64, block_k=32, num_stages=2, warp_m=32, warp_n=32)


def test_derived_counts() -> None:
    assert MMA.num_warps == 4
    fma = FmaMatmul(block_m=64, block_n=32, block_k=8, thread_m=8, thread_n=4)
    assert fma.num_threads == 64


def test_override_marks_the_origin() -> None:
    assert MMA.override() is MMA
    changed = MMA.override(num_stages=3)
    assert (changed.num_stages, changed.origin) == (3, ScheduleOrigin.USER)
    assert changed.to_json()["origin"] == "user"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"stages": 3},
            "stages=3 is not a field of the mma schedule; did you mean num_stages? its fields",
        ),
        ({"num_stages": 0}, "num_stages=0 must be an integer of 1 or more"),
        ({"warp_m": 48}, "block_m=64 is not a multiple of warp_m=48; try block_m=96"),
    ],
)
def test_bad_overrides(fields: dict[str, int], message: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        MMA.override(**fields)


def test_other_schedules_check_themselves() -> None:
    with pytest.raises(ScheduleError, match="mc=10 is not a multiple of mr=4"):
        CpuMatmul(mr=4, nr=16, mc=10, kc=64, nc=16)
    with pytest.raises(ScheduleError, match="resident=2 is more than 1; try resident=1"):
        GpuRows(num_threads=32, resident=2)
    with pytest.raises(ScheduleError, match="num_threads=32 is not a multiple of rows_per_block"):
        GpuRows(num_threads=32, rows_per_block=3)


@pytest.mark.parametrize(
    "schedule", [CpuStream(task=1 << 20), GpuStream(num_threads=256, vector=4)]
)
def test_steps_are_not_unrolled_without_end(schedule: CpuStream | GpuStream) -> None:
    assert schedule.override(unroll=64)
    with pytest.raises(ScheduleError, match="unroll=65 is more than 64; try unroll=64"):
        schedule.override(unroll=65)
