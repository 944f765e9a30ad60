"""Candidate schedules for attention on CPUs, ranked by predicted cycles.

A prediction counts vector instructions at the core's published rates: both products in register
tiles, the exponentials, the transpose of K, copies of V, and reads of K and V for each block of
queries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial

from kgen.schedule import CpuAttention, CpuMatmul
from kgen.spec import Attention, DType
from kgen.targets.base import Candidate, Target, fits
from kgen.targets.cpu.cores import TargetCore, coefficients, line_cycles, log_seconds
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.kernels.online_softmax import BROADCASTS, plan_attention
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.row_schedules import EXPONENTIAL

#: Digits of logarithms of times that the ranking compares; rounding errors are smaller.
DIGITS = 6
#: Queries up to which scores may be inner products.
FEW_QUERIES = 16
BLOCKS_OF_QUERIES = (8, 16, 32, 64, 128, 256)
BLOCKS_OF_KEYS = (16, 32, 64, 128, 256)
#: Rows of the tallest register tile; taller tiles save few loads of B.
TALLEST = 12
#: Instructions per vector of scores, without its exponential: two loads, two steps of the maximum,
#: a difference, a sum and a store.
PASSES = 7
#: Instructions to compare a vector's keys with a query's first and last one, and to add a mask.
EDGE, MASK = 5, 2
#: Instructions to widen a vector of 16-bit elements, to begin an inner product, and to add the
#: halves of two vectors.
WIDENING, CALL, FOLD = 2, 12, 3
#: Instructions per query and block of keys; further ones if there are several blocks, for the
#: exponential of a maximum's change and for rescaling; and instructions per vector of a query or
#: result, which is loaded, multiplied and stored at the ends of a block.
QUERY, RESCALING, ENDS = 32, EXPONENTIAL + 14, 3


def candidates(
    spec: Attention, target: Target, *, most: int
) -> tuple[Candidate[CpuAttention], ...]:
    """Return the `most` legal schedules with the least predicted times, the best first."""
    every = (predicted(spec, target, each) for each in space(spec, target))
    ranked = sorted(every, key=partial(_objective, spec))
    fitting = (each for each in ranked if fits(plan_attention, spec, target, each.schedule))
    return tuple(itertools.islice(fitting, most))


def choose(spec: Attention, target: Target) -> CpuAttention:
    return candidates(spec, target, most=1)[0].schedule


def space(spec: Attention, target: Target) -> Iterator[CpuAttention]:
    """Yield the schedules whose register tiles fit, for every `nv` and two heights."""
    lanes = target.limits["vector_bytes"] // 4
    registers = target.limits["vector_registers"] - BROADCASTS
    rows = spec.group * spec.queries
    widest = -(-max(spec.out_head, min(spec.keys, BLOCKS_OF_KEYS[-1])) // lanes)
    # Blocks have equally many keys, rounded up to whole vectors.
    parts = {-(-spec.keys // max(lanes, block)) for block in BLOCKS_OF_KEYS}
    blocks = sorted({-(-spec.keys // (n * lanes)) * lanes for n in parts})
    forms = list(_forms(spec, target))
    for nv in range(1, min(widest, registers // 2) + 1):
        fitting = min(TALLEST, registers // nv - 1)
        tiles = -(-rows // fitting)
        for mr in sorted({min(fitting, rows), -(-rows // tiles)}):
            queries = sorted({-(-min(block, rows) // mr) * mr for block in BLOCKS_OF_QUERIES})
            for block_q, block_k, form in itertools.product(queries, blocks, forms):
                pack_k, pack_v, dots = form
                yield CpuAttention(
                    block_q=block_q, block_k=block_k, mr=mr, nv=nv,
                    pack_k=pack_k, pack_v=pack_v, dots=dots,
                )  # fmt: skip


def _forms(spec: Attention, target: Target) -> Iterator[tuple[bool, bool, bool]]:
    """Yield `pack_k`, `pack_v` and `dots`. Inner products are for few queries: they add up lanes
    for each query, but need no transposed K."""
    dots = (False, True) if dot_for(spec.dtype, target) else (False,)
    few = spec.group * spec.queries <= FEW_QUERIES
    packs = ((True, False), (True, True), *[(False, False), (False, True)] * few)
    for (pack_k, pack_v), by_dots in itertools.product(packs, dots):
        yield pack_k, pack_v, by_dots


def predicted(spec: Attention, target: Target, schedule: CpuAttention) -> Candidate[CpuAttention]:
    """Predict the time of a schedule in one thread, with warm caches."""
    core = TargetCore(target=target)
    adds, loads, lanes = core.multiply_adds, core.loads, core.width // 4
    # Multiply-adds, or dot products of pairs, per cycle; elements of a step of either product.
    dots = {False: (adds, 1), True: (core.rates.pairs, 2)}
    rate, group = dots[schedule.dots]
    value_rate, value_group = dots[schedule.dots and schedule.pack_v]
    rows = spec.group * spec.queries
    per_event, pairs = coefficients(target, CpuMatmul), spec.batch * spec.kv_heads
    count = pairs * -(-rows // schedule.block_q)
    block_rows = min(rows, schedule.block_q)
    # A block of queries reads every key that one of its queries attends to.
    moves = spec.limits_keys or spec.kv_length
    reach = min(spec.keys, spec.pairs * spec.group / rows + schedule.block_q / 2)
    partial_blocks, most = reach / schedule.block_k, -(-spec.keys // schedule.block_k)
    # Ends of keys that move are on average in the middle of a block.
    key_blocks = min(partial_blocks + 0.5, most) if spec.limits_keys else most
    is_wide = spec.dtype is DType.F32
    widens = 0.0 if is_wide or schedule.pack_v else WIDENING / adds

    # Tiles of a pair: number of each height.
    last = rows % schedule.block_q
    whole = rows // schedule.block_q * schedule.block_q // schedule.mr + last // schedule.mr
    heights = ((schedule.mr, whole), (last % schedule.mr, int(last % schedule.mr > 0)))

    def product(columns: int, steps: float, rate: float, wide: float) -> float:
        """Return the cycles of all tiles of a pair for one block of keys."""
        vectors = -(-columns // lanes)
        tiles, cycles = -(-vectors // schedule.nv), 0.0
        widths = [vectors * (i + 1) // tiles - vectors * i // tiles for i in range(tiles)]
        for (mr, number), nv in itertools.product(heights, widths):
            # Tiles side by side take turns, so all of B must stay in the first-level cache.
            is_far = steps * vectors * core.width > core.l1
            each = max(mr * nv / rate + wide * nv, (mr + nv) / loads, core.rates.latency)
            each += per_event["steps"] + (nv * core.width / LINE_BYTES if is_far else 0.0)
            cycles += number * (steps * each + per_event["tiles"])
        return cycles

    vectors, chunks = schedule.block_k / lanes, -(-spec.head // (group * lanes))
    if schedule.pack_k:
        scores = product(schedule.block_k, -(-spec.head // group), rate, 0.0)
        transposed = vectors * chunks * lanes * (math.log2(lanes) + 2.0) / adds
    else:
        widening = 0.0 if is_wide or schedule.dots else WIDENING / adds
        step = max(1.0 / rate + widening, (1.0 + 1.0 / lanes) / loads)
        inner = chunks * lanes * step + FOLD * (lanes - 1) / adds + CALL
        scores, transposed = rows * vectors * inner, 0.0
    # Vectors of scores of a query, and instructions for each. Known edges leave some out.
    softmax = key_blocks * vectors if moves else -(-spec.keys // lanes)
    edges = min(1.0, (1.0 + schedule.block_q / schedule.block_k) / key_blocks) if moves else 0.0
    passes = EXPONENTIAL + PASSES + EDGE * edges + MASK * (spec.mask is not None)
    per_block = QUERY + RESCALING * (spec.keys > schedule.block_k)
    ends = ENDS * (chunks * group + -(-spec.out_head // lanes))
    values = product(spec.out_head, schedule.block_k / value_group, value_rate, widens)
    copies = schedule.block_k * -(-spec.out_head // lanes) * 2.0 / loads if schedule.pack_v else 0.0
    # The first block of queries reads K and V from a farther cache level than the others. Either
    # comes from the level that holds it, as B of a matmul does.
    lines = [reach * n * spec.dtype.itemsize / LINE_BYTES for n in (spec.head, spec.out_head)]
    near, first, transfer = core.first_read(LINE_BYTES * sum(lines)), 0.0, 0.0
    for n, packs in zip(lines, (schedule.pack_k, schedule.pack_v), strict=True):
        place = core.first_read(pairs * LINE_BYTES * n)
        first += n * per_event[f"{'packed' if packs else 'first'}_{place}"]
        # Nothing hides a transfer from beyond the second-level cache.
        transfer += n * (place != "l2") * line_cycles(target, pairs * LINE_BYTES * n)
    again = sum(lines) * per_event["b_l2" if near == "l2" else "b_far"]
    # Queries are packed as A of a matmul is, and results are stored as those of a matmul.
    q, out = (spec.parameter(name).nbytes for name in ("q", "out"))
    reads = {
        f"packed_a_first_{core.first_read(q)}": q / LINE_BYTES,
        f"packed_a_runs_{core.first_read(q)}": 1.0 * pairs * rows,
        f"out_runs_{core.first_read(out)}": 1.0 * pairs * rows,
    }
    around = sum(n * per_event.get(name, 0.0) for name, n in reads.items())
    # Products read queries and scores as A of a matmul, and keep sums between blocks of keys.
    held = 4 * (block_rows * (spec.head + schedule.block_k + spec.out_head))
    beside = 4 * schedule.block_k * (spec.head + spec.out_head)
    level = "far" if held > core.l2 else "l2"
    row = (spec.head + schedule.block_k) * per_event[f"a_{level}"]
    row += spec.out_head * (key_blocks > 1) * per_event[f"kept_{level}"]
    spilled = pairs * rows * key_blocks * 4 / LINE_BYTES * row * (held + beside > core.l1)
    terms = {
        "arithmetic": pairs * (key_blocks * scores + partial_blocks * values),
        "issue": pairs * rows * (softmax * passes + key_blocks * per_block + ends) / adds,
        "packing": count * partial_blocks * (transposed + copies),
        "sums": spilled,
        "memory": around + pairs * (first + transfer),
        "b": (count - pairs) * again,
    }
    return Candidate(schedule=schedule, seconds=sum(terms.values()) / core.rates.clock, terms=terms)


def _objective(spec: Attention, candidate: Candidate[CpuAttention]) -> float:
    """Return the mean logarithm of the time, over numbers of threads."""
    blocks = -(-spec.group * spec.queries // candidate.schedule.block_q)
    tasks = spec.batch * spec.kv_heads * blocks
    seconds = log_seconds([candidate.seconds], lambda threads: -(-tasks // threads) / tasks)
    return round(float(seconds), DIGITS)
