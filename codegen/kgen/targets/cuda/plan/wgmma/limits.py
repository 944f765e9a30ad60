"""Limits of schedules for wgmma, and the products that wgmma cannot compute."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import WgmmaMatmul
from kgen.spec import Matmul
from kgen.spec.shapes import by_x
from kgen.targets.base import Target
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.epilogue.tma_store import store_bytes
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, Matrix, matrices
from kgen.targets.cuda.plan.mma.instruction import warpgroup_instruction_of
from kgen.targets.cuda.plan.mma.products import promotion
from kgen.targets.cuda.plan.staging.tma import MAX_STRIDE, ROW_BYTES
from kgen.targets.cuda.plan.wgmma.fragments import WGMMA_M
from kgen.targets.cuda.plan.wgmma.products import WgmmaProducts

WARPGROUP = 128
WARPS = WARPGROUP // WARP_SIZE
#: Most columns of one instruction.
MAX_N = 256
BARRIER_BYTES = 8
#: Bytes of a ticket, which follows the barriers: as many as a barrier has.
TICKET_BYTES = BARRIER_BYTES
#: Registers per thread of the producer warpgroup and of consumers, by the number of consumers;
#: multiples of 8 (PTX ISA, "setmaxnreg"). With one consumer, all threads have enough.
REGISTERS = {2: (24, 240), 3: (32, 160)}
MAX_CONSUMERS = 3
#: Registers of a consumer thread for addresses, the ring and the epilogue, beside accumulators.
OTHER_REGISTERS = 32
#: Largest cluster that every GPU with clusters supports (CUDA C++ Programming Guide).
MAX_CLUSTER = 8


def obstacle(spec: Matmul, target: Target) -> str | None:
    """Return the reason why TMA and wgmma cannot multiply these operands; None if they can."""
    if not target.has("wgmma"):
        return f"{target.name} has no wgmma instruction"
    instruction = warpgroup_instruction_of(spec)
    if instruction is None:
        return f"wgmma does not support dtype={spec.dtype} with math={spec.math}"
    if spec.batch_dims is not None:
        return (
            f"a tensor map has one batch stride, and batch_dims={by_x(spec.batch_dims)} needs "
            f"{len(spec.batch_dims)}"
        )
    a, b = matrices(spec)
    if not (a.k_inner or b.k_inner or instruction.either_major):
        return (
            f"wgmma requires {instruction.element} operands with K contiguous, one of which can be "
            f"transposed through registers, and layout={spec.layout} has K contiguous in neither; "
            "layout=nn has K contiguous in a"
        )
    return next((why for why in map(matrix_obstacle, (a, b)) if why is not None), None)


def matrix_obstacle(matrix: Matrix) -> str | None:
    """Return the reason why TMA cannot copy tiles of a matrix; None if it can."""
    if not matrix.access.is_affine:
        return f"operand {matrix.name} is read under guards, and TMA copies tiles of matrices"
    if matrix.aligned_bytes < MAX_ACCESS_BYTES:
        return (
            f"rows of {matrix.name} start at multiples of {matrix.aligned_bytes} bytes, and "
            f"TMA requires multiples of {MAX_ACCESS_BYTES}"
        )
    if matrix.rows > 1 and not matrix.row_stride:
        return f"all rows of {matrix.name} are one, and a tensor map has no stride of 0"
    strides = (matrix.row_stride, *(term.stride for term in matrix.batch_terms))
    if (stride := max(strides)) >= MAX_STRIDE:
        return f"{matrix.name} has a stride of {stride} bytes; TMA requires less than {MAX_STRIDE}"
    return None


def check(spec: Matmul, schedule: WgmmaMatmul, products: WgmmaProducts, target: Target) -> None:
    """Check that a schedule fits. Raises ScheduleError, with a value that fits."""
    depth = ROW_BYTES // spec.dtype.itemsize
    if schedule.block_k != depth:
        raise ScheduleError(
            f"block_k={schedule.block_k} is not {depth}; TMA and wgmma swizzle rows of {ROW_BYTES} "
            f"bytes, which are {depth} elements of {spec.dtype}; try block_k={depth}"
        )
    if schedule.num_stages < 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} leaves no stage to load while another is "
            "multiplied; try num_stages=2"
        )
    if schedule.consumers > MAX_CONSUMERS:
        raise ScheduleError(
            f"consumers={schedule.consumers} is more than {MAX_CONSUMERS}, which leaves each "
            f"warpgroup too few registers; try consumers={MAX_CONSUMERS}"
        )
    _check_sharing(schedule)
    _check_sides(products)
    _check_promotion(spec, schedule)
    _check_tile(schedule, products)
    _check_registers(schedule, products)
    cuda_plan.check_shared(
        schedule,
        sum(operand.nbytes for operand in products.operands) + 2 * BARRIER_BYTES,
        target,
        beside=bytes_beside(schedule),
        instead="block_n=64",
    )


def _check_sharing(schedule: WgmmaMatmul) -> None:
    persistent = -(-132 // schedule.cluster) * schedule.cluster
    if schedule.pingpong and (schedule.consumers != 2 or not schedule.num_workgroups):
        raise ScheduleError(
            "pingpong=1 needs two consumer warpgroups and persistent CTAs; "
            f"consumers={schedule.consumers} and num_workgroups={schedule.num_workgroups}; "
            f"try consumers=2,num_workgroups={schedule.num_workgroups or persistent}"
        )
    if schedule.group_m > 1 and not schedule.num_workgroups:
        raise ScheduleError(
            f"group_m={schedule.group_m} orders the block tiles of persistent CTAs, and "
            f"num_workgroups is 0; try num_workgroups={persistent}"
        )
    for name, size in (("cluster_m", schedule.cluster_m), ("cluster_n", schedule.cluster_n)):
        if size > MAX_CLUSTER or size & (size - 1):
            fits = min(MAX_CLUSTER, 1 << size.bit_length() - 1)
            raise ScheduleError(f"{name}={size} is not 1, 2, 4 or {MAX_CLUSTER}; try {name}={fits}")
    if schedule.cluster_m > 1 and schedule.cluster_n > 1:
        raise ScheduleError(
            f"cluster_m={schedule.cluster_m} and cluster_n={schedule.cluster_n} are both more than "
            "1, and a cluster extends along m or n; try cluster_n=1"
        )
    if schedule.num_workgroups % schedule.cluster:
        multiple = -(-schedule.num_workgroups // schedule.cluster) * schedule.cluster
        raise ScheduleError(
            f"num_workgroups={schedule.num_workgroups} is not a multiple of the {schedule.cluster} "
            f"CTAs of a cluster; try num_workgroups={multiple}"
        )


def _check_sides(products: WgmmaProducts) -> None:
    """Check that wgmma can read the right operand from shared memory. Raises ScheduleError."""
    right = products.right
    if not (right.k_inner or products.instruction.either_major):
        swapped = int(products.swapped)
        raise ScheduleError(
            f"swap={swapped} makes {right.name} the operand for which wgmma requires K contiguous, "
            f"and in {right.name} it is strided; try swap={1 - swapped}"
        )


def _check_promotion(spec: Matmul, schedule: WgmmaMatmul) -> None:
    if (interval := promotion(spec, schedule)) not in (0, schedule.block_k):
        raise ScheduleError(
            f"promote_k={interval} is neither block_k={schedule.block_k} nor k={spec.k} or more; "
            f"try promote_k={schedule.block_k}"
        )


def _check_tile(schedule: WgmmaMatmul, products: WgmmaProducts) -> None:
    rows, columns = ("block_n", "block_m") if schedule.swap else ("block_m", "block_n")
    if schedule.rows % WGMMA_M:
        raise ScheduleError(
            f"{rows}={getattr(schedule, rows)} gives each of {schedule.consumers} consumer "
            f"warpgroups {schedule.rows} rows, which is not a multiple of {WGMMA_M}; "
            f"try {rows}={WGMMA_M * schedule.consumers}"
        )
    for name, operand in zip(("block_m", "block_n"), products.operands, strict=True):
        unit, extent = operand.unit * operand.shares, operand.extent
        most = MAX_N if name == columns else extent
        if extent % unit or extent > most:
            raise ScheduleError(
                f"{name}={extent} is not a multiple of {unit}"
                f"{f' up to {most}' * (name == columns)}; "
                f"try {name}={min(most, max(1, extent // unit) * unit)}"
            )
    if not products.takes(schedule.columns):
        unit = products.right.unit * products.right.shares
        fitting = (n for n in range(schedule.columns, 0, -unit) if products.takes(n))
        pieces = f", {products.width} at a time" if products.promoted else ""
        raise ScheduleError(
            f"{columns}={schedule.columns} is not a width that wgmma supports for "
            f"{products.instruction.element}{pieces}; try {columns}={next(fitting, 2 * unit)}"
        )


def _check_registers(schedule: WgmmaMatmul, products: WgmmaProducts) -> None:
    if (held := products.registers_held) <= (limit := free_registers(schedule)):
        return
    fitting = schedule.columns * limit // held // WGMMA_M * WGMMA_M
    raise ScheduleError(
        f"{schedule.rows} rows of {schedule.columns} columns per consumer warpgroup need {held} "
        f"registers per thread; consumers={schedule.consumers} leaves {limit}; "
        f"try {'block_m' if schedule.swap else 'block_n'}={fitting or WGMMA_M}"
    )


def free_registers(schedule: WgmmaMatmul) -> int:
    """Return the registers of a consumer thread for accumulators and fragments."""
    return REGISTERS.get(schedule.consumers, (0, 255))[1] - OTHER_REGISTERS


def shared_bytes(schedule: WgmmaMatmul, num_stages: int, stage_bytes: int) -> int:
    """Return the bytes of shared memory of a CTA: stages with their two barriers, strips and
    ticket."""
    return num_stages * (stage_bytes + 2 * BARRIER_BYTES) + bytes_beside(schedule)


def bytes_beside(schedule: WgmmaMatmul) -> int:
    """Return the bytes of shared memory for the outputs' strips, and for the ticket of stream-k."""
    return store_bytes(schedule) + (TICKET_BYTES if schedule.stream_k else 0)
