"""Legal schedules of a matmul on CPUs: for each main loop every combination of declared values.

Block sizes are fractions of the matrix and powers of two, register tiles everything that the vector
registers hold. Nothing here knows a core or a measurement; the cost model ranks the candidates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from kgen import schedule as kinds
from kgen.schedule import BlockedMatmul
from kgen.schedule.matmul import A_AHEAD, PANELS_AHEAD
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.candidate_table import (
    Column,
    Fixed,
    Mask,
    Space,
    Table,
    balanced,
    ceil_div,
    limits,
    per_shape,
    rounded_up,
)
from kgen.targets.contraction.implicit_gemm import ImplicitGemm
from kgen.targets.cpu.plan.amx import tiles
from kgen.targets.cpu.plan.amx.packing import must_pack_a
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.kernels import blis, dot, inner_operands, limb_parts
from kgen.targets.cpu.plan.kernels.blis import PAIR, has_pairs
from kgen.targets.cpu.plan.kernels.gemv import ALIAS_BYTES, rows_of_b
from kgen.targets.cpu.plan.matmul import MOST_PADDING
from kgen.targets.cpu.plan.packing.compensation import START_BYTES
from kgen.targets.cpu.plan.packing.mapped_b import mapped_bytes
from kgen.targets.cpu.plan.packing.packed_a import ROW_PADDING
from kgen.targets.cpu.plan.packing.packed_windows import reads_rows, segment_of, strip_pitch
from kgen.targets.cpu.plan.packing.panel import b_is_packed
from kgen.targets.cpu.plan.packing.split_groups import split_bytes
from kgen.targets.cpu.plan.tiles.dots import Dot, dot_for

MatmulSpace: TypeAlias = Space[BlockedMatmul]
MatmulTable: TypeAlias = Table[BlockedMatmul]

#: Vectors of a register tile along N, and rows by which it is lower than the registers allow.
VECTORS, ROWS_LESS = (1, 2, 3, 4, 6, 8), (0, 1)
#: Limits of K of a block and of rows of a block of A. The whole extent is a candidate too.
DEPTHS, HEIGHTS = (1024, 512, 256, 192, 128, 64, 32, 16, 8), (512, 256, 128, 64)
#: Limits of the tiles of a block of a Winograd convolution.
TILES_MOST = (48, 32, 24, 16, 12, 8, 6, 4, 2)
#: Equal parts of the columns, or of the rows of an inner product; and limits of columns.
PARTS, COLUMNS_MOST = (1, 2, 3, 4, 8, 16, 32), (1024, 256, 64)
#: Place of partial sums: scratch memory (0), out (1), or out with all tasks of a row per pass (2).
SUMS = (0, 1, 2)
#: Rows of B between two streams of an outer product; and the prefetches of each stream: number of
#: rows, distance from one row to the next, and cache level.
STREAM_ROWS = (1, 64, 128, 256)
STREAM_FETCHES = ((0, 1, 2), (1, 1, 2), (2, 1, 2), (1, 4, 1), (1, 8, 1), (2, 6, 2), (1, 16, 1))
#: Prefetch distances: rows in an unpacked B, and bytes in a prepacked B.
ROWS_AHEAD, BYTES_AHEAD = 32, (1024, 2048, PANELS_AHEAD)
#: Limit of columns of a tile of an inner product; each column is a stream.
MOST_STREAMS = 8
#: Independent sums of a tile that hide the latency of multiply-adds.
CHAINS = 8


def spaces(
    spec: Matmul, target: Target, fixed: Fixed | None = None, mainloop: str | None = None
) -> Iterator[MatmulSpace]:
    """Yield the candidates of each main loop, or of `mainloop` alone, with the `fixed` fields."""
    for names, space in _MAINLOOPS:
        is_wanted = mainloop is None or mainloop in names
        if is_wanted and (found := space(spec, target, fixed or {})):
            yield found


def _put_kept(table: MatmulTable, spec: Matmul, panel: Column, besides: Column, stack: int) -> None:
    """Add `keep_b`: panels of `panel` bytes serve later tasks if the stack holds them with the
    `besides` bytes of a task."""
    alone = (table["pack_a"] == 0) | (table["nc"] >= spec.n)
    reused = (table["pack_b"] > 0) & (table["mc"] < spec.m) & (table["kc"] >= spec.k) & alone
    table.put(keep_b=reused & (table["nc"] // table["nr"] * panel + besides <= stack))


def _widths(n: int) -> tuple[int, ...]:
    """Return the columns of blocks: equal parts of N, and fixed sizes."""
    parts = [-(-n // parts) for parts in PARTS]
    return tuple(dict.fromkeys([*parts, *(width for width in COLUMNS_MOST if width < n)]))


def _tiles(
    table: MatmulTable,
    spec: Matmul,
    target: Target,
    count: int,
    extra: Column | int,
    divided: int = 0,
) -> Mask:
    """Add register tiles of vectors of `count` columns; `extra` registers serve other purposes.
    Their rows divide `divided`, if it is given."""
    registers = target.limits["vector_registers"] - 2 - extra
    table.put(nr=table["vectors_nr"] * count)
    vectors = np.maximum(table["nr"] // count, 1)
    most = np.maximum(registers // vectors - 1 - table["less_mr"], 1)
    table.put(mr=_divisor(divided, most) if divided else balanced(spec.m, most))
    return ((table["mr"] + 1) * vectors <= registers) & (table["nr"] % count == 0)


def _divisor(extent: int, most: Column) -> Column:
    """Return the largest divisor of an extent up to `most`."""
    divisors = np.array([n for n in range(1, extent + 1) if extent % n == 0])
    return divisors[np.searchsorted(divisors, most, side="right") - 1]


def _blocks(table: MatmulTable, spec: Matmul, unit: Column | int, k_unit: int) -> None:
    """Add blocks around a register tile: rows in multiples of `unit`, K in those of `k_unit`."""
    table.put(mc=balanced(spec.m, table["most_mc"], unit))
    table.put(nc=rounded_up(table["most_nc"], table["nr"]))
    most, segment = table["most_kc"], segment_of(spec)
    parts = balanced(spec.k, most, k_unit)
    if segment and segment % k_unit == 0:
        # Blocks of whole segments of windows, or equal parts of a segment, are packed fastest.
        within = balanced(segment, most, k_unit)
        parts = np.where(most >= segment, balanced(spec.k, most, segment), within)
    table.put(kc=np.where(most >= spec.k, spec.k, parts))


def _block_axes(spec: Matmul, *, must_pack_a: bool, must_pack_b: bool) -> dict[str, Sequence[int]]:
    """Return the axes of register tiles, blocks and packing; nothing packs a prepacked B again."""
    return {
        "pack_a": (1,) if must_pack_a else (0, 1),
        "pack_b": (0,) if spec.constant else (1,) if must_pack_b else (0, 1),
        "vectors_nr": VECTORS,
        "less_mr": ROWS_LESS,
        "most_kc": limits(spec.k, DEPTHS),
        "most_mc": limits(spec.m, HEIGHTS),
        "most_nc": _widths(spec.n),
    }


def _blis(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return multiply-adds of vectors (`blis`; `ahead` if tiles prefetch B)."""
    if segment_of(spec):
        return None if fixed.get("pack_a") == 0 else _multiply_adds(spec, target, fixed)
    return _multiply_adds(spec, target, fixed)


def _image_rows(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return multiply-adds of vectors whose tiles read windows in place, from rows of images."""
    if not (segment_of(spec) and isinstance(spec, ImplicitGemm) and reads_rows(spec.operation)):
        return None
    own = {"pack_a": 0, "mc": spec.operation.out_sizes[-1]}
    if any(fixed.get(name, value) != value for name, value in own.items()):
        return None
    return _multiply_adds(spec, target, {**fixed, **own})


def _multiply_adds(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    instruction, stack = dot_for(spec.dtype, target), target.limits["stack_bytes"]
    multiplies_bytes = bool(instruction) and spec.dtype is DType.S8
    if spec.has_blocks or multiplies_bytes or limb_parts.packed_otherwise(spec, target):
        return None
    widens, gathers = spec.dtype is not spec.accumulate, spec.layout.b_transposed
    if spec.constant and gathers and not b_is_packed(spec):
        return None
    in_place = segment_of(spec) > 0 and fixed.get("pack_a") == 0
    must_pack_a = widens or (segment_of(spec) > 0 and not in_place)
    axes = _block_axes(spec, must_pack_a=must_pack_a, must_pack_b=gathers)
    table = MatmulTable(kinds.AheadMatmul, fixed, **axes, sums=SUMS, fetch=(0, 1, 2, 3))
    count = finishing_vector(spec, target, spec.n).count
    pairs = has_pairs(spec) and not instruction
    extra = np.maximum(table["vectors_nr"], 2) if pairs else 0
    fits = _tiles(table, spec, target, count, extra, fixed["mc"] if in_place else 0)
    if pairs:
        # With a single vector, LLVM keeps elements of several rows in registers, and spills.
        fits &= (table["nr"] > count) | (2 * table["mr"] < target.limits["vector_registers"])
    by_columns = spec.layout.a_transposed
    unit = np.lcm(table["mr"], np.where(table["pack_a"], count, 1)) if by_columns else table["mr"]
    _blocks(table, spec, unit, max(count, PAIR))
    blocked, mc, kc = table["kc"] < spec.k, table["mc"], table["kc"]
    if by_columns:
        fits &= (mc >= spec.m) | (mc % np.where(table["pack_a"] > 0, count, 1) == 0)
    else:
        fits &= ~(blocked & (table["pack_a"] > 0)) | (kc % count == 0)
    fits &= ~blocked | (kc % PAIR == 0)
    tasks = ceil_div(spec.n, table["nc"])
    together = table["sums"] == 2
    table.put(sums_in_out=table["sums"] > 0, tasks_per_pass=np.where(together, tasks, 1))
    in_out = table["sums_in_out"] > 0
    fits &= ~in_out | (blocked & blis.may_sum_in_out(spec))
    fits &= ~together | (tasks > 1)
    fits &= in_out | (table["tasks_per_pass"] == 1)
    fits &= _fetches(table, spec, blocked)
    itemsize = spec.accumulate.itemsize
    runs, length = (kc, mc) if by_columns else (mc, kc)
    scratch = table["pack_a"] * runs * (rounded_up(length, count) * itemsize + ROW_PADDING)
    if in_place:
        assert isinstance(spec, ImplicitGemm)
        fits &= blocked & (segment_of(spec) % kc == 0)
        scratch = mc * strip_pitch(spec.operation, table["mr"], kc, count, itemsize)
    panel = kc * table["nr"] * itemsize
    _put_kept(table, spec, panel, scratch, stack)
    scratch = scratch + table["pack_b"] * panel + widens * mapped_bytes(spec, kc, table["nr"])
    scratch = scratch + blocked * ~in_out * mc * (table["nc"] * itemsize + MOST_PADDING)
    return table.space(fits & (scratch <= stack))


def _fetches(table: MatmulTable, spec: Matmul, blocked: Mask) -> Mask:
    """Add what tiles prefetch: the next block of K (0), the next panel (1), or B ahead in their own
    panel, into the second-level cache (2) or the first-level one (3)."""
    several = ceil_div(np.minimum(table["mc"], spec.m), table["mr"]) > 1
    packs, mode = table["pack_b"] > 0, table["fetch"]
    row = spec.b_strides[1] * spec.b_type.itemsize
    in_rows = ~packs & (not spec.constant)
    table.put(
        prefetch_panel=mode == 1,
        ahead=np.where(mode >= 2, np.where(in_rows, ROWS_AHEAD * row, PANELS_AHEAD), 0),
        level=np.where(mode == 3, 1, 2),
        prefetch_a=A_AHEAD,
    )
    ahead = table["ahead"] > 0
    may_fetch_panel = several & ~packs & (blocked | bool(spec.constant))
    may_fetch_panel &= spec.b_type is spec.accumulate
    may_fetch_own = np.where(packs, several & (not spec.layout.b_transposed), ~several & ~blocked)
    may_fetch_own = may_fetch_own | bool(spec.constant)
    legal: Mask = ~(table["prefetch_panel"] > 0) | may_fetch_panel
    legal &= ~ahead | (may_fetch_own & ~(table["prefetch_panel"] > 0))
    legal &= ~(ahead & in_rows) | (table["ahead"] % row == 0)
    fixed_ahead = (table["ahead"] == PANELS_AHEAD) & (table["level"] == 2)
    return legal & (~(ahead & packs) | fixed_ahead)


def _winograd(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return products in the positions of Winograd's transforms."""
    transforms = spec.operation.transforms if isinstance(spec, ImplicitGemm) else None
    if transforms is None:
        return None
    axes = _block_axes(spec, must_pack_a=True, must_pack_b=False)
    axes |= {"most_mc": limits(spec.m, TILES_MOST), "ahead": (0, PANELS_AHEAD)}
    table = MatmulTable(kinds.WinogradMatmul, fixed, **axes)
    count = finishing_vector(spec, target, spec.n).count
    fits = _tiles(table, spec, target, count, 0)
    _blocks(table, spec, table["mr"], count)
    kc, itemsize = table["kc"], spec.accumulate.itemsize
    fits &= (kc >= spec.k) | (kc % count == 0)
    rows = rounded_up(kc, count) * itemsize + ROW_PADDING + table["nc"] * itemsize
    scratch = transforms.positions * (table["mc"] * rows + 2 * MOST_PADDING)
    vectors = (transforms.positions + transforms.tile**2) * count * itemsize
    # A workspace is no larger than the tensors.
    tasks = ceil_div(spec.m, table["mc"]) * ceil_div(spec.n, table["nc"])
    table.put(in_workspace=scratch + vectors > target.limits["stack_bytes"])
    fits_stack = scratch + vectors <= target.limits["stack_bytes"]
    fits_workspace = tasks * scratch <= sum(p.nbytes for p in spec.parameters)
    return table.space(fits & np.where(table["in_workspace"] > 0, fits_workspace, fits_stack))


def _split(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return split-k of one block of out, for skinny GEMMs with unpacked B."""
    if spec.batch > 1 or spec.constant or spec.layout.b_transposed or fixed.get("pack_b"):
        return None
    blis = _blis(spec, target, {**fixed, "pack_b": 0, "sums_in_out": 0, "tasks_per_pass": 1})
    if blis is None:
        return None
    columns = dict(blis.columns)
    alone = (columns["mc"] >= spec.m) & (columns["nc"] >= spec.n)
    columns["split_k"] = np.broadcast_to(fixed.get("split_k", 4), (len(blis),))
    blocks = ceil_div(spec.k, columns["kc"])
    alone &= (blocks > columns["split_k"]) & (columns["ahead"] == 0)
    return MatmulSpace(kind=kinds.CpuSplitMatmul, columns=columns).where(alone)


def _dot(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return dot-product instructions on groups of K."""
    found = dot_for(spec.dtype, target)
    if found is None or limb_parts.packed_otherwise(spec, target):
        return None
    axes = _block_axes(
        spec, must_pack_a=dot.must_pack_a(spec, found), must_pack_b=dot.must_pack_b(spec, found)
    )
    axes["ahead"] = (0, *BYTES_AHEAD) if spec.constant else (0,)
    return _groups(spec, target, fixed, found, axes)


def _split_groups(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return products of a prepacked B that each task splits, so that they fit in 16 bits, if
    pack_b=1 is fixed: whether they are faster depends on the values of B."""
    found = dot.dot_of_split(spec, target)
    if found is None or not fixed.get("pack_b"):
        return None
    axes = _block_axes(spec, must_pack_a=True, must_pack_b=True)
    return _groups(spec, target, fixed, found, axes | {"pack_b": (1,), "ahead": (0, *BYTES_AHEAD)})


def _groups(
    spec: Matmul, target: Target, fixed: Fixed, found: Dot, axes: Mapping[str, Sequence[int]]
) -> MatmulSpace | None:
    stack, splits = target.limits["stack_bytes"], bool(found.adds_pairs)
    if any(fixed.get(name, value) != value for name, (value, *more) in axes.items() if not more):
        return None
    table = MatmulTable(kinds.DotMatmul, fixed, **axes)
    count = vector_for(target, DType.F32, dot.COLUMNS).count
    fits = _tiles(table, spec, target, count, found.extra_registers)
    run_k = dot.elements_of_run(spec, count, found)
    _blocks(table, spec, table["mr"], run_k)
    if splits:
        # A block of all rows splits B once, even if M is no multiple of mr.
        all_rows = rounded_up(spec.m, table["mr"])
        table.put(mc=np.where(table["most_mc"] >= spec.m, all_rows, table["mc"]))
    # A tile that interleaves rows of B by itself needs registers for them; LLVM would spill.
    vectors = table["nr"] // count
    waiting = np.where(table["pack_b"] > 0, 0, 1 if found.group == PAIR else vectors)
    needed = (table["mr"] + 1) * vectors + 2 + found.extra_registers + waiting * (not spec.constant)
    fits &= needed <= target.limits["vector_registers"]
    mc, kc, blocked = table["mc"], table["kc"], table["kc"] < spec.k
    fits &= ~blocked | (kc % run_k == 0)
    itemsize = dot.GROUP_BYTES // found.group
    scratch = table["pack_a"] * mc * (rounded_up(kc, run_k) * itemsize + ROW_PADDING)
    scratch = scratch * (1 + splits) + mc * START_BYTES * found.b_is_unsigned
    panel = rounded_up(kc, found.group) * table["nr"] * spec.dtype.itemsize
    panel = split_bytes(kc, table["nr"]) if splits else panel
    _put_kept(table, spec, panel, scratch, stack)
    room = panel if splits else rounded_up(kc, run_k) * table["nr"] * itemsize
    scratch = scratch + table["pack_b"] * room
    scratch = scratch + mapped_bytes(spec, kc, table["nr"])
    scratch = scratch + blocked * mc * (table["nc"] * spec.accumulate.itemsize + MOST_PADDING)
    return table.space(fits & (scratch <= stack))


def _amx(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return AMX tiles, two by two at most."""
    if tiles.tile_product(spec.dtype, target) is None:
        return None
    unit = tiles.tile_k(spec.dtype)
    table = MatmulTable(
        kinds.AmxMatmul,
        fixed,
        rows=(1, 2),
        columns=(1, 2),
        most_kc=limits(spec.k, DEPTHS),
        down=PARTS,
        most_nc=_widths(spec.n),
        pack_a=(1,) if must_pack_a(spec) else (0, 1),
        prefetch_panel=(0, 1),
    )
    table.put(mr=table["rows"] * tiles.TILE_ROWS, nr=table["columns"] * tiles.TILE_ROWS)
    table.put(mc=rounded_up(ceil_div(spec.m, table["down"]), table["mr"]))
    table.put(nc=rounded_up(table["most_nc"], table["nr"]), pack_b=int(not spec.constant))
    whole, parts = rounded_up(spec.k, unit), balanced(spec.k, table["most_kc"], unit)
    table.put(kc=np.where(table["most_kc"] >= spec.k, whole, parts))
    last = spec.m - (ceil_div(spec.m, table["mc"]) - 1) * table["mc"]
    fits = last >= np.minimum(table["mr"], spec.m)
    fits &= (table["mr"] <= tiles.TILE_ROWS) | (spec.m > tiles.TILE_ROWS)
    fits &= (table["mr"] % tiles.TILE_ROWS == 0) & (table["nr"] % tiles.TILE_ROWS == 0)
    sums = table["mc"] * table["nr"] * spec.accumulate.itemsize * (table["kc"] < spec.k)
    fits &= sums <= target.limits["stack_bytes"] // 2
    several = np.minimum(table["mc"], spec.m) > table["mr"]
    fits &= (table["prefetch_panel"] == 0) | (several & bool(spec.constant))
    _packers(table, spec, target, sums)
    return table.space(fits)


def _packers(table: MatmulTable, spec: Matmul, target: Target, sums: Column) -> None:
    """Add who packs B for AMX tiles and where A is packed: tiles beside their products (2), if each
    part is packed once and two take half of the stack; else a task that is alone, on its stack (1);
    else a launch (0). A workspace holds what the stack cannot."""
    mr, nr, mc, kc = (table[name] for name in ("mr", "nr", "mc", "kc"))
    stack, itemsize = target.limits["stack_bytes"], spec.dtype.itemsize
    steps, unpacked = ceil_div(spec.k, tiles.tile_k(spec.dtype)), not b_is_packed(spec)
    parts = 2 * nr * kc * itemsize
    beside = (spec.k % kc == 0) & (spec.n % nr == 0) & (spec.n > nr) & (mr < spec.m)
    beside &= (spec.m <= mc) & unpacked & (not spec.layout.b_transposed) & (parts <= stack // 2)
    row = steps * tiles.ROW_BYTES + must_pack_a(spec) * ROW_PADDING
    held = table["pack_a"] * mc * row + sums + mr * nr * spec.accumulate.itemsize
    matrix = rounded_up(spec.n, nr) // tiles.TILE_ROWS * steps * tiles.TILE_BYTES
    one = (mc >= spec.m) & (table["nc"] >= spec.n) & unpacked
    one &= spec.batch == 1 or any(spec.batch_strides("b"))
    table.put(packer=np.where(beside, 2, one & (held + matrix <= stack)))
    full = held + parts * (table["packer"] == 2) > stack
    table.put(a_in_workspace=full & (table["packer"] != 1) & (table["pack_a"] > 0))


def _limbs(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return byte products of a prepacked B of 8 or 4 bits."""
    found = limb_parts.limb_dot(spec, target)
    if found is None:
        return None
    lanes, limbs = target.limits["vector_bytes"] // 4, limb_parts.limb_count(spec)
    table = MatmulTable(
        kinds.LimbsMatmul,
        fixed,
        rows=range(1, min(spec.m, 8) + 1),
        vectors_nr=VECTORS,
        most_nc=_widths(spec.n),
        most_mc=(*limits(spec.m, HEIGHTS), 16, 4, 1),
        ahead=(0, PANELS_AHEAD),
    )
    table.put(mr=balanced(spec.m, table["rows"]), nr=table["vectors_nr"] * lanes)
    table.put(nc=rounded_up(table["most_nc"], table["nr"]), pack_a=1, pack_b=0)
    table.put(mc=balanced(spec.m, table["most_mc"], table["mr"]), kc=limb_parts.shared_k(spec))
    rows, vectors = table["mr"], table["nr"] // lanes
    waiting = limbs * rows * vectors * bool(found.adds_pairs)
    needed = limb_parts.limb_registers(limbs, rows, vectors) + waiting
    row = limb_parts.limbs_scratch(spec) + table["nc"] * spec.accumulate.itemsize
    fits = (needed <= target.limits["vector_registers"]) & (table["nr"] % lanes == 0)
    return table.space(fits & (table["mc"] * row <= target.limits["stack_bytes"]))


def _inner(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    gathers = not inner_operands.is_inner(spec)
    lacks_products = spec.accumulate.is_integer and dot_for(spec.dtype, target) is None
    packs_otherwise = fixed.get("pack_b", gathers) != gathers
    if packs_otherwise or lacks_products or limb_parts.packed_otherwise(spec, target):
        return None
    if gathers and not inner_operands.may_transpose_b(spec, target):
        return None
    step, stack = inner_operands.k_of_step(spec, target), target.limits["stack_bytes"]
    whole = gathers or spec.has_blocks
    table = MatmulTable(
        kinds.InnerMatmul,
        fixed,
        rows=range(1, min(spec.m, 8) + 1),
        columns=range(1, min(spec.n, MOST_STREAMS) + 1),
        cut_kc=[1] if whole else [parts for parts in (1, 2, 4, 8, 16) if parts <= spec.k],
        tasks=PARTS,
        prefetch=(0, 1, 2),
        level=(1, 2),
        unroll=(1, 2, 4, CHAINS),
    )
    table.put(mr=balanced(spec.m, table["rows"]), nr=balanced(spec.n, table["columns"]))
    mr, nr, chains = table["mr"], table["nr"], table["unroll"]
    needed = per_shape(partial(inner_operands.tile_registers, spec, target), mr, nr, chains)
    under_way = mr * nr * (1 if "unroll" in fixed else chains)
    fits = (needed <= target.limits["vector_registers"]) & (under_way < 2 * CHAINS)
    table.put(kc=spec.k // table["cut_kc"], pack_a=0, pack_b=int(gathers))
    cut = table["kc"] < spec.k
    fits &= ~cut | ((spec.k % table["kc"] == 0) & (table["kc"] % (step * table["unroll"]) == 0))
    count = finishing_vector(spec, target, spec.n).count
    # Blocks of the longer extent are tasks; those of the other one have room on the stack.
    room = stack // 4 // spec.accumulate.itemsize
    if gathers or spec.m > spec.n:
        has_room = gathers or spec.n <= room
        nc = rounded_up(spec.n, nr) if has_room else balanced(spec.n, room, np.lcm(nr, count))
        rows = np.minimum(ceil_div(spec.m, table["tasks"]), np.maximum(room // nc, mr))
        table.put(nc=nc, mc=rounded_up(rows, mr))
    else:
        most = np.maximum(room // np.lcm(nr, count) // mr * mr, mr)
        mc = balanced(spec.m, most, mr)
        columns = np.minimum(ceil_div(spec.n, table["tasks"]), np.maximum(room // mc, 1))
        cut = np.where(columns < spec.n, np.lcm(nr, count), nr)
        table.put(mc=mc, nc=rounded_up(columns, cut))
    fits &= (table["nc"] >= spec.n) | (table["nc"] % count == 0)
    fits &= (table["prefetch"] > 0) | (table["level"] == 2)
    sums = rounded_up(table["nc"], count) * spec.accumulate.itemsize * table["mc"]
    transposed = gathers * spec.n * inner_operands.column_bytes(spec)
    return table.space(fits & (sums + transposed + table["mc"] * START_BYTES <= stack))


def _outer(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    """Return outer products: all rows of a skinny A times groups of rows of B."""
    forms = [{"words": w, "halves": h} for w, h in itertools.product((0, 1), (0, 1))]
    forms = [form for form in forms if {**form, **fixed}.items() >= form.items()]
    found = [_streams(spec, target, {**fixed, **form}) for form in forms]
    return MatmulSpace.joined([space for space in found if space])


def _streams(spec: Matmul, target: Target, fixed: Fixed) -> MatmulSpace | None:
    rows = rows_of_b(spec, target, words=bool(fixed["words"]))
    if rows is None or fixed["words"] > rows.by_words:
        return None
    if fixed["halves"] and rows.sums.bytes < LINE_BYTES:
        return None
    rows = rows.halved if fixed["halves"] else rows
    table = MatmulTable(
        kinds.OuterMatmul,
        fixed,
        parts=(1, 2, 4, 8),
        part=STREAM_ROWS,
        strips_nr=(1, 2, 4),
        most_nc=_widths(spec.n),
        fetch=range(len(STREAM_FETCHES)),
        together=(0, 1),
    )
    table.put(nr=table["strips_nr"] * rows.strip, mr=spec.m, mc=spec.m)
    table.put(kc=table["parts"] * table["part"], pack_a=0, pack_b=0)
    table.put(nc=rounded_up(table["most_nc"], table["nr"]))
    prefetch, apart, level = np.array(STREAM_FETCHES, np.int64)[table["fetch"]].T
    table.put(prefetch=prefetch, apart=apart, level=level)
    tasks = ceil_div(spec.n, table["nc"])
    table.put(tasks_per_pass=np.where(table["together"] > 0, tasks, 1))
    fits = (table["together"] == 0) | (tasks > 1)
    fits &= (table["parts"] % rows.group == 0) & (table["nr"] % rows.strip == 0)
    fits &= (table["part"] > 1) | (table["parts"] > 1) | (table["kc"] <= spec.k)
    strips = table["nr"] // rows.strip
    needed = per_shape(partial(rows.registers, spec.m), table["parts"], strips)
    fits &= needed <= target.limits["vector_registers"]
    columns = np.minimum(table["nc"] * table["tasks_per_pass"], rounded_up(spec.n, rows.strip))
    row = rounded_up(columns, rows.strip) * spec.accumulate.itemsize + MOST_PADDING
    scratch = spec.m * (row + START_BYTES) + ALIAS_BYTES
    return table.space(fits & (scratch <= target.limits["stack_bytes"]))


#: Spaces with the main loops of their candidates.
_MAINLOOPS: Sequence[
    tuple[tuple[str, ...], Callable[[Matmul, Target, Fixed], MatmulSpace | None]]
] = (
    (("blis", "ahead"), _blis),
    (("ahead", "blis"), _image_rows),
    (("split-k",), _split),
    (("winograd",), _winograd),
    (("dot",), _dot),
    (("dot",), _split_groups),
    (("amx",), _amx),
    (("limbs",), _limbs),
    (("inner",), _inner),
    (("outer",), _outer),
)
