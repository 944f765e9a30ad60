"""How long a matmul schedule takes, as far as counting tells: the busiest unit of a CU.

A round is what all CUs hold at once. Its length is that of the longest of its terms, and a little
of the others, all in clocks, for the workgroups of the busiest CU:

- products: multiply-adds over the rate of the matrix (or vector) units
- lds: bytes written to and read from LDS
- l1: bytes of the tiles, as they come through the vector L1 cache
- latency: one workgroup's way through its K-tiles, which only others can hide. In the plain main
  loop all waves store a tile, meet, read fragments and multiply, one after the other; in the
  ping-pong loop one half of the waves moves data while the other multiplies
- l2, fabric, dram: bytes of all tiles; those that no workgroup of a die, and none of the device,
  shares with another of its round (traffic.py)

and it starts with a memory latency and ends with storing its outputs. Where workgroups share k
(plan/matmul/shared_k.py) a round's tiles along k are those of a share, and behind it parts of sums
are stored, published, counted and loaded, each of which takes a memory latency.

Assumptions, none of them measured, for no AMD device was at hand. LDS moves 128 bytes per clock
(256 for reads on gfx950) and L1 64 (CDNA3 and CDNA4 white papers; RDNA3 manual). A latency is 64
clocks of LDS and 600 of memory. The non-overlapped fractions give what an in-order timeline of the
compiled loops says of 128x128x32 on gfx942: matrix units busy 73 % of the time in the plain loop,
and 99 % in the ping-pong loop. So the model ranks schedules, and its terms say why; it claims no
times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kgen.schedule import FmaMatmul, GpuMatmul, MmaMatmul, PingPongMatmul, SharedMatmul
from kgen.spec import Math, Matmul
from kgen.targets.amdgpu.devices import Device, device_of
from kgen.targets.amdgpu.occupancy import occupancy
from kgen.targets.amdgpu.plan.matmul.shared_k import Shares, step_tiles
from kgen.targets.amdgpu.schedule import traffic
from kgen.targets.base import Target
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.contraction.shared_steps import cut_blocks
from kgen_runtime.manifest import Launch, Resources
from kgen_runtime.values import frozen

LDS_BYTES_PER_CLOCK, L1_BYTES_PER_CLOCK = 128, 64
#: Of gfx950, whose LDS reads are twice as wide.
WIDE_LDS_READS = {64: 256}
LDS_LATENCY, MEMORY_LATENCY = 64, 600
#: What units wait for one another: this part of the terms that are not the longest adds to it,
#: without latency, which is made of the others.
PLAIN_NON_OVERLAPPED, PING_PONG_NON_OVERLAPPED = 0.19, 0.01
#: To write back an L2 and to invalidate it, for the other dies. A guess.
L2_FENCE_CLOCKS = 2000
#: Clocks in which a launch starts, and in which a workgroup finds its addresses.
LAUNCH_CLOCKS, SETUP_CLOCKS = 5000, 300
#: Registers of a lane beside sums, fragments and what is on its way to LDS.
BASE_REGISTERS = 32
WORD = 4
#: Of a sum in a workspace.
SUM_BYTES = 4
TERMS = ("products", "lds", "l1", "latency", "l2", "fabric", "dram", "output", "parts")
#: Of a CU. One of RDNA has two of twice the width, which take as much at a time.
SIMDS = 4


@frozen
class Prediction:
    """`seconds`, and each term's clocks summed over the rounds. `busy` is the part of all CUs' time
    in which they have work, if each workgroup takes as long as any other."""

    seconds: float
    rounds: float
    per_unit: float
    busy: float
    terms: Mapping[str, float]

    @property
    def bound(self) -> str:
        """The largest term."""
        return max(self.terms, key=lambda name: self.terms[name])


@frozen
class Work:
    """Clocks of a CU's units per workgroup and K-tile, and the resources that a workgroup holds."""

    waves: int
    products: float
    lds: float
    l1: float
    alone: float
    """From one K-tile to the next, if no other workgroup is there."""
    non_overlapped: float
    per_unit: float
    """Workgroups that fit a CU."""


def predict(spec: Matmul, target: Target, schedule: GpuMatmul) -> Prediction:
    device = device_of(target)
    work = _work(spec, target, schedule)
    tiles = -(-spec.k // schedule.block_k)
    blocks = block_tiles(spec, schedule.block_m, schedule.block_n).total
    slots = max(1, int(work.per_unit * device.units))
    cut = _cut(spec, schedule, blocks)
    if cut is not None:
        blocks, tiles = cut.workgroups, cut.tiles
    whole, rest = divmod(blocks, slots)
    output = schedule.block_m * schedule.block_n * spec.out.itemsize / L1_BYTES_PER_CLOCK
    totals = dict.fromkeys(TERMS, 0.0)
    clocks = float(LAUNCH_CLOCKS)
    for count, held in ((whole, slots), (min(1, rest), rest)):
        if not count:
            continue
        on_one = max(1.0, min(held / device.units, work.per_unit))
        on_one = float(-(-held // device.units)) if held < slots else on_one
        terms = {
            "products": tiles * on_one * work.products * _idle_simds(on_one * work.waves),
            "lds": tiles * on_one * work.lds,
            "l1": tiles * on_one * work.l1,
            "latency": tiles * work.alone,
            **dict(_memory_clocks(spec, schedule, device, held, cut)),
        }
        units = [value for name, value in terms.items() if name != "latency"]
        waits = work.non_overlapped * (sum(units) - max(units))
        busy = max(max(units) + waits, terms["latency"])
        ends = {"output": on_one * output}
        if cut is not None:
            ends["parts"] = cut.clocks(device, held, on_one)
        clocks += count * (busy + SETUP_CLOCKS + 2 * MEMORY_LATENCY + sum(ends.values()))
        for name, value in (terms | ends).items():
            totals[name] += count * value
    return Prediction(
        seconds=clocks / device.clock,
        rounds=blocks / slots,
        per_unit=work.per_unit,
        busy=blocks / (device.units * -(-blocks // device.units)),
        terms=totals,
    )


def per_unit(spec: Matmul, target: Target, schedule: GpuMatmul) -> float:
    """Workgroups that fit a CU."""
    return _work(spec, target, schedule).per_unit


def _work(spec: Matmul, target: Target, schedule: GpuMatmul) -> Work:
    device = device_of(target)
    m, n, depth = schedule.block_m, schedule.block_n, schedule.block_k
    itemsize = spec.dtype.itemsize
    loaded = (m + n) * depth * itemsize
    if isinstance(schedule, MmaMatmul):
        rate = device.flops["tf32" if spec.math is Math.TF32 else str(spec.dtype)]
        waves = schedule.num_warps
        read = waves * (schedule.warp_m + schedule.warp_n) * depth * itemsize
        # A wave's fragments of one step along k, double-buffered by code generation.
        fragments = (schedule.warp_m + schedule.warp_n) * 16 * itemsize // (target.subgroup * WORD)
    else:
        assert isinstance(schedule, FmaMatmul)
        rate = device.flops["f32"]
        waves = -(-schedule.num_threads // target.subgroup)
        across = min(target.subgroup, n // schedule.thread_n)
        down = max(1, target.subgroup // across)
        read = waves * (down * schedule.thread_m + across * schedule.thread_n) * depth * WORD
        fragments = schedule.thread_m + schedule.thread_n
    reads = WIDE_LDS_READS.get(target.limits["lds_banks"], LDS_BYTES_PER_CLOCK)
    products = 2 * m * n * depth / rate
    by_one = products * _idle_simds(waves)
    lds = loaded / LDS_BYTES_PER_CLOCK + read / reads
    lanes = waves * target.subgroup
    alternates = isinstance(schedule, PingPongMatmul)
    alone = lds if alternates else by_one + lds + 2 * LDS_LATENCY
    return Work(
        waves=waves,
        products=products,
        lds=lds,
        l1=loaded / L1_BYTES_PER_CLOCK,
        alone=max(alone, MEMORY_LATENCY),
        non_overlapped=PING_PONG_NON_OVERLAPPED if alternates else PLAIN_NON_OVERLAPPED,
        per_unit=_per_unit(
            target,
            registers=m * n // lanes + 2 * fragments + loaded // (lanes * WORD) + BASE_REGISTERS,
            lds=schedule.num_stages * loaded,
            threads=lanes,
        ),
    )


def _idle_simds(waves: float) -> float:
    """How much longer products take where there is no wave for each of a CU's SIMDs."""
    return max(1.0, SIMDS / waves)


def _per_unit(target: Target, *, registers: int, lds: int, threads: int) -> float:
    """Workgroups that a CU holds, by the rules of occupancy; a WGP's are those of two CUs."""
    held = occupancy(
        target,
        Resources(
            registers=min(registers, target.limits["registers"]), spills=0, shared_memory=lds
        ),
        Launch(entry_point="", grid=(1, 1, 1), block=(threads, 1, 1), arguments=()),
    )
    return held.workgroups / (2 if held.holder == "WGP" else 1)


def _memory_clocks(
    spec: Matmul, schedule: GpuMatmul, device: Device, held: int, cut: SharedK | None
) -> Iterator[tuple[str, float]]:
    """Yield, for one round of workgroups, the clocks of traffic from L2, into L2 and from DRAM."""
    asked = held * (schedule.block_m + schedule.block_n) * spec.k * spec.dtype.itemsize
    missed = traffic.die_bytes(spec, schedule, held, device.dies)
    new = traffic.device_bytes(spec, schedule, held)
    if cut is not None:
        # Each has its share of k, at a depth that no other is at; behind it whole block tiles.
        whole = cut.whole * asked
        shared = asked * cut.tiles * schedule.block_k // spec.k - whole
        asked = whole + shared
        missed = cut.whole * missed + shared
        new = cut.whole * new + min(new, shared)
    if device.rates.l2:
        yield "l2", asked * device.clock / device.rates.l2
    if device.fabric:
        yield "fabric", missed * device.clock / device.fabric
    else:
        new = missed
    yield "dram", new * device.clock / device.dram


@frozen
class SharedK:
    """Shares of K: `workgroups` workgroups have at most `tiles` K-tiles each.

    `whole` is the number of K-tiles of whole block tiles among them. The workgroups leave `parts`
    partial tiles of `nbytes` each in all, `together` of one block tile.
    """

    workgroups: int
    tiles: int
    whole: int
    parts: int
    together: int
    nbytes: int

    def clocks(self, device: Device, held: int, on_one: float) -> float:
        """To store parts, and to load them for the sums: by one CU, or by all of them. Shares are
        alike and end together, each with a part; a part before it ends when no other does."""
        share = held / self.workgroups
        of_one = on_one * (self.parts / self.workgroups + self.together) * self.nbytes
        at_once = min(self.parts, self.workgroups) + self.parts
        of_all = share * at_once * self.nbytes / (device.fabric or device.dram)
        fences = 4 * MEMORY_LATENCY + (L2_FENCE_CLOCKS if device.dies > 1 else 0)
        return max(of_one / L1_BYTES_PER_CLOCK, of_all * device.clock) + fences


def _cut(spec: Matmul, schedule: GpuMatmul, blocks: int) -> SharedK | None:
    """How a schedule cuts k; None if it does not."""
    if not (isinstance(schedule, SharedMatmul) and schedule.cuts_k):
        return None
    each = step_tiles(schedule)
    steps = blocks * -(-spec.k // (schedule.block_k * each))
    workgroups = schedule.num_workgroups or blocks * schedule.split_k
    shared = cut_blocks(blocks, workgroups, Shares.waits)
    parts = shared * schedule.split_k
    if schedule.stream_k:
        # Each end of a share that is not one of a block tile's cuts one.
        parts = shared + workgroups - math.gcd(shared, workgroups)
    return SharedK(
        workgroups=workgroups,
        tiles=-(-steps // workgroups) * each,
        whole=(blocks - shared) // workgroups,
        parts=parts,
        together=-(-parts // shared),
        nbytes=schedule.block_m * schedule.block_n * SUM_BYTES,
    )
