"""What products in vector registers share: tiles of sums, written to out as they are finished."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import CpuMatmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.blocks import MatmulPlan
from kgen.targets.cpu.plan.tile import Column, Tile, tile
from kgen.targets.cpu.plan.vectors import Vector


@dataclass(frozen=True, kw_only=True)
class TiledPlan(MatmulPlan):
    """Steps of K over register tiles of mr x nr."""

    @property
    def is_direct(self) -> bool:
        """Sums go from registers through the epilogue to out, and never to scratch."""
        return not self.k_blocked

    @property
    def sums_are_in_lanes(self) -> bool:
        """Not in the order of columns, until K is at its end."""
        return False

    @property
    def spreads_columns(self) -> bool:
        """The columns of a tile are not side by side."""
        return False

    @property
    def panels_stop(self) -> str:
        """Where the first columns of whole panels end."""
        return self.panels_whole

    @property
    def panels_step(self) -> int:
        """From the first column of one to that of the next."""
        return self.schedule.nr

    @property
    def packs_a(self) -> bool:
        return self.schedule.pack_a

    @property
    def packs_b(self) -> bool:
        return self.schedule.pack_b

    # -- A and B of the current block of K, as the tiles read them -----------------------------

    @property
    def a_block(self) -> str:
        """Pointer to A at the block's corner."""
        return "%a.k" if self.k_blocked else self.a_origin.base

    @property
    def b_block(self) -> str:
        return "%b.k" if self.k_blocked else self.b_origin.base

    @property
    def a_tiles(self) -> str:
        """Pointer to what the tiles read of A."""
        return "%a.pack" if self.packs_a else self.a_block

    @property
    @abstractmethod
    def a_m(self) -> int:
        """Bytes from one row of A to the next."""

    @property
    @abstractmethod
    def a_k(self) -> int:
        """Bytes of A from one step of K to the next."""

    @property
    @abstractmethod
    def b_row(self) -> int:
        """Bytes of B from one step of K to the next."""

    @property
    @abstractmethod
    def k_steps(self) -> str:
        """Steps of K in the current block."""

    @property
    def b_step(self) -> int:
        """Bytes of B from one vector of columns to the next."""
        return self.vector_bytes if self.packs_b else self.compute.count * self.b_strides[2]

    # -- register tiles ------------------------------------------------------------------------

    @property
    def tile(self) -> Tile:
        return self._tile(self.schedule.mr, self.schedule.nr)

    @property
    def bottom_tile(self) -> Tile:
        return self._tile(self.spec.m % self.schedule.mr, self.schedule.nr)

    @property
    def right_tile(self) -> Tile:
        return self._tile(self.schedule.mr, self.spec.n % self.schedule.nr)

    @property
    def corner_tile(self) -> Tile:
        return self._tile(self.spec.m % self.schedule.mr, self.spec.n % self.schedule.nr)

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Those that the shape needs."""
        panels = [(self.tile, self.bottom_tile)] if self.has_whole_panel else []
        panels += [(self.right_tile, self.corner_tile)] if self.has_edge_panel else []
        found = [whole for whole, _ in panels] if self.has_whole_rows else []
        return (*found, *(bottom for _, bottom in panels if self.m_edge))

    def _tile(self, rows: int, width: int) -> Tile:
        """Where the sums go is out, or the block of sums."""
        if self.is_direct:
            out = (self.out_strides[1], self.compute.count * self.out_strides[2])
        else:
            out = (self.acc_row, self.vector_bytes)
        return tile(
            rows,
            width,
            count=self.compute.count,
            a_stride=self.a_m,
            b_step=self.b_step,
            out_strides=out,
        )

    @property
    def tile_pointers(self) -> tuple[str, ...]:
        """The tensors, besides A and B, whose corner a tile is given."""
        if not self.is_direct:
            return ("acc",)
        return (*self.out_like, *(("bias",) if self.has_bias else ()), *self.scales)

    def tile_offset(self, tensor: str, prefix: str) -> str:
        """How far a tile is from the block's corner in one of them, in bytes."""
        if tensor in self.scales:
            return "0"
        return f"%{prefix}.bias.offset" if tensor == "bias" else f"%{prefix}.corner"

    def bias_at(self, column: Column) -> int:
        """Bytes from the tile's corner in the bias."""
        return column.first * self.bias.itemsize

    @property
    def tile_bases(self) -> dict[str, str]:
        """The block's corner in each of them."""
        if not self.is_direct:
            return {"acc": "%acc"}
        return {name: place.base for name, place in self.out_origins.items()}

    @property
    def sums_initial(self) -> str:
        """The sums' first value, where it is the same for all."""
        return "" if self.k_blocked or self.has_starts else "zeroinitializer"

    @property
    def has_starts(self) -> bool:
        """The sums of each row start from a number that is found first."""
        return False


def check_registers(target: Target, schedule: CpuMatmul, compute: Vector, extra: int = 0) -> None:
    """The sums and what they are made of stay in vector registers, besides `extra` ones."""
    vectors = schedule.nr // compute.count
    needed = registers_needed(schedule.mr, vectors) + extra
    limit = target.limits["vector_registers"]
    if needed > limit:
        fits = max((limit - 2 - extra) // vectors - 1, 1)
        raise ScheduleError(
            f"mr={schedule.mr} with nr={schedule.nr} needs {needed} vector registers; "
            f"{target.name} has {limit}; try mr={fits}"
        )


def registers_needed(rows: int, vectors: int) -> int:
    """Sums, a row of B, one broadcast element of A, and one to spare: without it LLVM spills (a
    4 x 24 tile in 16 registers runs at half the speed of a 6 x 16 one)."""
    return rows * vectors + vectors + 2
