"""Work of a CTA per K-tile on wgmma, as the cost model counts it."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.ops import instructions_of, steps
from kgen.schedule import WgmmaMatmul
from kgen.spec import Extent, Matmul
from kgen.targets.cuda.devices import Device
from kgen.targets.cuda.plan.mma.products import promotion
from kgen.targets.cuda.plan.wgmma.fragments import WGMMA_M, transposed_operand
from kgen.targets.cuda.plan.wgmma.limits import WARPGROUP, WARPS, free_registers, shared_bytes
from kgen.targets.cuda.schedule.work import TILE_OVERHEAD, Work, loaded_bytes

#: Clocks per K-tile for barriers and waits. Products of the previous K-tile run during them.
ASYNC_OVERHEAD = 20
#: Instructions for a wgmma with its descriptors, and for the remainder of its loop.
WGMMA_INSTRUCTIONS, RING_INSTRUCTIONS = 6, 20
#: Instructions that load fragments of 64 rows and a step of k to registers, with a wait and a
#: fence.
TRANSPOSING_INSTRUCTIONS = 7
#: Registers beside accumulators in the machine code of ptxas; a test compares the count.
ADDRESS_REGISTERS = 26
#: Clocks from the last product of a block tile to the first of the next one, without the
#: instructions of the outputs.
TURN_LATENCY = 600
#: Instructions that round and store an output, by whether TMA stores it.
STORE_INSTRUCTIONS = {True: 1.25, False: 2.0}
#: Instructions per output of an epilogue's functions, counted in machine code.
FUNCTION_INSTRUCTIONS: Mapping[str, int] = {
    **dict.fromkeys(("add", "sub", "mul", "relu"), 1),
    "gelu": 18,
    "gelu_tanh": 9,
    "silu": 5,
}
#: Instructions per output that load an operand, by its extent. One load may serve several outputs.
LOAD_INSTRUCTIONS = {Extent.N: 0.5, Extent.M: 0.25, Extent.ONE: 0.0, Extent.FULL: 2.0}


def epilogue_instructions(spec: Matmul) -> float:
    """Return the instructions of the epilogue per output. A function that was not counted has as
    many as its expansion has primitives."""
    calls = [step for step in steps(spec.epilogue_calls) if step.arguments]
    computed = (FUNCTION_INSTRUCTIONS.get(c.name) or instructions_of(c) for c in calls)
    return sum(computed) + sum(LOAD_INSTRUCTIONS[o.extent] for o in spec.operands)


def wgmma_work(spec: Matmul, device: Device, schedule: WgmmaMatmul) -> Work:
    """Return the work of a schedule.

    - wgmma reads both operands from shared memory, the right one once for each 64 rows. A
      transposed operand is loaded to registers once.
    - The CTAs of a cluster read one operand from L2 together.
    - Reduced-precision sums are promoted a piece of the tile at a time. During the promotion of the
      last piece, or of all pieces in turn, no product of the same warpgroup runs.
    """
    depth, itemsize = schedule.block_k, spec.dtype.itemsize
    m, n, rows = schedule.block_m, schedule.block_n, schedule.rows
    k_steps = depth * itemsize // 32
    stage = (m + n) * depth * itemsize
    loaded = loaded_bytes(spec, schedule)
    shared = min(n, spec.n) if schedule.cluster_m > 1 else min(m, spec.m)
    others = shared * min(depth, spec.k) * itemsize * (1 - 1 / schedule.cluster)
    threads = (1 + schedule.consumers) * WARPGROUP
    sums = rows * schedule.columns // WARPGROUP
    promotes = promotion(spec, schedule) > 0
    blocks = rows // WGMMA_M
    halves = 2 if promotes and blocks == 1 else 1
    pieces = blocks * halves
    last = sums // pieces if promotes else 0
    rate = device.wgmma_fmas * 2 / itemsize
    transposed = transposed_operand(spec) is not None
    fragments = 4 * k_steps * blocks * transposed
    held = sums * (1 + promotes) + fragments
    if promotes and held > free_registers(schedule):
        # Pieces in turn: no product of this warpgroup runs while a piece is promoted.
        held -= sums - last
        last = sums + (pieces - 1) * TILE_OVERHEAD
    at_once = 1 if schedule.pingpong else schedule.consumers
    outputs = STORE_INSTRUCTIONS[schedule.tma_store]
    outputs += epilogue_instructions(spec)
    alone = schedule.consumers == 1
    return Work(
        num_warps=(1 + schedule.consumers) * WARPS,
        registers=held + ADDRESS_REGISTERS if alone else 65536 // threads // 8 * 8,
        shared_bytes=shared_bytes(schedule, schedule.num_stages, stage),
        product_clocks=m * n * depth / rate,
        shared_traffic=stage
        + at_once
        * (rows * (1 if transposed else halves) + schedule.columns * blocks)
        * depth
        * itemsize,
        instructions=blocks * halves * k_steps * WGMMA_INSTRUCTIONS
        + blocks * k_steps * TRANSPOSING_INSTRUCTIONS * transposed
        + sums * promotes
        + RING_INSTRUCTIONS,
        warp_clocks=rows * schedule.columns * depth / rate,
        loaded_bytes=loaded - int(others),
        port_bytes=loaded,
        in_flight_bytes=(schedule.num_stages - 1) * loaded,
        tile_overhead=TILE_OVERHEAD + last if promotes else ASYNC_OVERHEAD,
        turn_clocks=TURN_LATENCY + sums * outputs * at_once,
        takes_turns=schedule.pingpong,
        persistent_ctas=schedule.num_workgroups,
        runs_on=schedule.num_workgroups > 0,
        streams=schedule.stream_k,
    )
