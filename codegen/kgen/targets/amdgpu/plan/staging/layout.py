"""Choice of an operand's chunks and swizzle: the first without bank conflicts.

The conflicts of the first wave are counted (banks.py): its stores of its first chunk, and the main
loop's loads from the tile. All other waves repeat the pattern elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kgen.errors import ScheduleError
from kgen.targets.amdgpu.plan.lds.banks import WIDEST, Lanes, conflicts, slots_per_cycle
from kgen.targets.amdgpu.plan.lds.tile import LdsTile, Swizzle
from kgen.targets.amdgpu.plan.staging.chunks import Shape, power_of_two_divisor, shapes
from kgen.targets.amdgpu.plan.staging.guarded_staging import GuardedStaging
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap, Axis

#: Function that returns the loads of a wave: the rows and depths of its lanes, with an axis of
#: instructions before that of lanes, and the bytes that each lane loads.
Loads = Callable[[LdsTile], tuple[Lanes, Lanes, int]]


def make(
    access: AccessMap,
    *,
    target: Target,
    tile: LdsTile,
    threads: int,
    loads: Loads,
    overhang: bool = False,
) -> Staging:
    """Return the staging of an operand's tiles.

    With `overhang`, loads may extend past the end of a line of memory. The main loop must then load
    the last K-tile as a partial one, even if it is whole (:func:`walked`). Raises ScheduleError if
    the threads cannot share the tile evenly.
    """
    if access.is_affine and access.k[-1].stride == 1:
        # A single row, too, is contiguous along k.
        access = replace(access, inner="k")
    widest = WIDEST // access.dtype.itemsize
    piece = power_of_two_divisor(access.run, widest)
    k_rest = access.depth % tile.depth
    kind = Staging if access.is_affine else GuardedStaging
    if not access.is_affine:
        widest = piece  # all elements of an access exist, or none
    elif access.inner == "row":
        # Elements by which a load may extend past the end of a line: at most those of the last
        # K-tile.
        left = access.offset(0, k_rest or tile.depth) if overhang else 0
        while widest > piece and widest > left:
            widest //= 2
    plain = [
        kind(
            access=access,
            tile=tile,
            threads=threads,
            k_rest=k_rest,
            chunk=chunk,
            piece=min(piece, chunk.vector),
            reach=target.limits["load_offset"],
        )
        for chunk in shapes(
            widest,
            tile.slot,
            same_axis=(access.inner == "k") == (tile.slot_k > 1),
        )
        if is_shared(chunk, tile, threads, access.inner)
    ]
    staging = [*transposing_loads(plain, target), *plain]
    if not staging:
        side, elements = ("m" if access.name == "a" else "n"), tile.rows * tile.depth
        raise ScheduleError(
            f"block_{side}={tile.rows} x block_k={tile.depth} does not divide evenly among "
            f"{threads} threads; try block_k={tile.depth * threads // math.gcd(elements, threads)}"
        )
    return without_conflicts(staging, target, loads)


def transposing_loads(plain: Sequence[Staging], target: Target) -> Iterator[Staging]:
    """Yield the staging with transposing loads, if the target and the operand allow it.

    These loads require elements of 16 bits in whole aligned vectors. Neighbouring threads have
    neighbouring rows.
    """
    for s in plain[:1]:
        chunk = Shape(vector=s.tile.slot_k, fast=1, slow=s.tile.slot_k)
        strides = (s.rows, *s.access.starts)
        if (
            target.has("global-load-tr-16")
            and s.transposes
            and s.memory.itemsize == 2
            and chunk.vector * s.memory.itemsize == WIDEST
            and not any(stride % chunk.vector for stride in strides)
            and is_shared(chunk, s.tile, s.threads, s.memory_axis)
        ):
            yield replace(s, chunk=chunk, piece=chunk.vector, transposing_load=True)


def is_shared(chunk: Shape, tile: LdsTile, threads: int, memory_axis: Axis) -> bool:
    """Return whether chunks divide the tile, and threads have equally many."""
    along = (chunk.slow, chunk.fast) if memory_axis == "k" else (chunk.fast, chunk.slow)
    whole = tile.rows % along[0] == 0 and tile.depth % along[1] == 0
    return whole and tile.rows * tile.depth % (chunk.fast * chunk.slow * threads) == 0


def without_conflicts(staging: Sequence[Staging], target: Target, loads: Loads) -> Staging:
    """Return the first staging without conflicts, else the one with the fewest."""
    fewest, best = math.inf, staging[0]
    for candidate in staging:
        loaded_rows, loaded_depths, width = loads(candidate.tile)
        stored_rows, stored_depths = first_stores(candidate, target)
        for tile in arrangements(candidate, target):
            stored = tile.address(stored_rows, stored_depths)
            loaded = tile.address(loaded_rows, loaded_depths)
            stores = conflicts(target, stored, candidate.store_type.nbytes, read=False)
            count = len(candidate.chunks) * stores + conflicts(target, loaded, width, read=True)
            if count < fewest:
                fewest, best = count, replace(candidate, tile=tile)
            if not count:
                return best
    return best


def arrangements(staging: Staging, target: Target) -> Iterator[LdsTile]:
    """Yield tiles with unpadded lines, then with lines as long as all banks, each with all
    swizzles."""
    span = slots_per_cycle(target)
    tiles = [staging.tile]
    if staging.tile.slots < span:
        tiles.append(replace(staging.tile, line_slots=span))
    for tile in tiles:
        for swizzle in swizzles(tile, span, staging.chunk_k):
            yield replace(tile, swizzle=swizzle)


def swizzles(tile: LdsTile, span: int, chunk_k: int) -> Iterator[Swizzle]:
    """Yield no swizzle, swizzles by line (for neighbouring threads along k), and swizzles by
    position (for those along rows).

    `span` is the number of slots that all banks hold once. The lines of a chunk of `chunk_k` depths
    share one swizzle.
    """
    mask = power_of_two_divisor(tile.slots, span) - 1
    shift = max(1, chunk_k // tile.slot_k).bit_length() - 1
    by_line = [
        Swizzle(line_mask=mask, line_shift=shift, line_scale=scale)
        for scale in range(mask.bit_length())
    ]
    by_position = [
        Swizzle(position_mask=mask, position_shift=shift)
        for shift in range(1, tile.slots.bit_length())
    ]
    yield Swizzle()
    yield from by_line
    for one in by_position:
        yield one
        yield from (
            replace(line, position_mask=mask, position_shift=one.position_shift) for line in by_line
        )


def first_stores(staging: Staging, target: Target) -> tuple[Lanes, Lanes]:
    """Return the rows and depths of the first wave's stores of its first chunk, with an axis of
    instructions before that of lanes."""
    rows, depths = staging.place(np.arange(min(target.subgroup, staging.threads)))
    stores = staging.stores
    row_steps = np.array([store.row for store in stores])[:, None]
    depth_steps = np.array([store.k for store in stores])[:, None]
    return rows + row_steps, depths + depth_steps
