"""Packing of a convolution's windows as rows of A, straight from the images.

No matrix of windows is built. A row of A consists of segments, which are contiguous in the images.
A segment is a row of the kernel if the positions of that row are adjacent in the image; otherwise
it is one position with the channels of a group. Elements outside the image have the access map's
fill value.
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kgen.errors import ScheduleError
from kgen.schedule import BlockedMatmul
from kgen.spec import Conv2d, DType, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.access import images
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, are_windows, implicit_gemm
from kgen.targets.contraction.window_axes import KernelAxis, WindowAxis, kernel_axes, window_axes
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer
from kgen.targets.cpu.plan.extents import BlockedAxis, Blocking
from kgen.targets.cpu.plan.packing.mapped_b import maps_b
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Integers, or arrays of them.
T = TypeVar("T", int, npt.NDArray[np.int64])
#: Most vectors of a window that are copied without loops.
MOST_UNROLLED = 48
#: Bits of the narrowest elements that x86 loads under a computed mask, by feature.
MASKED_BITS = {"avx2": 32, "avx512bw": 8}


def mainloop_of_windows(conv: Conv2d, target: Target) -> str:
    """Return the main loop that packs windows for the target's instructions."""
    if conv.transforms:
        return "winograd"
    if tile_product(conv.dtype, target) is not None and not maps_b(implicit_gemm(conv)):
        return "amx"
    return "blis" if dot_for(conv.dtype, target) is None else "dot"


def has_rows_of_kernel(conv: Conv2d) -> bool:
    """Return whether the segments of windows are rows of the kernel."""
    return conv.groups == 1 and conv.dilations[-1] == 1 and conv.kernel[-1] > 1


def length_of_segment(conv: Conv2d) -> int:
    return conv.weights[1] * (conv.kernel[-1] if has_rows_of_kernel(conv) else 1)


def segment_of(spec: Matmul) -> int:
    """Return the elements of a segment of windows that are packed as A; 0 if A is a matrix."""
    if not (isinstance(spec, ImplicitGemm) and are_windows(spec)):
        return 0
    return 0 if spec.operation.transforms else length_of_segment(spec.operation)


@frozen
class WindowVector:
    """Vector of a window that lies wholly inside the image: bytes from the window's first element,
    bytes in its packed row, and its valid elements (0 for all)."""

    start: int
    to: int
    valid: int


@frozen
class DepthInside:
    """Part of K in which some window of a register tile sees the image.

    K counts the places of the kernel's first axis before all else, so that the part is a range:
    `depth` elements for each place. The remainder of K multiplies padding by weights and is left
    out.
    """

    axis: KernelAxis
    depth: int
    images: int

    def is_whole_in(self, k: BlockedAxis) -> bool:
        """Return whether each block of K belongs to a single place, so that a tile multiplies all
        of it or nothing."""
        return k.is_split and self.depth % k.block == 0

    @property
    def position(self) -> WindowAxis:
        return self.axis.axis

    @property
    def has_several_images(self) -> bool:
        """Whether a tile may have windows of two images."""
        return self.images > 1

    @property
    def stop(self) -> int:
        """Elements along the axis in the image and in front of it."""
        return self.position.size + self.position.before

    @property
    def first_place(self) -> int:
        """Elements of padding in front of the image, rounded up to a place after a division."""
        return self.position.before + self.axis.apart - 1

    @property
    def last_place(self) -> int:
        return self.stop + self.axis.apart - 1

    def share(self, rows: int) -> float:
        """Return the share of all products that tiles of `rows` rows compute."""
        at, positions = self.position, self.position.divisor * self.position.extent
        first = np.arange(0, self.images * positions, rows)
        ends = [first, np.minimum(first + rows, self.images * positions) - 1]
        is_one = ends[0] // positions == ends[1] // positions
        low, high = (number // at.divisor % at.extent for number in ends)
        low, high = np.where(is_one, low, 0), np.where(is_one, high, at.extent - 1)
        begin = np.maximum(self.first_place - high * at.step, 0) // self.axis.apart
        stop = np.minimum((self.last_place - low * at.step) // self.axis.apart, self.axis.extent)
        computed = (stop - begin) * (ends[1] + 1 - first)
        return float(np.sum(computed) / (self.axis.extent * self.images * positions))


def depth_inside(conv: Conv2d) -> DepthInside | None:
    """Return how padding shortens K; None without zeros along the first axis."""
    axis = kernel_axes(conv, window_axes(conv, conv.rank, 1))[0]
    if not axis.is_padded or conv.padding_value != 0:
        return None
    depth = math.prod(conv.weights[1:]) // axis.extent
    return DepthInside(axis=axis, depth=depth, images=conv.images)


@frozen
class WindowedA:
    """A packed as [mc][kc] from the images of a convolution, stored as nhwc.

    `elements` is the access that loads a vector, `vector` its packed type; packed rows are `row`
    bytes apart. With `loads_by_mask`, one masked instruction loads a partial vector. With
    `clears_end`, a vector of zeros follows the last element of each row.
    """

    conv: Conv2d
    blocking: Blocking
    elements: Access
    vector: Vector
    row: int
    loads_by_mask: bool
    clears_end: bool

    @property
    def masked_types(self) -> set[Vector]:
        has_masks = self.loads_by_mask or 1 < self.segment_left < self.segment
        return {self.elements.stored} if has_masks else set()

    @property
    def widens_bytes(self) -> bool:
        """Whether integers are widened when they are packed."""
        return self.elements.stored != self.vector and self.vector.is_integer

    @property
    def keeps_bits(self) -> bool:
        """Whether packed elements have the type of stored ones."""
        return self.elements.stored == self.vector

    @property
    def fill(self) -> str:
        value = images(self.conv).fill
        return self.vector.splat(value) if value else "zeroinitializer"

    @property
    def segment_whole(self) -> int:
        return self.segment - self.segment_left

    @property
    def segment_left(self) -> int:
        return self.segment % self.vector.count

    @property
    def overlaps(self) -> bool:
        """Whether the last vector of a whole segment overlaps the one before."""
        return self.segment_left > 0 and self.segment > self.vector.count

    @property
    def last_vector(self) -> int:
        """First element of the last vector of a whole segment."""
        return self.segment - self.vector.count if self.overlaps else self.segment_whole

    @property
    def rows_of_kernel(self) -> bool:
        """Whether segments are rows of the kernel; otherwise single positions."""
        return has_rows_of_kernel(self.conv)

    @property
    def segment(self) -> int:
        return length_of_segment(self.conv)

    @cached_property
    def axes(self) -> tuple[WindowAxis, ...]:
        return window_axes(self.conv, self.conv.rank, self.elements.itemsize)

    @property
    def kernel_axes(self) -> tuple[KernelAxis, ...]:
        """Axes of the kernel, without the last one if segments are rows of the kernel."""
        return kernel_axes(self.conv, self.axes[: self.conv.rank - self.rows_of_kernel])

    @cached_property
    def unrolled(self) -> tuple[WindowVector, ...]:
        """Vectors of a window inside the image, in the order of their stores: the last vector of a
        segment may overwrite the first elements of the next one. Empty if there are too many."""
        size, count = self.elements.itemsize, self.vector.count
        starts = [*range(0, self.segment_whole, count)]
        valid = [0] * len(starts)
        if self.segment_left:
            starts.append(self.last_vector)
            valid.append(0 if self.overlaps else self.segment_left)
        places = itertools.product(*(range(axis.extent) for axis in self.kernel_axes))
        segments = [
            sum(i * axis.bytes_apart for i, axis in zip(place, self.kernel_axes, strict=True))
            for place in places
        ]
        if self.blocking.k.is_split or len(segments) * len(starts) > MOST_UNROLLED:
            return ()
        return tuple(
            WindowVector(
                start=offset + start * size,
                to=(number * self.segment + start) * self.vector.itemsize,
                valid=few,
            )
            for number, offset in enumerate(segments)
            for start, few in zip(starts, valid, strict=True)
        )

    @property
    def ranges(self) -> tuple[tuple[str, int], ...]:
        """Padded axes, each with the number of positions of a window inside the image; 0 if no
        window is inside."""
        reaches = self.conv.reaches
        found = zip(self.axes, reaches, kernel_axes(self.conv, self.axes), strict=True)
        return tuple(
            (axis.name, max(0, axis.size - reach + 1)) for axis, reach, k in found if k.is_padded
        )

    @property
    def positions(self) -> int:
        return math.prod(self.conv.out_sizes)

    @property
    def image(self) -> int:
        return self.conv.channels * math.prod(self.conv.sizes) * self.elements.itemsize

    @property
    def lane_numbers(self) -> Vector:
        """Vector of lane numbers, as wide as the packed elements, up to 32 bits."""
        return self.vector.of(f"i{min(self.vector.bits, 32)}")

    @property
    def k_first(self) -> str:
        return "%k0" if self.blocking.k.is_split else "0"


def reads_rows(conv: Conv2d) -> bool:
    """Return whether tiles may read windows in place: rows of f32 or f64 images of one group."""
    return conv.groups == 1 and conv.dtype in (DType.F32, DType.F64) and not conv.transforms


def row_step(conv: Conv2d) -> int:
    """Return the elements from one window to the next in a row of an image."""
    return conv.strides[-1] * conv.channels


def strip_pitch(conv: Conv2d, mr: T, kc: T, vector: int, itemsize: int) -> T:
    """Return the bytes of strips for each row of A, for tiles of `mr` rows: whole lines. Padding is
    filled with whole vectors."""
    size = ((mr - 1) * row_step(conv) + kc + vector) * itemsize
    return -(-size // (mr * LINE_BYTES)) * LINE_BYTES


@frozen
class ImageRows:
    """A read in place from the images of a convolution: a block of A is a row of the output.

    A block of K is a part of a segment, so that the windows of a block are `step` elements apart
    in a row of the image. A tile with windows that reach past the ends of that row reads a copy
    with padding, a strip: `pitch` bytes for each of its rows of A.
    """

    windows: WindowedA

    @property
    def step(self) -> int:
        return row_step(self.windows.conv)

    @property
    def step_bytes(self) -> int:
        return self.step * self.windows.elements.itemsize

    def elements(self, rows: int) -> int:
        """Return the elements of the strip of a tile of `rows` rows."""
        return (rows - 1) * self.step + self.windows.blocking.k.block

    @property
    def pitch(self) -> int:
        blocking, vector = self.windows.blocking, self.windows.vector
        mr, kc = blocking.schedule.mr, blocking.k.block
        return strip_pitch(self.windows.conv, mr, kc, vector.count, vector.itemsize)

    @property
    def buffer(self) -> Buffer:
        holds = f"{self.windows.vector.scalar} strips of padded image rows"
        bytes_ = self.windows.blocking.schedule.mc * self.pitch
        return Buffer(name="%a.strips", holds=holds, bytes=bytes_)

    @property
    def outer_axes(self) -> tuple[WindowAxis, ...]:
        return self.windows.axes[:-1]

    @property
    def along(self) -> WindowAxis:
        return self.windows.axes[-1]

    @property
    def row_elements(self) -> int:
        """Elements of a row of the image."""
        return self.along.size * self.windows.conv.channels

    @property
    def before(self) -> int:
        """Elements of padding in front of a row of the image."""
        return self.along.before * self.windows.conv.channels


def check_rows(schedule: BlockedMatmul, conv: Conv2d) -> None:
    """Raise ScheduleError unless tiles can read windows in place."""
    width, segment = conv.out_sizes[-1], length_of_segment(conv)
    row = f"{width} (row of the output)"
    if not reads_rows(conv):
        raise ScheduleError(
            f"pack_a=0 requires images of f32 or f64 in one group, not {conv.dtype} in "
            f"groups={conv.groups}; try pack_a=1"
        )
    for name, value, fits, needs in (
        ("mc", schedule.mc, schedule.mc == width, f"mc={row}"),
        ("mr", schedule.mr, width % schedule.mr == 0, f"a divisor of {row}"),
        ("kc", schedule.kc, segment % schedule.kc == 0, f"a divisor of {segment} (window)"),
    ):
        if not fits:
            raise ScheduleError(f"{name}={value}: pack_a=0 requires {needs}; try pack_a=1")
