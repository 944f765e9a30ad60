"""Rows of attention: the queries of all heads that share a K/V head; and blocks of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kgen.schedule import CooperativeAttention, UnstagedAttention
from kgen.spec import Attention
from kgen.targets.batch import BatchCoordinate
from kgen.targets.vulkan.plan.index import Index
from kgen_runtime.values import frozen

AttentionSchedule = UnstagedAttention | CooperativeAttention


@frozen
class QueryRow:
    """Row `number` of an invocation: a query of a head."""

    number: int
    #: Number of the head in its group, and number of the query, to compute from the row's number.
    #: Empty if the row's number is one of the two, because the other is always 0.
    coordinates: tuple[BatchCoordinate, ...]
    #: Id of the query's number in its head.
    query: str
    #: First access in each tensor that has a row for each query.
    places: Mapping[str, Index]


def row_count(spec: Attention) -> int:
    """Return the queries of all heads that share a K/V head."""
    return spec.group * spec.queries


def block_sizes(spec: Attention, schedule: AttentionSchedule) -> dict[str, int]:
    """Return the extents of the coordinates of a workgroup's number, outermost first."""
    row_blocks = -(-row_count(spec) // schedule.block_q)
    return {"batch": spec.batch, "kv_head": spec.kv_heads, "row_block": row_blocks}


def coordinates(sizes: Mapping[str, int], suffix: str = "") -> tuple[BatchCoordinate, ...]:
    """Return the coordinates to compute from a number, given their extents, outermost first.

    Coordinates that are always 0 are left out. Empty if a single coordinate remains: it equals the
    number.
    """
    kept = {name: size for name, size in sizes.items() if size > 1}
    if len(kept) < 2:
        return ()
    counts = list(kept.values())
    return tuple(
        BatchCoordinate(
            name=f"{name}{suffix}",
            divisor=math.prod(counts[i + 1 :]),
            size=size,
            is_outermost=i == 0,
        )
        for i, (name, size) in enumerate(kept.items())
    )


def coordinate_ids(sizes: Mapping[str, int], number: str, suffix: str = "") -> dict[str, str]:
    """Return the id of each coordinate of `number` that is not always 0, by name."""
    kept = [name for name, size in sizes.items() if size > 1]
    return {name: number if len(kept) == 1 else f"{name}{suffix}" for name in kept}
