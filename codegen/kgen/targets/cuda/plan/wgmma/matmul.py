"""Matmul on Hopper: a producer warpgroup loads with TMA, consumer warpgroups multiply with wgmma.

The stages of shared memory are a ring. A stage is *full* when its bytes have arrived, and *empty*
when every consumer warp has finished with it. Each stage has a barrier in shared memory for both
events, whose phases alternate from one turn of the ring to the next. The CTAs of a cluster send one
another their parts of B, so a stage is empty when all consumer warps of the cluster have finished
with it.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.contraction.partial_sums import PartialSums
from kgen.targets.contraction.raster import Raster
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.epilogue import tma_store
from kgen.targets.cuda.plan.epilogue.output import OutputPlan, OutputTile, plan_output
from kgen.targets.cuda.plan.epilogue.tma_store import TmaStore, plan_store
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.mma.products import promotion
from kgen.targets.cuda.plan.reduction.stream_k import StreamK, plan_stream
from kgen.targets.cuda.plan.staging.tma import GROUP_BYTES, ROW_BYTES, TmaOperand
from kgen.targets.cuda.plan.wgmma.launch import arranged, cluster_tile
from kgen.targets.cuda.plan.wgmma.limits import (
    BARRIER_BYTES,
    MAX_CONSUMERS,
    REGISTERS,
    WARPGROUP,
    WARPS,
    check,
    obstacle,
    shared_bytes,
)
from kgen.targets.cuda.plan.wgmma.operands import plan_products
from kgen.targets.cuda.plan.wgmma.products import WgmmaProducts
from kgen.targets.header import counted, k_tiles_note
from kgen_runtime.values import frozen


@frozen
class WgmmaPlan(OutputPlan):
    """Plan of a matmul by wgmma: the `k_tiles` of each block tile pass through a ring of
    `num_stages` stages."""

    spec: Matmul
    schedule: WgmmaMatmul
    products: WgmmaProducts
    raster: Raster
    store: TmaStore | None
    stream: StreamK | None
    k_tiles: int
    num_stages: int

    @property
    def split(self) -> bool:
        """Whether the products of the batch are split-k slices."""
        return self.schedule.split_k > 1

    @property
    def count(self) -> str:
        """Operand with the number of K-tiles of a block tile."""
        return "%count" if self.stream else str(self.k_tiles)

    @property
    def ticket_at(self) -> int:
        """Shared-memory offset of the drawn ticket, after the barriers."""
        return self.full_barriers + 2 * self.barrier_bytes

    @property
    def part_k(self) -> int:
        """Extent of k per CTA; the last slice may be padded with zeros."""
        return self.k_tiles * self.schedule.block_k

    @property
    def operands(self) -> tuple[TmaOperand, TmaOperand]:
        return self.products.operands

    @property
    def everyone(self) -> int:
        """Mask of all CTAs of a cluster."""
        return (1 << self.schedule.cluster) - 1

    @property
    def shared_alignment(self) -> int:
        """Alignment of shared memory in bytes: eight rows of a box, the period of the swizzle."""
        return GROUP_BYTES

    @property
    def persistent(self) -> bool:
        return self.schedule.num_workgroups > 0

    @property
    def by_warpgroups(self) -> bool:
        """Whether warpgroups store partial sums separately."""
        return True

    @property
    def clustered(self) -> bool:
        return self.schedule.cluster > 1

    @property
    def clusters_rows(self) -> bool:
        """Whether the block tiles of a cluster have different rows; otherwise different columns."""
        return self.schedule.cluster_m > 1

    @property
    def stage_bytes(self) -> int:
        return sum(operand.nbytes for operand in self.operands)

    # ------------------------------------------------------------------ the ring

    @property
    def full_barriers(self) -> int:
        """Byte of the first full barrier; the empty barriers follow the full ones."""
        return self.num_stages * self.stage_bytes + tma_store.store_bytes(self.schedule)

    @property
    def barrier_bytes(self) -> int:
        return self.num_stages * BARRIER_BYTES

    @property
    def barriers(self) -> tuple[tuple[int, int], ...]:
        """Byte of each barrier, and the arrivals that complete a phase: one of the producer thread,
        and one of every consumer warp of the stage."""
        full = range(self.full_barriers, self.full_barriers + self.barrier_bytes, BARRIER_BYTES)
        readers = 1 if self.schedule.pingpong else self.schedule.consumers
        arrivals = readers * WARPS * self.schedule.cluster
        return (*((at, 1) for at in full), *((at + self.barrier_bytes, arrivals) for at in full))

    @property
    def skipped(self) -> tuple[int, bool]:
        """Stages that a consumer skips for another warpgroup's block tile, and whether the turns of
        the ring that it skips are odd."""
        turns, stages = divmod(self.k_tiles, self.num_stages)
        return stages, turns % 2 == 1

    @property
    def registers(self) -> tuple[int, int] | None:
        """Registers per thread of the producer and of consumers; None without setmaxnreg."""
        return REGISTERS.get(self.schedule.consumers)

    # ------------------------------------------------------------------ the products

    @property
    def stage_words(self) -> int:
        """Distance between stages, in the descriptors' units of 16 bytes."""
        return self.stage_bytes // MAX_ACCESS_BYTES

    @property
    def group_rows(self) -> int:
        """Rows (or columns) from a warpgroup's first one in the block tile to the next
        warpgroup's."""
        return 0 if self.schedule.pingpong else self.schedule.rows

    @property
    def group_words(self) -> int:
        """Distance of `group_rows` in the left operand's tile, in the descriptors' units of 16
        bytes."""
        return self.group_rows * ROW_BYTES // MAX_ACCESS_BYTES

    @property
    def loops(self) -> bool:
        return self.k_tiles > 1

    @property
    def releases_stages(self) -> bool:
        """Whether consumers release stages, because some are filled again or another CTA waits for
        it."""
        several = self.loops or self.persistent or self.clustered
        return several or self.promotes_every > 0

    @property
    def promotes_every(self) -> int:
        """Extent of k after which sums are promoted to f32 registers; 0 for never."""
        return promotion(self.spec, self.schedule)

    @property
    def operands_batched(self) -> bool:
        return any(operand.batched for operand in self.operands)

    @property
    def batched(self) -> bool:
        """Whether any address depends on the batch."""
        return self.operands_batched or self.output.batch_stride != 0

    # ------------------------------------------------------------------ words

    @property
    def remarks(self) -> tuple[str, ...]:
        found = [operand.description for operand in self.operands]
        if self.products.swapped:
            found.append("operands are swapped: B^T A^T is computed, the transpose of the product")
        if self.products.fragments is not None:
            found.append(self.products.fragments.remark)
        if self.promotes_every:
            pieces = f", those of 64x{self.products.width} at a time" * self.products.in_turn
            found.append(
                f"sums are moved to f32 registers every {self.promotes_every} of k{pieces}"
            )
        if self.store is not None:
            return (*found, "outputs through shared memory and TMA")
        why = tma_store.obstacle_of(self.spec, self.schedule)
        return (*found, f"outputs from registers{f': TMA cannot, {why}' if why else ''}")

    @property
    def notes(self) -> tuple[str, ...]:
        found = [k_tiles_note(self.k_tiles, self.schedule.block_k)]
        if self.products.swapped:
            found.append("computes the transpose: rows of wgmma are columns of the output")
        if self.persistent:
            rows, cols = self.raster.rows, self.raster.cols
            tiles = f"{self.raster.total} block tiles, {rows} x {cols} per matrix"
            found.append(f"persistent CTAs: {tiles}")
        if self.stream is not None:
            found.append(self.stream.note)
        return tuple(found)

    @property
    def shared_map(self) -> tuple[str, ...]:
        stages, first, (a, b) = self.num_stages, self.full_barriers, self.operands
        found = [
            f"{counted(stages, 'stage')} of {self.stage_bytes} B, "
            f"A at byte 0 and B at byte {b.base} of each",
            f"A: {a.layout}",
            f"B: {b.layout}",
        ]
        if (store := self.store) is not None:
            found.append(
                f"outputs: {counted(store.buffers, 'strip')} of {store.tile.nbytes} B "
                f"per consumer, from byte {store.base}; {store.tile.description}"
            )
        found.append(
            f"barriers: full[{stages}] at byte {first}, "
            f"empty[{stages}] at byte {first + self.barrier_bytes}"
        )
        return tuple(found)


def plan_wgmma(
    spec: Matmul, target: Target, schedule: WgmmaMatmul, whole: Matmul | None = None
) -> WgmmaPlan:
    """Return the plan.

    If the batch of `spec` consists of split-k slices, `whole` is the product that they belong to.
    Raises ScheduleError if the schedule does not fit the operands or the target.
    """
    whole = whole or spec
    if (why := obstacle(whole, target)) is not None:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} does not support this matmul: {why}; leave mainloop out"
        )
    num_threads = (1 + schedule.consumers) * WARPGROUP
    cuda_plan.check_threads(num_threads, target, f"consumers={MAX_CONSUMERS}")
    products = plan_products(spec, whole, schedule)
    check(spec, schedule, products, target)
    operands = products.operands
    stage_bytes = sum(operand.nbytes for operand in operands)
    k_tiles = -(-spec.k // schedule.block_k)
    # The ring of a persistent CTA continues with its next block tile.
    num_stages = (
        schedule.num_stages if schedule.num_workgroups else min(schedule.num_stages, k_tiles)
    )
    nbytes = shared_bytes(schedule, num_stages, stage_bytes)
    output = _output(spec, schedule, products)
    store = plan_store(spec, schedule, products, output, num_stages * stage_bytes)
    maps = tuple(o.tensor_map for o in operands) + ((store.tensor_map,) if store else ())
    raster = block_tiles(spec, *cluster_tile(schedule), group=schedule.group_m)
    sums = PartialSums(names=output.names, dtype=spec.accumulate, threads=WARPGROUP)
    stream = plan_stream(raster.total, k_tiles, schedule, sums)
    launch = cuda_plan.plan_launch(spec, schedule, num_threads, nbytes, target)
    names = {map_.tensor: map_.name for map_ in maps}
    arguments = tuple(names.get(name, name) for name in launch.arguments)
    return WgmmaPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/matmul_wgmma.ptx.j2",
        launches=(arranged(launch, schedule, raster, arguments, stream),),
        workspaces=stream.workspaces if stream else (),
        tensor_maps=maps,
        num_threads=num_threads,
        shared_bytes=nbytes,
        ptx_version=cuda_plan.ptx_version(target, spec, "wgmma"),
        products=products,
        output=output,
        raster=raster,
        store=store,
        stream=stream,
        k_tiles=k_tiles,
        num_stages=num_stages,
    )


def _output(spec: Matmul, schedule: WgmmaMatmul, products: WgmmaProducts) -> OutputTile:
    rows, cols = products.lane_rows, products.lane_columns
    if products.swapped:
        rows, cols = cols, rows
    neighbours = not products.swapped or products.fragments is not None
    output = plan_output(spec, schedule, rows=rows, cols=cols, run=2 if neighbours else 1)
    # The last CTA of a cluster may have no block tile.
    height, width = cluster_tile(schedule)
    return dataclasses.replace(
        output,
        m_edge=spec.m % height != 0,
        n_edge=spec.n % width != 0,
        repeated=schedule.num_workgroups > 0,
    )
