"""Plan of matmul_blis.ll.j2: a matmul by fused multiply-adds on register tiles of vectors."""

from __future__ import annotations

import dataclasses
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import AheadMatmul, CpuMatmul, CpuSplitMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer, access, check_multiple
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.matmul import Accumulators, check_prepacked
from kgen.targets.cpu.plan.packing.mapped_b import mapped_b, maps_b
from kgen.targets.cpu.plan.packing.packed_a import PackedA
from kgen.targets.cpu.plan.packing.packed_windows import check_rows, depth_inside
from kgen.targets.cpu.plan.packing.panel import PanelFormat, WidenedB, b_is_packed
from kgen.targets.cpu.plan.tiles.panels import PanelPacking
from kgen.targets.cpu.plan.tiles.tile import RegisterTile, Row
from kgen.targets.cpu.plan.tiles.tiled import (
    TiledPlan,
    TileLoop,
    check_keeps_b,
    check_tile,
    registers_needed,
)
from kgen.targets.cpu.plan.vectors import Access, Vector, scalar_type
from kgen.targets.epilogue import FusedEpilogue
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: Elements per pair.
PAIR = 2


@frozen
class Half:
    """Half of a pair; `name` is the suffix of names in the kernel."""

    name: str
    index: int
    before: str
    after: str


@frozen
class Pairs:
    """Pairs of bf16 along K of a prepacked B, in 32-bit words.

    A shift widens the lower half of a word to f32, a mask the upper half; both cost less than
    widening two vectors of bf16. A tile with fewer accumulators than `apart_below` has separate
    accumulators for the two halves, so that multiply-adds need not wait for each other. It keeps
    the halves together if the vector `registers` do not suffice. `k` is the depth of the product,
    `a_k` the bytes of A from one k to the next.
    """

    sums: Vector
    registers: int
    apart_below: int
    k: int
    a_k: int

    @property
    def words(self) -> Vector:
        return self.sums.integers

    def has_two_sums(self, tile: RegisterTile) -> bool:
        sums, vectors = len(tile.sums), len(tile.columns)
        # Registers are also needed for the second half of a vector of B, and for the mask.
        room = self.registers - registers_needed(1, vectors) - 1
        return sums < self.apart_below and PAIR * sums - vectors <= room

    def halves(self, tile: RegisterTile) -> tuple[Half, Half]:
        if self.has_two_sums(tile):
            return (
                Half(name="_k0", index=0, before=".k0", after=".k0.next"),
                Half(name="_k1", index=1, before=".k1", after=".k1.next"),
            )
        return (
            Half(name="_k0", index=0, before="", after=".k0"),
            Half(name="_k1", index=1, before=".k0", after=".next"),
        )

    def a_at(self, row: Row, half: Half) -> int:
        """Return the byte offset, in a row of A, of the number that `half` is multiplied with."""
        return row.a + half.index * self.a_k

    @property
    def k_is_odd(self) -> bool:
        """Whether the upper half of the last pair is padding, past the end of A."""
        return self.k % PAIR != 0


def has_pairs(spec: Matmul) -> bool:
    """Return whether B is prepacked in pairs of bf16."""
    return spec.b_type is DType.BF16 and b_is_packed(spec)


#: Name of the workspace with the partial sums of each slice.
PARTIAL_SUMS = "partial.sums"


@frozen
class Slices:
    """Slices of K, whose partial sums a second launch adds up."""

    spec: Matmul
    schedule: CpuSplitMatmul
    acc: Accumulators

    @property
    def entry(self) -> str:
        return f"{self.spec.key}_slices"

    @property
    def k(self) -> int:
        """Depth of a slice, in whole blocks of K; the last slice may be shorter."""
        blocks = -(-self.spec.k // self.schedule.kc)
        return -(-blocks // self.schedule.split_k) * self.schedule.kc

    @property
    def count(self) -> int:
        return -(-self.spec.k // self.k)

    @property
    def sums(self) -> str:
        """Pointer to the sums of the first slice."""
        return f"%{PARTIAL_SUMS}"

    @property
    def bytes(self) -> int:
        return self.count * self.acc.bytes

    @property
    def further(self) -> tuple[int, ...]:
        """Byte offsets of the sums of each slice but the first."""
        return tuple(number * self.acc.bytes for number in range(1, self.count))

    @property
    def note(self) -> str:
        return (
            f"split-k: a task of the first launch computes a slice of {self.k} of K; the second "
            "launch adds the partial sums"
        )

    @property
    def buffer(self) -> Buffer:
        order = f"{self.acc.vector.scalar} [{self.count}][mc][nc], {self.acc.row} B per row"
        return Buffer(name=self.sums, holds=order, bytes=self.bytes, is_on_stack=False)


@frozen
class BlisPlan(TiledPlan):
    schedule: CpuMatmul
    a: Access
    b: Access

    @cached_property
    def pairs(self) -> Pairs | None:
        if not has_pairs(self.spec):
            return None
        return Pairs(
            sums=self.sum_vector,
            registers=self.target.limits["vector_registers"],
            apart_below=self.schedule.pair_sums,
            k=self.spec.k,
            a_k=self.a_pack.steps[1] if self.schedule.pack_a else self.tensors.a_strides[2],
        )

    @property
    def b_format(self) -> PanelFormat:
        depth = PAIR if has_pairs(self.spec) else 1
        return PanelFormat(width=self.compute.count, depth=depth, k_unit=depth)

    def has_two_sums(self, tile: RegisterTile) -> bool:
        return self.pairs is not None and self.pairs.has_two_sums(tile)

    @cached_property
    def slices(self) -> Slices | None:
        schedule = self.schedule
        if not isinstance(schedule, CpuSplitMatmul):
            return None
        return Slices(spec=self.spec, schedule=schedule, acc=self.acc)

    @property
    def streams_b(self) -> bool:
        from_rows = not (self.b_is_packed or self.b_pack.is_gathered or maps_b(self.spec))
        return self.blocking.k.is_split and from_rows

    @property
    def rows_fetched(self) -> AheadMatmul | None:
        schedule = self.schedule
        return schedule if isinstance(schedule, AheadMatmul) and takes_rows_once(self) else None

    def rows_ahead(self, width: int) -> int:
        if self.rows_fetched:
            return self.rows_fetched.ahead
        narrow = width <= LINE_BYTES
        schedule = self.schedule
        steps = schedule.packing_ahead_narrow if narrow else schedule.packing_ahead
        return steps * self.tensors.b_strides[1]

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            "BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each "
            "panel of nr columns of B it visits every mr rows of A, with mr x nr accumulators in "
            "registers",
            *((self.slices.note,) if self.slices else ()),
        )

    def operand_buffers(self) -> tuple[Buffer, ...]:
        found = (self.a_pack.buffer(self.a_pack.packed.scalar),) if self.schedule.pack_a else ()
        if self.a_pack.image_rows:
            found = (self.a_pack.image_rows.buffer,)
        if self.schedule.pack_b:
            found = (*found, self.b_pack.buffer(self.packing.panels))
        mapped = self.packing.mapped
        if mapped and not mapped.is_panel:
            found = (*found, mapped.buffer)
        return found

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return (*self.operand_buffers(), self.slices.buffer) if self.slices else super().buffers

    @cached_property
    def loop(self) -> TileLoop:
        _, row, column = self.tensors.b_strides
        windows, packs_b = self.a_pack.windows, self.schedule.pack_b
        packed = self.schedule.pack_a or windows
        a_m, a_k = self.a_pack.steps if packed else self.tensors.a_strides[1:]
        return self.tile_loop(
            a_m=a_m,
            a_k=a_k,
            b_row=self.b_pack.pack_row if packs_b else row,
            b_step=self.b_pack.vector.bytes if packs_b else self.compute.count * column,
            steps=self.blocking.k.size,
            step=PAIR if self.pairs else 1,
            inside=None if windows is None or self.pairs else depth_inside(windows.conv),
            in_place=self.a_pack.image_rows is not None,
        )

    @cached_property
    def a_pack(self) -> PackedA:
        return PackedA(
            target=self.target,
            blocking=self.blocking,
            run=self.a,
            packed=self.sum_vector,
            strides=self.tensors.a_strides,
            by_columns=self.spec.layout.a_transposed,
        )

    @property
    def a_ahead(self) -> int:
        """Prefetch distance in A while it is packed, in bytes; 0 without prefetch."""
        schedule = self.schedule
        if isinstance(schedule, AheadMatmul) and self.fetches_to_pack:
            return schedule.prefetch_a * self.a_pack.a_stride
        return 0

    @cached_property
    def b_pack(self) -> WidenedB:
        return WidenedB(
            blocking=self.blocking,
            vector=self.sum_vector,
            is_prepacked=self.b_is_packed,
            column_stride=self.tensors.b_strides[2],
        )

    @cached_property
    def packing(self) -> PanelPacking:
        mapped = mapped_b(self.spec, self.blocking, panel=self.sum_vector)
        return PanelPacking(
            blocking=self.blocking,
            packs=self.schedule.pack_b,
            keeps=self.schedule.keep_b,
            rows_are_whole=not (self.b_pack.is_gathered or mapped),
            panel_bytes=self.b_pack.panel_bytes,
            mapped=mapped,
        )

    @property
    def masked_accesses(self) -> set[Vector]:
        types = super().masked_accesses
        if self.a_pack.windows:
            types |= self.a_pack.windows.masked_types
        elif self.schedule.pack_a and self.a_pack.runs.tail > 1:
            types.add(self.a.stored)
        if self.blocking.vectors.tail > 1 and not self.b_pack.is_gathered and not self.b_is_packed:
            types.add(self.b.stored)
        return types


def may_sum_in_out(spec: Matmul) -> bool:
    """Return whether the output can hold partial sums. The output must have their type. The
    epilogue must not read a tensor of the output's shape, because that tensor may be the same
    memory."""
    return spec.out is spec.accumulate and not FusedEpilogue(spec=spec).full


def plan_blis(spec: Matmul, target: Target, schedule: CpuMatmul) -> BlisPlan:
    """Plan the kernel. Raises ScheduleError for fields that do not fit."""
    compute = finishing_vector(spec, target, spec.n)
    sums = compute.of(scalar_type(spec.accumulate))
    a, b = access(target, spec.dtype, sums), access(target, spec.b_type, sums)
    plan = BlisPlan.of(spec, target, schedule, compute, mainloop="blis", a=a, b=b)
    if plan.pairs and plan.blocking.k.is_split:
        check_multiple(schedule, "kc", PAIR, "the numbers of a pair of bf16")
    check_prepacked(spec, schedule)
    check_multiple(schedule, "nr", compute.count, f"the elements of a vector of {target.name}")
    check_packing(plan)
    check_passes(plan)
    check_keeps_b(plan)
    if schedule.pack_a and plan.a_pack.by_columns and plan.blocking.m.blocks > 1:
        check_multiple(schedule, "mc", compute.count, "as a transposed A with mc < m requires")
    if schedule.pack_a and not plan.a_pack.by_columns and plan.blocking.k.is_split:
        check_multiple(schedule, "kc", compute.count, "as a packed A with kc < k requires")
    check_tile(target, schedule, compute)
    return plan


def takes_rows_once(plan: BlisPlan) -> bool:
    """Return whether each block has one tile of rows, which reads B unpacked along all of K."""
    in_place = not (plan.schedule.pack_b or plan.b_is_packed)
    return in_place and plan.blocking.row_tiles == 1 and not plan.blocking.k.is_split


def check_packing(plan: BlisPlan) -> None:
    """Raise ScheduleError unless operands that cannot be read in place are packed."""
    spec = plan.spec
    if plan.a_pack.image_rows:
        check_rows(plan.schedule, plan.a_pack.image_rows.windows.conv)
    if not plan.schedule.pack_a and not plan.a.is_wide:
        raise ScheduleError(
            f"pack_a=0 requires an A of {spec.accumulate}, not {spec.dtype}; try pack_a=1"
        )
    if not plan.schedule.pack_b and (plan.b_pack.is_gathered or plan.packing.mapped):
        raise ScheduleError(
            f"pack_b=0 requires a B stored row-major, not layout={spec.layout}; try pack_b=1"
        )
    packs_rows = plan.schedule.pack_b and plan.packing.rows_are_whole
    if not isinstance(plan.schedule, AheadMatmul) or plan.b_is_packed:
        return
    if packs_rows:
        for name in ("ahead", "level"):
            value, only = getattr(plan.schedule, name), getattr(AheadMatmul, name)
            if value != only:
                raise ScheduleError(f"{name}={value} requires a prepacked B; try {name}={only}")
        return
    if not takes_rows_once(plan):
        raise ScheduleError(
            "mainloop=ahead requires a prepacked B, pack_b=1 with layout nn or tn, or one register "
            f"tile for all of m and k (mr={spec.m}, kc={spec.k}); try mainloop=blis"
        )
    row = plan.tensors.b_strides[1]
    if plan.schedule.ahead % row:
        whole = max(plan.schedule.ahead // row, 1) * row
        raise ScheduleError(
            f"ahead={plan.schedule.ahead} is not a multiple of {row}, the bytes of a row of B; "
            f"try ahead={whole}"
        )


def check_passes(plan: BlisPlan) -> None:
    """Raise ScheduleError for prefetches and passes over K that the blocks do not allow."""
    spec, schedule = plan.spec, plan.schedule
    in_panels = plan.b_is_packed or (plan.blocking.k.is_split and not schedule.pack_b)
    has_next = plan.blocking.has_row_tiles and in_panels and spec.b_type is spec.accumulate
    if schedule.prefetch_panel and not has_next:
        raise ScheduleError(
            f"prefetch_panel=1 requires several register tiles per panel (m={spec.m} and "
            f"mc={schedule.mc} above mr={schedule.mr}) and a B of {spec.accumulate} that is "
            f"prepacked, or unpacked with kc below {spec.k}; try prefetch_panel=0"
        )
    if schedule.sums_in_out and not (plan.blocking.k.is_split and may_sum_in_out(spec)):
        raise ScheduleError(
            f"sums_in_out=1 requires kc below {spec.k}, an output of {spec.accumulate}, and an "
            "epilogue without a tensor of the output's shape; try sums_in_out=0"
        )
    if schedule.tasks_per_pass > 1 and not schedule.sums_in_out:
        raise ScheduleError(
            f"tasks_per_pass={schedule.tasks_per_pass} requires sums_in_out=1; try tasks_per_pass=1"
        )


def plan_split(spec: Matmul, target: Target, schedule: CpuSplitMatmul) -> BlisPlan:
    """Return the plan of split-k, for a skinny GEMM with a single block of the output.

    An unpacked B is read fastest in the order of its memory. If two cores each read half of its
    columns, they read short pieces of rows, and the hardware prefetcher loads useless lines after
    each piece. If they each read half of its rows, both read in order. So each task multiplies a
    slice of K into a workspace, and a second launch of a single task adds the slices. The schedule
    sets the slices, so results do not depend on the number of threads. Raises ScheduleError as
    plan_blis does, and unless there are one block of the output and several slices.
    """
    block = {"mc": spec.m, "nc": spec.n}
    for field, extent in block.items():
        if getattr(schedule, field) < extent:
            raise ScheduleError(
                f"{field}={getattr(schedule, field)} is less than {extent}; mainloop=split-k "
                f"computes a single block of the output; try {field}={extent}"
            )
    if spec.batch > 1 or spec.constant or spec.layout.b_transposed or schedule.pack_b:
        raise ScheduleError(
            "mainloop=split-k requires batch=1 and an unpacked row-major B (pack_b=0, no "
            f"constant); batch={spec.batch}, layout={spec.layout}, pack_b={schedule.pack_b:d}; "
            "try mainloop=blis"
        )
    if schedule.sums_in_out or schedule.tasks_per_pass > 1:
        raise ScheduleError(
            f"sums_in_out={schedule.sums_in_out:d}, tasks_per_pass={schedule.tasks_per_pass}: "
            "mainloop=split-k keeps partial sums in a workspace; "
            "try sums_in_out=0, tasks_per_pass=1"
        )
    plain = plan_blis(spec, target, schedule)
    plan = dataclasses.replace(plain, template="cpu/matmul_split.ll.j2")
    assert plan.slices is not None
    if plan.slices.count < 2:
        raise ScheduleError(
            f"split_k={schedule.split_k} with kc={schedule.kc} leaves one slice of k={spec.k}; "
            f"try split_k=2, kc={-(-spec.k // 4)}"
        )
    (finish,) = plan.launches
    operands = tuple(name for name in finish.arguments if name in ("a", "b"))
    rest = tuple(name for name in finish.arguments if name not in operands)
    slices = Launch(
        entry_point=plan.slices.entry,
        grid=(plan.slices.count, 1, 1),
        arguments=(*operands, PARTIAL_SUMS),
    )
    finish = dataclasses.replace(finish, arguments=(*rest, PARTIAL_SUMS))
    sums = Workspace(name=PARTIAL_SUMS, nbytes=plan.slices.bytes)
    return dataclasses.replace(plan, launches=(slices, finish), workspaces=(sums,))
