"""Candidates for attention on tensor cores, and their predicted time.

The terms are those of a matmul whose K-tiles are blocks of keys. A block has the instructions of
both products, of the loads of K's and V's fragments, and of the softmax. Rates are published ones;
no measurement has corrected them. As for a matmul, wgmma is chosen where it is predicted to be
faster than mma.sync.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

from kgen.errors import ScheduleError
from kgen.schedule import FmaAttention, MmaAttention, WgmmaAttention
from kgen.spec import Attention, DType
from kgen.targets.attention.grid_limits import check_grid
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.attention.key_parts import STATE_BYTES, matrices_of, packing_fills_blocks
from kgen.targets.base import Candidate, Target
from kgen.targets.cuda.devices import (
    L2_BYTES_PER_SM_CLOCK,
    PARTITIONS,
    Device,
    device_of,
)
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan import plan as make_plan
from kgen.targets.cuda.plan.attention.attention_plan import TensorCoreAttentionPlan
from kgen.targets.cuda.plan.attention.lane_products import LaneProducts
from kgen.targets.cuda.plan.attention.wgmma_attention import WgmmaAttentionPlan, obstacle
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.mma.fragments import PIECE
from kgen.targets.cuda.plan.mma.fused_attention import MmaAttentionPlan
from kgen.targets.cuda.plan.reduction.split_attention import (
    SplitAttentionPlan,
    check_combination,
)
from kgen.targets.cuda.plan.wgmma.fragments import WGMMA_M
from kgen.targets.cuda.schedule.cost_model import Prediction, predict_work, second_kernel_clocks
from kgen.targets.cuda.schedule.split_k import WARPS_PER_SM, part_counts, worthwhile
from kgen.targets.cuda.schedule.wgmma_work import (
    ADDRESS_REGISTERS,
    ASYNC_OVERHEAD,
    WGMMA_INSTRUCTIONS,
)
from kgen.targets.cuda.schedule.work import (
    BASE_REGISTERS,
    LOOP_INSTRUCTIONS,
    TILE_OVERHEAD,
    Work,
)
from kgen.targets.powers_of_two import power_of_two

#: Queries of a warp, warps, keys and stages.
WARP_QUERIES, WARPS, BLOCKS_OF_KEYS, STAGES = (16, 32), (1, 2, 4, 8), (16, 32, 64, 128), (2, 3)
#: Keys of a block multiplied by multiply-adds. The unrolled code of more keys would exceed the L1.5
#: instruction cache of 128 KiB (Jia et al., arXiv 1804.06826, section 3.4).
LANE_KEYS = (16, 32)
#: Numbers of consumer warpgroups, which have 64 queries each, and their keys of a block.
CONSUMERS, WARPGROUP_KEYS = (2, 1, 3), (128, 64, 32)
#: Instructions of a pair of scores: two each of maximum, multiply-add, exponential and sum, and a
#: rounding of both.
PAIR_INSTRUCTIONS = 9
#: Rows and columns of mma.sync.
MMA_SHAPE = 16 * 8
#: Instructions of a wide copy, with its 64-bit address.
COPY_INSTRUCTIONS = 3


AttentionSchedule = MmaAttention | WgmmaAttention


def candidates(spec: Attention, target: Target) -> tuple[Candidate[AttentionSchedule], ...]:
    """Return all schedules that fit, the fastest first, without divided keys that gain little."""
    planned = cache(partial(_planned, spec, target))
    tried = (_predicted(spec, target, schedule, planned) for schedule in _space(spec, target))
    found = worthwhile([each for each in tried if each])
    return tuple(sorted(found, key=lambda each: each.seconds))


def choose(spec: Attention, target: Target) -> AttentionSchedule:
    """Return the schedule with the least predicted time among those that the model can rank.

    Raises ScheduleError if the target's limits allow none.
    """
    found = candidates(spec, target)
    if not found:
        make_plan(spec, target, next(_space(spec, target)))
    return next(c.schedule for c in found if not needs_measurement(c.schedule))


def needs_measurement(schedule: AttentionSchedule) -> bool:
    """Return whether the model cannot rank a schedule: it does not know how well softmax and
    products overlap with pingpong, or among three warpgroups."""
    return isinstance(schedule, WgmmaAttention) and (schedule.pingpong or schedule.consumers > 2)


def _space(spec: Attention, target: Target) -> Iterator[AttentionSchedule]:
    for packs in (False, True):
        matrices = HeadMatrices(spec=spec, packs_heads=packs)
        for tile in _tiles(matrices, target):
            if packs and not packing_fills_blocks(spec, tile.block_m):
                continue
            packed = replace(tile, packs_heads=packs)
            yield packed
            blocks = matrices.count * -(-matrices.rows // tile.block_m)
            ctas = max(2, WARPS_PER_SM // tile.num_warps) * device_of(target).sms
            for split in part_counts(blocks, -(-spec.keys // tile.block_n), ctas)[1:]:
                yield replace(packed, split_k=split)
    if obstacle(spec, target) is not None:
        return
    for groups, keys, number in itertools.product(CONSUMERS, WARPGROUP_KEYS, STAGES):
        if _is_filled(HeadMatrices(spec=spec), WGMMA_M * groups, keys, WARPGROUP_KEYS[-1]):
            whole = WgmmaAttention(block_m=WGMMA_M * groups, block_n=keys, num_stages=number)
            yield whole
            if groups == 2:
                yield replace(whole, pingpong=True)


def _tiles(matrices: HeadMatrices, target: Target) -> Iterator[MmaAttention]:
    by_lanes = matrices.spec.dtype is DType.F32
    kind, blocks = (FmaAttention, LANE_KEYS) if by_lanes else (MmaAttention, BLOCKS_OF_KEYS)
    stages = STAGES if target.has("cp_async") else STAGES[:1]
    for rows, warps, keys, number in itertools.product(WARP_QUERIES, WARPS, blocks, stages):
        if _is_filled(matrices, rows * warps, keys, BLOCKS_OF_KEYS[0]):
            yield kind(block_m=rows * warps, block_n=keys, num_warps=warps, num_stages=number)


def _is_filled(matrices: HeadMatrices, block_m: int, block_n: int, least_keys: int) -> bool:
    """Return whether queries and keys fill more than half of a block.

    The smallest block by mma.sync, and the one with the fewest keys, always count as filled.
    """
    queries = power_of_two(max(WARP_QUERIES[0], matrices.rows))
    return block_m < 2 * queries and block_n <= max(least_keys, power_of_two(matrices.spec.keys))


def _planned(
    spec: Attention, target: Target, schedule: AttentionSchedule
) -> tuple[TensorCoreAttentionPlan, Work] | None:
    """Return the plan of the kernel that attends to keys, and the work of a CTA; None if it does
    not fit."""
    with contextlib.suppress(ScheduleError):
        plan = make_plan(spec, target, schedule)
        if isinstance(plan, SplitAttentionPlan):
            plan = plan.part
        assert isinstance(plan, TensorCoreAttentionPlan)
        return plan, _work(plan, device_of(target))
    return None


def _predicted(
    spec: Attention,
    target: Target,
    schedule: AttentionSchedule,
    planned: Callable[[AttentionSchedule], tuple[TensorCoreAttentionPlan, Work] | None],
) -> Candidate[AttentionSchedule] | None:
    """Return the schedule with its prediction; None if it does not fit."""
    matrices, device = matrices_of(spec, schedule), device_of(target)
    if isinstance(schedule, MmaAttention) and matrices.is_split:
        # The kernel is the same for any number of parts.
        kernel = planned(replace(schedule, split_k=2))
        if not _has_parts(matrices, target, schedule.block_m):
            return None
    else:
        kernel = planned(schedule)
    if kernel is None:
        return None
    found = _predict(*kernel, matrices, device)
    if matrices.is_split:
        found = _with_combination(found, matrices, device)
    notes = {
        "bound": found.bound,
        "waves": found.waves,
        "CTAs/SM": found.ctas_per_sm,
        "registers": found.registers,
    }
    return Candidate(schedule=schedule, seconds=found.seconds, terms=found.terms, notes=notes)


def _has_parts(matrices: HeadMatrices, target: Target, block_m: int) -> bool:
    """Return whether the grid has room for all parts, and a second kernel combines them."""
    with contextlib.suppress(ScheduleError):
        check_grid(matrices, target, block_m)
        check_combination(matrices, target)
        return True
    return False


def _predict(
    plan: TensorCoreAttentionPlan, work: Work, matrices: HeadMatrices, device: Device
) -> Prediction:
    spec, schedule, rows = plan.spec, plan.schedule, matrices.rows
    blocks = matrices.count * -(-rows // schedule.block_m)
    # Keys of a CTA: those of a query, and those that only some of its queries attend to.
    queries = (
        min(schedule.block_m, spec.queries) if plan.matrices.divides_rows else schedule.block_m
    )
    keys = spec.pairs / spec.queries + (queries / 2 if spec.limits_keys else 0)
    tiles = math.ceil(min(keys, spec.keys) / schedule.block_n)
    nbytes = min(schedule.block_m, rows) * spec.out_head * plan.output.itemsize
    tensors = sum(p.nbytes for p in spec.parameters if not p.is_output)
    return predict_work(
        work,
        device,
        blocks,
        max(1, -(-tiles // matrices.parts)),
        tensors,
        lambda ctas: ctas * nbytes / (L2_BYTES_PER_SM_CLOCK / 2),
    )


def _with_combination(found: Prediction, matrices: HeadMatrices, device: Device) -> Prediction:
    """Return the prediction with the time of the kernel that combines parts of the keys."""
    spec, rows = matrices.spec, matrices.count * matrices.rows
    results = rows // matrices.parts * spec.out_head * spec.out.itemsize
    parts = rows * (spec.out_head * matrices.output.out.itemsize + STATE_BYTES)
    clocks = second_kernel_clocks(device, parts + results)
    return replace(
        found,
        seconds=found.seconds + clocks / device.clock,
        terms={**found.terms, "reduction": clocks},
    )


def _work(plan: TensorCoreAttentionPlan, device: Device) -> Work:
    spec, schedule = plan.spec, plan.schedule
    heads = -(-spec.head // PIECE) * PIECE + plan.values.b.extent
    pairs = plan.warp_m * schedule.block_n
    softmax = pairs // WARP_SIZE // 2 * PAIR_INSTRUCTIONS + len(plan.values.sums)
    rate = _rate(plan, device)
    loaded = schedule.block_n * (spec.head + spec.out_head) * spec.dtype.itemsize
    work = Work(
        num_warps=plan.num_threads // WARP_SIZE,
        registers=0,
        shared_bytes=plan.shared_bytes,
        product_clocks=schedule.block_m * schedule.block_n * heads / rate,
        shared_traffic=plan.pipeline.stage_bytes,
        instructions=softmax + LOOP_INSTRUCTIONS,
        # A warp alternates between products and exponentials.
        warp_clocks=pairs * heads / (rate / PARTITIONS) + softmax,
        loaded_bytes=loaded,
        in_flight_bytes=(schedule.num_stages - 1) * loaded,
    )
    if isinstance(plan, WgmmaAttentionPlan):
        return _by_warpgroups(plan, work)
    assert isinstance(plan, MmaAttentionPlan)
    return _by_warps(plan, work, heads)


def _by_warps(plan: MmaAttentionPlan, work: Work, heads: int) -> Work:
    """Add what loads and products by mma.sync take: each warp reads all keys and values."""
    products, loads = _products(plan, heads)
    copies = sum(len(operand.copy.units) for operand in plan.operands)
    return replace(
        work,
        registers=plan.held_registers + BASE_REGISTERS,
        shared_traffic=work.shared_traffic * (1 + work.num_warps),
        instructions=work.instructions + products + loads + COPY_INSTRUCTIONS * copies,
    )


def _rate(plan: TensorCoreAttentionPlan, device: Device) -> int:
    if isinstance(plan, WgmmaAttentionPlan):
        return device.wgmma_fmas
    return device.f32_fmas if isinstance(plan.schedule, FmaAttention) else device.f16_fmas


def _products(plan: MmaAttentionPlan, heads: int) -> tuple[int, int]:
    """Return the instructions of a warp that multiply a block, and those that load operands."""
    if plan.by_lanes:
        products, loads = 0, plan.schedule.block_n * len(plan.rows)
        for by_lanes in (plan.scores, plan.values):
            assert isinstance(by_lanes, LaneProducts)
            count, step = len(by_lanes.k_steps), by_lanes.step(by_lanes.k_steps[0])
            products, loads = products + count * len(step.mmas), loads + count * len(step.loads)
        return products, loads
    products = plan.warp_m * plan.schedule.block_n * heads
    nbytes = plan.schedule.block_n * heads * plan.spec.dtype.itemsize
    return (
        products // (MMA_SHAPE * plan.value_instruction.depth),
        nbytes // (WARP_SIZE * MAX_ACCESS_BYTES),
    )


def _by_warpgroups(plan: WgmmaAttentionPlan, work: Work) -> Work:
    """Add what products by wgmma take: each consumer reads its queries, all keys and all values.

    The producer has few instructions; the average of all warps is counted.
    """
    products = len(plan.score_products.steps) + len(plan.value_products.steps)
    instructions = work.instructions + WGMMA_INSTRUCTIONS * products
    alone = plan.registers is None
    return replace(
        work,
        registers=plan.held_registers + ADDRESS_REGISTERS
        if alone
        else 65536 // plan.num_threads // 8 * 8,
        shared_traffic=work.shared_traffic * (1 + plan.schedule.consumers) + plan.queries.nbytes,
        instructions=instructions * plan.schedule.consumers // (1 + plan.schedule.consumers),
        tile_overhead=ASYNC_OVERHEAD + TILE_OVERHEAD,
    )
