"""Plan of matmul_amx.ll.j2: a matmul on AMX tiles.

The epilogue of one register tile runs while the next one is multiplied.
"""

from __future__ import annotations

import dataclasses
from enum import IntEnum
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.addresses import Origin, origin
from kgen.targets.cpu.plan.amx.packing import NextPanel, TiledA, TiledB, column_unit, must_pack_a
from kgen.targets.cpu.plan.amx.tiles import (
    ROW_BYTES,
    TILE_REGISTERS,
    TILE_ROWS,
    TileColumn,
    TileProduct,
    TileRow,
    TileSteps,
    tile_k,
    tile_rows,
)
from kgen.targets.cpu.plan.cpu_plan import Buffer, check_multiple
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.matmul import MatmulPlan, check_prepacked
from kgen.targets.cpu.plan.packing.groups import GroupsOfB, rounded
from kgen.targets.cpu.plan.packing.packed_a import PackedA
from kgen.targets.cpu.plan.packing.panel import PanelFormat
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.device import Multiplied
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: Name of the workspace with B in the order of AMX tiles.
PACKED_B = "b.packed"
#: Name of the workspace with each task's rows of A in the order of AMX tiles.
COPIES_OF_A = "a.copies"


class Packer(IntEnum):
    """Part of the kernel that packs B: a separate launch, each task, or tiles that multiply."""

    LAUNCH = 0
    TASK = 1
    TILES = 2


@frozen
class FinishedColumns:
    """Columns of a register tile that one vector of the epilogue computes. `offset` is in columns
    from the tile's first one. `sums` and `out` are byte offsets in a row of the accumulators and of
    the output. `valid` is the argument of the macro `epilogue`."""

    name: str
    offset: int
    sums: int
    out: int
    valid: int | str


@frozen
class AmxPlan(MatmulPlan):
    schedule: AmxMatmul
    product: TileProduct
    #: Access to a vector of columns in a row of B, and to a vector along K in a row of A.
    row: Access
    run: Access

    @cached_property
    def a_pack(self) -> PackedA:
        """Packing of A, with all of K in one block."""
        schedule = dataclasses.replace(self.schedule, kc=self.k_steps * self.run.compute.count)
        return PackedA(
            target=self.target,
            blocking=dataclasses.replace(self.blocking, schedule=schedule),
            run=self.run,
            packed=self.run.stored,
            strides=self.tensors.a_strides,
            has_zeros=True,
        )

    @cached_property
    def b_groups(self) -> GroupsOfB:
        return GroupsOfB.of(self.blocking, self.tensors, self.b_format, self.row)

    @property
    def b_format(self) -> PanelFormat:
        return PanelFormat(
            width=self.row.compute.count,
            depth=tile_k(self.spec.dtype) // TILE_ROWS,
            k_unit=self.run.compute.count,
            n_unit=column_unit(self.spec, self.schedule),
        )

    @property
    def k_steps(self) -> int:
        return -(-self.spec.k // self.run.compute.count)

    @cached_property
    def tiled_a(self) -> TiledA:
        return TiledA(
            blocking=self.blocking,
            rows=self.a_pack,
            base=self.tensors.a_origin.base,
            k_steps=self.k_steps,
        )

    @cached_property
    def tiled_b(self) -> TiledB:
        bands = self.schedule.band_groups
        return TiledB(groups=self.b_groups, k_steps=self.k_steps, band_groups=bands)

    @cached_property
    def next_panel(self) -> NextPanel:
        packs = self.schedule.packer == Packer.TILES
        return NextPanel(blocking=self.blocking, tiled_b=self.tiled_b, is_packed=packs)

    @cached_property
    def steps(self) -> TileSteps:
        return TileSteps(
            blocking=self.blocking,
            count=self.k_steps,
            run_k=self.a_pack.packed.count,
            finished_rows=self.block_rows,
        )

    @property
    def multiplied(self) -> Multiplied:
        return Multiplied(operands=str(self.spec.dtype))

    @property
    def own_features(self) -> tuple[str, ...]:
        rounding = ("avx512_bf16",) if self.out.rounded_by_cpu else ()
        return ("amx_tile", self.product.feature, *rounding)

    @property
    def last_panel(self) -> str:
        """First column of the task's last panel."""
        n = self.blocking.n
        return n.operand("%columns.last", n.first - n.tile)

    # -- scratch ------------------------------------------------------------------------------

    @property
    def packs_b_alone(self) -> bool:
        """Whether each task packs B for itself, on the stack."""
        return self.schedule.packer == Packer.TASK

    @property
    def packs_b_before(self) -> bool:
        """Whether a separate launch packs B."""
        return not self.b_is_packed and self.schedule.packer == Packer.LAUNCH

    @property
    def notes(self) -> tuple[str, ...]:
        packs: tuple[str, ...] = ()
        if self.next_panel.is_packed:
            packs = ("each step packs a part of the panel of B that the next steps multiply",)
        elif self.packs_b_before:
            packs = ("the first launch packs B for all tasks",)
        return (
            "AMX tiles: a task computes an mc x nc block of out, kc of K at a time; for each panel "
            "of nr columns of B it visits every mr rows of A, with mr x nr accumulators in tile "
            "registers; epilogue and conversion of a tile overlap the products of the next",
            *packs,
        )

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        dtype, run, unit = self.spec.dtype, self.a_pack.packed.count, TILE_ROWS
        found: list[Buffer] = []

        def add(name: str, holds: str, nbytes: int, on_stack: bool = True) -> None:
            found.append(Buffer(name=name, holds=holds, bytes=nbytes, is_on_stack=on_stack))

        if self.schedule.pack_a:
            order = f"[mc/mr][k/{run}][mr/{unit}] tiles"
            if self.tiled_a.packs:
                order = f"[mc][k], {self.a_pack.row} B per row, zero past K"
            on_stack = not self.schedule.a_in_workspace
            add("%a.pack", f"{dtype} {order}", self.tiled_a.bytes, on_stack)
        if self.next_panel.is_packed:
            order = f"[2][nr/{unit}][kc/{run}] tiles"
            add("%b.pack", f"{dtype} {order}", self.next_panel.bytes)
        elif not self.b_is_packed:
            name = f"%{PACKED_B}" if self.packs_b_before else "%b.pack"
            holds = f"{dtype} [n/{unit}][k/{run}] tiles, zero past K and N"
            add(name, holds, self.tiled_b.matrix_bytes, self.packs_b_alone)
        holds = f"{self.sum_vector.scalar} [mr][nr]"
        if self.blocking.k.is_split:
            add("%sums", f"[mc/mr] times {holds}", self.schedule.mc * self.sums_row)
        add("%last", holds, self.schedule.mr * self.sums_row)
        return tuple(found)

    def sums_at(self, tile: TileRow, product: TileColumn) -> int:
        """Return the byte offset of a product's accumulators in the block of accumulators."""
        return tile.row * self.sums_row + product.column * self.acc.vector.itemsize

    @property
    def sums_row(self) -> int:
        return self.schedule.nr * self.acc.vector.itemsize

    # -- launches -----------------------------------------------------------------------------

    @property
    def packing_entry(self) -> str:
        return f"{self.spec.key}_pack"

    @property
    def packs_all_batches(self) -> bool:
        """Whether the packing launch packs one B for each product of a batch."""
        return self.packs_b_before and self.tiled_b.batches > 1

    @property
    def b_origin(self) -> Origin:
        """Origin of the B that tiles multiply, in the order of AMX tiles."""
        if self.packs_b_alone or self.next_panel.is_packed:
            return origin("b.pack", ())
        tensor = "b" if self.b_is_packed else PACKED_B
        stride = self.tiled_b.matrix_bytes if self.tiled_b.batches > 1 else 0
        terms = self.tensors.numbered(stride)
        return self.tensors.block_origin(tensor, terms, n=self.tiled_b.column_bytes)

    @property
    def b_source(self) -> Origin:
        """Origin of B in memory, for the code that packs it."""
        has_origin = not self.packs_b_before or self.packs_all_batches
        columns = self.tensors.b_strides[2] if self.next_panel.is_packed else 0
        return self.tensors.block_origin("b", self.tensors.b_terms if has_origin else (), n=columns)

    @property
    def input_origins(self) -> tuple[Origin, ...]:
        sources = (self.b_source,) if not (self.b_is_packed or self.packs_b_before) else ()
        return tuple(o for o in (self.tensors.a_origin, *sources, self.b_origin) if o.terms)

    # -- tiles ----------------------------------------------------------------------------------

    @cached_property
    def tile_rows(self) -> tuple[TileRow, ...]:
        """AMX tiles of a register tile, in the order of their products."""
        return tile_rows(self.block_rows, self.schedule.nr // TILE_ROWS)

    @property
    def configured(self) -> tuple[tuple[int, int], ...]:
        """Rows and bytes per row of each tile register."""
        rows = dict.fromkeys(range(TILE_REGISTERS), 0)
        for row in self.tile_rows:
            rows[row.a] = row.count
            for tile in row.products:
                rows[tile.sums], rows[tile.b] = row.count, TILE_ROWS
        return tuple((count, ROW_BYTES * (count > 0)) for count in rows.values())

    @property
    def block_rows(self) -> int:
        """Rows of a register tile; if M is not a multiple of them, the last two tiles overlap."""
        return min(self.spec.m, self.schedule.mr)

    @property
    def first_row(self) -> str:
        """First row of the register tile that begins at %i."""
        return "%i.m" if self.blocking.m.has_edge else "%i"

    @property
    def last_rows(self) -> str:
        """First row of a task's last register tile, which may overlap the tile before it."""
        return self.blocking.m.operand("%rows.last", self.blocking.m.first - self.block_rows)

    # -- the epilogue, some rows with each step -------------------------------------------------

    @property
    def columns_are_masked(self) -> bool:
        """Whether whole panels and the panel at the edge share masked code."""
        return self.blocking.n.has_edge and self.blocking.n.has_tile

    def finished_columns(self, prefix: str) -> tuple[FinishedColumns, ...]:
        count = self.compute.count
        found = []
        for offset in range(0, min(self.schedule.nr, -(-self.spec.n // count) * count), count):
            name = f"n{offset}"
            valid: int | str = 0
            if self.columns_are_masked:
                valid = f"%{prefix}.{name}.mask"
            elif self.spec.n - offset < count:
                valid = self.spec.n - offset
            sums, out = offset * self.acc.vector.itemsize, offset * self.out.itemsize
            found.append(FinishedColumns(name=name, offset=offset, sums=sums, out=out, valid=valid))
        return tuple(found)

    @property
    def masked_accesses(self) -> set[Vector]:
        is_masked = any(c.valid not in (0, 1) for c in self.finished_columns(""))
        types = self.finish.types if is_masked else set()
        cut_b = not self.b_is_packed and self.b_groups.is_gathered
        if self.a_pack.windows:
            types |= self.a_pack.windows.masked_types
        cut_a = self.tiled_a.packs and not (self.a_pack.windows or self.a_pack.is_gathered)
        if self.a_pack.runs.tail > 1 and (cut_a or cut_b):
            types.add(self.run.stored)
        if self.tiled_b.columns_left > 1 and not (self.b_is_packed or cut_b):
            types.add(self.row.stored)
        return types


def plan_amx(spec: Matmul, target: Target, schedule: AmxMatmul, product: TileProduct) -> AmxPlan:
    """Plan the kernel. Raises ScheduleError for fields that do not fit."""
    check_prepacked(spec, schedule)
    for field, unit in (("mr", TILE_ROWS), ("nr", TILE_ROWS), ("kc", tile_k(spec.dtype))):
        check_multiple(schedule, field, unit, "an AMX tile")
    rows, columns = schedule.mr // TILE_ROWS, schedule.nr // TILE_ROWS
    needed = rows * columns + rows + columns
    if needed > TILE_REGISTERS:
        raise ScheduleError(
            f"mr={schedule.mr} with nr={schedule.nr} needs {needed} tile registers; "
            f"{target.name} has {TILE_REGISTERS}; try mr={2 * TILE_ROWS},nr={2 * TILE_ROWS}"
        )
    plan = AmxPlan.of(
        spec,
        target,
        schedule,
        finishing_vector(spec, target, TILE_ROWS),
        mainloop="amx",
        rounded_by_cpu=spec.dtype is spec.out is DType.BF16 and target.has("avx512_bf16"),
        product=product,
        row=Access(dtype=spec.dtype, compute=Vector(count=TILE_ROWS, scalar="float")),
        run=Access(dtype=spec.dtype, compute=Vector(count=tile_k(spec.dtype), scalar="float")),
    )
    check_operands(plan)
    check_packer(plan)
    if schedule.prefetch_panel and (plan.blocking.row_tiles == 1 or plan.next_panel.is_packed):
        raise ScheduleError(
            f"prefetch_panel=1 requires several register tiles per panel (m={spec.m} and "
            f"mc={schedule.mc} above mr={schedule.mr}) and a B that is not packed between the "
            "products; try prefetch_panel=0"
        )
    return with_workspaces(plan)


def check_operands(plan: AmxPlan) -> None:
    """Raise ScheduleError if AMX tiles cannot be loaded from an unpacked operand."""
    spec, schedule = plan.spec, plan.schedule
    if must_pack_a(spec) and not schedule.pack_a:
        raise ScheduleError(
            f"pack_a=0 requires an A stored row-major and k a multiple of {tile_k(spec.dtype)}; "
            f"layout={spec.layout}, k={spec.k}; try pack_a=1"
        )
    if not plan.b_is_packed and not schedule.pack_b:
        raise ScheduleError("pack_b=0 requires a prepacked B; try pack_b=1")
    last = spec.m - (plan.blocking.m.blocks - 1) * schedule.mc
    if last < plan.block_rows:
        raise ScheduleError(
            f"mc={schedule.mc} leaves {last} rows of m={spec.m} to the last block, fewer than "
            f"mr={schedule.mr}; try mc={rounded(spec.m, schedule.mr)}"
        )


def check_packer(plan: AmxPlan) -> None:
    """Raise ScheduleError for ways of packing that the operands and blocks do not allow."""
    spec, schedule, blocking = plan.spec, plan.schedule, plan.blocking
    whole = spec.k % schedule.kc == 0 and spec.n % schedule.nr == 0 and spec.n > schedule.nr
    shared = schedule.mr < spec.m <= schedule.mc
    if plan.b_is_packed and schedule.packer:
        raise ScheduleError(f"packer={schedule.packer:d} requires an unpacked B; try packer=0")
    if schedule.packer == Packer.TASK and blocking.n.is_split:
        raise ScheduleError(
            f"packer=1 requires blocks of all {spec.n} columns, not nc={schedule.nc}; try packer=0"
        )
    if schedule.packer == Packer.TILES and not (whole and shared and not spec.layout.b_transposed):
        raise ScheduleError(
            f"packer=2 requires a row-major B, m={spec.m} above mr={schedule.mr} and at most "
            f"mc={schedule.mc}, n={spec.n} above nr={schedule.nr} and a multiple of it, and "
            f"k={spec.k} a multiple of kc={schedule.kc}; layout={spec.layout}; try packer=0"
        )
    if schedule.a_in_workspace and not schedule.pack_a:
        raise ScheduleError("a_in_workspace=1 requires pack_a=1; try a_in_workspace=0")
    if TILE_ROWS % schedule.band_groups:
        raise ScheduleError(
            f"band_groups={schedule.band_groups} does not divide {TILE_ROWS}; try band_groups=8"
        )


def with_workspaces(plan: AmxPlan) -> AmxPlan:
    """Return the plan with a launch that packs B, if any, and workspaces for large buffers."""
    (multiply,) = plan.launches
    arguments, workspaces, packing = list(multiply.arguments), [], []
    if plan.packs_b_before:
        nbytes = plan.tiled_b.batches * plan.tiled_b.matrix_bytes
        workspaces.append(Workspace(name=PACKED_B, nbytes=nbytes))
        grid = (plan.tiled_b.batches * plan.tiled_b.bands, 1, 1)
        names = ("b", PACKED_B)
        packing.append(Launch(entry_point=plan.packing_entry, grid=grid, arguments=names))
        arguments[arguments.index("b")] = PACKED_B
    if plan.schedule.a_in_workspace:
        workspaces.append(Workspace(name=COPIES_OF_A, nbytes=multiply.grid[0] * plan.tiled_a.bytes))
        arguments.append(COPIES_OF_A)
    multiply = dataclasses.replace(multiply, arguments=tuple(arguments))
    return dataclasses.replace(plan, launches=(*packing, multiply), workspaces=tuple(workspaces))
