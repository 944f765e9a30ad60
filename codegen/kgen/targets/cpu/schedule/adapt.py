"""Make the schedule of one matmul legal for another of its class, or complete a user's fields: the
cost model chooses among the legal candidates that keep as many fields as possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from kgen import schedule as kinds
from kgen.schedule import BlockedMatmul
from kgen.spec import Conv2d, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.candidate_table import balanced, rounded_up
from kgen.targets.contraction.implicit_gemm import implicit_gemm
from kgen.targets.cpu.plan.amx.tiles import tile_k
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.kernels.inner_operands import is_inner
from kgen.targets.cpu.plan.packing.packed_windows import reads_rows
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.plan.tiles.tiled import tallest_tile
from kgen.targets.cpu.schedule.cost_model import best, packed_operands

#: Fields that say which operands tasks pack for each other, and where; they follow from the blocks.
SHARING = ("keep_b", "packer", "a_in_workspace", "in_workspace")
#: Fields that follow from blocks, packing and the sizes of the caches.
DEPENDENT = ("ahead", "level", "prefetch_a", "prefetch_panel", "sums_in_out", "tasks_per_pass")
#: Fields that are given up, step by step, until some candidate is legal.
GIVEN_UP = (
    (*DEPENDENT, *SHARING),
    ("mc", "nc", "prefetch", "apart", "unroll", "split_k"),
    ("kc", "parts"),
    ("mr", "nr"),
    ("pack_a", "pack_b", "halves", "words"),
)


def adapted(
    spec: Matmul, target: Target, schedule: BlockedMatmul, sizes: tuple[int, ...]
) -> BlockedMatmul:
    """Return a legal schedule like that of other (M, N, K), of its main loop if possible."""
    return _first(spec, target, schedule, _fewer(_scaled(spec, target, schedule, sizes)))


def completed(
    spec: Matmul | Conv2d, target: Target, schedule: BlockedMatmul, given: Collection[str]
) -> BlockedMatmul:
    """Return the schedule with its dependent fields, except those in `given`, chosen by the model.

    If no such schedule is legal, the model also chooses the second group of `GIVEN_UP`. If that
    does not help, the schedule is returned unchanged, and its plan raises the error.
    """
    fields = {name: int(getattr(schedule, name)) for name in schedule.names}
    if "mainloop" in given:
        fields.setdefault("ahead", 0)
    kept = {*given, *(("ahead",) if "mainloop" in given else ())}
    if isinstance(spec, Conv2d):
        kept |= packed_operands(spec).keys()
        if reads_rows(spec) and "pack_a" not in given:
            fields.pop("pack_a", None)
        spec = implicit_gemm(spec)
    return _first(spec, target, schedule, [*_fewer(fields, kept)][1:3])


def _first(
    spec: Matmul, target: Target, schedule: BlockedMatmul, tries: Iterable[Mapping[str, int]]
) -> BlockedMatmul:
    """Return the best candidate with the fields of the first of `tries` for which one is legal; the
    schedule itself if there is none."""
    for fixed in tries:
        found = best(spec, target, fixed, schedule.mainloop)
        if found is not None:
            return dataclasses.replace(found, origin=schedule.origin)
    return schedule


def _fewer(fields: Mapping[str, int], kept: Collection[str] = ()) -> Iterator[dict[str, int]]:
    """Yield all fields, then without each group of `GIVEN_UP` in turn, except those in `kept`."""
    fixed = dict(fields)
    yield fixed
    for names in GIVEN_UP:
        fixed = {name: v for name, v in fixed.items() if name not in names or name in kept}
        yield fixed


def _scaled(
    spec: Matmul, target: Target, schedule: BlockedMatmul, sizes: tuple[int, ...]
) -> dict[str, int]:
    """Return the fields for the new extents: whole extents stay whole, others keep their size."""
    m, n, k = sizes
    fields = {name: int(getattr(schedule, name)) for name in schedule.names}
    mr, nr = fields["mr"], fields["nr"]
    most, is_inner_loop = most_rows(spec, target, schedule), isinstance(schedule, kinds.InnerMatmul)
    if not isinstance(schedule, kinds.AmxMatmul):
        fields["mr"] = int(balanced(spec.m, most if mr == balanced(m, most) else mr))
    if isinstance(schedule, kinds.OuterMatmul):
        fields |= {"mr": spec.m, "mc": spec.m}
    else:
        fields["mc"] = _block(spec.m, fields["mc"], m, fields["mr"])
        is_whole = fields["kc"] >= k or (is_inner_loop and spec.k % fields["kc"] > 0)
        if not isinstance(schedule, kinds.LimbsMatmul):
            fields["kc"] = spec.k if is_whole else min(fields["kc"], spec.k)
    if is_inner_loop:
        fields["pack_b"] = int(not is_inner(spec))
    if isinstance(schedule, kinds.AmxMatmul):
        fields["kc"] = int(rounded_up(fields["kc"], tile_k(spec.dtype)))
    fields["nc"] = _block(spec.n, fields["nc"], n, nr)
    if type(schedule) is kinds.CpuMatmul:
        fields["ahead"] = 0
    elif isinstance(schedule, kinds.AheadMatmul) and not (schedule.pack_b or spec.constant):
        rows = schedule.ahead // (n * spec.b_type.itemsize)
        fields["ahead"] = rows * spec.b_strides[1] * spec.b_type.itemsize
    return {name: value for name, value in fields.items() if name not in SHARING}


def most_rows(spec: Matmul, target: Target, schedule: BlockedMatmul) -> int:
    """Return the rows of a register tile of the schedule's width that the registers hold."""
    if not isinstance(schedule, kinds.CpuMatmul | kinds.DotMatmul):
        return schedule.mr
    dot = dot_for(spec.dtype, target)
    lanes = finishing_vector(spec, target, COLUMNS if dot else spec.n).count
    extra = dot.extra_registers if dot else 0
    return tallest_tile(target, max(schedule.nr // lanes, 1), extra)


def _block(extent: int, block: int, measured: int, unit: int) -> int:
    most = rounded_up(extent, unit) if block >= measured else block
    return int(balanced(extent, most, unit))
