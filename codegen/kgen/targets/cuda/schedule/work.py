"""Work of a CTA per K-tile, as the cost model counts it."""

from __future__ import annotations

from kgen.schedule import (
    FmaMatmul,
    GemvMatmul,
    GpuMatmul,
    MmaMatmul,
    SplitK,
    SplitMatmul,
    WgmmaMatmul,
)
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.devices import MEMORY_LATENCY, PARTITIONS, SHARED_BYTES_PER_CLOCK, Device
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.gemv_limits import registers_of
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, matrices
from kgen.targets.cuda.plan.mma.fragments import is_gathered, is_paired
from kgen.targets.cuda.plan.mma.instruction import MatrixInstruction, instruction_of
from kgen.targets.cuda.plan.mma.launch import ticket_bytes
from kgen.targets.cuda.plan.mma.limits import registers_held as loop_registers
from kgen.targets.cuda.plan.mma.products import promotion
from kgen.targets.cuda.plan.reduction.last_arriving import registers_held
from kgen_runtime.values import frozen

#: Clocks per K-tile of a barrier, a wait and the first loads after it.
TILE_OVERHEAD = 60
#: Instructions of a skinny GEMM's loop beside loads and products, and registers beside operands and
#: accumulators.
GEMV_LOOP_INSTRUCTIONS, GEMV_REGISTERS = 6, 24


@frozen
class Work:
    """Work of one CTA per K-tile, and the resources that it holds.

    - `loaded_bytes` are read from L2; `port_bytes` pass through the SM's port.
    - `turn_clocks` pass between the last K-tile and the next block tile; with `takes_turns`,
      another warpgroup multiplies during them.
    - `persistent_ctas`: number of persistent CTAs, or 0. With `runs_on`, they load the next block
      tile while they store. With `streams`, they share the block tiles of the last, partial wave.
    """

    num_warps: int
    registers: int
    shared_bytes: int
    product_clocks: float
    shared_traffic: int
    instructions: int
    warp_clocks: float
    loaded_bytes: int
    in_flight_bytes: int
    port_bytes: int = 0
    tile_overhead: int = TILE_OVERHEAD
    turn_clocks: float = 0.0
    takes_turns: bool = False
    persistent_ctas: int = 0
    runs_on: bool = False
    streams: bool = False


def loaded_bytes(spec: Matmul, schedule: GpuMatmul) -> int:
    """Return the bytes of both tiles that are inside of the matrices."""
    of_a = min(schedule.block_m, spec.m) * spec.dtype.itemsize
    of_b = min(schedule.block_n, spec.n) * spec.b_type.itemsize
    return (of_a + of_b) * min(schedule.block_k, spec.k)


def gemv_work(spec: Matmul, device: Device, schedule: GemvMatmul) -> Work:
    """Return the work of a skinny GEMM.

    Each iteration waits for memory; only other warps hide that. An element of B is converted once
    and multiplied by every row.
    """
    vector = MAX_ACCESS_BYTES // spec.b_type.itemsize
    warps = schedule.num_threads // WARP_SIZE
    elements = schedule.block_n * schedule.block_k // schedule.num_threads
    converted, of_a = (0 if dtype is DType.F32 else 1 for dtype in (spec.b_type, spec.dtype))
    arithmetic = elements * (spec.m + converted) + spec.m * vector * of_a
    loads = elements // vector
    instructions = arithmetic + loads + spec.m + GEMV_LOOP_INSTRUCTIONS
    return Work(
        num_warps=warps,
        registers=registers_of(spec, schedule) + GEMV_REGISTERS,
        shared_bytes=warps * spec.m * schedule.block_n * 4,
        product_clocks=schedule.num_threads * arithmetic / device.f32_fmas,
        shared_traffic=0,
        instructions=instructions,
        warp_clocks=arithmetic * WARP_SIZE / (device.f32_fmas / PARTITIONS),
        loaded_bytes=loaded_bytes(spec, schedule),
        in_flight_bytes=schedule.num_threads * loads * MAX_ACCESS_BYTES,
        tile_overhead=MEMORY_LATENCY,
    )


#: Registers beside accumulators, fragments and staging. The resulting count is within 12 of
#: ptxas's; a test compares them.
BASE_REGISTERS = 36
#: Registers beside accumulators and parts that are added to them.
ADDING_REGISTERS = 16
#: Registers for CTAs that share block tiles. ptxas uses up to 20, and spills if the loop leaves
#: fewer than 32 (warp tiles of 64x64 in 8 warps).
SHARING_REGISTERS = 32
#: Instructions of a guarded copy: its address, the test of its row's mask, and the copy.
GUARDED_INSTRUCTIONS = 5
#: Instructions of the loop over k beside products, loads and copies.
LOOP_INSTRUCTIONS = 28


def num_workgroups_of(schedule: GpuMatmul) -> int:
    """Return the number of persistent CTAs; 0 if each CTA has one block tile."""
    return schedule.num_workgroups if isinstance(schedule, SplitMatmul | WgmmaMatmul) else 0


def sums_of(schedule: GpuMatmul) -> int:
    """Return the accumulators of a thread."""
    if isinstance(schedule, MmaMatmul):
        return schedule.warp_m * schedule.warp_n // WARP_SIZE
    assert isinstance(schedule, FmaMatmul)
    return schedule.thread_m * schedule.thread_n


def _with_parts(schedule: GpuMatmul, registers: int) -> int:
    """Return the registers of the loop over k and of sharing block tiles, or of adding parts after
    the loop if those are more."""
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
    # Rates are for elements of two bytes. 3xtf32 multiplies three times.
    rate = device.f16_fmas * 2 / (2 if instruction.made_of_f16 else itemsize)
    rate /= 3 if instruction.splits else 1
    staging = 0
    for matrix, nbytes in zip(matrices(whole), tiles, strict=True):
        # A wide copy is about three instructions, with its 64-bit address.
        units = nbytes // (threads * matrix.aligned_bytes)
        instructions += (3 if matrix.access.is_affine else GUARDED_INSTRUCTIONS) * units
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
        persistent_ctas=num_workgroups_of(schedule),
        streams=streams,
    )


def _fragment_instructions(
    spec: Matmul, schedule: MmaMatmul, instruction: MatrixInstruction
) -> int:
    """Return the instructions that load a tile's fragments, 16 bytes per lane or 4 if gathered, and
    that round them or separate pairs."""
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
        # A load of any width takes a clock, even if all lanes read the same bytes.
        shared_traffic=stage + warps * depth * max(read, loads * SHARED_BYTES_PER_CLOCK),
        instructions=depth * (sums + loads)
        + 2 * stage // (schedule.num_threads * MAX_ACCESS_BYTES)
        + LOOP_INSTRUCTIONS,
        warp_clocks=sums * depth * WARP_SIZE / (device.f32_fmas / PARTITIONS),
        loaded_bytes=loaded,
        in_flight_bytes=loaded,
    )
