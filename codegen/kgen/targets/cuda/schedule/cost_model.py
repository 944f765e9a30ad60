"""How long a matmul schedule takes, as far as counting tells: the busiest unit of each wave.

A wave is what all SMs hold at once. Its length is that of the longest of its terms, and a little of
the others, all in clocks:

- products: multiply-adds over the rate of the tensor cores (or of the fma units)
- shared: bytes written to and read from shared memory
- issue: instructions over what the schedulers issue
- latency: one warp's way through its k tiles, which only other warps can hide
- l2: bytes of the tiles, over bandwidth or, if less is in flight, over latency (Little's law)
- dram: bytes that are not in L2 when they are wanted
- reduction: launching the kernel that adds the parts of a split k, and its traffic; in one
  kernel, or with stream-k, the traffic of parts, and waiting for them

and it starts with a memory latency and ends with storing its outputs. Nothing here is a claim: the
model ranks schedules, and its terms say why.
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

#: Clocks in which a launch starts, and in which a CTA finds its addresses and zeroes sums.
LAUNCH_CLOCKS, SETUP_CLOCKS = 3000, 300
#: So many CTAs on an SM that none of its units waits; a power of two, which rounds nothing.
MANY_CTAS = 1 << 16
#: What units wait for one another: this part of a term that is not the longest adds to it. It is
#: a guess, which decides only between schedules with equal longest terms.
SHOWING = 0.1


@frozen
class Prediction:
    """`seconds`, and each term's clocks summed over the waves; `ctas_per_sm` fit an SM at once."""

    seconds: float
    waves: float
    ctas_per_sm: int
    registers: int
    terms: Mapping[str, float]

    @property
    def bound(self) -> str:
        """The largest term."""
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
    """No more than one K-tile of a block tile takes in any schedule of a tile: `busy` are clocks of
    units of an SM, which CTAs share, l2 last; `latency` and `fetch` (with one more stage than one)
    pass for each of its CTAs at once."""

    busy: tuple[float, ...]
    latency: float
    fetch: float


def tile_clocks(spec: Matmul, target: Target, schedule: GpuMatmul) -> TileClocks:
    """Return the clocks of a schedule's tile."""
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
    """No more than `predict` says of a schedule that fits an SM: the work of the busiest SM, as if
    nothing were late, and the reduction."""
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
    """Stages that are loaded while one is multiplied."""
    return max(1, schedule.num_stages - 1)


def _reduction_clocks(spec: Matmul, device: Device, schedule: SplitSchedule) -> float:
    adds = _last_arriving_clocks if is_last_arriving(schedule) else _sum_clocks
    return adds(spec, device, schedule)


def _sum_clocks(spec: Matmul, device: Device, schedule: SplitSchedule) -> float:
    """The kernel that adds parts: they are in L2, and its CTAs wait for them once."""
    nbytes = spec.batch * spec.m * spec.n * (F32_BYTES * schedule.split_k + spec.out.itemsize)
    return LAUNCH_CLOCKS + 2 * MEMORY_LATENCY + nbytes / device.l2_per_clock


def _last_arriving_clocks(spec: Matmul, device: Device, schedule: SplitSchedule) -> float:
    """Behind the products of a block tile's last CTA: its part is stored, then counted; then all
    parts come, as many at a time as registers hold, and the outputs go out."""
    split = schedule.split_k
    waits = 2 + -(-split // together(sums_of(schedule), split))
    tiles = -(-_blocks(spec, schedule) // device.sms)
    nbytes = tiles * split * schedule.block_m * schedule.block_n * F32_BYTES
    rate = min(L2_BYTES_PER_SM_CLOCK, device.l2_per_clock / device.sms)
    return waits * MEMORY_LATENCY + nbytes / rate + _store_clocks(spec, schedule, device, tiles)


def _predict(spec: Matmul, target: Target, schedule: GpuMatmul, whole: Matmul) -> Prediction:
    """Predict the time of a product, or of parts of a `whole` one, whose operands are read."""
    device = device_of(target)
    work = _work(spec, target, device, schedule, whole)
    blocks = _blocks(spec, schedule)
    per_sm = max(1, _occupancy(work, device))
    slots = min(per_sm * device.sms, work.persistent_ctas or per_sm * device.sms)
    held = _waves(blocks, slots, device, work)
    terms = _terms(-(-spec.k // schedule.block_k), device, work)
    dram = _dram_bytes(spec, schedule, device, slots) / device.dram_per_clock
    clocks = float(LAUNCH_CLOCKS)
    totals = dict.fromkeys(terms, 0.0) | {"dram": dram, "output": 0.0, "reduction": 0.0}
    for waves, ctas in held:
        if not waves:
            continue
        own = {name: term(ctas) for name, term in terms.items()}
        output = _store_clocks(spec, schedule, device, ctas)
        for name, value in (own | {"output": output}).items():
            totals[name] += waves * value
        own["dram"] = dram * ctas / sum(count * each for count, each in held)
        clocks += _wave_clocks(own, output, work, waves)
    if work.streams:
        totals["reduction"] = _parts_clocks(schedule, blocks, slots, device, work.runs_on)
        clocks += totals["reduction"]
    return Prediction(
        seconds=clocks / device.clock,
        waves=blocks / slots,
        ctas_per_sm=per_sm,
        registers=work.registers,
        terms=totals,
    )


def _waves(blocks: int, slots: int, device: Device, work: Work) -> list[tuple[float, int]]:
    """How many waves have so many CTAs on the busiest SM. CTAs that share the last block tiles
    all end at once, inside a wave."""
    whole, rest = divmod(blocks, slots)
    if work.streams:
        return [(blocks / slots, -(-slots // device.sms))]
    return [(whole, -(-slots // device.sms)), (min(1, rest), -(-rest // device.sms))]


def _parts_clocks(
    schedule: GpuMatmul, blocks: int, ctas: int, device: Device, runs_on: bool
) -> float:
    """Each CTA leaves a part of a block tile in L2 and waits for one of another's, at most, or for
    more where CTAs are more than block tiles; if its ring does not run on, it starts once more."""
    parts = 1 + -(-ctas // blocks)
    nbytes = -(-ctas // device.sms) * schedule.block_m * schedule.block_n * F32_BYTES
    again = 0 if runs_on else SETUP_CLOCKS + MEMORY_LATENCY
    return again + parts * (MEMORY_LATENCY + nbytes / (L2_BYTES_PER_SM_CLOCK / 2))


def _blocks(spec: Matmul, schedule: GpuMatmul) -> int:
    """CTAs, or tiles of persistent ones; a cluster is whole."""
    if isinstance(schedule, WgmmaMatmul):
        return schedule.cluster * block_tiles(spec, *cluster_tile(schedule)).total
    return block_tiles(spec, schedule.block_m, schedule.block_n).total


def _wave_clocks(own: dict[str, float], output: float, work: Work, waves: float) -> float:
    """Waves in which each term takes so long. Persistent CTAs whose ring runs on start once and
    store meanwhile."""
    start = SETUP_CLOCKS + MEMORY_LATENCY
    if not work.runs_on:
        return waves * (_overlapped(own.values()) + start + output + work.turn_clocks)
    busy = _overlapped([*own.values(), output])
    turn = max(0.0, (work.turn_clocks - busy) / 2) if work.takes_turns else work.turn_clocks
    return start + output + waves * (busy + turn)


def _overlapped(terms: Iterable[float]) -> float:
    """The longest term, and a part of the others."""
    values = list(terms)
    return max(values) + SHOWING * (sum(values) - max(values))


def _terms(tiles: int, device: Device, work: Work) -> dict[str, Callable[[int], float]]:
    """Clocks of a wave with so many CTAs on the busiest SM, by term; each has so many K-tiles."""
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
    """Outputs of a wave, and addends, through the SM's port to L2 and, if that cannot hold all
    tensors, to DRAM."""
    tensors, total = _tensors(spec)
    beyond = device.l2_per_clock if total <= device.l2_bytes else device.dram_per_clock
    outputs = min(schedule.block_m, spec.m) * min(schedule.block_n, spec.n)
    nbytes = ctas * outputs * spec.out.itemsize * tensors
    return nbytes / min(L2_BYTES_PER_SM_CLOCK / 2, beyond / device.sms)


@lru_cache(maxsize=64)
def _tensors(spec: Matmul) -> tuple[int, int]:
    """Number of outputs and addends with the output's shape, and bytes of all tensors."""
    return 1 + len(FusedEpilogue(spec=spec).full), sum(p.nbytes for p in spec.parameters)


def _occupancy(work: Work, device: Device) -> int:
    """CTAs that one SM holds."""
    return min(ctas_per_sm(device, work.num_warps, work.registers, work.shared_bytes).values())


def _dram_bytes(spec: Matmul, schedule: GpuMatmul, device: Device, wave: int) -> float:
    """Inputs once if they fit in L2; else what each wave's CTAs, n first or in groups of rows, need
    of A and B."""
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
