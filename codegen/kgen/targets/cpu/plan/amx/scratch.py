"""What products on AMX tiles keep in scratch memory, on the stack or in a workspace."""

from __future__ import annotations

from kgen.targets.cpu.plan.amx.beside import BesidePlan
from kgen.targets.cpu.plan.amx.tiles import TILE_ROWS, TileColumn, TileRow
from kgen_runtime.values import frozen

#: The workspace of B in the order of tiles.
PACKED_B = "b.packed"


@frozen
class TileScratchPlan(BesidePlan):
    # -- depth, in tiles ------------------------------------------------------------------------

    @property
    def kc_steps(self) -> int:
        """Tiles along K of a block."""
        return self.schedule.kc // self.a_runs.run_k

    @property
    def block_groups(self) -> int:
        """Groups along K of a block, a row of a tile each."""
        return self.kc_steps * TILE_ROWS

    @property
    def last_steps0(self) -> int:
        """Where the last block begins."""
        return (self.k_steps - 1) // self.kc_steps * self.kc_steps

    @property
    def steps_vary(self) -> bool:
        """The last block of K is shorter."""
        return self.blocking.k_blocked and self.k_steps % self.kc_steps != 0

    @property
    def first_step(self) -> str:
        """Of the current block of K."""
        return "%s0" if self.blocking.k_blocked else "0"

    @property
    def end_step(self) -> str:
        return "%s1" if self.blocking.k_blocked else str(self.k_steps)

    @property
    def last_panel(self) -> str:
        """The first column of the task's last panel."""
        if self.blocking.columns_vary:
            return "%columns.last"
        return str(min(self.spec.n, self.schedule.nc) - self.schedule.nr)

    # -- scratch ------------------------------------------------------------------------------

    @property
    def packs_b_alone(self) -> bool:
        """The task packs B for itself, on the stack: no other has the same B."""
        alone = self.blocking.blocks_per_batch == 1 and self.spec.batch == self.packed_batches
        needed = self.a_copy_bytes + self.packed_matrix_bytes + self.sums_bytes + self.last_bytes
        fits = needed <= self.target.limits["stack_bytes"]
        return self.packs_b and not self.packs_b_between and alone and fits

    @property
    def packs_b_before(self) -> bool:
        """A launch of its own packs B."""
        return self.packs_b and not self.packs_b_alone and not self.packs_b_between

    @property
    def has_copies_of_a(self) -> bool:
        """A workspace holds them; the stack has no room."""
        needed = self.a_copy_bytes + self.parts_bytes + self.sums_bytes + self.last_bytes
        return not self.packs_b_alone and needed > self.target.limits["stack_bytes"]

    @property
    def parts_bytes(self) -> int:
        """Of the part of B that is multiplied, and the next one, which is packed meanwhile."""
        return 2 * self.part_bytes * self.packs_b_between

    @property
    def scratch_bytes(self) -> int:
        a = 0 if self.has_copies_of_a else self.a_copy_bytes
        b = self.packed_matrix_bytes if self.packs_b_alone else self.parts_bytes
        return a + b + self.sums_bytes + self.last_bytes

    @property
    def notes(self) -> tuple[str, ...]:
        packs: tuple[str, ...] = ()
        if self.packs_b_between:
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
    def scratch_map(self) -> tuple[str, ...]:
        lines = []
        workspace, stack = ", in a workspace", ""
        dtype, k = self.spec.dtype, f"k/{self.a_runs.run_k}"
        if self.schedule.pack_a:
            order = f"[mc/mr][{k}][mr/{TILE_ROWS}] tiles"
            if self.packs_a:
                order = f"[mc][k], {self.a_runs.pack_row} B per row, zero past K"
            where = workspace if self.has_copies_of_a else stack
            lines.append(f"%a.pack: {dtype} {order}, {self.a_copy_bytes} B{where}")
        if self.packs_b_between:
            order = f"[2][nr/{TILE_ROWS}][kc/{self.a_runs.run_k}] tiles"
            lines.append(f"%b.pack: {dtype} {order}, {self.parts_bytes} B")
        elif self.packs_b:
            name, where = ("%b.pack", stack) if self.packs_b_alone else (f"%{PACKED_B}", workspace)
            order = f"[n/{TILE_ROWS}][{k}] tiles, zero past K and N"
            lines.append(f"{name}: {dtype} {order}, {self.packed_matrix_bytes} B{where}")
        order = f"{self.sum_vector.scalar} [mr][nr]"
        if self.blocking.k_blocked:
            lines.append(f"%sums: [mc/mr] times {order}, {self.sums_bytes} B")
        lines.append(f"%last: {order}, {self.last_bytes} B")
        return tuple(lines)

    def sums_at(self, tile: TileRow, product: TileColumn) -> int:
        """Bytes in the block of sums to those of a product."""
        return tile.row * self.sums_row + product.column * self.acc.itemsize

    @property
    def sums_row(self) -> int:
        """Bytes of a row of a register tile's sums."""
        return self.schedule.nr * self.acc.itemsize

    @property
    def last_bytes(self) -> int:
        return self.schedule.mr * self.sums_row

    @property
    def sums_bytes(self) -> int:
        """Of all register tiles of a panel, between two blocks of K."""
        return self.schedule.mc * self.sums_row if self.blocking.k_blocked else 0
