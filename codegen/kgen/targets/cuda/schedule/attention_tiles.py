"""Candidates for attention on tensor cores, and their predicted time.

The terms are those of a matmul whose K-tiles are blocks of keys. A block has the instructions of
both products, of the loads of K's and V's fragments, and of the softmax. Rates are published ones;
no measurement has corrected them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention
from kgen.spec import Attention
from kgen.targets.base import Candidate, Target
from kgen.targets.cuda.devices import (
    L2_BYTES_PER_SM_CLOCK,
    PARTITIONS,
    Device,
    device_of,
)
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.mma.fused_attention import MmaAttentionPlan, plan_attention
from kgen.targets.cuda.schedule.cost_model import Prediction, predict_work
from kgen.targets.cuda.schedule.work import BASE_REGISTERS, LOOP_INSTRUCTIONS, Work
from kgen.targets.powers_of_two import power_of_two

#: Queries of a warp, warps, keys and stages.
WARP_QUERIES, WARPS, BLOCKS_OF_KEYS, STAGES = (16, 32), (1, 2, 4, 8), (16, 32, 64, 128), (2, 3)
#: Instructions of a pair of scores: two each of maximum, multiply-add, exponential and sum, and a
#: rounding of both.
PAIR_INSTRUCTIONS = 9
#: Instructions of a wide copy, with its 64-bit address.
COPY_INSTRUCTIONS = 3


def candidates(spec: Attention, target: Target) -> tuple[Candidate[MmaAttention], ...]:
    """Return all schedules that fit, the fastest first."""
    found = (predicted(spec, target, schedule) for schedule in _space(spec, target))
    return tuple(sorted((each for each in found if each), key=lambda each: each.seconds))


def choose(spec: Attention, target: Target) -> MmaAttention:
    """Return the schedule with the least predicted time.

    Raises ScheduleError if the target's limits allow none.
    """
    found = candidates(spec, target)
    if not found:
        plan_attention(spec, target, next(_space(spec, target)))
    return found[0].schedule


def _space(spec: Attention, target: Target) -> Iterator[MmaAttention]:
    stages = STAGES if target.has("cp_async") else STAGES[:1]
    for rows, warps, keys, number in itertools.product(WARP_QUERIES, WARPS, BLOCKS_OF_KEYS, stages):
        is_larger = rows * warps >= 2 * power_of_two(max(WARP_QUERIES[0], spec.queries))
        if is_larger or keys > max(BLOCKS_OF_KEYS[0], power_of_two(spec.keys)):
            continue
        yield MmaAttention(block_m=rows * warps, block_n=keys, num_warps=warps, num_stages=number)


def predicted(
    spec: Attention, target: Target, schedule: MmaAttention
) -> Candidate[MmaAttention] | None:
    """Return the schedule with its prediction; None if it does not fit."""
    try:
        plan = plan_attention(spec, target, schedule)
    except ScheduleError:
        return None
    found = _predict(plan, device_of(target))
    notes = {
        "bound": found.bound,
        "waves": found.waves,
        "CTAs/SM": found.ctas_per_sm,
        "registers": found.registers,
    }
    return Candidate(schedule=schedule, seconds=found.seconds, terms=found.terms, notes=notes)


def _predict(plan: MmaAttentionPlan, device: Device) -> Prediction:
    spec, schedule = plan.spec, plan.schedule
    blocks = spec.batch * spec.heads * -(-spec.queries // schedule.block_m)
    # Keys of a CTA: those of a query, and those that only some of its queries attend to.
    keys = spec.pairs / spec.queries + (schedule.block_m / 2 if spec.limits_keys else 0)
    tiles = max(1, math.ceil(min(keys, spec.keys) / schedule.block_n))
    nbytes = min(schedule.block_m, spec.queries) * spec.out_head * spec.out.itemsize
    tensors = sum(p.nbytes for p in spec.parameters if not p.is_output)
    return predict_work(
        _work(plan, device),
        device,
        blocks,
        tiles,
        tensors,
        lambda ctas: ctas * nbytes / (L2_BYTES_PER_SM_CLOCK / 2),
    )


def _work(plan: MmaAttentionPlan, device: Device) -> Work:
    spec, schedule, itemsize = plan.spec, plan.schedule, plan.spec.dtype.itemsize
    k, v = plan.operands
    heads = len(k.k_steps) * plan.instruction.step + v.extent
    pairs = plan.warp_m * schedule.block_n
    products = sum(len(step.mmas) for step in (*plan.score_steps, *plan.value_steps))
    loads = schedule.block_n * heads * itemsize // (WARP_SIZE * MAX_ACCESS_BYTES)
    copies = sum(len(operand.copy.units) for operand in plan.operands)
    softmax = pairs // WARP_SIZE // 2 * PAIR_INSTRUCTIONS
    rescale = len(plan.values.sums)
    instructions = products + loads + softmax + rescale + COPY_INSTRUCTIONS * copies
    rate = device.f16_fmas
    stage = plan.pipeline.stage_bytes
    loaded = schedule.block_n * (spec.head + spec.out_head) * itemsize
    return Work(
        num_warps=schedule.num_warps,
        registers=plan.held_registers + BASE_REGISTERS,
        shared_bytes=plan.shared_bytes,
        product_clocks=schedule.block_m * schedule.block_n * heads / rate,
        shared_traffic=stage * (1 + schedule.num_warps),
        instructions=instructions + LOOP_INSTRUCTIONS,
        # A warp multiplies and finds its exponentials by turns.
        warp_clocks=pairs * heads / (rate / PARTITIONS) + softmax + rescale,
        loaded_bytes=loaded,
        in_flight_bytes=(schedule.num_stages - 1) * loaded,
    )
