"""Windows of a convolution packed as rows of A, read from the images: no matrix of windows exists.

A row of A is cut into segments: elements that are contiguous in the images wherever they exist. A
segment is a row of the kernel if its places lie side by side, else one place with the channels of a
group. What a segment sees outside of the image is the fill of the access map.
"""

from __future__ import annotations

import math
from functools import cached_property

from kgen.spec import Conv2d, Matmul
from kgen.spec.shapes import packed
from kgen.targets.base import Target
from kgen.targets.contraction.access import images
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, is_matrix
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Bits of the narrowest elements of which x86's vectors load a part by a mask that is computed.
MASKED_BITS = {"avx2": 32, "avx512bw": 8}


def mainloop_of_windows(conv: Conv2d, target: Target) -> str:
    """Return the main loop that packs windows: by tiles or dot products where a type has them, that
    of transformed tiles for Winograd's arithmetic."""
    if conv.transforms:
        return "winograd"
    if tile_product(conv.dtype, target) is not None:
        return "amx"
    return "blis" if dot_for(conv.dtype, target) is None else "dot"


@frozen
class WindowAxis:
    """Spatial axis: positions of windows `step` elements apart, of which `before` are padding.

    `position` counts `extent` positions, the row's number divided by `divisor`. `along` is the
    bytes from one element of the axis to the next.
    """

    name: str
    divisor: int
    extent: int
    step: int
    before: int
    size: int
    along: int


@frozen
class KernelAxis:
    """Axis of the kernel that its parts (segments, or rows) are numbered by: place = number /
    `divisor` % `extent`, `apart` elements of the image along `axis`."""

    axis: WindowAxis
    divisor: int
    extent: int
    apart: int

    @property
    def bytes_apart(self) -> int:
        return self.apart * self.axis.along

    @property
    def is_padded(self) -> bool:
        """Whether a window has a place outside of the image."""
        axis = self.axis
        last = (axis.extent - 1) * axis.step + (self.extent - 1) * self.apart - axis.before
        return axis.before > 0 or last >= axis.size


def window_axes(conv: Conv2d, count: int, itemsize: int) -> tuple[WindowAxis, ...]:
    """Return the first `count` spatial axes; positions along them are numbered together."""
    _, *along, _ = packed((conv.images, *conv.sizes, conv.channels))
    return tuple(
        WindowAxis(
            name="zyx"[3 - conv.rank :][number],
            divisor=math.prod(conv.out_sizes[number + 1 : count]),
            extent=conv.out_sizes[number],
            step=conv.strides[number],
            before=conv.pads[number][0],
            size=conv.sizes[number],
            along=along[number] * itemsize,
        )
        for number in range(count)
    )


def kernel_axes(conv: Conv2d, axes: tuple[WindowAxis, ...]) -> tuple[KernelAxis, ...]:
    """Return the axes of the kernel along the first spatial axes."""
    sizes = conv.kernel[: len(axes)]
    return tuple(
        KernelAxis(
            axis=axis,
            divisor=math.prod(sizes[number + 1 :]),
            extent=sizes[number],
            apart=conv.dilations[number],
        )
        for number, axis in enumerate(axes)
    )


@frozen
class WindowedA:
    """A packed as [mc][kc] from the images of a convolution, stored as nhwc.

    `elements` are loaded at a time and packed as a `vector`; rows are `row` bytes apart.
    `loads_by_mask` says that the target loads a part of them at once. With `clears_end`, a vector
    behind the last element of each row is zero.
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
        return {self.elements.stored} if self.has_masked_loads else set()

    @property
    def has_masked_loads(self) -> bool:
        return self.loads_by_mask or 1 < self.segment_left < self.segment

    @property
    def widens_bytes(self) -> bool:
        """Integers are packed as wider ones."""
        return self.elements.stored != self.vector and self.vector.is_integer

    @property
    def keeps_bits(self) -> bool:
        """Elements are packed as they are stored."""
        return self.elements.stored == self.vector

    @property
    def count(self) -> int:
        return self.vector.count

    @property
    def fill(self) -> str:
        """Operand of a vector of padding, unless it is loaded."""
        value = images(self.conv).fill
        return self.vector.splat(value) if value else "zeroinitializer"

    @property
    def loads_fill(self) -> bool:
        """Whether the number that pads the images is an operand."""
        return self.conv.pads_with_operand

    @property
    def segment_whole(self) -> int:
        """Elements of a segment in whole vectors."""
        return self.segment - self.segment_left

    @property
    def segment_left(self) -> int:
        return self.segment % self.count

    @property
    def overlaps(self) -> bool:
        """The last vector of a whole segment begins before the end of the one in front of it."""
        return self.segment_left > 0 and self.segment > self.count

    @property
    def last_vector(self) -> int:
        """Element of a whole segment that its last vector begins with."""
        return self.segment - self.count if self.overlaps else self.segment_whole

    @property
    def itemsize(self) -> int:
        return self.conv.dtype.itemsize

    @property
    def packed_itemsize(self) -> int:
        return self.vector.bits // 8

    @property
    def rows_of_kernel(self) -> bool:
        """Segments are rows of the kernel, whose places are neighbours; else single places."""
        conv = self.conv
        return conv.groups == 1 and conv.dilations[-1] == 1 and conv.kernel[-1] > 1

    @property
    def channels(self) -> int:
        return self.conv.channels

    @property
    def segment(self) -> int:
        return self.conv.weights[1] * (self.conv.kernel[-1] if self.rows_of_kernel else 1)

    @cached_property
    def axes(self) -> tuple[WindowAxis, ...]:
        return window_axes(self.conv, self.conv.rank, self.itemsize)

    @property
    def kernel_axes(self) -> tuple[KernelAxis, ...]:
        """Axes of the kernel, without the last one if segments are rows of it."""
        return kernel_axes(self.conv, self.axes[: self.conv.rank - self.rows_of_kernel])

    @property
    def positions(self) -> int:
        return math.prod(self.conv.out_sizes)

    @property
    def image(self) -> int:
        return self.channels * math.prod(self.conv.sizes) * self.itemsize

    @property
    def lane_numbers(self) -> Vector:
        """Vector of the numbers of lanes, as wide as the packed elements if these have no more than
        32 bits."""
        return self.vector.of(f"i{min(self.vector.bits, 32)}")

    @property
    def lanes(self) -> str:
        """Numbers of the lanes of a vector."""
        type = self.lane_numbers.scalar
        return "<" + ", ".join(f"{type} {i}" for i in range(self.count)) + ">"

    @property
    def k_first(self) -> str:
        return "%k0" if self.blocking.k_blocked else "0"


def are_windows(spec: Matmul) -> bool:
    """Return whether A is the windows of a convolution, and no matrix."""
    return isinstance(spec, ImplicitGemm) and not is_matrix(spec.operation)


def windows_of(
    blocking: Blocking,
    target: Target,
    elements: Access,
    vector: Vector,
    row: int,
    *,
    clears_end: bool = False,
) -> WindowedA | None:
    """Return the packing of A if it is the windows of a convolution, None if it is a matrix."""
    spec = blocking.spec
    if not (are_windows(spec) and isinstance(spec, ImplicitGemm)):
        return None
    least = [bits for feature, bits in MASKED_BITS.items() if target.has(feature)]
    return WindowedA(
        conv=spec.operation,
        blocking=blocking,
        elements=elements,
        vector=vector,
        row=row,
        loads_by_mask=8 * elements.itemsize >= min(least, default=MASKED_BITS["avx2"]),
        clears_end=clears_end,
    )
