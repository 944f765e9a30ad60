"""The plan of matmul_amx.ll.j2: products on AMX tiles, and the epilogue of one register tile while
the next one is multiplied."""

from __future__ import annotations

import dataclasses
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.addresses import Origin, origin
from kgen.targets.cpu.plan.amx.scratch import PACKED_B, TileScratchPlan
from kgen.targets.cpu.plan.amx.tiles import (
    ROW_BYTES,
    TILE_REGISTERS,
    TILE_ROWS,
    TileProduct,
    TileRow,
    check_registers,
    tile_k,
    tile_rows,
)
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.checks import check_ahead, check_multiple, check_stack
from kgen.targets.cpu.plan.finishing import finishing_type
from kgen.targets.cpu.plan.matmul import matmul_launch
from kgen.targets.cpu.plan.packing.groups import rounded
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.device import Multiplied
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: The workspace of the rows of A of every task, in the order of tiles.
COPIES_OF_A = "a.copies"


@frozen
class Columns:
    """The columns of a register tile that the epilogue takes at a time.

    `offset` counts columns from the tile's first, `sums` and `out` bytes in a row of the sums and
    of the output; `valid` is what `epilogue` wants.
    """

    name: str
    offset: int
    sums: int
    out: int
    valid: int | str


@frozen
class AmxPlan(TileScratchPlan):
    product: TileProduct

    @property
    def multiplied(self) -> Multiplied:
        return Multiplied(operands=str(self.spec.dtype))

    @property
    def features(self) -> tuple[str, ...]:
        rounding = {"avx512_bf16"} if self.out.rounded_by_cpu else set()
        found = {*super().features, "amx_tile", self.product.feature, *rounding}
        return tuple(sorted(found))

    # -- launches -----------------------------------------------------------------------------

    @property
    def packing_entry(self) -> str:
        return f"{self.spec.key}_pack"

    @property
    def packing_linkage(self) -> str:
        return "internal " if self.packs_b_alone else ""

    @property
    def tells_batches(self) -> bool:
        """Bands of all matrices B, one after the other, are packed by one launch."""
        return self.packs_b_before and self.packed_batches > 1

    @property
    def b_origin(self) -> Origin:
        """Of B as it is multiplied, in the order of tiles."""
        if self.packs_b_alone or self.packs_b_between:
            return origin("b.pack", ())
        tensor = PACKED_B if self.packs_b else "b"
        return self.tensors.block_origin(
            tensor, self.tensors.numbered(self.packed_batch_bytes), n=self.column_bytes
        )

    @property
    def b_source(self) -> Origin:
        """Of B as it is given, for the one who packs it."""
        apart = not self.packs_b_before or self.tells_batches
        columns = self.tensors.b_strides[2] if self.packs_b_between else 0
        return self.tensors.block_origin("b", self.tensors.b_terms if apart else (), n=columns)

    @property
    def input_origins(self) -> tuple[Origin, ...]:
        sources = (self.b_source,) if self.packs_b and not self.packs_b_before else ()
        return tuple(o for o in (self.tensors.a_origin, *sources, self.b_origin) if o.terms)

    # -- tiles ----------------------------------------------------------------------------------

    @cached_property
    def tile_rows(self) -> tuple[TileRow, ...]:
        """The register tile, in the order in which its products are done."""
        return tile_rows(self.block_rows, self.schedule.nr // TILE_ROWS)

    @property
    def configured_rows(self) -> tuple[int, ...]:
        """Of each tile register."""
        rows = dict.fromkeys(range(TILE_REGISTERS), 0)
        for row in self.tile_rows:
            rows[row.a] = row.count
            for tile in row.products:
                rows[tile.sums], rows[tile.b] = row.count, TILE_ROWS
        return tuple(rows.values())

    @property
    def configured_bytes(self) -> tuple[int, ...]:
        """Of a row of each."""
        return tuple(ROW_BYTES * (rows > 0) for rows in self.configured_rows)

    @property
    def block_rows(self) -> int:
        """Rows of a register tile; if M is not a multiple of them, the last tiles overlap."""
        return min(self.spec.m, self.schedule.mr)

    @property
    def first_row(self) -> str:
        """Of the register tile that begins at %i."""
        return "%i.m" if self.blocking.m_edge else "%i"

    @property
    def last_rows(self) -> str:
        """Where the last register tile of a task begins, if it overlaps the one before."""
        if self.blocking.rows_vary:
            return "%rows.last"
        return str(min(self.spec.m, self.schedule.mc) - self.block_rows)

    # -- the epilogue, a few rows with each step ------------------------------------------------

    @property
    def steps_that_finish(self) -> int:
        """Of the next register tile: all but the first, which stores the sums."""
        return min(self.k_steps - self.last_steps0, self.kc_steps, self.k_steps) - 1

    @property
    def finishes_at_once(self) -> bool:
        """There are none: all rows are finished with the first step, once their sums are stored."""
        return self.steps_that_finish == 0

    @property
    def finished_rows(self) -> int:
        """Rows of the last register tile that are finished with each step of this one."""
        return -(-self.block_rows // max(1, self.steps_that_finish))

    @property
    def finishing_steps(self) -> int:
        """Steps that finish some; the last rows overlap if `finished_overlap`."""
        return -(-self.block_rows // self.finished_rows)

    @property
    def finished_overlap(self) -> bool:
        return self.block_rows % self.finished_rows != 0

    @property
    def finished_last(self) -> int:
        """Where the last rows that are finished together begin."""
        return self.block_rows - self.finished_rows

    @property
    def columns_are_masked(self) -> bool:
        """Whole panels and one at the edge take the same code, with masks."""
        return self.blocking.has_edge_panel and not self.blocking.only_edge_panel

    def finished_columns(self, prefix: str) -> tuple[Columns, ...]:
        count = self.compute.count
        found = []
        for offset in range(0, min(self.schedule.nr, -(-self.spec.n // count) * count), count):
            name = f"n{offset}"
            valid: int | str = 0
            if self.columns_are_masked:
                valid = f"%{prefix}.{name}.mask"
            elif self.spec.n - offset < count:
                valid = self.spec.n - offset
            sums, out = offset * self.acc.itemsize, offset * self.out.itemsize
            found.append(Columns(name=name, offset=offset, sums=sums, out=out, valid=valid))
        return tuple(found)

    @property
    def column_type(self) -> Vector:
        """Numbers of the columns that the epilogue takes at a time."""
        return self.compute.of("i64")

    def column_numbers(self, offset: int) -> str:
        """`offset`, `offset` + 1, ... for the lanes of a vector."""
        return "<" + ", ".join(f"i64 {offset + i}" for i in range(self.compute.count)) + ">"

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        return tuple(sorted(self.out_masked_types | self.packing_masked_types, key=str))

    @property
    def out_masked_types(self) -> set[Vector]:
        masked = [c for c in self.finished_columns("") if c.valid not in (0, 1)]
        if not masked:
            return set()
        return self.finish.types


def unchecked_amx(
    spec: Matmul, target: Target, schedule: AmxMatmul, product: TileProduct
) -> AmxPlan:
    """Return the plan of a schedule that may not fit, without its workspaces."""
    compute = vector_for(target, finishing_type(spec), TILE_ROWS)
    rounded_by_cpu = spec.dtype is spec.out is DType.BF16 and target.has("avx512_bf16")
    return AmxPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_amx.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=compute,
        out=Access(dtype=spec.out, compute=compute, rounded_by_cpu=rounded_by_cpu),
        group=tile_k(spec.dtype) // TILE_ROWS,
        product=product,
        row=Access(dtype=spec.dtype, compute=Vector(count=TILE_ROWS, scalar="float")),
        run=Access(dtype=spec.dtype, compute=Vector(count=tile_k(spec.dtype), scalar="float")),
    )


def plan_amx(spec: Matmul, target: Target, schedule: AmxMatmul, product: TileProduct) -> AmxPlan:
    """Raises ScheduleError if the schedule is no whole number of tiles or needs too many."""
    check_ahead(spec, schedule)
    for field, unit in (("mr", TILE_ROWS), ("nr", TILE_ROWS), ("kc", tile_k(spec.dtype))):
        check_multiple(schedule, field, unit, "an AMX tile")
    check_registers(schedule, target)
    plan = unchecked_amx(spec, target, schedule, product)
    check_operands(plan)
    if schedule.prefetch_panel and not plan.may_fetch_b:
        raise ScheduleError(
            f"prefetch_panel=1 requires several register tiles per panel (m={spec.m} and "
            f"mc={schedule.mc} above mr={schedule.mr}) and a B that is not packed between the "
            "products; try prefetch_panel=0"
        )
    check_stack(target, schedule, plan.scratch_bytes)
    return with_workspaces(plan)


def check_operands(plan: AmxPlan) -> None:
    """Raises ScheduleError if tiles cannot be loaded from what the schedule leaves as it is."""
    spec, schedule = plan.spec, plan.schedule
    if plan.must_pack_a and not schedule.pack_a:
        raise ScheduleError(
            f"pack_a=0 requires an A stored row-major and k a multiple of {plan.a_runs.run_k}; "
            f"layout={spec.layout}, k={spec.k}; try pack_a=1"
        )
    if plan.packs_b and not schedule.pack_b:
        raise ScheduleError("pack_b=0 requires a prepacked B; try pack_b=1")
    last = spec.m - (plan.blocking.blocks_m - 1) * schedule.mc
    if last < plan.block_rows:
        raise ScheduleError(
            f"mc={schedule.mc} leaves {last} rows of m={spec.m} to the last block, fewer than "
            f"mr={schedule.mr}; try mc={rounded(spec.m, schedule.mr)}"
        )


def with_workspaces(plan: AmxPlan) -> AmxPlan:
    """The same with a launch before it that packs B, and memory for what the stack cannot hold."""
    (multiply,) = plan.launches
    arguments, workspaces, packing = list(multiply.arguments), [], []
    if plan.packs_b_before:
        nbytes = plan.packed_batches * plan.packed_matrix_bytes
        workspaces.append(Workspace(name=PACKED_B, nbytes=nbytes))
        grid = (plan.packed_batches * plan.bands, 1, 1)
        names = ("b", PACKED_B)
        packing.append(Launch(entry_point=plan.packing_entry, grid=grid, arguments=names))
        arguments[arguments.index("b")] = PACKED_B
    if plan.has_copies_of_a:
        workspaces.append(Workspace(name=COPIES_OF_A, nbytes=plan.tasks * plan.a_copy_bytes))
        arguments.append(COPIES_OF_A)
    multiply = dataclasses.replace(multiply, arguments=tuple(arguments))
    return dataclasses.replace(plan, launches=(*packing, multiply), workspaces=tuple(workspaces))
