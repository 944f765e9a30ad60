"""Instructions of attention's candidates, against the steps of their plans."""

from __future__ import annotations

from kgen import pipeline, targets
from kgen.schedule import FmaAttention
from kgen.spec import Attention
from kgen.targets.cuda.plan.mma.fused_attention import MmaAttentionPlan
from kgen.targets.cuda.schedule.attention_tiles import _products


def test_products_by_lanes_are_those_of_all_steps() -> None:
    spec = Attention(q=(1, 2, 40, 48), k=(1, 2, 50, 48), dtype="f32")
    schedule = FmaAttention(block_m=32, block_n=16, num_warps=1, num_stages=2)
    plan = pipeline.plan(spec, targets.find("sm_80"), schedule)
    assert isinstance(plan, MmaAttentionPlan)
    steps = (*plan.score_steps, *plan.value_steps)
    multiplied, loaded = _products(plan, heads=96)
    assert multiplied == sum(len(step.mmas) for step in steps)
    exchanged = schedule.block_n * len(plan.rows)
    assert loaded == sum(len(step.loads) for step in steps) + exchanged
