"""How long a matmul schedule takes, as far as counting tells: the busiest unit of a CU.

A round is what all CUs hold at once. Its length is that of the longest of its terms, and a little
of the others, all in clocks, for the workgroups of the busiest CU:

- products: multiply-adds over the rate of the matrix (or vector) units
- lds: bytes written to and read from LDS
- l1: bytes of the tiles, as they come through the vector L1 cache
- latency: one workgroup's way through its K-tiles, which only others can hide. In the plain main
  loop all waves store a tile, meet, read fragments and multiply, one after the other; in the
  ping-pong loop one half of the waves moves data while the other multiplies
- l2, dram: bytes of all tiles, and those that a round of workgroups does not share

and it starts with a memory latency and ends with storing its outputs.

Assumptions, none of them measured, for no AMD device was at hand. LDS moves 128 bytes per clock
(256 for reads on gfx950) and L1 64 (CDNA3 and CDNA4 white papers; RDNA3 manual). A latency is 64
clocks of LDS and 600 of memory. The non-overlapped fractions give what an in-order timeline of the
compiled loops says of 128x128x32 on gfx942: matrix units busy 73 % of the time in the plain loop,
and 99 % in the ping-pong loop. So the model ranks schedules, and its terms say why; it claims no
times.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.schedule import FmaMatmul, GpuMatmul, MmaMatmul, PingPongMatmul
from kgen.spec import Math, Matmul
from kgen.targets.amdgpu.devices import Device, device_of
from kgen.targets.amdgpu.occupancy import occupancy
from kgen.targets.base import Target
from kgen_runtime.manifest import Launch, Resources
from kgen_runtime.values import frozen

LDS_BYTES_PER_CLOCK, L1_BYTES_PER_CLOCK = 128, 64
#: Of gfx950, whose LDS reads are twice as wide.
WIDE_LDS_READS = {64: 256}
LDS_LATENCY, MEMORY_LATENCY = 64, 600
#: What units wait for one another: this part of the terms that are not the longest adds to it,
#: without latency, which is made of the others.
PLAIN_NON_OVERLAPPED, PING_PONG_NON_OVERLAPPED = 0.19, 0.01
#: Clocks in which a launch starts, and in which a workgroup finds its addresses.
LAUNCH_CLOCKS, SETUP_CLOCKS = 5000, 300
#: Registers of a lane beside sums, fragments and what is on its way to LDS.
BASE_REGISTERS = 32
WORD = 4
#: Of a CU. One of RDNA has two of twice the width, which take as much at a time.
SIMDS = 4


@frozen
class Prediction:
    """`seconds`, and each term's clocks summed over the rounds. `busy` is the part of all CUs' time
    in which there is a workgroup for each of their places."""

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
    """What one workgroup does for one K-tile, in clocks of units of its CU, and what it holds."""

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
    columns = -(-spec.n // schedule.block_n)
    blocks = -(-spec.m // schedule.block_m) * columns * spec.batch
    slots = max(1, int(work.per_unit * device.units))
    whole, rest = divmod(blocks, slots)
    output = schedule.block_m * schedule.block_n * spec.out.itemsize / L1_BYTES_PER_CLOCK
    totals = dict.fromkeys(("products", "lds", "l1", "latency", "l2", "dram", "output"), 0.0)
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
            "l2": _l2_clocks(spec, schedule, device, held),
            "dram": _dram_clocks(spec, schedule, device, held, columns),
        }
        units = [value for name, value in terms.items() if name != "latency"]
        waits = work.non_overlapped * (sum(units) - max(units))
        busy = max(max(units) + waits, terms["latency"])
        clocks += count * (busy + SETUP_CLOCKS + 2 * MEMORY_LATENCY + on_one * output)
        for name, value in (terms | {"output": on_one * output}).items():
            totals[name] += count * value
    return Prediction(
        seconds=clocks / device.clock,
        rounds=blocks / slots,
        per_unit=work.per_unit,
        busy=blocks / (slots * (whole + min(1, rest))),
        terms=totals,
    )


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


def _l2_clocks(spec: Matmul, schedule: GpuMatmul, device: Device, held: int) -> float:
    """Bytes of all tiles of a round over L2's rate, where that is known."""
    rate = device.rates.l2
    nbytes = held * (schedule.block_m + schedule.block_n) * spec.k * spec.dtype.itemsize
    return nbytes * device.clock / rate if rate else 0.0


def _dram_clocks(
    spec: Matmul, schedule: GpuMatmul, device: Device, held: int, columns: int
) -> float:
    """Rows of A and columns of B that a round of workgroups, row by row, has between them."""
    high, wide = -(-held // columns), min(held, columns)
    rows, cols = high * schedule.block_m, wide * schedule.block_n
    nbytes = (rows + cols) * spec.k * spec.dtype.itemsize
    return nbytes * device.clock / device.dram
