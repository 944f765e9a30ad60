"""Operands of products by warpgroups: tiles of A and B in a stage, and the warpgroup of each
sum."""

from __future__ import annotations

import dataclasses

from kgen.schedule import WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.batch import BATCH
from kgen.targets.cuda.plan.matrix import matrices
from kgen.targets.cuda.plan.mma.instruction import warpgroup_instruction_of
from kgen.targets.cuda.plan.mma.products import promotion
from kgen.targets.cuda.plan.staging.tma import TmaOperand
from kgen.targets.cuda.plan.wgmma.limits import free_registers
from kgen.targets.cuda.plan.wgmma.products import WgmmaProducts


def plan_products(spec: Matmul, whole: Matmul, schedule: WgmmaMatmul) -> WgmmaProducts:
    """Return the products of a warpgroup.

    `spec` may consist of split-k slices of the product `whole`, whose operands are read. `obstacle`
    must have accepted the product. Reduced-precision sums share registers if the schedule leaves
    too few for all.
    """
    instruction = warpgroup_instruction_of(spec)
    assert instruction is not None, "there is no obstacle"
    products = WgmmaProducts(
        instruction=instruction,
        operands=_operands(whole, schedule),
        rows=schedule.rows,
        columns=schedule.columns,
        depth=schedule.block_k,
        swapped=schedule.swap,
        promoted=promotion(spec, schedule) > 0,
    )
    fits = products.registers_held <= free_registers(schedule)
    return products if fits else dataclasses.replace(products, in_turn=products.promoted)


def _operands(spec: Matmul, schedule: WgmmaMatmul) -> tuple[TmaOperand, TmaOperand]:
    a, b = matrices(spec)
    first = TmaOperand(
        matrix=a,
        batch=((BATCH, spec.batch),),
        extent=schedule.block_m,
        depth=schedule.block_k,
        base=0,
        shares=schedule.cluster_n,
    )
    return first, TmaOperand(
        matrix=b,
        batch=((BATCH, spec.batch),),
        extent=schedule.block_n,
        depth=schedule.block_k,
        base=first.nbytes,
        shares=schedule.cluster_m,
    )
