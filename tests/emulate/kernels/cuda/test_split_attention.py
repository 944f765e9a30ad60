"""Schedules of attention for decoding on tensor cores: the model's choice, and what is refused."""

from __future__ import annotations

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention
from kgen.spec import Attention
from tests.attention_specs import attention

SMALL = {"block_m": 32, "block_n": 32, "num_warps": 2, "num_stages": 2}


@pytest.mark.parametrize(
    ("spec", "packs", "splits"),
    [
        (attention(1, 4096, 128, heads=32, kv_heads=8), True, True),
        (attention(1, 4096, 128, heads=32, kv_heads=8, batch=64), True, False),
        (attention(1, 2048, 64, heads=12, kv_heads=12), False, True),
        (attention(2048, 2048, 64, heads=16, kv_heads=16), False, False),
    ],
)
def test_few_workgroups_divide_keys(spec: Attention, packs: bool, splits: bool) -> None:
    """The model divides keys if workgroups are few, and packs heads that share keys."""
    schedule = pipeline.plan(spec, targets.find("sm_80")).schedule
    assert isinstance(schedule, MmaAttention)
    assert (schedule.packs_heads, schedule.split_k > 1) == (packs, splits)


@pytest.mark.parametrize(
    ("spec", "fields", "message"),
    [
        (attention(1, 127, 16), {"split_k": 5}, "fill 4; try split_k=4"),
        (
            attention(5, 64, 16, heads=4, layout="bshd"),
            {"packs_heads": 1},
            "heads are 16 elements apart, queries 64; try ",
        ),
        (
            attention(1, 1024, 16, heads=8000, kv_heads=8000),
            {"split_k": 32},
            "split_k=32 makes 256000 workgroups along z of the grid; sm_80 supports 65535; try "
            "split_k=8",
        ),
        (
            attention(1, 1 << 20, 16),
            {"split_k": 512},
            "split_k=512 needs 1024 registers per thread; sm_80 leaves 231 with 32 threads per "
            "block; try split_k=",
        ),
    ],
)
def test_parts_that_do_not_fit(spec: Attention, fields: dict[str, int], message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        pipeline.plan_with(spec, targets.find("sm_80"), SMALL | fields)
    assert message in str(error.value)
    assert len(str(error.value)) <= 500
