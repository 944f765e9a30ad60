"""The schedule for a spec on a target."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from kgen.schedule import (
    AheadMatmul,
    AmxMatmul,
    BlockedMatmul,
    CpuMatmul,
    DotMatmul,
    InnerMatmul,
    LimbsMatmul,
    Schedule,
)
from kgen.spec import DType, Elementwise, Matmul, Rowwise, Spec
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.kernels.dot import COLUMNS, GROUP_BYTES, must_pack_a, must_pack_b
from kgen.targets.cpu.plan.kernels.inner_vectors import is_inner, may_transpose_b
from kgen.targets.cpu.plan.tiles.dots import Dot, dot_for
from kgen.targets.cpu.schedule.amx_blocks import amx_matmul, in_place, ranked_on_tiles
from kgen.targets.cpu.schedule.blocking import Packing, blocks, enough_tasks, register_tile
from kgen.targets.cpu.schedule.completion import completed
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.outer import fits_outer, is_outer, outer_matmul
from kgen.targets.cpu.schedule.few_rows.packed import bytes_ahead, level_ahead
from kgen.targets.cpu.schedule.few_rows.panels import panels_matmul
from kgen.targets.cpu.schedule.few_rows.place import STREAM_ROWS, streams
from kgen.targets.cpu.schedule.few_rows.streams import packed_stream, packs_stream, stream_matmul
from kgen.targets.cpu.schedule.few_rows.walked import packs_rows_of_a, packs_rows_that_meet
from kgen.targets.cpu.schedule.inner import inner_matmul, uses_inner
from kgen.targets.cpu.schedule.limbs import limbs_matmul, uses_limbs
from kgen.targets.cpu.schedule.rowwise import elementwise_schedule, rowwise_schedule
from kgen.targets.cpu.schedule.short import short_matmul
from kgen.targets.cpu.schedule.ways import blis_matmul, every_way, only_way, ranked

#: Up to this many rows or columns bf16 is widened and multiplied as f32, not in pairs, but on cores
#: that gain by half vectors of pairs (64 x 8 x 256 2.9 us, 1.5 in pairs; 8 x 256 x 255, whose last
#: pair is not whole, 5.2 and 3.1; Zen 5).
DOT_ROWS, DOT_COLUMNS = 8, 8
#: Rows that a tile in 16 registers has at most: of more, each would interleave B for itself (6 x
#: 1024 x 1024 in s8 takes 113 us so, 82 if B is packed, 8 x 512 x 512 26 and 22; AVX2, Zen 5).
DOT_ROWS_NARROW = 5
#: And from so many rows and columns on, on cores whose products of pairs are no faster; fewer rows
#: do not pay for widening B.
WIDENED_ROWS, WIDENED_COLUMNS = 3, 16


def uses_dot(spec: Matmul, target: Target) -> bool:
    """Products of pairs pay where B need not be packed for them, or is used by several rows; those
    of bytes always, against one at a time."""
    dot = dot_for(spec.dtype, target)
    if dot is None or spec.dtype is DType.S8 or is_outer(spec, target):
        return dot is not None
    core = core_of(target)
    if core.gains_by_half_pairs:
        return True
    if not core.gains_by_pairs and spec.m >= WIDENED_ROWS:
        return spec.n < WIDENED_COLUMNS and spec.n > DOT_COLUMNS
    few = spec.m <= DOT_ROWS and must_pack_b(spec, dot) and not spec.layout.b_transposed
    return spec.n > DOT_COLUMNS and (not few or bool(spec.constant))


def choose(spec: Spec, target: Target) -> Schedule:
    """A schedule that always fits."""
    return completed(spec, target, draft(spec, target))


def draft(spec: Spec, target: Target) -> Schedule:
    """The chosen schedule before it is completed: a user's fields may change what follows."""
    if isinstance(spec, Matmul):
        if uses_limbs(spec, target):
            return limbs_matmul(spec, target)
        if uses_inner(spec, target):
            return inner_matmul(spec, target)
        if tile_product(spec.dtype, target) and not in_place(spec, target):
            return amx_matmul(spec, target)
        if is_outer(spec, target):
            return outer_matmul(spec, target)
        dot = dot_for(spec.dtype, target)
        if dot and uses_dot(spec, target):
            return dot_matmul(spec, target, dot)
        return blis_matmul(spec, target)
    if isinstance(spec, Elementwise):
        return elementwise_schedule(spec, target)
    assert isinstance(spec, Rowwise)
    return rowwise_schedule(spec, target)


def candidates(spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
    """What `choose` ranked by the model; empty where a rule chose."""
    if not isinstance(spec, Matmul):
        return ()
    chosen = draft(spec, target)
    found: Iterable[Candidate[Schedule]] = ()
    if isinstance(chosen, AmxMatmul):
        found = ranked_on_tiles(spec, target)
    elif type(chosen) in (CpuMatmul, AheadMatmul) and not only_way(spec, target):
        found = ranked(spec, target)
    return tuple(
        dataclasses.replace(each, schedule=completed(spec, target, each.schedule)) for each in found
    )


def alternatives(spec: Spec, target: Target) -> Iterator[Schedule]:
    """What a user, or tuning, may take instead: what the model ranks, the best first, and the ways
    that a rule passed over. Not all of them fit."""
    yield from (completed(spec, target, schedule) for schedule in _alternatives(spec, target))


def _alternatives(spec: Spec, target: Target) -> Iterator[Schedule]:
    chosen = draft(spec, target)
    yield from (candidate.schedule for candidate in candidates(spec, target))
    if not isinstance(spec, Matmul) or isinstance(chosen, AmxMatmul | LimbsMatmul):
        return
    if is_inner(spec) and isinstance(chosen, InnerMatmul):
        return
    few = spec.n <= COLUMNS and may_transpose_b(spec, target)
    if few or (is_inner(spec) and min(spec.m, spec.n) <= COLUMNS):
        yield inner_matmul(spec, target)
    if dot := dot_for(spec.dtype, target):
        yield dot_matmul(spec, target, dot)
    if spec.accumulate is not DType.F32:
        return
    if not spec.constant and spec.m <= STREAM_ROWS:
        if fits_outer(spec, target):
            yield outer_matmul(spec, target)
        yield stream_matmul(spec, target, packs_a=True)
        yield stream_matmul(spec, target, packs_a=False)
    if spec.m <= STREAM_ROWS:
        yield panels_matmul(spec, target)
    if not spec.layout.b_transposed:
        yield from every_way(spec, target)


def dot_matmul(spec: Matmul, target: Target, dot: Dot) -> DotMatmul:
    """A only where its groups do not lie side by side; B unless it comes packed or has few uses."""
    must_pack = must_pack_a(spec, dot)
    packs_b = must_pack_b(spec, dot) or packs_rows_that_meet(spec, target)
    if streams(spec, target) and not packs_b:
        packs_a = must_pack or packs_rows_of_a(spec, target)
        if packs_stream(spec, target):
            return in_groups(packed_stream(spec, target, dot, packs_a=packs_a))
        return in_groups(stream_matmul(spec, target, packs_a=packs_a))
    rows = DOT_ROWS if target.limits["vector_registers"] > 16 else DOT_ROWS_NARROW
    packs_b = not spec.constant and (packs_b or spec.m > rows)
    packing = Packing(
        a=must_pack,
        b=packs_b,
        itemsize=GROUP_BYTES // dot.group,
        start_bytes=GROUP_BYTES * dot.b_is_unsigned,
        extra_registers=int(packs_b and not must_pack_b(spec, dot)),
    )
    if short := short_matmul(spec, target, packing, dot):
        return in_groups(short)
    mr, nr = register_tile(spec, target, packing, dot)
    schedule = in_groups(blocks(spec, target, mr, nr, packing))
    schedule = enough_tasks(spec, schedule, mr, has_starts=dot.b_is_unsigned)
    if level_ahead(spec, target, schedule) != 1:
        return schedule
    return dataclasses.replace(schedule, ahead=bytes_ahead(spec, target))


def in_groups(schedule: BlockedMatmul) -> DotMatmul:
    fields = dataclasses.fields(BlockedMatmul)
    return DotMatmul(**{field.name: getattr(schedule, field.name) for field in fields})
