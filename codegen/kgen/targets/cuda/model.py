"""How long a matmul schedule takes, as far as counting tells: the busiest unit of each wave.

A wave is what all SMs hold at once. Its length is that of the longest of its terms, and a little of
the others, all in clocks:

- products: multiply-adds over the rate of the tensor cores (or of the fma units)
- shared: bytes written to and read from shared memory
- issue: instructions over what the schedulers issue
- latency: one warp's way through its k tiles, which only other warps can hide
- l2: bytes of the tiles, over bandwidth or, if less is in flight, over latency (Little's law)
- dram: bytes that are not in L2 when they are wanted
- reduction: launching the kernel that adds the parts of a split k, and its traffic; with
  stream-k the traffic of parts, and waiting for them

and it starts with a memory latency and ends with storing its outputs. Nothing here is a claim: the
model ranks schedules, and its terms say why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from kgen.schedule import (
    FmaMatmul,
    GemvMatmul,
    GpuMatmul,
    MmaMatmul,
    WgmmaMatmul,
)
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.devices import (
    L2_BYTES_PER_SM_CLOCK,
    MEMORY_LATENCY,
    PARTITIONS,
    SHARED_BYTES_PER_CLOCK,
    Device,
    device_of,
)
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.occupancy import ctas_per_sm
from kgen.targets.cuda.plan.copy import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.fragments import is_gathered, is_paired
from kgen.targets.cuda.plan.instruction import MatrixInstruction, instruction_of
from kgen.targets.cuda.plan.matmul import matrices
from kgen.targets.cuda.plan.matmul_mma import registers_held
from kgen.targets.cuda.plan.products import promotion
from kgen.targets.cuda.plan.split import F32_BYTES, SplitSchedule, part_spec
from kgen.targets.cuda.work import Work, gemv_work, loaded_bytes, wgmma_work

#: Registers beside accumulators, fragments and staging, in what ptxas makes of these kernels; with
#: it the count is within 12 of ptxas's (a test compares them).
BASE_REGISTERS = 36
#: Instructions of the loop over k beside products, loads and copies.
LOOP_INSTRUCTIONS = 28
#: Clocks in which a launch starts, and in which a CTA finds its addresses and zeroes sums.
LAUNCH_CLOCKS, SETUP_CLOCKS = 3000, 300
#: What units wait for one another: this part of a term that is not the longest adds to it. It is
#: a guess, which decides only between schedules with equal longest terms.
SHOWING = 0.1


@dataclass(frozen=True, kw_only=True)
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
        return _with_reduction(parts, spec, target, schedule)
    return _predict(spec, target, schedule, whole=spec)


def _with_reduction(
    parts: Prediction, spec: Matmul, target: Target, schedule: SplitSchedule
) -> Prediction:
    """The parts, and the kernel that adds them: they are in L2, and its CTAs wait for them once."""
    device = device_of(target)
    nbytes = spec.batch * spec.m * spec.n * (F32_BYTES * schedule.split_k + spec.out.itemsize)
    clocks = LAUNCH_CLOCKS + 2 * MEMORY_LATENCY + nbytes / device.l2_per_clock
    return replace(
        parts,
        seconds=parts.seconds + clocks / device.clock,
        terms={**parts.terms, "reduction": clocks},
    )


def _predict(spec: Matmul, target: Target, schedule: GpuMatmul, whole: Matmul) -> Prediction:
    """Of a product, or parts of a `whole` one, whose operands are read."""
    device = device_of(target)
    work = _work(spec, target, device, schedule, whole)
    blocks = _blocks(spec, schedule)
    per_sm = max(1, _occupancy(work, device))
    slots = min(per_sm * device.sms, work.persistent_ctas or per_sm * device.sms)
    held = _waves(blocks, slots, device, work)
    terms = _terms(spec, schedule, device, work)
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
        totals["reduction"] = _parts_clocks(schedule)
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
        return [(blocks / slots, 1)]
    return [(whole, -(-slots // device.sms)), (min(1, rest), -(-rest // device.sms))]


def _parts_clocks(schedule: GpuMatmul) -> float:
    """Each CTA leaves a part of a block tile in L2 and waits for one of another's, at most."""
    nbytes = 2 * schedule.block_m * schedule.block_n * F32_BYTES
    return 2 * MEMORY_LATENCY + nbytes / (L2_BYTES_PER_SM_CLOCK / 2)


def _blocks(spec: Matmul, schedule: GpuMatmul) -> int:
    """CTAs, or tiles of persistent ones; a cluster is whole."""
    high, wide = 1, 1
    if isinstance(schedule, WgmmaMatmul):
        high, wide = schedule.cluster_m, schedule.cluster_n
    rows = -(-spec.m // (schedule.block_m * high)) * high
    return rows * -(-spec.n // (schedule.block_n * wide)) * wide * spec.batch


def _wave_clocks(own: dict[str, float], output: float, work: Work, waves: float) -> float:
    """Waves in which each term takes so long. Persistent CTAs start once and store meanwhile."""
    start = SETUP_CLOCKS + MEMORY_LATENCY
    if not work.persistent_ctas:
        return waves * (_overlapped(own.values()) + start + output + work.turn_clocks)
    busy = _overlapped([*own.values(), output])
    turn = max(0.0, (work.turn_clocks - busy) / 2) if work.takes_turns else work.turn_clocks
    return start + output + waves * (busy + turn)


def _overlapped(terms: Iterable[float]) -> float:
    """The longest term, and a part of the others."""
    values = list(terms)
    return max(values) + SHOWING * (sum(values) - max(values))


def _terms(
    spec: Matmul, schedule: GpuMatmul, device: Device, work: Work
) -> dict[str, Callable[[int], float]]:
    """Clocks of a wave with so many CTAs on the busiest SM, by term."""
    tiles = -(-spec.k // schedule.block_k)
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
    """Outputs of a wave, and addends, through the SM's port to L2 and to DRAM."""
    tensors = 1 + sum(p.name in ("c", "residual") for p in spec.parameters)
    outputs = min(schedule.block_m, spec.m) * min(schedule.block_n, spec.n)
    nbytes = ctas * outputs * spec.out.itemsize * tensors
    return nbytes / min(L2_BYTES_PER_SM_CLOCK / 2, device.dram_per_clock / device.sms)


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
    rows, cols = -(-spec.m // schedule.block_m), -(-spec.n // schedule.block_n)
    if isinstance(schedule, WgmmaMatmul) and schedule.num_ctas:
        high = float(min(rows, schedule.group_m * schedule.cluster_m))
        wide = min(float(cols), wave / high)
    else:
        wide = float(min(cols, wave))
        high = min(rows, max(1.0, wave / cols))
    each = (high * schedule.block_m + wide * schedule.block_n) * spec.k * itemsize
    return max(float(inputs), each * rows * cols * spec.batch / (wide * high))


def _work(spec: Matmul, target: Target, device: Device, schedule: GpuMatmul, whole: Matmul) -> Work:
    if isinstance(schedule, MmaMatmul):
        return _mma_work(spec, target, device, schedule, whole)
    if isinstance(schedule, WgmmaMatmul):
        return wgmma_work(spec, device, schedule)
    if isinstance(schedule, GemvMatmul):
        return gemv_work(spec, device, schedule)
    assert isinstance(schedule, FmaMatmul)
    return _fma_work(spec, device, schedule)


def _mma_work(
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
    return Work(
        num_warps=schedule.num_warps,
        registers=registers_held(spec, schedule, instruction, target) + staging + BASE_REGISTERS,
        shared_bytes=schedule.num_stages * stage,
        product_clocks=schedule.block_m * schedule.block_n * depth / rate,
        shared_traffic=stage + schedule.num_warps * fragments,
        instructions=instructions,
        warp_clocks=sums * depth / (rate / PARTITIONS),
        loaded_bytes=loaded,
        in_flight_bytes=(schedule.num_stages - 1) * loaded,
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


def _fma_work(spec: Matmul, device: Device, schedule: FmaMatmul) -> Work:
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
        registers=sums
        + schedule.thread_m
        + schedule.thread_n
        + stage // schedule.num_threads // itemsize
        + BASE_REGISTERS,
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
