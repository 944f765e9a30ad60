"""Candidates for attention on matrix instructions, and their predicted time.

A block of keys has the clocks of both products, of the vector instructions of the softmax, and of
LDS. Those of the softmax do not overlap with the products of the same wave; those of other waves
of the SIMD do, except on RDNA, where matrix and vector instructions share the unit. In ping-pong,
the overlap is nearly complete, but half of the waves begin half a block late. No measurement has
corrected the model, which ranks schedules and does not claim their times.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kgen.errors import ScheduleError
from kgen.schedule import FmaAttention, MmaAttention, PingPongAttention
from kgen.spec import Attention
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.devices import Device, device_of
from kgen.targets.amdgpu.occupancy import occupancy
from kgen.targets.amdgpu.plan.attention.matrix_attention import (
    BASE_REGISTERS,
    PING_PONG_STAGES,
    instruction_of,
    tiles_of,
)
from kgen.targets.amdgpu.plan.attention.wave_tiles import AttentionTiles
from kgen.targets.amdgpu.schedule.cost_model import (
    L1_BYTES_PER_CLOCK,
    LAUNCH_CLOCKS,
    LDS_BYTES_PER_CLOCK,
    MEMORY_LATENCY,
    PING_PONG_NON_OVERLAPPED,
    PLAIN_NON_OVERLAPPED,
    SETUP_CLOCKS,
    SIMDS,
)
from kgen.targets.amdgpu.schedule.filling import SPLITS
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.attention.key_parts import STATE_BYTES, matrices_of, packing_fills_blocks
from kgen.targets.attention.weights import weight_dtype
from kgen.targets.base import Candidate, Target
from kgen.targets.powers_of_two import power_of_two
from kgen_runtime.launch_limits import amdgpu_limits
from kgen_runtime.manifest import Launch, Resources

#: Queries of a wave, waves, and keys of a block.
WAVE_QUERIES, WAVES, BLOCKS_OF_KEYS = (16, 32, 64), (1, 2, 4, 8), (16, 32, 64, 128)
#: Queries of a wave whose lanes multiply: those of an instruction, and more.
LANE_QUERIES = (8, 16, 32)
#: Vector instructions per score: an exponential, which counts as four; half of a maximum, of a
#: multiply-add and of a sum; and the rounding.
SCORE_INSTRUCTIONS = 7.0
#: Vector instructions of a wave per block of keys: addresses, copies, barriers.
BLOCK_INSTRUCTIONS = 100
#: Instructions per register of K or V that is copied to LDS: its part of a load, of a store, and
#: of V's transposition.
COPY_INSTRUCTIONS = 1.5
#: Clocks per block of keys in which a wave waits for barriers and LDS.
BLOCK_CLOCKS = 200
#: Clocks of a vector instruction of a wave, by its lanes.
VECTOR_CLOCKS = {64: 4, 32: 1}
#: Waves of a workgroup in ping-pong: two on each SIMD.
PING_PONG_WAVES = 2 * SIMDS
#: Keys of a block in ping-pong: fewer do not pay for the barriers, which both halves wait for.
PING_PONG_KEYS = (64, 128)
#: Registers of a lane that all vector instructions can name.
VECTOR_REGISTERS = 256
#: Most waves of a workgroup in which some have no queries.
IDLE_WAVES = 8


def candidates(spec: Attention, target: Target) -> tuple[Candidate[MmaAttention], ...]:
    """Return all schedules that fit, the fastest first."""
    tried = (each for schedule in _space(spec, target) for each in _split(spec, target, schedule))
    return tuple(sorted(tried, key=lambda each: each.seconds))


def _split(
    spec: Attention, target: Target, schedule: MmaAttention
) -> Iterator[Candidate[MmaAttention]]:
    """Yield the schedule if it fits; also with divided keys, if CUs have room for more
    workgroups."""
    matrices, device = matrices_of(spec, schedule), device_of(target)
    blocks = matrices.count * -(-matrices.rows // schedule.block_m)
    for split in (1, *SPLITS):
        found = predicted(spec, target, replace(schedule, split_k=split))
        if found is not None:
            yield found
            per_unit = found.notes["workgroups/CU"]
            assert isinstance(per_unit, float)
            slots = int(per_unit * device.units)
            if blocks >= slots or blocks * split > slots:
                return


def choose(spec: Attention, target: Target) -> MmaAttention:
    """Return the schedule with the least predicted time.

    Raises ScheduleError if the target's limits allow none.
    """
    found = candidates(spec, target)
    if not found:
        tiles_of(spec, target, _smallest(spec, target))
    return found[0].schedule


def least_keys(spec: Attention, target: Target) -> int:
    """Return the keys of the smallest block."""
    return _smallest(spec, target).block_n


def _smallest(spec: Attention, target: Target) -> MmaAttention:
    """Return the first schedule whose tiles a matrix instruction divides."""
    for schedule in _space(spec, target):
        with contextlib.suppress(ScheduleError):
            instruction_of(spec, target, schedule)
            return schedule
    raise AssertionError(target.name)


def _space(spec: Attention, target: Target) -> Iterator[MmaAttention]:
    by_lane = matrix.of_attention(target, spec.dtype)[0].by_lane
    kinds = [FmaAttention if by_lane else MmaAttention]
    if target.has("mfma"):
        kinds.append(PingPongAttention)
    for kind in kinds:
        yield from _tiles(spec, spec.queries, kind)
        for tile in _tiles(spec, spec.group * spec.queries, kind):
            if packing_fills_blocks(spec, tile.block_m):
                yield replace(tile, packs_heads=True)


def _tiles(spec: Attention, matrix_rows: int, kind: type[MmaAttention]) -> Iterator[MmaAttention]:
    wave_queries = LANE_QUERIES if kind is FmaAttention else WAVE_QUERIES
    queries = max(wave_queries[0], power_of_two(matrix_rows))
    alternates = kind is PingPongAttention
    blocks = PING_PONG_KEYS if alternates else BLOCKS_OF_KEYS
    wave_counts = (PING_PONG_WAVES,) if alternates else WAVES
    stages = PING_PONG_STAGES if alternates else 1
    for keys, rows, waves in itertools.product(blocks, wave_queries, wave_counts):
        # Waves without queries still copy keys and values.
        is_larger = rows > queries or rows * waves > max(queries, IDLE_WAVES * rows)
        if is_larger or keys >= 2 * max(64, power_of_two(spec.keys)):
            continue
        yield kind(block_m=rows * waves, block_n=keys, num_warps=waves, num_stages=stages)


def predicted(
    spec: Attention, target: Target, schedule: MmaAttention
) -> Candidate[MmaAttention] | None:
    """Return the schedule with its prediction; None if it does not fit."""
    try:
        tiles = tiles_of(spec, target, schedule)
    except ScheduleError:
        return None
    device = device_of(target)
    registers = tiles.held_registers + BASE_REGISTERS
    if registers > most_registers(target, schedule.num_warps):
        return None  # it would spill
    launch = Launch(
        entry_point="",
        grid=(1, 1, 1),
        block=(schedule.num_warps * target.subgroup, 1, 1),
        arguments=(),
    )
    held = occupancy(
        target,
        Resources(registers=registers, spills=0, shared_memory=tiles.lds_bytes),
        launch,
    )
    per_unit = held.workgroups / (2 if held.holder == "WGP" else 1)
    matrices = matrices_of(spec, schedule)
    blocks = matrices.count * -(-matrices.rows // schedule.block_m)
    together = min(per_unit, max(1.0, blocks / device.units))
    terms = _clocks(tiles, device, together)
    rounds = math.ceil(blocks / (device.units * together))
    queries = min(schedule.block_m, spec.queries) if matrices.packs_heads else schedule.block_m
    keys = spec.pairs / spec.queries + (queries / 2 if spec.limits_keys else 0)
    steps = math.ceil(min(keys, spec.keys) / schedule.block_n)
    steps = max(1, math.ceil(steps / matrices.parts))
    alternates = isinstance(schedule, PingPongAttention)
    busy = rounds * (steps + alternates / 2) * _together(terms, alternates)
    totals = {name: rounds * steps * value for name, value in terms.items()}
    totals["dram"] = device.clock * sum(p.nbytes for p in spec.parameters) / device.dram
    start = LAUNCH_CLOCKS + rounds * (SETUP_CLOCKS + 2 * MEMORY_LATENCY)
    clocks = start + max(busy, totals["dram"])
    if matrices.is_split:
        totals["parts"] = _combination_clocks(matrices, device)
        clocks += totals["parts"]
    return Candidate(
        schedule=schedule,
        seconds=clocks / device.clock,
        terms=totals,
        notes={
            "bound": max(totals, key=lambda name: totals[name]),
            "rounds": rounds,
            "workgroups/CU": per_unit,
            "registers": registers,
        },
    )


def _combination_clocks(matrices: HeadMatrices, device: Device) -> float:
    """Return the clocks of the kernel that combines the parts, whose results are in caches."""
    rows = matrices.count * matrices.rows
    nbytes = rows * (matrices.spec.out_head * matrices.output.out.itemsize + STATE_BYTES)
    moved = nbytes / (device.units * L1_BYTES_PER_CLOCK)
    return LAUNCH_CLOCKS + SETUP_CLOCKS + 2 * MEMORY_LATENCY + moved


def _together(terms: Mapping[str, float], alternates: bool) -> float:
    """Return the clocks of a block of keys, with the waits of units for each other."""
    units = [value for name, value in terms.items() if name != "latency"]
    part, waits = PLAIN_NON_OVERLAPPED, 0.0
    if alternates:  # each half waits at the barriers of both
        part, waits = PING_PONG_NON_OVERLAPPED, 2 * BLOCK_CLOCKS
    waits += part * (sum(units) - max(units))
    return max(max(units) + waits, terms["latency"])


def most_registers(target: Target, waves: int) -> int:
    """Return the most registers of a lane with which a workgroup of `waves` waves fits a CU or WGP.

    AccVGPRs of CDNA do not count, because only MFMA can use them.
    """
    launch = amdgpu_limits(target.arch).registers
    assert launch is not None
    of_simd = launch.file // (SIMDS * launch.lanes)
    return min(VECTOR_REGISTERS, of_simd // -(-waves // SIMDS))


def _clocks(tiles: AttentionTiles, device: Device, together: float) -> dict[str, float]:
    """Return the clocks of a CU's units for a block of keys of `together` workgroups."""
    spec, schedule, wave = tiles.spec, tiles.schedule, tiles.lanes.wave
    itemsize = spec.dtype.itemsize
    head = len(tiles.query_lines) * tiles.instruction.slot_k
    head *= 1 if tiles.instruction.whole_depth else tiles.group_count
    elements = head + len(tiles.out_tiles) * tiles.instruction.m
    waves = schedule.num_warps * together
    simds = min(SIMDS, waves)
    # Per SIMD, for its share of the waves.
    scores = schedule.block_m * schedule.block_n * together / simds
    products = 2 * scores * elements / (device.flops[str(weight_dtype(spec))] / SIMDS)
    of_block = BLOCK_INSTRUCTIONS + COPY_INSTRUCTIONS * tiles.copied_registers
    loaded = schedule.block_n * (spec.head + spec.out_head) * itemsize
    if not tiles.keeps_queries:
        loaded += schedule.block_m * spec.head * itemsize
        of_block += len(tiles.query_lines) * len(tiles.query_tiles)
    vector = waves / simds * of_block * VECTOR_CLOCKS[wave]
    vector += scores / wave * SCORE_INSTRUCTIONS * VECTOR_CLOCKS[wave]
    in_lds = weight_dtype(spec).itemsize
    copied = schedule.block_n * (spec.head + spec.out_head) * in_lds
    read = schedule.num_warps * schedule.block_n * elements * in_lds
    lds = together * (copied + read) / LDS_BYTES_PER_CLOCK
    one_wave = (products + vector) * simds / waves + BLOCK_CLOCKS
    # Matrix and vector instructions of RDNA share a unit.
    units = {"products": products + vector}
    if wave == 64:
        units = {"products": products, "vector": vector}
    return units | {
        "lds": lds,
        "l1": together * loaded / L1_BYTES_PER_CLOCK,
        "latency": max(one_wave, MEMORY_LATENCY),
    }
