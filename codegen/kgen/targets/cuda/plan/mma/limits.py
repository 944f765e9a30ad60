"""Limits of a schedule for mma.sync, and the registers that it holds."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import MmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.mma.fragments import FRAGMENT_SETS, PIECE, REGISTERS_PER_PIECE
from kgen.targets.cuda.plan.mma.instruction import MatrixInstruction
from kgen.targets.cuda.plan.mma.products import promotion


def check(
    spec: Matmul,
    schedule: MmaMatmul,
    instruction: MatrixInstruction,
    num_threads: int,
    target: Target,
) -> None:
    """Check that a schedule fits the instruction and the target. Raises ScheduleError."""
    _check_promotion(spec, schedule, instruction)
    cuda_plan.check_powers_of_two(schedule)
    least = {"warp_m": PIECE, "warp_n": PIECE, "block_k": instruction.step}
    for name, limit in least.items():
        value = getattr(schedule, name)
        if value < limit:
            raise ScheduleError(
                f"{name}={value} is less than {limit}, the extent of one ldmatrix; "
                f"try {name}={limit}"
            )
    if schedule.num_stages < 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} leaves no stage to load while another is "
            "multiplied; try num_stages=2"
        )
    most = target.limits["threads_per_block"] // target.subgroup
    warp_m, warp_n = schedule.warp_m, schedule.warp_n
    while (schedule.block_m // warp_m) * (schedule.block_n // warp_n) > most:
        if warp_m < schedule.block_m and (warp_m <= warp_n or warp_n == schedule.block_n):
            warp_m *= 2
        else:
            warp_n *= 2
    cuda_plan.check_threads(num_threads, target, f"warp_m={warp_m},warp_n={warp_n}")


def _check_promotion(spec: Matmul, schedule: MmaMatmul, instruction: MatrixInstruction) -> None:
    interval = promotion(spec, schedule)
    if interval and (schedule.block_k % interval or interval % instruction.step):
        raise ScheduleError(
            f"promote_k={interval} is not a multiple of {instruction.step} that divides "
            f"block_k={schedule.block_k}; try promote_k={min(schedule.block_k, 128)}"
        )


def registers_held(
    spec: Matmul, schedule: MmaMatmul, instruction: MatrixInstruction, target: Target
) -> int:
    """Return the registers for accumulators, all sets of fragments, and the rounding errors of one
    set.

    Promoted sums need registers of their own. An instruction that ptxas composes of f16
    instructions needs two further sets of accumulators.
    """
    sets = min(FRAGMENT_SETS, schedule.block_k // instruction.step)
    fragments = (schedule.warp_m + schedule.warp_n) // PIECE * REGISTERS_PER_PIECE
    accumulators = schedule.warp_m * schedule.warp_n // target.subgroup
    if promotion(spec, schedule):
        accumulators *= 2
    if instruction.made_of_f16:
        accumulators *= 3
    return accumulators + fragments * (sets + instruction.splits)
