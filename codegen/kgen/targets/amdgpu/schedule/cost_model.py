"""Predicted time of a matmul schedule: for each round of workgroups, the clocks of the busiest
unit.

A round is the workgroups that all CUs hold at once. It takes the longest of these terms, and a part
of the others, all in clocks, for the workgroups of the busiest CU:

- products: multiply-adds over the rate of the matrix (or vector) units
- lds: bytes written to and read from LDS
- l1: bytes of the tiles, which pass through the vector L1 cache
- latency: the time of one workgroup for its K-tiles, which only others can hide. In the plain main
  loop all waves store a tile, wait at a barrier, read fragments and multiply, one after the other.
  In the ping-pong loop one half of the waves moves data while the other multiplies
- l2: bytes of all tiles; fabric: bytes that no workgroups of a die share; dram: bytes that no
  workgroups of the device share (traffic.py)

A round begins with a memory latency and ends with the stores of its outputs. If workgroups share K
(plan/matmul/shared_k.py), a round has the K-tiles of a share. After it, parts of sums are stored,
published, counted and loaded; each of these takes a memory latency.

Nothing has been measured on an AMD device. LDS moves 128 bytes per clock (256 for reads on gfx950)
and L1 moves 64 (CDNA3 and CDNA4 white papers; RDNA3 manual). The assumed latencies are 64 clocks of
LDS and 600 of memory. The non-overlapped parts agree with an in-order timeline of the compiled
loops for 128x128x32 on gfx942. The model ranks schedules; it does not claim their times.
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
#: Bytes per clock of LDS reads by the number of banks, if they are faster than writes: gfx950.
WIDE_LDS_READS = {64: 256}
LDS_LATENCY, MEMORY_LATENCY = 64, 600
#: Part of the other terms that adds to the longest one, because units wait for one another. Latency
#: is not among these terms, because it consists of the others.
PLAIN_NON_OVERLAPPED, PING_PONG_NON_OVERLAPPED = 0.19, 0.01
#: Clocks to write back and invalidate an L2 for the other dies. This is a guess.
L2_FENCE_CLOCKS = 2000
#: Clocks of a launch, and clocks in which a workgroup computes its addresses.
LAUNCH_CLOCKS, SETUP_CLOCKS = 5000, 300
#: Registers of a lane beside accumulators, fragments and elements in transit to LDS.
BASE_REGISTERS = 32
WORD = 4
#: Bytes of a partial sum in a workspace.
SUM_BYTES = 4
TERMS = ("products", "lds", "l1", "latency", "l2", "fabric", "dram", "output", "parts")
#: SIMDs of a CU. A CU of RDNA has two of twice the width, with the same rate in all.
SIMDS = 4


@frozen
class Prediction:
    """Predicted `seconds`, and the clocks of each term summed over the rounds.

    `busy` is the part of the time in which CUs have work, if all workgroups take equally long.
    """

    seconds: float
    rounds: float
    per_unit: float
    busy: float
    terms: Mapping[str, float]

    @property
    def bound(self) -> str:
        """Name of the largest term."""
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
    """Return the workgroups that a CU holds."""
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
        # Fragments of a wave for one step of k; code generation double-buffers them.
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
    """Return the factor by which products take longer if some SIMDs of a CU have no wave."""
    return max(1.0, SIMDS / waves)


def _per_unit(target: Target, *, registers: int, lds: int, threads: int) -> float:
    """Return the workgroups that a CU holds, by the rules of occupancy; a WGP counts as two CUs."""
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
    """Yield the clocks of a round's traffic from L2, into L2 and from DRAM."""
    asked = held * (schedule.block_m + schedule.block_n) * spec.k * spec.dtype.itemsize
    missed = traffic.die_bytes(spec, schedule, held, device.dies)
    new = traffic.device_bytes(spec, schedule, held)
    if cut is not None:
        # Each workgroup reads its share of K at a depth of its own; whole block tiles follow.
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

    `whole` is the number of K-tiles of whole block tiles among them. All workgroups together store
    `parts` partial tiles of `nbytes` each; one block tile has `together` of them.
    """

    workgroups: int
    tiles: int
    whole: int
    parts: int
    together: int
    nbytes: int

    def clocks(self, device: Device, held: int, on_one: float) -> float:
        """Return the clocks to store parts and to load them for the sums, by one CU or by all.

        Shares are equal, so all workgroups store their last parts at the same time. Earlier parts
        are stored at different times.
        """
        share = held / self.workgroups
        of_one = on_one * (self.parts / self.workgroups + self.together) * self.nbytes
        at_once = min(self.parts, self.workgroups) + self.parts
        of_all = share * at_once * self.nbytes / (device.fabric or device.dram)
        fences = 4 * MEMORY_LATENCY + (L2_FENCE_CLOCKS if device.dies > 1 else 0)
        return max(of_one / L1_BYTES_PER_CLOCK, of_all * device.clock) + fences


def _cut(spec: Matmul, schedule: GpuMatmul, blocks: int) -> SharedK | None:
    """Return how a schedule divides K; None if it does not."""
    if not (isinstance(schedule, SharedMatmul) and schedule.cuts_k):
        return None
    each = step_tiles(schedule)
    steps = blocks * -(-spec.k // (schedule.block_k * each))
    workgroups = schedule.num_workgroups or blocks * schedule.split_k
    shared = cut_blocks(blocks, workgroups, Shares.waits)
    parts = shared * schedule.split_k
    if schedule.stream_k:
        # A share that does not end with a block tile cuts it.
        parts = shared + workgroups - math.gcd(shared, workgroups)
    return SharedK(
        workgroups=workgroups,
        tiles=-(-steps // workgroups) * each,
        whole=(blocks - shared) // workgroups,
        parts=parts,
        together=-(-parts // shared),
        nbytes=schedule.block_m * schedule.block_n * SUM_BYTES,
    )
