"""What a CTA does for one tile along k if its threads copy tiles to shared memory, as the model of
run time counts it: mma.sync and scalar multiply-adds."""

from __future__ import annotations

from kgen.schedule import FmaMatmul, GpuMatmul, MmaMatmul, SplitK, SplitMatmul, WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.devices import PARTITIONS, SHARED_BYTES_PER_CLOCK, Device
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.matmul import matrices
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.mma.fragments import is_gathered, is_paired
from kgen.targets.cuda.plan.mma.instruction import MatrixInstruction, instruction_of
from kgen.targets.cuda.plan.mma.launch import ticket_bytes
from kgen.targets.cuda.plan.mma.limits import registers_held as loop_registers
from kgen.targets.cuda.plan.mma.products import promotion
from kgen.targets.cuda.plan.reduction.last_arriving import registers_held
from kgen.targets.cuda.schedule.work import Work, loaded_bytes

#: Registers beside accumulators, fragments and staging, in what ptxas makes of these kernels; with
#: it the count is within 12 of ptxas's (a test compares them).
BASE_REGISTERS = 36
#: The same beside sums and parts that are added to them.
ADDING_REGISTERS = 16
#: Registers for CTAs that share block tiles: up to 20 in what ptxas makes of them, and it spills
#: where the loop leaves fewer than 32 (warp tiles of 64x64 in 8 warps).
SHARING_REGISTERS = 32
#: Instructions of the loop over k beside products, loads and copies.
LOOP_INSTRUCTIONS = 28


def num_ctas_of(schedule: GpuMatmul) -> int:
    """Of CTAs that stay; 0 if each has a block tile."""
    return schedule.num_ctas if isinstance(schedule, SplitMatmul | WgmmaMatmul) else 0


def sums_of(schedule: GpuMatmul) -> int:
    """Of a thread."""
    if isinstance(schedule, MmaMatmul):
        return schedule.warp_m * schedule.warp_n // WARP_SIZE
    assert isinstance(schedule, FmaMatmul)
    return schedule.thread_m * schedule.thread_n


def _with_parts(schedule: GpuMatmul, registers: int) -> int:
    """The registers of the loop over k and of sharing block tiles, or of adding parts behind it if
    that takes more."""
    if isinstance(schedule, SplitMatmul) and schedule.stream_k:
        return registers + SHARING_REGISTERS
    if not (isinstance(schedule, SplitK) and schedule.one_kernel):
        return registers
    return max(registers, registers_held(sums_of(schedule), schedule.split_k) + ADDING_REGISTERS)


def mma_work(
    spec: Matmul, target: Target, device: Device, schedule: MmaMatmul, whole: Matmul
) -> Work:
    depth, itemsize = schedule.block_k, spec.dtype.itemsize
    threads = schedule.num_warps * WARP_SIZE
    tiles = [block * depth * itemsize for block in (schedule.block_m, schedule.block_n)]
    stage = sum(tiles)
    fragments = (schedule.warp_m + schedule.warp_n) * depth * itemsize
    sums = schedule.warp_m * schedule.warp_n
    instruction = instruction_of(spec, target)
    assert instruction is not None
    products = instruction.products * depth // instruction.step
    instructions = sums // (16 * 8) * products + LOOP_INSTRUCTIONS
    instructions += _fragment_instructions(spec, schedule, instruction)
    if interval := promotion(spec, schedule):
        instructions += sums // WARP_SIZE * depth // interval
    # Rates are those of two bytes; three products of the same operands take three times as long.
    rate = device.f16_fmas * 2 / (2 if instruction.made_of_f16 else itemsize)
    rate /= 3 if instruction.splits else 1
    staging = 0
    for matrix, nbytes in zip(matrices(whole), tiles, strict=True):
        # A wide copy takes about three instructions, its 64-bit address included.
        instructions += 3 * nbytes // (threads * matrix.aligned_bytes)
        if not matrix.is_asynchronous(target):
            staging += nbytes // threads // min(4, matrix.aligned_bytes)
    loaded = loaded_bytes(spec, schedule)
    streams = isinstance(schedule, SplitMatmul) and schedule.stream_k
    return Work(
        num_warps=schedule.num_warps,
        registers=_with_parts(
            schedule, loop_registers(spec, schedule, instruction, target) + staging + BASE_REGISTERS
        ),
        shared_bytes=schedule.num_stages * stage + ticket_bytes(schedule),
        product_clocks=schedule.block_m * schedule.block_n * depth / rate,
        shared_traffic=stage + schedule.num_warps * fragments,
        instructions=instructions,
        warp_clocks=sums * depth / (rate / PARTITIONS),
        loaded_bytes=loaded,
        in_flight_bytes=(schedule.num_stages - 1) * loaded,
        persistent_ctas=num_ctas_of(schedule),
        streams=streams,
    )


def _fragment_instructions(
    spec: Matmul, schedule: MmaMatmul, instruction: MatrixInstruction
) -> int:
    """Loads of a tile's fragments, 16 bytes per lane each or 4 where they are gathered, and what
    rounding or parting them takes."""
    count = 0
    for matrix, extent in zip(matrices(spec), (schedule.warp_m, schedule.warp_n), strict=True):
        words = extent * schedule.block_k * instruction.itemsize // (4 * WARP_SIZE)
        count += words if is_gathered(matrix.k_inner, instruction) else words // 4
        count += words * (instruction.rounds + 3 * instruction.splits)
        count += words * is_paired(matrix.k_inner, instruction)
    return count


def fma_work(spec: Matmul, device: Device, schedule: FmaMatmul) -> Work:
    depth, itemsize = schedule.block_k, 4
    stage = (schedule.block_m + schedule.block_n) * depth * itemsize
    sums = schedule.thread_m * schedule.thread_n
    warps = schedule.num_threads // WARP_SIZE
    across = min(WARP_SIZE, schedule.block_n // schedule.thread_n)
    read = (WARP_SIZE // across * schedule.thread_m + across * schedule.thread_n) * itemsize
    loads = -(-schedule.thread_m // 4) + -(-schedule.thread_n // 4)
    loaded = loaded_bytes(spec, schedule)
    return Work(
        num_warps=warps,
        registers=_with_parts(
            schedule,
            sums
            + schedule.thread_m
            + schedule.thread_n
            + stage // schedule.num_threads // itemsize
            + BASE_REGISTERS,
        ),
        shared_bytes=schedule.num_stages * stage,
        product_clocks=schedule.block_m * schedule.block_n * depth / device.f32_fmas,
        # A load of any width takes a clock even if all lanes want the same bytes.
        shared_traffic=stage + warps * depth * max(read, loads * SHARED_BYTES_PER_CLOCK),
        instructions=depth * (sums + loads)
        + 2 * stage // (schedule.num_threads * MAX_ACCESS_BYTES)
        + LOOP_INSTRUCTIONS,
        warp_clocks=sums * depth * WARP_SIZE / (device.f32_fmas / PARTITIONS),
        loaded_bytes=loaded,
        in_flight_bytes=loaded,
    )
