"""The plan of matmul_dot.ll.j2: products of groups of K by the instructions of dots.py."""

from __future__ import annotations

from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import BlockedMatmul, DotMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import access, vector_for
from kgen.targets.cpu.plan.checks import check_ahead, check_multiple, check_stack
from kgen.targets.cpu.plan.finishing import finishing_type
from kgen.targets.cpu.plan.matmul import matmul_launch
from kgen.targets.cpu.plan.packing.compensation import Starts
from kgen.targets.cpu.plan.packing.groups import GroupsOfB, RunsOfA
from kgen.targets.cpu.plan.packing.interleaved import Interleaving
from kgen.targets.cpu.plan.packing.lanes import Strip, StripRow, Unpack, strips
from kgen.targets.cpu.plan.packing.prepacked import PanelFormat, b_is_packed
from kgen.targets.cpu.plan.tiles.dots import VDPBF16PS, Dot
from kgen.targets.cpu.plan.tiles.tile import Tile
from kgen.targets.cpu.plan.tiles.tile_loop import PanelsAhead, TileLoop
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan, check_registers
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: A group, as A is multiplied; and columns of the widest vectors.
GROUP_BYTES, COLUMNS = 4, 16


@frozen
class DotPlan(TiledPlan):
    schedule: DotMatmul
    dot: Dot
    #: Elements of K in a group.
    group: int
    #: A vector's columns of a row of B, and K of a run of A.
    row: Access
    run: Access

    @property
    def b_format(self) -> PanelFormat:
        width = self.row.compute.count
        return PanelFormat(width=width, depth=self.group, k_unit=self.group)

    @cached_property
    def a_runs(self) -> RunsOfA:
        return RunsOfA(
            blocking=self.blocking,
            run=self.run,
            packed=self.run.stored if self.factors.bits == self.run.stored.bits else self.factors,
            k_stride=self.tensors.a_strides[2],
        )

    @cached_property
    def b_groups(self) -> GroupsOfB:
        _, k_stride, column_stride = self.tensors.b_strides
        return GroupsOfB(
            blocking=self.blocking,
            group=self.group,
            row=self.row,
            k_unit=self.b_format.k_unit,
            is_prepacked=self.b_is_packed,
            k_stride=k_stride,
            column_stride=column_stride,
        )

    @property
    def a_pack_bytes(self) -> int:
        return self.a_runs.pack_bytes

    @property
    def b_panel_bytes(self) -> int:
        return self.b_groups.panel_bytes

    @property
    def b_packed(self) -> Vector:
        """Groups of a vector's columns, as they are stored."""
        return self.b_groups.packed

    @property
    def scratch_besides_b(self) -> int:
        return (
            self.packs_a * self.a_runs.pack_bytes
            + (self.starts.bytes if self.starts else 0)
            + (not self.is_direct) * self.acc.bytes
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
        )

    @property
    def scratch_map(self) -> tuple[str, ...]:
        lines = []
        if self.packs_a:
            dtype = "s16" if self.a_runs.widens else self.spec.dtype
            order = f"{dtype} [mc][kc], {self.a_runs.pack_row} B per row, zero past K"
            lines.append(f"%a.pack: {order}, {self.a_runs.pack_bytes} B")
        lines += [self.starts.memory] if self.starts else []
        if self.packs_b:
            order = f"{self.spec.dtype} [kc/{self.group}][nr][{self.group}]"
            row = f"{self.b_groups.pack_row} B per row, zero past K and N"
            lines.append(f"%b.pack: {order}, {row}, {self.b_buffer.bytes} B")
        if not self.is_direct:
            order = f"{self.sum_vector.scalar} [mc][nc], {self.acc.row} B per row"
            lines.append(f"%acc: {order}, {self.acc.bytes} B")
        return tuple(lines)

    # -- A and B as they are multiplied --------------------------------------------------------

    @property
    def factors(self) -> Vector:
        """Groups of A or B for all sums of a vector."""
        return Vector(count=self.compute.count * self.group, scalar=self.dot.factor)

    @property
    def sums(self) -> Vector:
        """What the instruction adds to."""
        return self.sum_vector

    @property
    def has_halves(self) -> bool:
        return self.dot.half is not None

    @property
    def group_of_a(self) -> Vector:
        """A group for each sum, as integers: what one of A is broadcast to."""
        return self.compute.of("i32")

    @property
    def panels_ahead(self) -> PanelsAhead | None:
        ahead = self.schedule.ahead
        return PanelsAhead(bytes=ahead, level=1) if ahead else None

    @cached_property
    def loop(self) -> TileLoop:
        row = self.a_runs.pack_row if self.packs_a else self.tensors.a_strides[1]
        in_place = self.compute.count * self.tensors.b_strides[2]
        groups = -(-self.blocking.first_depth // self.group)
        return self.tile_loop(
            a=(row, GROUP_BYTES),
            b_row=self.b_groups.row_stride,
            b_step=self.b_groups.packed.bytes if self.packs_b else in_place,
            steps="%groups.all" if self.blocking.depth_varies else str(groups),
            step=1,
            depth=self.group,
        )

    @property
    def b_in_place(self) -> bool:
        """Rows of B are multiplied where they lie, each group of them interleaved in registers."""
        return not self.packs_b and not self.b_is_packed

    @property
    def a_alignment(self) -> int:
        """Of a group of A: that of the caller's array."""
        return self.spec.dtype.itemsize

    @property
    def b_alignment(self) -> int:
        """Of a vector of groups: that of scratch, or of the caller's array."""
        return self.b_groups.packed.bytes if self.packs_b else self.spec.dtype.itemsize

    @property
    def b_rows_are_whole(self) -> bool:
        return not self.b_groups.is_gathered and not (
            self.b_groups.k_left and self.blocking.k_blocked
        )

    @property
    def tiles_pack_zeros(self) -> bool:
        """The last group of a tile that packs is not whole."""
        return self.packs_in_tiles and self.b_groups.k_left > 0

    @property
    def b_widens(self) -> bool:
        return self.b_groups.packed.bits < self.factors.bits

    # -- rows of B that are interleaved within lanes -------------------------------------------

    @cached_property
    def interleaving(self) -> Interleaving | None:
        """Interleaving of whole panels, if their sums go to scratch in any case."""
        width = self.group * self.b_groups.width
        if not (self.streams_b and self.b_in_place and self.schedule.nr % width == 0):
            return None
        row = Access(dtype=self.spec.dtype, compute=Vector(count=width, scalar="float"))
        return Interleaving(row=row, scalar=self.sum_vector.scalar, group=self.group)

    def strips(self, tile: Tile) -> tuple[Strip, ...]:
        """Those of a whole panel; a panel at the edge has none."""
        if self.interleaving is None or tile.width != self.schedule.nr:
            return ()
        return strips(tile.columns, self.group)

    def strip_rows(self, strip: Strip) -> tuple[StripRow, ...]:
        return tuple(
            StripRow(name=f"%b_{strip.name}.k{i}", at=strip.b + offset)
            for i, offset in enumerate(self.b_groups.row_offsets)
        )

    def unpacks(self, strip: Strip) -> tuple[Unpack, ...]:
        assert self.interleaving is not None
        return self.interleaving.unpacks(
            [row.name for row in self.strip_rows(strip)],
            [f"%b_{column.name}.stored" for column in strip.columns],
        )

    # -- where the sums start, if B is taken for unsigned --------------------------------------

    @cached_property
    def starts(self) -> Starts | None:
        if not self.dot.b_is_unsigned:
            return None
        depth, tail = self._starts_extent
        return Starts(
            blocking=self.blocking,
            dot=self.dot,
            run=self.run,
            pointer=self.loop.a_tiles,
            a_row=self.loop.a_m,
            sums=self.sum_vector,
            depth=depth,
            tail=tail,
            tail_is_last=self.blocking.k_blocked and not self._blocks_are_cut,
        )

    @property
    def _blocks_are_cut(self) -> bool:
        """Every block of K ends with a partial run; all are equal."""
        return self.blocking.k_blocked and self.schedule.kc % self.a_runs.run_k != 0

    @property
    def _starts_extent(self) -> tuple[str, int]:
        """Depth that is added up in whole runs, and K of the last run; packed A is zero past K."""
        if self._blocks_are_cut:
            tail = self.schedule.kc % self.a_runs.run_k
            return str(self.schedule.kc - tail), tail
        if self.packs_a:
            return self.a_runs.depth_padded, 0
        return self.a_runs.depth_whole, self.a_runs.k_tail

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        a_tail = self.starts.tail if self.starts and not self.packs_a else self.a_runs.k_tail
        if (self.packs_a or self.starts) and a_tail > 1 and not self.a_runs.is_gathered:
            types = types | {self.a_runs.run.stored}
        if (
            self.spec.n % self.b_groups.width > 1
            and not self.b_is_packed
            and not self.b_groups.is_gathered
        ):
            types = types | {self.b_groups.row.stored}
        return tuple(sorted(types, key=str))


def must_pack_a(spec: Matmul, dot: Dot) -> bool:
    """Groups of K are read in place only where they lie side by side, as they are multiplied, and
    none is half outside."""
    widens = dot.group * spec.dtype.itemsize < GROUP_BYTES
    return spec.layout.a_transposed or spec.k % dot.group != 0 or widens


def must_pack_b(spec: Matmul, dot: Dot) -> bool:
    """Rows of B are interleaved where they lie, if no group of them is half outside."""
    return spec.layout.b_transposed or spec.k % dot.group != 0


def rounds_bf16(spec: Matmul, dot: Dot) -> bool:
    """By the extension that multiplied: subnormal numbers become zero in both."""
    return spec.out is DType.BF16 and dot is VDPBF16PS


def plan_dot(spec: Matmul, target: Target, schedule: BlockedMatmul, dot: Dot) -> DotPlan:
    """Raises ScheduleError if the schedule does not fit the vectors or the stack."""
    if not isinstance(schedule, DotMatmul):
        raise ScheduleError(
            f"mainloop={schedule.mainloop} is not supported for {spec.dtype} on {target.name}; "
            "use mainloop=dot"
        )
    check_ahead(spec, schedule)
    if schedule.ahead and not b_is_packed(spec):
        raise ScheduleError(
            f"ahead={schedule.ahead} requires a prepacked B; try ahead=0, or constant=b"
        )
    if not schedule.pack_b and not spec.constant and must_pack_b(spec, dot):
        raise ScheduleError(
            f"pack_b=0 requires a B stored row-major and k a multiple of {dot.group}; "
            f"layout={spec.layout}, k={spec.k}; try pack_b=1"
        )
    if not schedule.pack_a and must_pack_a(spec, dot):
        raise ScheduleError(
            f"pack_a=0 requires an A stored row-major, k a multiple of {dot.group}, and elements "
            f"that {dot.mnemonic} reads without widening; dtype={spec.dtype}, "
            f"layout={spec.layout}, k={spec.k}; try pack_a=1"
        )
    sums = vector_for(target, DType.F32, COLUMNS)
    check_multiple(schedule, "nr", sums.count, "the columns of a vector")
    compute = vector_for(target, finishing_type(spec), COLUMNS)
    run_k = sums.bytes // GROUP_BYTES * dot.group
    plan = DotPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_dot.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=compute,
        out=access(target, spec.out, compute, rounded_by_cpu=rounds_bf16(spec, dot)),
        group=dot.group,
        dot=dot,
        row=Access(dtype=spec.dtype, compute=sums),
        run=Access(dtype=spec.dtype, compute=Vector(count=run_k, scalar="float")),
    )
    if plan.blocking.k_blocked and (plan.packs_a or (plan.starts and plan.blocking.depth_varies)):
        check_multiple(schedule, "kc", run_k, "the elements of a vector of A, as kc < k requires")
    if plan.blocking.k_blocked:
        check_multiple(
            schedule, "kc", dot.group, f"the k of one {dot.mnemonic}, as kc < k requires"
        )
    check_registers(target, schedule, compute, dot.extra_registers)
    check_stack(target, schedule, plan.scratch_bytes)
    return plan
