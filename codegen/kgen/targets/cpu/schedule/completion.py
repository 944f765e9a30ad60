"""Complete a schedule: fields that follow from its blocks and from the sizes of the caches.

Heuristics choose main loop, packing and blocks. These functions then choose prefetches, where sums
are kept, and the tasks of a pass. They do so again after a user has set other fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from kgen.schedule import AheadMatmul, AmxMatmul, CpuMatmul, CpuSplitMatmul, CpuStream, Schedule
from kgen.schedule.matmul import PANELS_AHEAD
from kgen.spec import Matmul, Rowwise, Spec
from kgen.targets.base import Target
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.base import AHEAD_BYTES, LINE_BYTES
from kgen.targets.cpu.plan.kernels.blis import BlisPlan, may_sum_in_out, unchecked_blis
from kgen.targets.cpu.plan.tiles.tiled import PACKING_AHEAD
from kgen.targets.cpu.schedule.row_choices import row_choices

#: K of a block from which tiles prefetch the next panel of an unpacked B, not the next block.
NEXT_PANEL_K = 96
#: K of a block from which partial sums stay in out, which saves clearing and copying scratch.
IN_OUT_K = 128
#: Part of the last-level cache beyond which each panel of a B in pairs is prefetched PANELS_AHEAD
#: bytes ahead.
FAR_PART = 1 / 4


def completed(
    spec: Spec, target: Target, schedule: Schedule, given: Collection[str] = ()
) -> Schedule:
    """Return the schedule with the fields that follow from others, but for those in `given`.

    A schedule that does not fit is not refused here: its plan names a value that fits.
    """
    fields: dict[str, int] = {}
    if isinstance(spec, Matmul) and isinstance(schedule, CpuMatmul):
        plan = unchecked(spec, target, schedule)
        if type(schedule) is CpuMatmul and "mainloop" not in given:
            schedule = with_prefetch(plan)
        elif "ahead" not in given:
            fields["ahead"] = distance(plan)
        fields |= passes(plan, given)
    elif isinstance(spec, Matmul) and isinstance(schedule, AmxMatmul):
        fields["prefetch_panel"] = fetches_tiles(spec, target, schedule)
    elif isinstance(spec, Rowwise) and isinstance(schedule, CpuStream):
        fields |= row_choices(spec, target, schedule)
    names = set(schedule.names) - set(given)
    chosen = {name: value for name, value in fields.items() if name in names}
    return dataclasses.replace(schedule, **chosen)  # type: ignore[arg-type]


def unchecked(spec: Matmul, target: Target, schedule: CpuMatmul) -> BlisPlan:
    return unchecked_blis(spec, target, schedule)


# -- prefetches of panels and rows of B ------------------------------------------------------------


def with_prefetch(plan: BlisPlan) -> CpuMatmul:
    """Return the schedule, with software prefetch of B where the hardware does not keep up."""
    schedule = plan.schedule
    fields = {name: getattr(schedule, name) for name in schedule.names}
    if wants_panels(plan):
        return AheadMatmul(**fields, ahead=distance(plan), level=2, origin=schedule.origin)
    if fetches_rows(plan):
        ahead = PACKING_AHEAD * plan.tensors.b_strides[1]
        return AheadMatmul(**fields, ahead=ahead, level=1, origin=schedule.origin)
    return schedule


def wants_panels(plan: BlisPlan) -> bool:
    """Whether a single row of tiles prefetches the panels of a prepacked B.

    The hardware prefetcher does not keep up with a B of fewer bits than A where a step reads less
    than a vector of each panel, or where panels are short. It does not keep up with pairs either
    where vectors are half a cache line and B takes a large part of the last-level cache.
    """
    spec = plan.spec
    size = spec.k * spec.n * spec.b_type.itemsize
    is_far = size > FAR_PART * plan.target.limits["l3_bytes"]
    if plan.pairs and plan.acc.vector_bytes < LINE_BYTES and is_far:
        return True
    if spec.b_dtype is None or not plan.b_is_packed or plan.blocking.row_tiles > 1:
        return False
    step = plan.b_format.width * plan.b_format.depth * spec.b_type.itemsize
    return step < plan.acc.vector_bytes or panels_are_short(plan)


def panels_are_short(plan: BlisPlan) -> bool:
    """Whether a panel fits in the first-level cache."""
    return plan.b_format.width * plan.tensors.b_strides[2] <= plan.target.limits["l1_bytes"]


def distance(plan: BlisPlan) -> int:
    """Return the prefetch distance in bytes: in the same panel, or to the panel of the next tile
    where panels are short."""
    schedule = plan.schedule
    if isinstance(schedule, AheadMatmul) and (schedule.level == 1 or not plan.b_is_packed):
        return schedule.ahead
    if panels_are_short(plan):
        return schedule.nr * plan.tensors.b_strides[2]
    if isinstance(schedule, AheadMatmul):
        return schedule.ahead
    return PANELS_AHEAD if plan.pairs else AHEAD_BYTES


def fetches_rows(plan: BlisPlan) -> bool:
    """Whether rows of a large unpacked B are prefetched, where one row of tiles reads all of K.

    Such a tile reads short parts of rows, which the hardware prefetcher does not follow."""
    is_large = plan.spec.k * plan.tensors.b_strides[1] > plan.target.limits["l2_bytes"]
    return plan.takes_rows_once and is_large


def fetches_next_panel(plan: BlisPlan) -> bool:
    """Whether the tiles of a panel of B prefetch the next panel, each some of its lines.

    They do for a large prepacked B, and for an unpacked B with long blocks of K."""
    spec = plan.spec
    if not plan.may_fetch_next_panel:
        return False
    if plan.b_is_packed:
        return spec.k * spec.n * spec.b_type.itemsize > plan.target.limits["l2_bytes"]
    return plan.schedule.kc >= NEXT_PANEL_K


def fetches_tiles(spec: Matmul, target: Target, schedule: AmxMatmul) -> bool:
    """Whether AMX tiles prefetch the next panel: B takes over half of the second-level cache."""
    from kgen.targets.cpu.plan.amx.matmul import unchecked_amx

    product = tile_product(spec.dtype, target)
    if product is None:
        return False
    plan = unchecked_amx(spec, target, schedule, product)
    return plan.beside.may_fetch and plan.tiled_b.matrix_bytes > target.limits["l2_bytes"] // 2


# -- sums between blocks of K, and tasks of a pass -------------------------------------------------


def passes(plan: BlisPlan, given: Collection[str]) -> dict[str, int]:
    """Return the fields about passes over the output and over B."""
    schedule = plan.schedule
    in_out = schedule.sums_in_out if "sums_in_out" in given else sums_in_out(plan)
    tasks = tasks_together(plan.spec, plan.target, schedule) if in_out else 1
    panel = fetches_next_panel(plan)
    return {"sums_in_out": in_out, "tasks_per_pass": tasks, "prefetch_panel": panel}


def sums_in_out(plan: BlisPlan) -> bool:
    """Whether partial sums stay in out: blocks are too wide for scratch, or long along K."""
    if isinstance(plan.schedule, CpuSplitMatmul) or plan.is_direct or not may_sum_in_out(plan.spec):
        return False
    if plan.schedule.kc >= IN_OUT_K:
        return True
    copies = plan.packs_a * plan.a_pack.bytes + plan.packs_b * plan.b_panel_bytes
    sums = plan.schedule.mc * plan.scratch_row
    return copies + sums > plan.target.limits["stack_bytes"]


def tasks_together(spec: Matmul, target: Target, schedule: CpuMatmul) -> int:
    """Return how many neighbouring tasks one thread computes in a single pass over A.

    Partial sums stay in out. They fit in half of the second-level cache, and so does a block of B.
    """
    if not (IN_OUT_K <= schedule.kc < spec.k and may_sum_in_out(spec)):
        return 1
    column = max(min(schedule.mc, spec.m) * spec.out.itemsize, schedule.kc * spec.b_type.itemsize)
    most = target.limits["l2_bytes"] // 2 // (schedule.nc * column)
    return max(1, min(-(-spec.n // schedule.nc), most))
