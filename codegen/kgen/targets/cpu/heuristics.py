"""The schedule for a spec on a target: a small cost model of register tiles, then block sizes."""

from __future__ import annotations

import math

from kgen.schedule import AmxMatmul, CpuMatmul, CpuStream, Schedule
from kgen.spec import DType, Matmul, Relu, Softmax, Spec
from kgen.targets.base import Target
from kgen.targets.cpu.plan.amx import TILE_K, TILE_ROWS
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.blis import ROW_PADDING, registers_needed

#: Cycles from a fused multiply-add to the next that needs its result (Intel and AMD: 4).
FMA_LATENCY = 4
#: Multiply-adds, and loads, that a core starts per cycle.
PER_CYCLE = 2
#: Longest block of K: beyond it, loading and storing the sums costs nothing any more.
KC_MOST = 512
#: Largest step of mc that leaves a choice of block sizes.
ROW_UNIT_MOST = 128
#: Multiply-adds under which a task is not cut smaller for the sake of more tasks.
TASK_WORK = 4 << 20
#: Tasks that keep the cores of a common machine busy to the end.
ENOUGH_TASKS = 32
#: Elements (relu) per task and softmax elements per task: tens of microseconds.
STREAM_ELEMENTS = 1 << 16
RELU_UNROLL = 4
SOFTMAX_UNROLL = 4


def uses_amx(spec: Spec, target: Target) -> bool:
    return isinstance(spec, Matmul) and spec.dtype is DType.BF16 and target.has("amx_bf16")


def choose(spec: Spec, target: Target) -> Schedule:
    """A schedule that always fits."""
    if isinstance(spec, Matmul):
        return amx_matmul(spec, target) if uses_amx(spec, target) else blis_matmul(spec, target)
    if isinstance(spec, Relu):
        return CpuStream(task=STREAM_ELEMENTS, unroll=RELU_UNROLL)
    assert isinstance(spec, Softmax)
    return CpuStream(task=max(1, STREAM_ELEMENTS // spec.cols), unroll=SOFTMAX_UNROLL)


def blis_matmul(spec: Matmul, target: Target) -> CpuMatmul:
    """A panel of B for the first-level cache; most of the rest of the stack for A and the sums."""
    mr, nr = register_tile(spec, target)
    size = spec.accumulate.itemsize
    vector = vector_for(target, spec.accumulate, spec.n).count
    unit = row_unit(spec, mr, vector)
    # A panel of B stays in the first-level cache while A streams past it.
    panel = min(target.limits["l1_bytes"] * 3 // 4, target.limits["stack_bytes"] // 8)
    share = target.limits["stack_bytes"] * 3 // 8
    kc_most = min(panel // (nr * size), share // (unit * size), KC_MOST)
    kc = balanced(spec.k, kc_most, vector)
    mc = balanced(spec.m, share // max(kc * size + ROW_PADDING, nr * size), unit)
    nc = balanced(spec.n, share // (mc * size), nr)
    mc, nc = enough_tasks(spec, mc, nc, unit, nr)
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc)


def row_unit(spec: Matmul, mr: int, vector: int) -> int:
    """What mc must be a multiple of."""
    return math.lcm(mr, vector) if spec.layout.a_transposed else mr


def amx_matmul(spec: Matmul, target: Target) -> AmxMatmul:
    """Two by two tiles, fewer where the matrix has not that many rows or columns."""
    mr = TILE_ROWS if spec.m <= TILE_ROWS else 2 * TILE_ROWS
    nr = TILE_ROWS if spec.n <= TILE_ROWS else 2 * TILE_ROWS
    kc = balanced(spec.k, 512, TILE_K)
    mc = balanced(spec.m, 96, mr)
    nc = balanced(spec.n, 256, nr)
    mc, nc = enough_tasks(spec, mc, nc, mr, nr)
    return AmxMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc)


def register_tile(spec: Matmul, target: Target) -> tuple[int, int]:
    """mr and nr of the fewest cycles for one step of K over the whole matrix.

    A step of a tile costs its multiply-adds, its loads, or the latency of one multiply-add,
    whichever is most, and one cycle for the loop; rows and columns past the edge are paid for.
    A row needs no more vectors than hide the latency.
    """
    vector = vector_for(target, spec.accumulate, spec.n).count
    registers = target.limits["vector_registers"]

    def cycles(tile: tuple[int, int]) -> tuple[float, int]:
        rows, vectors = tile
        tiles = math.ceil(spec.m / rows) * math.ceil(spec.n / (vectors * vector))
        step = max(rows * vectors / PER_CYCLE, (rows + vectors) / PER_CYCLE, FMA_LATENCY)
        return tiles * (step + 1), -rows * vectors

    candidates = [
        (rows, vectors)
        for vectors in range(1, min(math.ceil(spec.n / vector), FMA_LATENCY * PER_CYCLE) + 1)
        for rows in range(1, min(spec.m, registers) + 1)
        if registers_needed(rows, vectors) <= registers
        and row_unit(spec, rows, vector) <= ROW_UNIT_MOST
    ]
    rows, vectors = min(candidates, key=cycles)
    return rows, vectors * vector


def balanced(extent: int, most: int, unit: int) -> int:
    """The block, a multiple of `unit`, that cuts `extent` into equal blocks of at most `most`."""
    most = max(most // unit * unit, unit)
    blocks = -(-extent // most)
    return -(-extent // blocks // unit) * unit


def enough_tasks(spec: Matmul, mc: int, nc: int, mr: int, nr: int) -> tuple[int, int]:
    """mc and nc, made smaller where there are few tasks and each is long."""

    def tasks() -> int:
        return spec.batch * math.ceil(spec.m / mc) * math.ceil(spec.n / nc)

    while tasks() < ENOUGH_TASKS and mc * nc * spec.k > TASK_WORK:
        if nc > max(mc, nr):
            nc = balanced(spec.n, nc // 2, nr)
        elif mc > mr:
            mc = balanced(spec.m, mc // 2, mr)
        elif nc > nr:
            nc = balanced(spec.n, nc // 2, nr)
        else:
            break
    return mc, nc
