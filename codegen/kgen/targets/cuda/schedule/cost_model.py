"""Predicted time of a matmul schedule: for each wave of CTAs, the clocks of its busiest unit.

A wave is the CTAs that all SMs hold at once. It takes the longest of these terms, and a part of the
others, all in clocks:

- products: multiply-adds over the rate of the tensor cores (or of the fma units)
- shared: bytes written to and read from shared memory
- issue: instructions over the rate of the schedulers
- latency: the time of one warp for its K-tiles, which only other warps can hide
- l2: bytes of the tiles over the bandwidth or, if few are in flight, the latency (Little's law)
- dram: bytes that are not in L2 when they are needed
- reduction: with split-k, the launch and the traffic of the kernel that adds parts; in one kernel,
  or with stream-k, the traffic of parts and the wait for them

A wave begins with a memory latency and ends with the stores of its outputs. The model ranks
schedules; it does not claim their times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from kgen.schedule import (
    FmaMatmul,
    GemvMatmul,
    GpuMatmul,
    MmaMatmul,
    PromotedMatmul,
    PromotedWgmmaMatmul,
    SplitMatmul,
    WgmmaMatmul,
)
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.cuda.devices import (
    L2_BYTES_PER_SM_CLOCK,
    MEMORY_LATENCY,
    PARTITIONS,
    SHARED_BYTES_PER_CLOCK,
    Device,
    device_of,
)
from kgen.targets.cuda.plan.reduction.k_slices import F32_BYTES, SplitSchedule, part_spec
from kgen.targets.cuda.plan.reduction.last_arriving import is_last_arriving, together
from kgen.targets.cuda.plan.wgmma.launch import cluster_tile
from kgen.targets.cuda.schedule.occupancy import ctas_per_sm
from kgen.targets.cuda.schedule.work import Work, fma_work, gemv_work, mma_work, sums_of
from kgen.targets.epilogue import FusedEpilogue
from kgen_runtime.values import frozen

#: Clocks of a launch, and clocks in which a CTA computes its addresses and zeroes accumulators.
LAUNCH_CLOCKS, SETUP_CLOCKS = 3000, 300
#: Number of CTAs on an SM that keeps every unit busy. A power of two makes divisions by it exact.
MANY_CTAS = 1 << 16
#: Part of every other term that adds to the longest one, because units wait for one another. This
#: is a guess, which only decides between schedules with equal longest terms.
SHOWING = 0.1


@frozen
class Prediction:
    """Predicted `seconds`, and the clocks of each term summed over the waves. An SM holds
    `ctas_per_sm` at once."""

    seconds: float
    waves: float
    ctas_per_sm: int
    registers: int
    terms: Mapping[str, float]

    @property
    def bound(self) -> str:
        """Name of the largest term."""
        return max(self.terms, key=lambda name: self.terms[name])


def predict(spec: Matmul, target: Target, schedule: GpuMatmul) -> Prediction:
    if isinstance(schedule, SplitSchedule) and schedule.split_k > 1:
        parts = _predict(part_spec(spec, schedule), target, schedule, whole=spec)
        device = device_of(target)
        clocks = _reduction_clocks(spec, device, schedule)
        return replace(
            parts,
            seconds=parts.seconds + clocks / device.clock,
            terms={**parts.terms, "reduction": clocks},
        )
    return _predict(spec, target, schedule, whole=spec)


@frozen
class TileClocks:
    """Lower bounds of the clocks of a K-tile, for all schedules of a tile.

    `busy` has the clocks of each unit of an SM, which its CTAs share; the last one is L2. `latency`
    and `fetch` (with two stages) pass for all CTAs of the SM at once.
    """

    busy: tuple[float, ...]
    latency: float
    fetch: float


def tile_clocks(spec: Matmul, target: Target, schedule: GpuMatmul) -> TileClocks:
    """Return the bounds of a schedule's tile."""
    if isinstance(schedule, PromotedMatmul | PromotedWgmmaMatmul):
        schedule = replace(schedule, promote_k=spec.k)  # a part of k may need no promotion
    device = device_of(target)
    work = _work(spec, target, device, schedule, spec)
    terms = _terms(1, device, work)
    latency = terms.pop("latency")(1)
    return TileClocks(
        busy=tuple(term(MANY_CTAS) / MANY_CTAS for term in terms.values()),
        latency=latency,
        fetch=MEMORY_LATENCY * work.loaded_bytes * _under_way(schedule) / work.in_flight_bytes,
    )


def least_seconds(spec: Matmul, target: Target, schedule: GpuMatmul, tile: TileClocks) -> float:
    """Return a lower bound of the predicted seconds of a schedule that fits an SM.

    The bound has the work of the busiest SM without latencies, and the reduction.
    """
    device = device_of(target)
    blocks, tiles = _blocks(spec, schedule), -(-spec.k // schedule.block_k)
    inputs = sum(p.nbytes for p in spec.parameters if p.name in ("a", "b"))
    waves, reduction = 1.0, 0.0
    if isinstance(schedule, SplitSchedule) and schedule.split_k > 1:
        blocks, tiles = blocks * schedule.split_k, -(-tiles // schedule.split_k)
        reduction = _reduction_clocks(spec, device, schedule)
        inputs = spec.batch * (spec.m + spec.n) * spec.k * spec.dtype.itemsize
    busiest = float(-(-blocks // device.sms))
    if isinstance(schedule, SplitMatmul | WgmmaMatmul) and schedule.stream_k:
        waves, busiest = min(1.0, blocks / schedule.num_workgroups), blocks / device.sms
        runs_on = isinstance(schedule, WgmmaMatmul)
        reduction = _parts_clocks(schedule, blocks, schedule.num_workgroups, device, runs_on)
    *units, l2 = (busiest * tiles * clocks for clocks in tile.busy)
    fetch = waves * tiles * tile.fetch / _under_way(schedule)
    dram = inputs / device.dram_per_clock
    busy = _overlapped([*units, max(l2, fetch), waves * tiles * tile.latency, dram])
    start = waves * (SETUP_CLOCKS + MEMORY_LATENCY)
    return (LAUNCH_CLOCKS + start + busy + reduction) / device.clock


def _under_way(schedule: GpuMatmul) -> int:
    """Return the stages that are loaded while one is multiplied."""
    return max(1, schedule.num_stages - 1)


def _reduction_clocks(spec: Matmul, device: Device, schedule: SplitSchedule) -> float:
    adds = _last_arriving_clocks if is_last_arriving(schedule) else _sum_clocks
    return adds(spec, device, schedule)


def second_kernel_clocks(device: Device, nbytes: int) -> float:
    """Return the clocks of a kernel that joins parts and moves `nbytes` between its CTAs and L2."""
    return LAUNCH_CLOCKS + 2 * MEMORY_LATENCY + nbytes / device.l2_per_clock


def _sum_clocks(spec: Matmul, device: Device, schedule: SplitSchedule) -> float:
    """Return the clocks of the kernel that adds parts, which are in L2; its CTAs wait for them
    once."""
    nbytes = spec.batch * spec.m * spec.n * (F32_BYTES * schedule.split_k + spec.out.itemsize)
    return second_kernel_clocks(device, nbytes)


def _last_arriving_clocks(spec: Matmul, device: Device, schedule: SplitSchedule) -> float:
    """Return the clocks after the products of a block tile's last CTA.

    The CTA stores its part and increments the counter, loads all parts, as many at a time as
    registers hold, and stores the outputs.
    """
    split = schedule.split_k
    waits = 2 + -(-split // together(sums_of(schedule), split))
    tiles = -(-_blocks(spec, schedule) // device.sms)
    nbytes = tiles * split * schedule.block_m * schedule.block_n * F32_BYTES
    rate = min(L2_BYTES_PER_SM_CLOCK, device.l2_per_clock / device.sms)
    return waits * MEMORY_LATENCY + nbytes / rate + _store_clocks(spec, schedule, device, tiles)


def _predict(spec: Matmul, target: Target, schedule: GpuMatmul, whole: Matmul) -> Prediction:
    """Predict the time of a product; it may consist of split-k slices of `whole`, whose operands
    are read."""
    device = device_of(target)
    work = _work(spec, target, device, schedule, whole)
    blocks = _blocks(spec, schedule)
    dram = _dram_bytes(spec, schedule, device, _slots(work, device))
    tiles = -(-spec.k // schedule.block_k)
    found = predict_work(
        work, device, blocks, tiles, dram, lambda ctas: _store_clocks(spec, schedule, device, ctas)
    )
    if not work.streams:
        return found
    slots = _slots(work, device)
    reduction = _parts_clocks(schedule, blocks, slots, device, work.runs_on)
    return replace(
        found,
        seconds=found.seconds + reduction / device.clock,
        terms={**found.terms, "reduction": reduction},
    )


def predict_work(
    work: Work,
    device: Device,
    blocks: int,
    tiles: int,
    dram_bytes: float,
    output_clocks: Callable[[int], float],
) -> Prediction:
    """Predict the time of `blocks` CTAs of `tiles` K-tiles each. `output_clocks` maps the number of
    CTAs on an SM to the clocks in which it stores their outputs."""
    slots = _slots(work, device)
    held = _waves(blocks, slots, device, work)
    terms = _terms(tiles, device, work)
    dram = dram_bytes / device.dram_per_clock
    clocks = float(LAUNCH_CLOCKS)
    totals = dict.fromkeys(terms, 0.0) | {"dram": dram, "output": 0.0, "reduction": 0.0}
    for waves, ctas in held:
        if not waves:
            continue
        own = {name: term(ctas) for name, term in terms.items()}
        output = output_clocks(ctas)
        for name, value in (own | {"output": output}).items():
            totals[name] += waves * value
        own["dram"] = dram * ctas / sum(count * each for count, each in held)
        clocks += _wave_clocks(own, output, work, waves)
    return Prediction(
        seconds=clocks / device.clock,
        waves=blocks / slots,
        ctas_per_sm=max(1, _occupancy(work, device)),
        registers=work.registers,
        terms=totals,
    )


def _slots(work: Work, device: Device) -> int:
    """Return the CTAs that run at once."""
    slots = max(1, _occupancy(work, device)) * device.sms
    return min(slots, work.persistent_ctas or slots)


def _waves(blocks: int, slots: int, device: Device, work: Work) -> list[tuple[float, int]]:
    """Return pairs: a number of waves, and the CTAs that the busiest SM has in them.

    CTAs that share the last block tiles end at the same time, inside a wave.
    """
    whole, rest = divmod(blocks, slots)
    if work.streams:
        return [(blocks / slots, -(-slots // device.sms))]
    return [(whole, -(-slots // device.sms)), (min(1, rest), -(-rest // device.sms))]


def _parts_clocks(
    schedule: GpuMatmul, blocks: int, ctas: int, device: Device, runs_on: bool
) -> float:
    """Return the clocks that stream-k adds.

    Each CTA stores at most one part of a block tile to L2, and waits for one part of another CTA,
    or for several if there are more CTAs than block tiles. If its ring does not run on, it starts
    again.
    """
    parts = 1 + -(-ctas // blocks)
    nbytes = -(-ctas // device.sms) * schedule.block_m * schedule.block_n * F32_BYTES
    again = 0 if runs_on else SETUP_CLOCKS + MEMORY_LATENCY
    return again + parts * (MEMORY_LATENCY + nbytes / (L2_BYTES_PER_SM_CLOCK / 2))


def _blocks(spec: Matmul, schedule: GpuMatmul) -> int:
    """Return the number of CTAs, or of block tiles of persistent CTAs, in whole clusters."""
    if isinstance(schedule, WgmmaMatmul):
        return schedule.cluster * block_tiles(spec, *cluster_tile(schedule)).total
    return block_tiles(spec, schedule.block_m, schedule.block_n).total


def _wave_clocks(own: dict[str, float], output: float, work: Work, waves: float) -> float:
    """Return the clocks of `waves` waves; `own` has the clocks of each term of one wave. Persistent
    CTAs whose ring continues across block tiles start once and store during the next one."""
    start = SETUP_CLOCKS + MEMORY_LATENCY
    if not work.runs_on:
        return waves * (_overlapped(own.values()) + start + output + work.turn_clocks)
    busy = _overlapped([*own.values(), output])
    turn = max(0.0, (work.turn_clocks - busy) / 2) if work.takes_turns else work.turn_clocks
    return start + output + waves * (busy + turn)


def _overlapped(terms: Iterable[float]) -> float:
    """Return the longest term, plus a part of the others."""
    values = list(terms)
    return max(values) + SHOWING * (sum(values) - max(values))


def _terms(tiles: int, device: Device, work: Work) -> dict[str, Callable[[int], float]]:
    """Return the terms of a wave as functions of the CTAs on the busiest SM; each CTA has `tiles`
    K-tiles."""
    l2_rate = min(L2_BYTES_PER_SM_CLOCK, device.l2_per_clock / device.sms)

    def products(ctas: int) -> float:
        busy = min(1.0, ctas * work.num_warps / PARTITIONS)
        return tiles * ctas * work.product_clocks / busy

    def l2(ctas: int) -> float:
        rate = min(l2_rate, ctas * work.in_flight_bytes / MEMORY_LATENCY)
        port = work.port_bytes / L2_BYTES_PER_SM_CLOCK
        return tiles * ctas * max(work.loaded_bytes / rate, port)

    return {
        "products": products,
        "shared": lambda ctas: tiles * ctas * work.shared_traffic / SHARED_BYTES_PER_CLOCK,
        "issue": lambda ctas: tiles * ctas * work.num_warps * work.instructions / PARTITIONS,
        "latency": lambda ctas: tiles * (work.tile_overhead + work.warp_clocks),
        "l2": l2,
    }


def _store_clocks(spec: Matmul, schedule: GpuMatmul, device: Device, ctas: int) -> float:
    """Return the clocks of a wave's outputs and addends through the SM's port to L2, and to DRAM if
    L2 cannot hold all tensors."""
    tensors, total = _tensors(spec)
    beyond = device.l2_per_clock if total <= device.l2_bytes else device.dram_per_clock
    outputs = min(schedule.block_m, spec.m) * min(schedule.block_n, spec.n)
    nbytes = ctas * outputs * spec.out.itemsize * tensors
    return nbytes / min(L2_BYTES_PER_SM_CLOCK / 2, beyond / device.sms)


@lru_cache(maxsize=64)
def _tensors(spec: Matmul) -> tuple[int, int]:
    """Return the number of outputs and addends of the output's shape, and the bytes of all
    tensors."""
    return 1 + len(FusedEpilogue(spec=spec).full), sum(p.nbytes for p in spec.parameters)


def _occupancy(work: Work, device: Device) -> int:
    """Return the number of CTAs that one SM holds."""
    return min(ctas_per_sm(device, work.num_warps, work.registers, work.shared_bytes).values())


def _dram_bytes(spec: Matmul, schedule: GpuMatmul, device: Device, wave: int) -> float:
    """Return the bytes that are read from DRAM: the inputs once if they fit in L2, else the parts
    of A and B that each wave's CTAs need, in the order of the raster."""
    itemsize = spec.dtype.itemsize
    inputs = sum(p.nbytes for p in spec.parameters if p.name in ("a", "b"))
    if inputs <= device.l2_bytes:
        return float(inputs)
    tiles = block_tiles(spec, schedule.block_m, schedule.block_n)
    if isinstance(schedule, WgmmaMatmul | SplitMatmul) and schedule.num_workgroups:
        tall = schedule.cluster_m if isinstance(schedule, WgmmaMatmul) else 1
        high = float(min(tiles.rows, schedule.group_m * tall))
        wide = min(float(tiles.cols), wave / high)
    else:
        wide = float(min(tiles.cols, wave))
        high = min(tiles.rows, max(1.0, wave / tiles.cols))
    each = (high * schedule.block_m + wide * schedule.block_n) * spec.k * itemsize
    return max(float(inputs), each * tiles.total / (wide * high))


def _work(spec: Matmul, target: Target, device: Device, schedule: GpuMatmul, whole: Matmul) -> Work:
    if isinstance(schedule, MmaMatmul):
        return mma_work(spec, target, device, schedule, whole)
    if isinstance(schedule, WgmmaMatmul):
        from kgen.targets.cuda.schedule.wgmma_work import wgmma_work

        return wgmma_work(spec, device, schedule)
    if isinstance(schedule, GemvMatmul):
        return gemv_work(spec, device, schedule)
    assert isinstance(schedule, FmaMatmul)
    return fma_work(spec, device, schedule)
