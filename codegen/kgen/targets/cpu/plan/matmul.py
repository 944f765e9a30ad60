"""What every CPU matmul shares: a prepacked B, prefetching, byte strides and the block of sums."""

from __future__ import annotations

import dataclasses

from kgen.schedule import BlockedMatmul
from kgen.spec import ConstantOperand, Matmul
from kgen.targets.batch import (
    BATCH,
    BatchCoordinate,
    BatchTerm,
    batch_coordinates,
    batch_terms,
)
from kgen.targets.cpu.plan.addresses import Origin, origin
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.finishing import FinishingPlan
from kgen.targets.cpu.plan.packing.prepacked import b_is_packed, packed_b
from kgen.targets.cpu.plan.vectors import Vector, scalar_type
from kgen.targets.device import Multiplied
from kgen_runtime.manifest import Launch, TensorParam, Tile, Walk
from kgen_runtime.values import frozen

#: Added to a row of sums that come and go with every few rows of B, so that rows a power of two
#: apart do not share a cache set; twice where that makes them a multiple of so many bytes apart: 32
#: x 3000 x 2048 in f32 on AVX2 takes 8.2 ms in blocks of 1008 columns without, 3.2 of 1024 (Zen 5).
SUMS_PADDING, SUMS_MEET = 64, 1024
MOST_PADDING = 2 * SUMS_PADDING


def padded(row: int) -> int:
    """Bytes from a row of sums of so many to the next."""
    return row + (SUMS_PADDING if (row + SUMS_PADDING) % SUMS_MEET else MOST_PADDING)


@frozen
class MatmulPlan(FinishingPlan):
    """A block of mc x nc of out per task; sums in a scratch block, then the epilogue."""

    @property
    def multiplied(self) -> Multiplied:
        """Narrow operands are widened to the type of the sums."""
        return Multiplied(operands=str(self.spec.accumulate))

    # -- prepacked B ------------------------------------------------------------------------

    @property
    def b_is_packed(self) -> bool:
        """B comes packed, in panels of a vector's columns."""
        return b_is_packed(self.spec)

    @property
    def b_width(self) -> int:
        """Columns of a packed panel."""
        return self.compute.count

    @property
    def b_depth(self) -> int:
        """Elements of a column of B that a packed panel has side by side."""
        return 1

    @property
    def b_runs(self) -> tuple[int, ...]:
        """What those are cut into, so that all columns' first ones lie side by side."""
        return ()

    @property
    def k_unit(self) -> int:
        """What the depth of packed B is a multiple of."""
        return 1

    @property
    def n_unit(self) -> int:
        """What the columns of packed B are a multiple of."""
        return self.b_width

    @property
    def packed_b(self) -> TensorParam:
        return packed_b(
            self.spec,
            width=self.b_width,
            depth=self.b_depth,
            k_unit=self.k_unit,
            n_unit=self.n_unit,
            runs=self.b_runs,
        )

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        given = self.spec.parameters
        if not self.b_is_packed:
            return given
        return tuple(self.packed_b if p.name == ConstantOperand.B else p for p in given)

    @property
    def b_panel_bytes(self) -> int:
        """A panel that the kernel packs."""
        return 0

    # -- B multiplied where it lies, a few rows at a time ------------------------------------

    @property
    def streams_b(self) -> bool:
        """Each block of K is fetched while the one before it is multiplied."""
        return self.k_blocked and not self.schedule.pack_b and not self.b_is_packed

    @property
    def fetches_next_panel(self) -> bool:
        """Tiles fetch the next panel of B."""
        return False

    @property
    def fetches_to_pack(self) -> bool:
        """Tiles fetch rows of the panel that is packed next."""
        return False

    @property
    def fetches_blocks(self) -> bool:
        """Tiles fetch a share of the next block of K."""
        return self.streams_b and not (self.fetches_next_panel or self.fetches_to_pack)

    @property
    def fetches_ahead(self) -> bool:
        """Tiles fetch what is multiplied later."""
        return self.fetches_blocks or self.fetches_next_panel

    @property
    def fetches(self) -> bool:
        """The kernel fetches lines that are read later."""
        return self.fetches_ahead

    @property
    def row_tiles(self) -> int:
        """Register tiles, one below the other, that share a panel of B."""
        return -(-min(self.spec.m, self.schedule.mc) // self.schedule.mr)

    @property
    def k_depth(self) -> int:
        """K of a step."""
        return 1

    @property
    def ahead_row(self) -> str:
        """Bytes of a row of the block of B."""
        if self.takes_several:
            return "%ahead.row"
        return str(self.schedule.nc * self.spec.b_type.itemsize)

    @property
    def ahead_column(self) -> int:
        """Bytes of a column of the block of B."""
        return self.schedule.kc * self.spec.b_type.itemsize

    @property
    def ahead_step(self) -> int:
        """Bytes of the next block from the line that one step of a tile fetches to that of the next
        step. All tiles of a panel together fetch as many bytes as the panel has; a step fetches a
        line again where its own share is less than a line."""
        step = self.k_depth * self.schedule.nr * self.spec.b_type.itemsize
        return -(-step // self.row_tiles)

    @property
    def ahead_lines(self) -> range:
        """Where they begin."""
        if self.fetches_next_panel:
            lines = -(-self.panel_lines // self.row_tiles)
            return range(0, lines * self.panel_line, self.panel_line)
        return range(0, self.ahead_step, LINE_BYTES)

    @property
    def ahead_stride(self) -> int:
        """Bytes from what a step fetches to what the next one does."""
        return self.b_strides[1] if self.fetches_next_panel else self.ahead_step

    @property
    def panel_lines(self) -> int:
        """Lines of a row of a panel of B; vectors of one that comes packed."""
        if self.b_is_packed:
            return self.schedule.nr // self.compute.count
        return -(-self.schedule.nr * self.spec.b_type.itemsize // LINE_BYTES)

    @property
    def panel_line(self) -> int:
        """Bytes from one of them to the next."""
        return self.compute.count * self.b_strides[2] if self.b_is_packed else LINE_BYTES

    @property
    def ahead_block(self) -> int:
        """Bytes to the next block of K."""
        return self.schedule.kc * self.b_strides[1]

    @property
    def ahead_part(self) -> int:
        """Bytes that a tile fetches."""
        return self.schedule.kc // self.k_depth * self.ahead_step

    # -- tensors, in bytes --------------------------------------------------------------------

    @property
    def a_strides(self) -> tuple[int, ...]:
        """Batch, m, k."""
        return tuple(s * self.spec.dtype.itemsize for s in self.spec.a_strides)

    @property
    def b_strides(self) -> tuple[int, ...]:
        """Batch, k, n; where B comes packed, k by whole groups of pairs and n by whole panels."""
        size = self.spec.b_type.itemsize
        if self.b_is_packed:
            panels, steps, width, depth = self.packed_b.shape[-4:]
            batch = panels * steps * width * depth if self.spec.b_strides[0] else 0
            return (batch * size, width * size, steps * depth * size)
        return tuple(s * size for s in self.spec.b_strides)

    @property
    def out_strides(self) -> tuple[int, ...]:
        """Batch, m, n of out and of all tensors like it."""
        return tuple(s * self.spec.out.itemsize for s in self.spec.out_strides)

    @property
    def a_origin(self) -> Origin:
        terms = batch_terms(self.spec, "a", self.spec.dtype.itemsize)
        return self._origin("a", terms, m=self.a_strides[1])

    @property
    def b_origin(self) -> Origin:
        return self._origin("b", self.b_terms, n=self.b_strides[2])

    @property
    def b_terms(self) -> tuple[BatchTerm, ...]:
        """Of B as it is given, or as it comes packed."""
        if self.b_is_packed:
            return self._numbered(self.b_strides[0])
        return batch_terms(self.spec, "b", self.spec.b_type.itemsize)

    def _numbered(self, stride: int) -> tuple[BatchTerm, ...]:
        """Of matrices that lie in the order of their products' numbers."""
        return (BatchTerm(name=BATCH, stride=stride),) if self.spec.batch > 1 and stride else ()

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)

    @property
    def input_origins(self) -> tuple[Origin, ...]:
        """Those of A and B that need steps."""
        return tuple(place for place in (self.a_origin, self.b_origin) if place.terms)

    @property
    def out_origins(self) -> dict[str, Origin]:
        """Of every tensor that the epilogue reads or writes."""
        _, m, n = self.out_strides
        terms = batch_terms(self.spec, "c", self.spec.out.itemsize)
        found = {name: self._origin(name, terms, m=m, n=n) for name in self.out_like}
        for a in self.epilogue.by_column:
            found[a.stem] = self._origin(a.stem, (), n=a.dtype.itemsize)
        for a in self.epilogue.by_row:
            found[a.stem] = self._origin(a.stem, (), m=a.dtype.itemsize)
        return found | {a.stem: origin(a.stem, ()) for a in self.epilogue.numbers}

    def _origin(self, tensor: str, batch: tuple[BatchTerm, ...], m: int = 0, n: int = 0) -> Origin:
        """The block's corner: strides in bytes, of what varies from task to task."""
        terms = [(term.name, term.stride) for term in batch]
        if self.splits_m and m:
            terms.append(("m0", m))
        if self.splits_n and n:
            terms.append(("n0", n))
        return origin(tensor, terms)

    @property
    def out_like(self) -> tuple[str, ...]:
        """Tensors of out's shape and strides."""
        return (*(a.stem for a in self.epilogue.full), "out")

    # -- the block of sums: scratch, or out itself --------------------------------------------

    @property
    def sums_in_out(self) -> bool:
        """From one block of K to the next, the sums are in out."""
        return False

    @property
    def acc_base(self) -> str:
        """Pointer to the sums of the block's corner."""
        return self.out_origins["out"].base if self.sums_in_out else "%acc"

    @property
    def sum_vector(self) -> Vector:
        """Sums of as many columns as the epilogue, in `compute`, takes at a time."""
        return self.compute.of(scalar_type(self.spec.accumulate))

    @property
    def sums_are_integers(self) -> bool:
        return self.spec.accumulate.is_integer

    @property
    def sums_are_rounded(self) -> bool:
        """From integers to f32, before the epilogue."""
        return self.sum_vector != self.compute

    @property
    def accumulator_bytes(self) -> int:
        return self.spec.accumulate.itemsize

    @property
    def accumulator_alignment(self) -> int:
        """Of a whole vector in scratch."""
        return self.compute.count * self.accumulator_bytes

    @property
    def acc_row(self) -> int:
        """Bytes from the sums of a row to those of the next."""
        return self.out_strides[1] if self.sums_in_out else self.scratch_row

    @property
    def scratch_row(self) -> int:
        """The same in scratch."""
        row = self.schedule.nc * self.accumulator_bytes
        return padded(row) if self.streams_b and not self.schedule.pack_b else row

    @property
    def acc_bytes(self) -> int:
        return self.schedule.mc * self.acc_row

    @property
    def vector_bytes(self) -> int:
        return self.accumulator_alignment

    @property
    def vector_mask(self) -> int:
        """Rounds a count down to whole vectors, by `and`."""
        return -self.compute.count


def with_tile(plan: MatmulPlan) -> MatmulPlan:
    """The same, whose last launch says which block of out each task writes."""
    spec, schedule = plan.spec, plan.schedule
    tile = Tile(
        shape=(spec.batch, spec.m, spec.n),
        extent=(1, min(schedule.mc, spec.m), min(schedule.nc, spec.n)),
        axes=(0, 0, 0),
        walk=Walk(group=plan.blocks_m if plan.rows_are_fastest else 1),
    )
    *before, multiply = plan.launches
    launches = (*before, dataclasses.replace(multiply, tile=tile))
    return dataclasses.replace(plan, launches=launches)


def matmul_launch(spec: Matmul, schedule: BlockedMatmul) -> Launch:
    blocks = -(-spec.m // schedule.mc) * -(-spec.n // schedule.nc)
    return Launch(
        entry_point=spec.key,
        grid=(spec.batch * blocks, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
    )
