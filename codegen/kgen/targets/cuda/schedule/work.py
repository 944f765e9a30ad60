"""What a CTA does for one tile along k, as the model of run time counts it."""

from __future__ import annotations

from kgen.schedule import GemvMatmul, GpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.cuda.devices import MEMORY_LATENCY, PARTITIONS, Device
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.gemv_limits import registers_of
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen_runtime.values import frozen

#: Clocks of a barrier, a wait and the first loads behind it, once per tile.
TILE_OVERHEAD = 60
#: The rest of a loop over k without shared memory, and registers beside its operands and sums.
GEMV_LOOP_INSTRUCTIONS, GEMV_REGISTERS = 6, 24


@frozen
class Work:
    """What one CTA does for one k tile, and what it holds.

    `loaded_bytes` are read from L2, `port_bytes` come in through the SM's port. `turn_clocks` pass
    behind the last k tile before the next block tile begins; with `takes_turns` others multiply
    meanwhile. `persistent_ctas`, if any, take one block tile after another, and load the next one
    while they store if it `runs_on`; where it `streams`, they share what is less than a wave of
    these.
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
    """Bytes of both tiles that lie in the matrices."""
    edge = min(schedule.block_m, spec.m) + min(schedule.block_n, spec.n)
    return edge * min(schedule.block_k, spec.k) * spec.dtype.itemsize


def gemv_work(spec: Matmul, device: Device, schedule: GemvMatmul) -> Work:
    """A few rows: each iteration waits for memory, which only other warps can hide. An element of B
    is converted once and multiplied by every row."""
    vector = MAX_ACCESS_BYTES // spec.dtype.itemsize
    warps = schedule.num_threads // WARP_SIZE
    elements = schedule.block_n * schedule.block_k // schedule.num_threads
    converted = 0 if spec.dtype is DType.F32 else 1
    arithmetic = elements * (spec.m + converted) + spec.m * vector * converted
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
