"""Plan of depthwise.ll.j2: depthwise convolution in tiles of an output row, channels in vectors."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import CpuDepthwise
from kgen.spec import Conv2d, ImageLayout, WeightLayout
from kgen.spec.shapes import packed
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, implicit_gemm
from kgen.targets.contraction.window_axes import KernelAxis, WindowAxis, kernel_axes, window_axes
from kgen.targets.cpu.plan.cpu_plan import CpuPlan, Run, access
from kgen.targets.cpu.plan.finishing import Finish, finishing_vector
from kgen.targets.cpu.plan.matmul import Accumulators
from kgen.targets.cpu.plan.packing.packed_windows import mainloop_of_windows
from kgen.targets.cpu.plan.tiles.dots import Dot, DotOperands, word_dot
from kgen.targets.cpu.plan.vectors import Access, Vector, index_list, scalar_type
from kgen.targets.epilogue import FusedEpilogue
from kgen.targets.header import counted
from kgen_runtime.values import frozen

#: Largest number of instructions for a row's tiles, about 64 KiB of code, counted for vectors of
#: channels and for the remaining channels; and instructions per output besides its products.
MOST_INSTRUCTIONS, OF_OUTPUT = 1 << 13, 8


@frozen
class Tap:
    """Product of an image element and a weight of the kernel's row, added to an output of a tile.

    `offset` is the byte offset of the element from the tile's first one. An element that is not
    `inside` is padding. The first product with an element `loads` it. `before` and `after` are the
    suffixes of the output's accumulators before and after the product.
    """

    output: int
    place: int
    offset: int
    inside: bool
    loads: bool
    before: str
    after: str


@frozen
class RowTile:
    """Tile of `count` adjacent outputs, repeated from `first` to `stop`."""

    name: str
    first: int
    stop: int
    count: int
    taps: tuple[Tap, ...]

    @property
    def is_repeated(self) -> bool:
        return self.stop - self.first > self.count

    @property
    def outputs(self) -> range:
        return range(self.count)


@frozen
class AxisBlocks:
    """Blocks of `size` that cover `length` columns or channels; the last one may be smaller."""

    size: int
    length: int

    @property
    def count(self) -> int:
        return -(-self.length // self.size)

    @property
    def last(self) -> int:
        return self.count - 1


@frozen
class DepthwisePlan(CpuPlan):
    """Plan of a depthwise convolution: one kernel per channel, images in nhwc, weights in hwio."""

    spec: ImplicitGemm
    schedule: CpuDepthwise
    a: Access
    b: Access

    @property
    def conv(self) -> Conv2d:
        return self.spec.operation

    @cached_property
    def finish(self) -> Finish:
        return Finish(spec=self.spec, target=self.target, compute=self.compute, out=self.out)

    @property
    def epilogue(self) -> FusedEpilogue:
        return self.finish.epilogue

    def pointer(self, name: str) -> str:
        return self.finish.pointer(name)

    @property
    def sum_vector(self) -> Vector:
        return self.compute.of(scalar_type(self.spec.accumulate))

    @property
    def padding(self) -> str:
        value = self.conv.padding_value
        if isinstance(value, str):
            return "%padding.all"
        return self.sum_vector.splat(value) if value else "zeroinitializer"

    @property
    def dot(self) -> Dot | None:
        """Instruction that adds two products of s16, the second by zero; None for floats, and where
        a multiply-add of widened bytes is an instruction."""
        return word_dot(self.sum_vector, self.target) if self.sum_vector.is_integer else None

    @property
    def dots(self) -> DotOperands:
        assert self.dot
        return DotOperands(dot=self.dot, sums=self.sum_vector, stored=self.b.stored)

    @property
    def acc(self) -> Accumulators:
        """Sums of a tile, which stay in registers."""
        rows, row = self.schedule.tile, self.compute.bytes
        return Accumulators(vector=self.sum_vector, rows=rows, row=row)

    @property
    def fetches(self) -> bool:
        return self.schedule.prefetch > 0

    @property
    def channels(self) -> Run:
        """Channels of an output's pixel, as vectors and a remainder."""
        return Run(length=self.conv.outputs, vector=self.compute.count)

    @property
    def repeats(self) -> bool:
        """Whether a channel of the image has several output channels."""
        return self.conv.multiplier > 1

    @cached_property
    def seen(self) -> Access:
        """Access to the image elements that a vector of outputs needs, each read once."""
        count = max(self.compute.count // self.conv.multiplier, 1)
        return replace(self.a, compute=replace(self.sum_vector, count=count))

    def seen_of(self, valid: int) -> int:
        """Return the number of image elements that the first `valid` outputs need; 0 for all."""
        return valid // self.conv.multiplier

    @property
    def repeated(self) -> str:
        """Shuffle mask that gives each output of a vector its image element."""
        lanes = self.compute.of("i32")
        return f"{lanes} " + index_list([i // self.conv.multiplier for i in range(lanes.count)])

    @property
    def masked_accesses(self) -> set[Vector]:
        types = {self.seen.stored, self.b.stored, *self.finish.types}
        return types if self.channels.tail > 1 else set()

    # -- rows ----------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        return self.conv.images * self.rows_per_image

    @property
    def rows_per_image(self) -> int:
        return math.prod(self.conv.out_sizes[:-1])

    @property
    def last_task_is_short(self) -> bool:
        return self.rows % self.schedule.task != 0

    @property
    def task_words(self) -> str:
        rows = f"up to {counted(min(self.schedule.task, self.rows), 'row')} of the output"
        if not self.has_blocks:
            return rows
        columns, channels = self.column_blocks, self.channel_blocks
        return f"{rows}, and up to {columns.size} of its columns and {channels.size} channels"

    @property
    def has_blocks(self) -> bool:
        """Whether a task computes a part of its rows, or of their channels."""
        return self.schedule.columns > 0 or self.schedule.channels > 0

    @property
    def column_blocks(self) -> AxisBlocks:
        count = self.conv.out_sizes[-1]
        return AxisBlocks(size=self.schedule.columns or count, length=count)

    @property
    def channel_blocks(self) -> AxisBlocks:
        return AxisBlocks(
            size=self.schedule.channels or self.conv.outputs, length=self.conv.outputs
        )

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Bytes of an image, and from one element to the next along each spatial axis."""
        conv = self.conv
        *strides, _ = packed((conv.images, *conv.sizes, conv.channels))
        return tuple(stride * self.a.itemsize for stride in strides)

    @property
    def outer_axes(self) -> tuple[WindowAxis, ...]:
        """Spatial axes other than that of a row, whose number gives a position along each."""
        return window_axes(self.conv, self.conv.rank - 1, self.a.itemsize)

    @cached_property
    def outer_places(self) -> tuple[KernelAxis, ...]:
        """Axes of the kernel by which its rows are numbered."""
        return kernel_axes(self.conv, self.outer_axes)

    @property
    def padded_places(self) -> tuple[KernelAxis, ...]:
        return tuple(place for place in self.outer_places if place.is_padded)

    @property
    def kernel_rows(self) -> int:
        return math.prod(self.conv.kernel[:-1])

    @property
    def places(self) -> range:
        return range(self.conv.kernel[-1])

    @property
    def place_bytes(self) -> int:
        return self.conv.outputs * self.b.itemsize

    @property
    def kernel_row_bytes(self) -> int:
        return len(self.places) * self.place_bytes

    @property
    def out_row_elements(self) -> int:
        return self.conv.out_sizes[-1] * self.conv.outputs

    def fetched(self, tile: RowTile) -> tuple[int, ...]:
        """Return byte offsets, from a tile's first element, of the elements to prefetch: those that
        the output `prefetch` rows further down reads and no earlier output does."""
        if not self.fetches:
            return ()
        down = self.schedule.prefetch * self.conv.strides[-2] * self.strides[-2]
        offsets = {down + output * self.step_bytes for output in tile.outputs}
        for axis, stride in enumerate(self.strides[1:]):
            places = places_read_first(self.conv, axis)
            offsets = {at + place * stride for at, place in itertools.product(offsets, places)}
        return tuple(sorted(offsets))

    @property
    def out_like(self) -> tuple[tuple[str, int], ...]:
        """Pointers to tensors of the output's shape, and the bytes of their elements."""
        full = ((a.stem, a.dtype.itemsize) for a in self.epilogue.full)
        return (("out", self.out.itemsize), *full)

    def outputs_of(self, tile: RowTile) -> tuple[tuple[int, int], ...]:
        """Return the outputs of a tile, and the elements from the first one to each."""
        return tuple((output, output * self.conv.outputs) for output in tile.outputs)

    def chains(self, tile: RowTile, prefix: str) -> tuple[tuple[str, str, str], ...]:
        """Return names of a tile's sums, first values, and values after a row of the kernel."""
        accs = {f"%{prefix}.acc{output}": f"%{prefix}.s{output}.sum" for output in tile.outputs}
        return tuple(
            (acc, "zeroinitializer", f"{acc}.next" if self.padded_places else sums)
            for acc, sums in accs.items()
        )

    # -- tiles of a row ------------------------------------------------------------------------

    @property
    def step_bytes(self) -> int:
        """Bytes from one window to the next in a row."""
        return self.conv.strides[-1] * self.strides[-1]

    @property
    def start_bytes(self) -> int:
        """Byte offset of a row's first window from its first element; negative with padding."""
        return -self.conv.pads[-1][0] * self.strides[-1]

    def _elements(self, output: int) -> list[int]:
        """Return the elements of a row in an output's window; some may be padding."""
        conv = self.conv
        start = output * conv.strides[-1] - conv.pads[-1][0]
        return [start + place * conv.dilations[-1] for place in self.places]

    def _is_inside(self, element: int) -> bool:
        return 0 <= element < self.conv.sizes[-1]

    @cached_property
    def tiles(self) -> tuple[RowTile, ...]:
        """Tiles of a row of the output; whole tiles inside of the image are one repeated tile."""
        count, tile = self.conv.out_sizes[-1], self.schedule.tile
        spans = [range(first, min(first + tile, count)) for first in range(0, count, tile)]

        def kind(number: int) -> int:
            """Return a number that two tiles share only if their code is the same."""
            elements = (e for output in spans[number] for e in self._elements(output))
            is_plain = len(spans[number]) == tile and all(map(self._is_inside, elements))
            return -1 if is_plain else number

        alike = [list(numbers) for _, numbers in itertools.groupby(range(len(spans)), kind)]
        return tuple(
            RowTile(
                name=f"x{i}",
                first=spans[first].start,
                stop=spans[last].stop,
                count=len(spans[first]),
                taps=self._taps(spans[first]),
            )
            for i, (first, last) in enumerate((numbers[0], numbers[-1]) for numbers in alike)
        )

    def _taps(self, outputs: range) -> tuple[Tap, ...]:
        """Return the products of a tile, sorted by the element of the image."""
        start = self._elements(outputs.start)[0]
        products = sorted(
            (element, output - outputs.start, place)
            for output in outputs
            for place, element in enumerate(self._elements(output))
        )
        elements, last = [element for element, *_ in products], len(self.places) - 1
        return tuple(
            Tap(
                output=output,
                place=place,
                offset=(element - start) * self.strides[-1],
                inside=self._is_inside(element),
                loads=self._is_inside(element) and element not in elements[:number],
                before=f".p{place - 1}" if place else "",
                after=f".p{place}" if place < last else ".sum",
            )
            for number, (element, output, place) in enumerate(products)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"a row of the output in tiles of {counted(self.schedule.tile, 'output')}, whose sums "
            "stay in registers for all rows of the kernel; each vector holds neighbouring channels",
        )


def takes(conv: Conv2d) -> bool:
    """Return whether a convolution is depthwise, with a power of two of outputs per channel and
    unpacked weights in rows of channels."""
    nhwc = conv.layout is ImageLayout.NHWC
    rows_of_channels = conv.weight_layout is WeightLayout.HWIO and not conv.constant
    has_kernel = conv.is_depthwise and nhwc and conv.multiplier & (conv.multiplier - 1) == 0
    return has_kernel and rows_of_channels and most_outputs(conv) > 0


def places_read_first(conv: Conv2d, axis: int) -> tuple[int, ...]:
    """Return the distances from a window's start of its elements that no earlier window has."""
    step, apart, count = conv.strides[axis], conv.dilations[axis], conv.kernel[axis]
    return tuple(
        place * apart
        for place in range(count)
        if all(further * apart % step for further in range(1, count - place))
    )


def most_outputs(conv: Conv2d) -> int:
    """Return the widest tile for which a row has few enough instructions; 0 or less if none has.
    Tiles over an end of a row, the last tile and those in between have code of their own."""
    over_ends = sum(-(-pad // conv.strides[-1]) for pad in conv.pads[-1])
    outputs = MOST_INSTRUCTIONS // (2 * (conv.kernel[-1] + OF_OUTPUT))
    return (outputs - over_ends) // 4


def plan_depthwise(conv: Conv2d, target: Target, schedule: CpuDepthwise) -> DepthwisePlan:
    """Plan the kernel. Raises ScheduleError for other convolutions and fields that do not fit."""
    if not takes(conv):
        raise ScheduleError(
            f"mainloop=depthwise requires groups={conv.channels}, 1, 2, 4, 8, ... outputs for "
            "each channel, weight_layout=hwio without constant, and at most "
            f"{MOST_INSTRUCTIONS} instructions for a row of the kernel and of padding; use "
            f"mainloop={mainloop_of_windows(conv, target)}"
        )
    registers = target.limits["vector_registers"]
    if schedule.tile > registers:
        raise ScheduleError(
            f"tile={schedule.tile} is more than the {registers} vector registers of {target.name}; "
            f"try tile={registers // 2}"
        )
    if schedule.tile > (most := most_outputs(conv)):
        raise ScheduleError(
            f"tile={schedule.tile} needs more than {MOST_INSTRUCTIONS} instructions for a kernel "
            f"of {conv.kernel[-1]} elements a row; try tile={most}"
        )
    spec = implicit_gemm(conv)
    compute = finishing_vector(spec, target, conv.outputs)
    rows = conv.images * math.prod(conv.out_sizes[:-1])
    sums = compute.of(scalar_type(spec.accumulate))
    columns, channels = schedule.columns, schedule.channels
    if channels and (channels % compute.count or channels >= conv.outputs):
        raise ScheduleError(
            f"channels={channels} must be a multiple of the {compute.count} elements of a vector, "
            f"and less than the {conv.outputs} output channels; try channels=0"
        )
    if columns and (columns % schedule.tile or columns >= conv.out_sizes[-1]):
        raise ScheduleError(
            f"columns={columns} must be a multiple of tile={schedule.tile}, and less than the "
            f"{conv.out_sizes[-1]} outputs of a row; try columns=0"
        )
    if schedule.prefetch and conv.rank < 2:
        raise ScheduleError(
            f"prefetch={schedule.prefetch} needs rows, and the images have one axis; try prefetch=0"
        )
    blocks = -(-conv.outputs // (channels or conv.outputs))
    blocks *= -(-conv.out_sizes[-1] // (columns or conv.out_sizes[-1]))
    return DepthwisePlan.single(
        spec,
        target,
        schedule,
        compute,
        template="depthwise",
        tasks=-(-rows // schedule.task) * blocks,
        a=access(target, conv.product.dtype, sums),
        b=access(target, spec.b_type, sums),
    )
