"""Spatial axes of a convolution: positions of windows in an image, and places of the kernel."""

from __future__ import annotations

import math

from kgen.spec import Conv2d
from kgen.spec.shapes import packed
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

    @property
    def last(self) -> int:
        """Last position."""
        return self.extent - 1


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
