"""The plan of matmul_winograd.ll.j2: transformed tiles of images times transformed weights.

A task transforms the inputs of mc tiles, kc channels at a time, multiplies them with nc outputs in
each position of the transform, and transforms the sums back on their way through the epilogue.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from typing import Any

from kgen.errors import ScheduleError
from kgen.schedule import WinogradMatmul
from kgen.spec import Conv2d, Matmul
from kgen.spec.winograd import Rows, Transforms
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import (
    ImplicitGemm,
    implicit_gemm,
    of_all_positions,
)
from kgen.targets.cpu.plan.accumulators import Accumulators
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer, access, fuses, vector_for
from kgen.targets.cpu.plan.finishing import finishing_type
from kgen.targets.cpu.plan.matmul import check_ahead, check_multiple, check_stack, padded
from kgen.targets.cpu.plan.packing.widened import WidenedA
from kgen.targets.cpu.plan.tiles.linear_maps import LinearMap, LinearStep, linear_map
from kgen.targets.cpu.plan.tiles.panels import PanelPacking
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan, TileLoop, check_registers
from kgen.targets.cpu.plan.vectors import Access, Vector, scalar_type
from kgen.targets.header import counted
from kgen_runtime.manifest import TensorParam, Workspace
from kgen_runtime.values import frozen

#: The workspace of the transformed tiles and sums of every call.
TILES = "a.tiles"


@frozen
class Element:
    """Vector of a tile before or after a transform: its row and column, and byte offset."""

    name: str
    row: int
    column: int
    at: int


@frozen
class TileTransform:
    """Both multiplications by a matrix: of each column of a tile, then of each row."""

    loads: tuple[Element, ...]
    steps: tuple[LinearStep, ...]
    stores: tuple[Element, ...]

    @classmethod
    def of(cls, rows: Rows, apart: int, result_apart: int) -> TileTransform:
        """Return the transform of vectors `apart` bytes apart to those `result_apart` bytes
        apart, numbered row by row."""
        count, size = len(rows), len(rows[0])
        loads = [_element("x", i, j, size, apart) for i in range(size) for j in range(size)]
        steps: list[LinearStep] = []
        columns: list[tuple[str, ...]] = []
        for j in range(size):
            names = [element.name for element in loads if element.column == j]
            found = linear_map(rows, names, f"column{j}.")
            steps += found.steps
            columns.append(found.results)
        stores = []
        for i in range(count):
            found = linear_map(rows, [column[i] for column in columns], f"row{i}.")
            steps += found.steps
            stores += [
                dataclasses.replace(_element("", i, j, count, result_apart), name=name)
                for j, name in enumerate(found.results)
            ]
        return cls(loads=tuple(loads), steps=tuple(steps), stores=tuple(stores))


def _element(stem: str, row: int, column: int, size: int, apart: int) -> Element:
    at = (row * size + column) * apart
    return Element(name=f"{stem}{row}_{column}", row=row, column=column, at=at)


@frozen
class TileAxis:
    """Axis of the image, `size` elements long: `count` tiles, numbers divided by `divisor`, whose
    inputs begin `before` elements in front of their outputs. `along` is the bytes from an element
    to the next, `out_size` the outputs, `out_along` the elements from an output to the next."""

    name: str
    divisor: int
    count: int
    size: int
    before: int
    along: int
    out_size: int
    out_along: int


@frozen
class SquareBuffer:
    """Buffer of `size` x `size` vectors, row by row."""

    size: int
    vector_bytes: int

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return self.size * self.vector_bytes

    @property
    def bytes(self) -> int:
        return self.size * self.row


@frozen
class ImageTiles:
    """Tiles of the images of a convolution. Elements have `itemsize` bytes, vectors of channels
    `vector_bytes`."""

    conv: Conv2d
    transforms: Transforms
    itemsize: int
    vector_bytes: int

    @property
    def axes(self) -> tuple[TileAxis, ...]:
        """Vertical axis of an image, then its horizontal axis."""
        conv, tile = self.conv, self.transforms.tile
        counts = [-(-size // tile) for size in conv.out_sizes]
        along = (conv.sizes[1] * conv.channels, conv.channels)
        out_along = (conv.out_sizes[1] * conv.outputs, conv.outputs)
        return tuple(
            TileAxis(
                name="yx"[i],
                divisor=math.prod(counts[i + 1 :]),
                count=counts[i],
                size=conv.sizes[i],
                before=conv.pads[i][0],
                along=along[i] * self.itemsize,
                out_size=conv.out_sizes[i],
                out_along=out_along[i],
            )
            for i in range(2)
        )

    @property
    def patch(self) -> SquareBuffer:
        """Inputs of a tile that reaches over the image, with zeros outside."""
        return SquareBuffer(size=self.transforms.size, vector_bytes=self.vector_bytes)

    @property
    def block(self) -> SquareBuffer:
        """Outputs of a tile."""
        return SquareBuffer(size=self.transforms.tile, vector_bytes=self.vector_bytes)

    @property
    def per_image(self) -> int:
        return math.prod(axis.count for axis in self.axes)

    @property
    def image_bytes(self) -> int:
        return math.prod(self.conv.sizes) * self.conv.channels * self.itemsize

    @property
    def out_image(self) -> int:
        """Elements of the outputs of an image."""
        return math.prod(self.conv.out_sizes) * self.conv.outputs


@frozen
class PositionSteps:
    """Bytes from one of `count` positions of the transform to the next, in the transformed tiles
    `a`, in a panel of the weights `b` and in the sums `acc`."""

    count: int
    a: int
    b: int
    acc: int

    @property
    def tiles_bytes(self) -> int:
        """Bytes of the transformed tiles of a task."""
        return self.count * self.a

    @property
    def acc_bytes(self) -> int:
        """Bytes of the sums of a task."""
        return self.count * self.acc

    @property
    def call_bytes(self) -> int:
        """Bytes of a call's part of the workspace."""
        return -(-(self.tiles_bytes + self.acc_bytes) // LINE_BYTES) * LINE_BYTES


@frozen
class WinogradPlan(TiledPlan):
    """`spec` is the product in one position of the transform: tiles x channels x outputs."""

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

    # -- operands ------------------------------------------------------------------------------

    @cached_property
    def packed_b(self) -> TensorParam:
        """Transformed weights, the channels of one position after those of the other."""
        return self.b_format.of(of_all_positions(self.spec))

    @cached_property
    def a_pack(self) -> WidenedA:
        return WidenedA(
            blocking=self.blocking, vector=self.sum_vector, m_stride=0, k_stride=self.a.itemsize
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
        return Accumulators(
            vector=self.sum_vector,
            finished=self.compute,
            rows=self.schedule.mc,
            row=self.scratch_row,
            base="%acc.position",
            in_out=False,
        )

    @property
    def is_direct(self) -> bool:
        return False

    @cached_property
    def packing(self) -> PanelPacking:
        return PanelPacking(blocking=self.blocking, packs=False)

    @cached_property
    def loop(self) -> TileLoop:
        _, row, column = self.tensors.b_strides
        return TileLoop(
            a_block="%a.pack",
            b_block="%b.position",
            a_tiles="%a.position",
            a_m=self.a_pack.m,
            a_k=self.a_pack.k,
            b_row=row,
            b_in_rows=row,
            b_column=column,
            b_step=self.compute.count * column,
            steps=self.blocking.depth,
        )

    def operand_buffers(self) -> tuple[Buffer, ...]:
        t, on_stack = self.transforms, not self.schedule.in_workspace
        a = f"transformed tiles, [{t.positions}][mc][kc], {self.a_pack.row} B per row"
        acc = f"their sums, [{t.positions}][mc][nc], {self.acc.row} B per row"
        return (
            Buffer(name="%a.pack", holds=a, bytes=self.position.tiles_bytes, is_on_stack=on_stack),
            Buffer(name="%acc", holds=acc, bytes=self.position.acc_bytes, is_on_stack=on_stack),
            Buffer(name="%patch", holds="inputs of a cut tile", bytes=self.image_tiles.patch.bytes),
            Buffer(name="%block", holds="outputs of a tile", bytes=self.image_tiles.block.bytes),
        )

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return self.operand_buffers()

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.a_pack.has_masked_loads:
            types = types | {self.a.stored}
        return tuple(sorted(types, key=str))

    # -- transforms ----------------------------------------------------------------------------

    @cached_property
    def input_transform(self) -> TileTransform:
        return TileTransform.of(self.transforms.inputs, 0, self.position.a)

    @cached_property
    def output_transform(self) -> TileTransform:
        return TileTransform.of(self.transforms.outputs, self.position.acc, self.compute.bytes)

    def factor(self, step: LinearStep) -> str:
        """Operand of a step's factor."""
        return self.compute.splat(float(step.factor))

    # -- tiles of the images -------------------------------------------------------------------

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
        """Pointers to tensors of the output's shape, and the bytes of their elements."""
        full = ((a.stem, a.dtype.itemsize) for a in self.epilogue.full)
        return (*full, ("out", self.out.itemsize))

    @property
    def channels_whole(self) -> str:
        """Channels of the block in whole vectors."""
        if self.blocking.depth_varies and self.a_pack.run_tail:
            return "%depth.whole"
        return self.blocking.depth if self.blocking.depth_varies else self.a_pack.run_whole

    def loaded(self, prefix: str) -> dict[str, str]:
        """Vectors of the epilogue's arguments that are read once for a tile, by their stems."""
        columns = {a.stem: f"%{prefix}.{a.stem}" for a in self.epilogue.by_column}
        return {**self.finish.loaded, **columns}

    @property
    def task_words(self) -> str:
        return f"{self.blocking.grid}; rows are tiles"


def transform_cycles(
    spec: Matmul, times: Any, lanes: int, multiply_adds: float, loads: float
) -> Any:
    """Return the cycles of the transforms: inputs `times` times, sums once; 0 for other products.
    Rates are vectors per cycle. Results of the column pass are spilled."""
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
    """Most roundings from an input, a weight and a sum in the transforms to an output. Each of the
    transforms multiplies by its matrix twice; a weight is rounded once."""
    assert conv.transforms
    maps = (_map(conv.transforms.inputs), _map(conv.transforms.outputs))
    each = 1 if fuses(target) else 2
    return 1 + each * sum(2 * found.roundings for found in maps)


def _map(rows: Rows) -> LinearMap:
    return linear_map(rows, [f"x{i}" for i in range(len(rows[0]))], "")


def plan_winograd(conv: Conv2d, target: Target, schedule: WinogradMatmul) -> WinogradPlan:
    """Raises ScheduleError if the convolution is exact, and for blocks that do not fit."""
    if conv.transforms is None:
        raise ScheduleError(
            f"mainloop=winograd requires math=winograd2 or winograd4, not {conv.math}, whose "
            "rounding differs; set math=winograd4"
        )
    spec = implicit_gemm(conv)
    compute = vector_for(target, finishing_type(spec), spec.n)
    inputs = access(target, conv.dtype, compute.of(scalar_type(spec.accumulate)))
    plan = WinogradPlan.of(spec, target, schedule, compute, mainloop="winograd", a=inputs, b=inputs)
    if not schedule.pack_a:
        raise ScheduleError("pack_a=0 is not supported by mainloop=winograd; try pack_a=1")
    check_ahead(spec, schedule)
    check_multiple(schedule, "nr", compute.count, f"the elements of a vector of {target.name}")
    if plan.blocking.k_blocked:
        check_multiple(schedule, "kc", compute.count, "as kc below the channels requires")
    check_registers(target, schedule, compute)
    check_stack(target, schedule, plan.scratch_bytes)
    if not schedule.in_workspace:
        return plan
    (launch,) = plan.launches
    workspace = Workspace(name=TILES, nbytes=launch.grid[0] * plan.position.call_bytes)
    launch = dataclasses.replace(launch, arguments=(*launch.arguments, TILES))
    return dataclasses.replace(plan, launches=(launch,), workspaces=(workspace,))
