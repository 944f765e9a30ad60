"""Attention on Vulkan: the chosen main loop and its reason, and the contents of workgroup
memory."""

from __future__ import annotations

from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.spec import Attention
from kgen.targets.vulkan import FAMILY
from kgen.targets.vulkan.plan.attention.coopmat_attention import (
    MAX_WORDS,
    CooperativeAttentionPlan,
    words_of,
)
from tests.attention_specs import attention

COOPMAT = "vulkan1.3+coopmat"


def planned(spec: Attention, target: str = COOPMAT) -> Any:
    return pipeline.plan(spec, targets.find(target))


@pytest.mark.parametrize(
    ("spec", "target", "why"),
    [
        (attention(9, 70, 16), COOPMAT, ""),
        (attention(3, 70, 16, heads=3), COOPMAT, ""),
        (attention(9, 70, 16, dtype="bf16"), f"{COOPMAT}+bf16", ""),
        (attention(8, 70, 16), COOPMAT, None),
        (attention(70, 70, 16), "vulkan1.3", None),
        (attention(70, 70, 16, dtype="f32"), COOPMAT, "has no cooperative matrices of f32"),
        (attention(70, 70, 16, dtype="bf16"), COOPMAT, "has no cooperative matrices of bf16"),
        (attention(70, 70, 136), COOPMAT, "a head has 136 elements, more than 128"),
        (attention(70, 70, 20), COOPMAT, "are not all multiples of 8"),
        (attention(70, 70, 16, k_strides=(1400, 1400, 20)), COOPMAT, "are not all multiples of 8"),
    ],
)  # fmt: skip
def test_which_main_loop_and_why(spec: Attention, target: str, why: str | None) -> None:
    plan = planned(spec, target)
    assert plan.schedule.mainloop == ("coopmat" if why == "" else "unstaged")
    remarks = FAMILY.remarks(plan)
    assert bool(remarks) is bool(why) and (why or "") in " ".join(remarks)
    if why:
        with pytest.raises(ScheduleError, match=r"^mainloop=coopmat is not supported .*instead of"):
            pipeline.plan_with(spec, plan.target, {"mainloop": "coopmat"})


@pytest.mark.parametrize(("head", "out"), [(8, 128), (40, 72), (64, 64), (96, 8), (128, 128)])
@pytest.mark.parametrize("queries", [9, 64, 2048])
def test_every_size_of_matrices_has_whole_ones(head: int, out: int, queries: int) -> None:
    plan = planned(attention(queries, 4096, head, out=out))
    assert isinstance(plan, CooperativeAttentionPlan)
    modules = (plan, *plan.others)
    sizes = [(16, 16, 16), (32, 8, 16), (16, 8, 16), (8, 8, 8)]
    fitting = [size for size in sizes if size[0] <= plan.schedule.block_q]
    assert [(m.size.m, m.size.n, m.size.k) for m in modules] == fitting
    assert words_of(plan.spec, plan.schedule) <= MAX_WORDS and plan.shared_bytes <= 32768
    for module in modules:
        s = module.subgroups
        assert s.m * s.n * s.size.lanes == module.num_threads
        assert s.m * len(s.rows) * s.size.m == module.schedule.block_q
        assert s.n * len(s.columns) * s.size.n == module.schedule.block_k
        # Columns of all turns cover the results once, but for those past their end.
        columns = [
            turn * module.schedule.block_k + warp * s.warp_n + column * s.size.n
            for _, turn, column in module.result_matrices
            for warp in range(s.n)
        ]
        assert len(set(columns)) == len(columns)
        assert {*range(0, out, s.size.n)} <= {*columns}
        stored = [c for turn in module.result_turns for c, _ in turn.columns]
        assert stored == [column.number for column in module.columns]


def test_rows_in_workgroup_memory_begin_in_different_banks() -> None:
    plan = planned(attention(64, 64, 64))
    for pitch in (
        plan.weight_pitch, plan.queries.pitch, plan.staged_keys.pitch, plan.staged_values.pitch
    ):  # fmt: skip
        assert pitch % 2 == 1
