"""Plan of matmul_winograd.ll.j2: Winograd convolution by products of transformed tiles and weights.

A task computes mc tiles and nc output channels. It transforms the inputs of the tiles, kc channels
at a time, multiplies them in each position of the transform, and transforms the sums back before
the epilogue.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

from kgen.errors import ScheduleError
from kgen.schedule import WinogradMatmul
from kgen.spec import Conv2d, Matmul
from kgen.spec.winograd import Rows, Transforms
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, implicit_gemm, of_all_positions
from kgen.targets.contraction.winograd_tiles import (
    ImageTiles,
    LinearMap,
    LinearStep,
    TileTransform,
    linear_map,
)
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer, access, check_multiple, fuses
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.matmul import Accumulators, check_prepacked, check_stack, padded
from kgen.targets.cpu.plan.packing.packed_a import PackedA
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan, TileLoop, check_tile
from kgen.targets.cpu.plan.vectors import Access, Vector, scalar_type
from kgen.targets.header import counted
from kgen_runtime.manifest import TensorParam, Workspace
from kgen_runtime.values import frozen

#: Name of the workspace with each call's transformed tiles and sums.
TILES = "a.tiles"


@frozen
class PositionSteps:
    """Bytes from one of `count` positions to the next: in tiles `a`, weights `b`, sums `acc`."""

    count: int
    a: int
    b: int
    acc: int

    @property
    def tiles_bytes(self) -> int:
        return self.count * self.a

    @property
    def acc_bytes(self) -> int:
        return self.count * self.acc

    @property
    def call_bytes(self) -> int:
        """Bytes of the workspace that one call uses."""
        return -(-(self.tiles_bytes + self.acc_bytes) // LINE_BYTES) * LINE_BYTES


@frozen
class WinogradPlan(TiledPlan):
    """Plan of a Winograd convolution. `spec` is the product in one position: M tiles, K channels, N
    outputs."""

    spec: ImplicitGemm
    schedule: WinogradMatmul
    a: Access
    b: Access

    @property
    def conv(self) -> Conv2d:
        return self.spec.operation

    @property
    def transforms(self) -> Transforms:
        found = self.conv.transforms
        assert found
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        m, n = self.transforms.tile, self.transforms.size
        return (
            f"Winograd F({m}x{m}, 3x3): a tile of {m} x {m} outputs sees {n} x {n} inputs; its "
            f"transform has {counted(n * n, 'position')}, each a GEMM of tiles x channels by "
            "channels x outputs",
        )

    @cached_property
    def packed_b(self) -> TensorParam:
        """Transformed weights, position by position, each with all channels."""
        return self.b_format.of(of_all_positions(self.spec))

    @cached_property
    def a_pack(self) -> PackedA:
        strides = (0, 0, self.a.itemsize)
        return PackedA(
            target=self.target,
            blocking=self.blocking,
            run=self.a,
            packed=self.sum_vector,
            strides=strides,
        )

    @cached_property
    def position(self) -> PositionSteps:
        return PositionSteps(
            count=self.transforms.positions,
            a=padded(self.schedule.mc * self.a_pack.row),
            b=self.spec.k * self.tensors.b_strides[1],
            acc=padded(self.schedule.mc * self.scratch_row),
        )

    @cached_property
    def acc(self) -> Accumulators:
        return dataclasses.replace(super().acc, base="%acc.position")

    @property
    def is_direct(self) -> bool:
        return False

    @cached_property
    def loop(self) -> TileLoop:
        _, row, column = self.tensors.b_strides
        a_m, a_k = self.a_pack.steps
        return TileLoop(
            a_block="%a.pack",
            b_block="%b.position",
            a_tiles="%a.position",
            a_m=a_m,
            a_k=a_k,
            b_row=row,
            b_in_rows=row,
            b_column=column,
            b_step=self.compute.count * column,
            steps=self.blocking.k.size,
        )

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        t, tiles, steps = self.transforms, self.image_tiles, self.position
        on_stack = not self.schedule.in_workspace
        a = f"transformed tiles, [{t.positions}][mc][kc], {self.a_pack.row} B per row"
        acc = f"their sums, [{t.positions}][mc][nc], {self.acc.row} B per row"
        return (
            Buffer(name="%a.pack", holds=a, bytes=steps.tiles_bytes, is_on_stack=on_stack),
            Buffer(name="%acc", holds=acc, bytes=steps.acc_bytes, is_on_stack=on_stack),
            Buffer(name="%patch", holds="inputs of a cut tile", bytes=tiles.patch_bytes),
            Buffer(name="%block", holds="outputs of a tile", bytes=tiles.block_bytes),
        )

    @property
    def masked_accesses(self) -> set[Vector]:
        inputs = {self.a.stored} if self.a_pack.runs.tail > 1 else set()
        return super().masked_accesses | inputs

    @cached_property
    def input_transform(self) -> TileTransform:
        return TileTransform.of(self.transforms.inputs, 0, self.position.a)

    @cached_property
    def output_transform(self) -> TileTransform:
        return TileTransform.of(self.transforms.outputs, self.position.acc, self.compute.bytes)

    def factor(self, step: LinearStep) -> str:
        return self.compute.splat(float(step.factor))

    @cached_property
    def image_tiles(self) -> ImageTiles:
        return ImageTiles(
            conv=self.conv,
            transforms=self.transforms,
            itemsize=self.a.itemsize,
            vector_bytes=self.compute.bytes,
        )

    @property
    def out_like(self) -> tuple[tuple[str, int], ...]:
        """Names of tensors of the output's shape, with the bytes of an element."""
        full = ((a.stem, a.dtype.itemsize) for a in self.epilogue.full)
        return (*full, ("out", self.out.itemsize))

    @property
    def channels_whole(self) -> str:
        """Channels of the block that are in whole vectors."""
        if self.blocking.k.varies and self.a_pack.runs.tail:
            return "%depth.whole"
        return self.blocking.k.size if self.blocking.k.varies else self.a_pack.runs.whole

    @property
    def task_words(self) -> str:
        return f"{self.blocking.grid}; rows are tiles"


def transform_cycles(
    spec: Matmul, times: Any, lanes: int, multiply_adds: float, loads: float
) -> Any:
    """Return the cycles of transforming inputs `times` times and sums once. `multiply_adds` and
    `loads` are vectors per cycle. The results of the column pass count as spilled."""
    transforms = spec.operation.transforms if isinstance(spec, ImplicitGemm) else None
    if not isinstance(spec, ImplicitGemm) or transforms is None:
        return 0.0
    cycles: Any = 0.0
    for rows, count in (
        (transforms.inputs, -(-spec.operation.channels // lanes) * times),
        (transforms.outputs, -(-spec.n // lanes)),
    ):
        tile = TileTransform.of(rows, 0, 0)
        moves = 2 * (len(tile.loads) + len(tile.stores))
        cycles = cycles + spec.m * count * (len(tile.steps) / multiply_adds + moves / loads)
    return cycles


def roundings(conv: Conv2d, target: Target) -> int:
    """Return the largest number of roundings in all transforms. Inputs and sums are transformed in
    two passes each; a weight is rounded once."""
    assert conv.transforms
    maps = (_map(conv.transforms.inputs), _map(conv.transforms.outputs))
    each = 1 if fuses(target) else 2
    return 1 + each * sum(2 * found.roundings for found in maps)


def _map(rows: Rows) -> LinearMap:
    return linear_map(rows, [f"x{i}" for i in range(len(rows[0]))], "")


def plan_winograd(conv: Conv2d, target: Target, schedule: WinogradMatmul) -> WinogradPlan:
    """Plan the kernel. Raises ScheduleError for exact convolutions and fields that do not fit."""
    if conv.transforms is None:
        raise ScheduleError(
            f"mainloop=winograd requires math=winograd2 or winograd4, not {conv.math}, whose "
            "rounding differs; set math=winograd4"
        )
    spec = implicit_gemm(conv)
    compute = finishing_vector(spec, target, spec.n)
    inputs = access(target, conv.dtype, compute.of(scalar_type(spec.accumulate)))
    plan = WinogradPlan.of(spec, target, schedule, compute, mainloop="winograd", a=inputs, b=inputs)
    if not schedule.pack_a:
        raise ScheduleError("pack_a=0 is not supported by mainloop=winograd; try pack_a=1")
    check_prepacked(spec, schedule)
    check_multiple(schedule, "nr", compute.count, f"the elements of a vector of {target.name}")
    if plan.blocking.k.is_split:
        check_multiple(schedule, "kc", compute.count, "as kc below the channels requires")
    check_tile(target, schedule, compute)
    check_stack(plan)
    if not schedule.in_workspace:
        return plan
    (launch,) = plan.launches
    workspace = Workspace(name=TILES, nbytes=launch.grid[0] * plan.position.call_bytes)
    launch = dataclasses.replace(launch, arguments=(*launch.arguments, TILES))
    return dataclasses.replace(plan, launches=(launch,), workspaces=(workspace,))
