"""Common plan of the matmul main loops: operands, the pipeline over k, and the output tile."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from kgen.schedule import GpuMatmul
from kgen.spec import Matmul
from kgen.targets.contraction.raster import Raster
from kgen.targets.cuda.plan.epilogue.output import OutputPlan
from kgen.targets.cuda.plan.reduction.last_arriving import LastArriving
from kgen.targets.cuda.plan.reduction.stream_k import StreamK
from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.header import counted, k_tiles_note
from kgen_runtime.values import frozen


@frozen
class PrologueTile:
    """K-tile that the prologue loads, and the first byte of its stage."""

    tile: int
    offset: int

    @property
    def first(self) -> bool:
        return self.tile == 0


@frozen
class Pipeline:
    """Loop over k, with `num_stages` K-tiles in flight or in use at once.

    If tiles are `counted`, a register has their number, at most `k_tiles`.
    """

    k_tiles: int
    num_stages: int
    stage_bytes: int
    counted: bool = False

    @property
    def buffers(self) -> int:
        """Number of stages that are filled at some time."""
        return min(self.num_stages, self.k_tiles)

    @property
    def nbytes(self) -> int:
        return self.buffers * self.stage_bytes

    @property
    def prologue(self) -> tuple[PrologueTile, ...]:
        """K-tiles whose copies start before the loop."""
        return tuple(PrologueTile(tile=i, offset=i * self.stage_bytes) for i in range(self.ahead))

    @property
    def first_write(self) -> int:
        """Stage that the loop fills first."""
        return self.ahead * self.stage_bytes

    @property
    def ahead(self) -> int:
        """Number of K-tiles by which copies run ahead of products."""
        return self.num_stages - 1

    @property
    def last_load(self) -> int:
        """Number of iterations that load a K-tile: the first ones."""
        return self.k_tiles - self.ahead

    @property
    def loads_in_loop(self) -> bool:
        return self.last_load > 0

    @property
    def loops(self) -> bool:
        return self.k_tiles > 1

    @property
    def pending(self) -> int:
        """Groups of copies that may be unfinished when a K-tile is used."""
        return self.num_stages - 2


def plan_pipeline(k: int, schedule: GpuMatmul, stage_bytes: int, counted: bool = False) -> Pipeline:
    """Return the pipeline: at most one stage more than there are K-tiles."""
    k_tiles = -(-k // schedule.block_k)
    stages = min(schedule.num_stages, k_tiles + 1)
    return Pipeline(k_tiles=k_tiles, num_stages=stages, stage_bytes=stage_bytes, counted=counted)


def order_tiles(k: int, block_k: int, copies: Sequence[TileCopy]) -> list[TileCopy]:
    """Return the copies with the partial K-tile first, so that only the prologue checks the end of
    k.

    The order changes only if all units after the partial K-tile stay aligned, and no other CTA has
    that tile.
    """
    rest = k % block_k
    if (
        rest
        and not any(copy.part_k for copy in copies)
        and all(copy.can_begin_with(rest) for copy in copies)
    ):
        return [replace(copy, first_k=rest) for copy in copies]
    return list(copies)


class SharedTile(Protocol):
    """Tile in shared memory; `base` is its first byte in a stage."""

    @property
    def base(self) -> int: ...

    @property
    def description(self) -> str: ...


class SharedTileOperand(Protocol):
    """Operand that is copied into shared memory, with its tile there."""

    @property
    def copy(self) -> TileCopy: ...

    @property
    def tile(self) -> SharedTile: ...


@frozen
class MatmulPlan(OutputPlan):
    """Plan of a matmul main loop.

    `operands` are A and B; B's tile follows A's in each stage. With `last_arriving`, the kernel
    multiplies split-k slices and adds them. With `stream`, CTAs share block tiles, in the order of
    `raster`.
    """

    spec: Matmul
    schedule: GpuMatmul
    pipeline: Pipeline
    last_arriving: LastArriving | None = None
    stream: StreamK | None = None
    raster: Raster | None = None

    @property
    @abstractmethod
    def operands(self) -> tuple[SharedTileOperand, SharedTileOperand]: ...

    @property
    def uses_async(self) -> bool:
        return any(operand.copy.asynchronous for operand in self.operands)

    @property
    def staged(self) -> tuple[SharedTileOperand, ...]:
        """Operands that are copied to shared memory through registers."""
        return tuple(operand for operand in self.operands if not operand.copy.asynchronous)

    @property
    def tabled(self) -> tuple[TileCopy, ...]:
        return tuple(operand.copy for operand in self.operands if operand.copy.has_table)

    @property
    def clustered(self) -> bool:
        """Whether CTAs form clusters: never in these main loops."""
        return False

    @property
    def by_warpgroups(self) -> bool:
        """Whether warpgroups store partial sums separately; otherwise all threads of a CTA store
        them together."""
        return False

    @property
    def batched(self) -> bool:
        """Whether any address depends on the batch."""
        return self.operands_batched or self.output.batch_stride != 0 or self.part_k > 0

    @property
    def part_k(self) -> int:
        """Extent of k in each split-k slice; 0 without split-k."""
        return 0 if self.stream else self.operands[0].copy.part_k

    @property
    def split(self) -> int:
        """Number of split-k slices of each product."""
        return -(-self.operands[0].copy.access.depth // self.part_k) if self.part_k else 1

    @property
    def operands_batched(self) -> bool:
        return any(operand.copy.batched for operand in self.operands)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on how operands are copied to shared memory, and why not in a faster way."""
        found = tuple(operand.copy.remark for operand in self.operands)
        if self.stream:
            found = (*found, self.stream.note)
        return (*found, self.last_arriving.remark) if self.last_arriving else found

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *((self.last_arriving.note,) if self.last_arriving else ()),
            *((self.stream.note,) if self.stream else ()),
            k_tiles_note(self.pipeline.k_tiles, self.schedule.block_k),
        )

    @property
    def shared_map(self) -> tuple[str, ...]:
        pipeline, (a, b) = self.pipeline, self.operands
        return (
            f"{counted(pipeline.buffers, 'stage')} of {pipeline.stage_bytes} B, "
            f"A at byte 0 and B at byte {b.tile.base} of each",
            f"A: {a.tile.description}",
            f"B: {b.tile.description}",
        )
