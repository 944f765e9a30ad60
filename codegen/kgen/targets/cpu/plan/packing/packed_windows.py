"""Windows of a convolution packed as rows of A, read from the images: no matrix of windows exists.

A row of A is cut into segments: elements that are contiguous in the images wherever they exist. A
segment is a row of the kernel if its places lie side by side, else one place with the channels of a
group. What a segment sees outside of the image is zero.
"""

from __future__ import annotations

import math
from functools import cached_property

from kgen.spec import Conv2d
from kgen.spec.shapes import packed
from kgen.targets.cpu.plan.packing.widened import WidenedA
from kgen_runtime.values import frozen


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
    """Axis of the kernel that segments are numbered by: place = segment / `divisor` % `extent`,
    `apart` elements of the image along `axis`."""

    axis: WindowAxis
    divisor: int
    extent: int
    apart: int

    @property
    def bytes_apart(self) -> int:
        return self.apart * self.axis.along


@frozen
class WindowedA(WidenedA):
    """A packed as [mc][kc] from the images of a convolution, stored as nhwc."""

    conv: Conv2d

    @property
    def has_masked_loads(self) -> bool:
        return True

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
        """Elements of a segment."""
        return self.conv.weights[1] * (self.conv.kernel[-1] if self.rows_of_kernel else 1)

    @property
    def segments(self) -> int:
        return self.conv.product.k // self.segment

    @cached_property
    def axes(self) -> tuple[WindowAxis, ...]:
        conv = self.conv
        _, *along, _ = packed((conv.images, *conv.sizes, conv.channels))
        return tuple(
            WindowAxis(
                name="zyx"[3 - conv.rank :][number],
                divisor=math.prod(conv.out_sizes[number + 1 :]),
                extent=conv.out_sizes[number],
                step=conv.strides[number],
                before=conv.pads[number][0],
                size=conv.sizes[number],
                along=along[number] * self.itemsize,
            )
            for number in range(conv.rank)
        )

    @property
    def kernel_axes(self) -> tuple[KernelAxis, ...]:
        """Axes of the kernel, without the last one if segments are rows of it."""
        count = self.conv.rank - self.rows_of_kernel
        sizes = self.conv.kernel[:count]
        return tuple(
            KernelAxis(
                axis=self.axes[number],
                divisor=math.prod(sizes[number + 1 :]),
                extent=sizes[number],
                apart=self.conv.dilations[number],
            )
            for number in range(count)
        )

    @property
    def positions(self) -> int:
        """Windows of an image."""
        return math.prod(self.conv.out_sizes)

    @property
    def image(self) -> int:
        """Bytes of an image."""
        return self.channels * math.prod(self.conv.sizes) * self.itemsize

    @property
    def lanes(self) -> str:
        """Numbers of the lanes of a vector."""
        return "<" + ", ".join(f"i64 {i}" for i in range(self.vector.count)) + ">"

    @property
    def k_first(self) -> str:
        """First k of the block."""
        return "%k0" if self.blocking.k_blocked else "0"
