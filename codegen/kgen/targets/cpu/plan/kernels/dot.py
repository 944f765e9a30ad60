"""The plan of matmul_dot.ll.j2: products of groups of K by the instructions of dots.py."""

from __future__ import annotations

import dataclasses
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import DotMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, are_windows
from kgen.targets.cpu.plan.byte_results import byte_results
from kgen.targets.cpu.plan.cpu_plan import Buffer, check_multiple, vector_for
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.matmul import check_prepacked
from kgen.targets.cpu.plan.packing.compensation import Starts
from kgen.targets.cpu.plan.packing.groups import GroupsOfB
from kgen.targets.cpu.plan.packing.lanes import Interleaving, Strip, Unpack
from kgen.targets.cpu.plan.packing.mapped_b import mapped_b, maps_b
from kgen.targets.cpu.plan.packing.packed_a import PackedA
from kgen.targets.cpu.plan.packing.packed_windows import segment_of
from kgen.targets.cpu.plan.packing.panel import PanelFormat, b_is_packed
from kgen.targets.cpu.plan.packing.split_groups import SplitGroups
from kgen.targets.cpu.plan.tiles.dots import VDPBF16PS, Dot, DotOperands, dot_for, split_dot
from kgen.targets.cpu.plan.tiles.panels import PanelPacking
from kgen.targets.cpu.plan.tiles.tile import Column, RegisterTile
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan, TileLoop, check_keeps_b, check_tile
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Bytes of a group of A as it is multiplied; and columns of the widest vectors.
GROUP_BYTES, COLUMNS = 4, 16


@frozen
class DotPlan(TiledPlan):
    schedule: DotMatmul
    dot: Dot
    #: A vector's columns of a row of B, and K of a run of A.
    row: Access
    run: Access

    @property
    def b_format(self) -> PanelFormat:
        return self.panels_of(self.stored_group)

    @property
    def stored_group(self) -> int:
        """Consecutive k of a column in a prepacked B, as in all kernels of the target."""
        dot = dot_for(self.spec.dtype, self.target)
        assert dot is not None
        return dot.group

    def panels_of(self, group: int) -> PanelFormat:
        return PanelFormat(width=self.row.compute.count, depth=group, k_unit=group)

    @cached_property
    def a_pack(self) -> PackedA:
        return PackedA(
            target=self.target,
            blocking=self.blocking,
            run=self.run,
            packed=self.dots.factors if self.dots.widens else self.run.stored,
            strides=self.tensors.a_strides,
            has_zeros=True,
            is_unsigned=bool(self.dot.adds_pairs),
        )

    @cached_property
    def b_groups(self) -> GroupsOfB:
        order = self.panels_of(self.dot.group)
        return GroupsOfB.of(self.blocking, self.tensors, order, self.row)

    @cached_property
    def split(self) -> SplitGroups | None:
        """Parts of a prepacked B for products that are added in words; None for other products."""
        copies = self.a_pack.copies
        if copies is None:
            return None
        return SplitGroups(
            groups=self.b_groups,
            stored_group=self.stored_group,
            sums=self.sum_vector,
            copies=copies,
        )

    def rows_ahead(self, width: int) -> int:
        return self.schedule.packing_ahead * self.loop.b_in_rows

    @cached_property
    def packing(self) -> PanelPacking:
        groups, mapped = self.b_groups, mapped_b(self.spec, self.blocking)
        cut = (groups.k_left > 0 and self.blocking.k.is_split) or self.split is not None
        return PanelPacking(
            blocking=self.blocking,
            packs=self.schedule.pack_b,
            keeps=self.schedule.keep_b,
            rows_are_whole=not (groups.is_gathered or cut or mapped),
            panel_bytes=self.split.bytes if self.split else groups.panel_bytes,
            mapped=mapped,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        group = self.dot.group
        return (
            f"BLIS blocking with {self.dot.mnemonic}, {group} of K per instruction: a task "
            "computes an mc x nc block of out, kc of K at a time; for each panel of nr columns of "
            f"B, packed in groups of {group} of K, it visits every mr rows of A, with mr x nr "
            "accumulators in registers",
            *((self.starts.note,) if self.starts else ()),
            *((self.split.note,) if self.split else ()),
        )

    def fetches_panel(self, tile: RegisterTile, column: Column) -> bool:
        return not self.split and super().fetches_panel(tile, column)

    @property
    def sums_initial(self) -> str:
        return "" if self.split else super().sums_initial

    def operand_buffers(self) -> tuple[Buffer, ...]:
        b, group, mapped = self.b_groups, self.dot.group, self.packing.mapped
        a_pack = self.a_pack.buffer("s16" if self.a_pack.widens else self.spec.dtype)
        if self.split:
            holds = f"{a_pack.holds}, as unsigned bytes, then with odd bytes reversed"
            a_pack = dataclasses.replace(a_pack, holds=holds, bytes=2 * a_pack.bytes)
        order = f"{self.spec.dtype} [kc/{group}][nr][{group}], {b.pack_row} B per row"
        if self.split:
            order += ", then starts of sums, number of groups, and places in A"
        panels = self.packing.panels * self.packing.panel_bytes
        b_pack = Buffer(name="%b.pack", holds=f"{order}, zero past K and N", bytes=panels)
        return (
            *((a_pack,) if self.schedule.pack_a else ()),
            *((self.starts.buffer,) if self.starts else ()),
            *((b_pack,) if self.schedule.pack_b else ()),
            *((mapped.buffer,) if mapped else ()),
        )

    # -- A and B as they are multiplied --------------------------------------------------------

    @cached_property
    def dots(self) -> DotOperands:
        return DotOperands(dot=self.dot, sums=self.sum_vector, stored=self.b_groups.packed)

    @property
    def has_halves(self) -> bool:
        return self.dot.half is not None and not self.dot.adds_pairs

    @cached_property
    def loop(self) -> TileLoop:
        in_place = self.compute.count * self.tensors.b_strides[2]
        groups = -(-self.blocking.k.first // self.dot.group)
        return self.tile_loop(
            a_m=self.a_pack.row if self.schedule.pack_a else self.tensors.a_strides[1],
            a_k=GROUP_BYTES,
            b_row=self.b_groups.row_stride,
            b_step=self.b_groups.packed.bytes if self.schedule.pack_b else in_place,
            steps=self.blocking.k.operand("%groups.all", groups),
            depth=self.dot.group,
        )

    @property
    def b_in_place(self) -> bool:
        """Whether groups of rows of B are read in place and interleaved in registers."""
        return not self.schedule.pack_b and not self.b_is_packed

    @property
    def b_alignment(self) -> int:
        """Alignment of a vector of groups, in scratch or in the caller's array."""
        return self.dots.stored.bytes if self.schedule.pack_b else self.spec.dtype.itemsize

    # -- rows of B that are interleaved within lanes -------------------------------------------

    @cached_property
    def interleaving(self) -> Interleaving | None:
        """Interleaving of whole panels, if their sums go to scratch in any case."""
        width = self.dot.group * self.b_groups.width
        if not (self.streams_b and self.b_in_place and self.schedule.nr % width == 0):
            return None
        row = Access(dtype=self.spec.dtype, compute=Vector(count=width, scalar="float"))
        return Interleaving(row=row, scalar=self.sum_vector.scalar, group=self.dot.group)

    def strips(self, tile: RegisterTile) -> tuple[Strip, ...]:
        """Return the strips of a whole panel; a panel at the edge has none."""
        if self.interleaving is None or tile.width != self.schedule.nr:
            return ()
        starts = range(0, len(tile.columns), self.dot.group)
        found = (tile.columns[at : at + self.dot.group] for at in starts)
        return tuple(Strip(name=c[0].name, b=c[0].b, columns=c) for c in found)

    def strip_rows(self, strip: Strip) -> tuple[tuple[str, int], ...]:
        """Return the names of a strip's rows, and the bytes from the tile's corner to each."""
        return tuple(
            (f"%b_{strip.name}.k{i}", strip.b + offset)
            for i, (offset, _) in enumerate(self.b_groups.rows(self.dot.group))
        )

    def unpacks(self, strip: Strip) -> tuple[Unpack, ...]:
        assert self.interleaving is not None
        return self.interleaving.unpacks(
            [name for name, _ in self.strip_rows(strip)],
            [f"%b_{column.name}.stored" for column in strip.columns],
        )

    @cached_property
    def starts(self) -> Starts | None:
        if not self.dot.b_is_unsigned:
            return None
        # Packed A is zero past K; else every block of K, all equal, may end with a partial run.
        kc, cut = (
            self.schedule.kc,
            self.blocking.k.is_split and self.schedule.kc % self.a_pack.packed.count,
        )
        depth, tail = self.a_pack.runs.whole, self.a_pack.runs.tail
        if cut:
            depth, tail = str(kc - cut), int(cut)
        elif self.schedule.pack_a:
            depth, tail = self.a_pack.runs.padded, 0
        return Starts(
            blocking=self.blocking,
            dot=self.dot,
            run=self.run,
            pointer=self.loop.a_tiles,
            a_row=self.loop.a_m,
            sums=self.sum_vector,
            depth=depth,
            tail=tail,
            tail_is_last=self.blocking.k.is_split and not cut,
        )

    @property
    def masked_accesses(self) -> set[Vector]:
        types, packs_a = super().masked_accesses, self.schedule.pack_a
        a_tail = self.starts.tail if self.starts and not packs_a else self.a_pack.runs.tail
        if self.a_pack.windows:
            types |= self.a_pack.windows.masked_types
        elif (packs_a or self.starts) and a_tail > 1 and not self.a_pack.is_gathered:
            types.add(self.run.stored)
        reads_rows = not (self.b_is_packed or self.b_groups.is_gathered)
        if self.spec.n % self.b_groups.width > 1 and reads_rows:
            types.add(self.row.stored)
        return types


def must_pack_a(spec: Matmul, dot: Dot) -> bool:
    """Return whether groups of K are not contiguous, need widening, or end in a partial one."""
    widens = dot.group * spec.dtype.itemsize < GROUP_BYTES
    return spec.layout.a_transposed or spec.k % dot.group != 0 or widens


def must_pack_b(spec: Matmul, dot: Dot) -> bool:
    """Return whether rows of B are not contiguous, or end in a partial group."""
    return spec.layout.b_transposed or spec.k % dot.group != 0


def rounds_bf16(spec: Matmul, dot: Dot) -> bool:
    """Return whether the products' instruction set rounds to bf16; both flush subnormals."""
    return spec.out is DType.BF16 and dot.mnemonic == VDPBF16PS.mnemonic


def plan_dot(spec: Matmul, target: Target, schedule: DotMatmul, dot: Dot) -> DotPlan:
    """Plan the kernel. Raises ScheduleError for fields that do not fit."""
    if schedule.pack_b and (words := dot_of_split(spec, target)):
        dot = words
        if not schedule.pack_a:
            raise ScheduleError(
                "pack_b=1 with a prepacked B requires pack_a=1, for two copies of A; try pack_b=0"
            )
    else:
        check_prepacked(spec, schedule)
    if schedule.ahead and not b_is_packed(spec):
        raise ScheduleError(
            f"ahead={schedule.ahead} requires a prepacked B; try ahead=0, or constant=b"
        )
    if not schedule.pack_b and not spec.constant and must_pack_b(spec, dot):
        raise ScheduleError(
            f"pack_b=0 requires a B stored row-major and k a multiple of {dot.group}; "
            f"layout={spec.layout}, k={spec.k}; try pack_b=1"
        )
    if not schedule.pack_a and are_windows(spec):
        raise ScheduleError("pack_a=0 requires an A that is a matrix, not windows; try pack_a=1")
    if not schedule.pack_a and must_pack_a(spec, dot):
        raise ScheduleError(
            f"pack_a=0 requires an A stored row-major, k a multiple of {dot.group}, and elements "
            f"that {dot.mnemonic} reads without widening; dtype={spec.dtype}, "
            f"layout={spec.layout}, k={spec.k}; try pack_a=1"
        )
    sums = vector_for(target, DType.F32, COLUMNS)
    check_multiple(schedule, "nr", sums.count, "the columns of a vector")
    compute = finishing_vector(spec, target, COLUMNS)
    run_k = elements_of_run(spec, sums.count, dot)
    plan = DotPlan.of(
        spec,
        target,
        schedule,
        compute,
        mainloop="dot",
        rounded_by_cpu=rounds_bf16(spec, dot),
        dot=dot,
        row=Access(dtype=spec.dtype, compute=sums),
        run=Access(dtype=spec.dtype, compute=Vector(count=run_k, scalar="float")),
    )
    if plan.blocking.k.is_split and (schedule.pack_a or (plan.starts and plan.blocking.k.varies)):
        check_multiple(schedule, "kc", run_k, "the elements of a vector of A, as kc < k requires")
    if plan.blocking.k.is_split:
        check_multiple(
            schedule, "kc", dot.group, f"the k of one {dot.mnemonic}, as kc < k requires"
        )
    check_keeps_b(plan)
    check_tile(target, schedule, compute, dot.extra_registers)
    results = byte_results(plan.finish) if plan.is_direct else None
    return dataclasses.replace(plan, results=results) if results else plan


def elements_of_run(spec: Matmul, sums: int, dot: Dot) -> int:
    """Return the elements of A that are packed at once: groups for `sums` accumulators, or half of
    them if segments of windows are shorter."""
    run = sums * dot.group
    return run // 2 if 0 < segment_of(spec) < run and dot.adds_pairs else run


def dot_of_split(spec: Matmul, target: Target) -> Dot | None:
    """Return the instruction for a prepacked B that the kernel splits (pack_b=1); None if it may
    not: A must be stored row-major, its windows in pairs of channels, and B must be a matrix."""
    is_odd = isinstance(spec, ImplicitGemm) and are_windows(spec) and spec.operation.weights[1] % 2
    if not b_is_packed(spec) or maps_b(spec) or spec.layout.a_transposed or is_odd:
        return None
    return split_dot(spec.dtype, target)
