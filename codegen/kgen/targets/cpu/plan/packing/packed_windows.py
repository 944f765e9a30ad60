"""Windows of a convolution packed as rows of A, read from the images: no matrix of windows exists.

A row of A is cut into segments: elements that are contiguous in the images wherever they exist. A
segment is a row of the kernel if its places are adjacent, else one place with the channels of a
group. Elements outside of the image have the fill of the access map.
"""

from __future__ import annotations

import math
from functools import cached_property

from kgen.spec import Conv2d
from kgen.targets.base import Target
from kgen.targets.contraction.access import images
from kgen.targets.contraction.window_axes import KernelAxis, WindowAxis, kernel_axes, window_axes
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Bits of the narrowest elements of which x86's vectors load a part by a mask that is computed.
MASKED_BITS = {"avx2": 32, "avx512bw": 8}


def mainloop_of_windows(conv: Conv2d, target: Target) -> str:
    """Return the main loop that packs windows for the target's instructions."""
    if conv.transforms:
        return "winograd"
    if tile_product(conv.dtype, target) is not None:
        return "amx"
    return "blis" if dot_for(conv.dtype, target) is None else "dot"


@frozen
class WindowedA:
    """A packed as [mc][kc] from the images of a convolution, stored as nhwc.

    `elements` are loaded at a time and packed as a `vector`; rows are `row` bytes apart. With
    `loads_by_mask` the target loads a part of them at once. With `clears_end`, a vector behind the
    last element of each row is zero.
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
        """Whether integers are packed as wider ones."""
        return self.elements.stored != self.vector and self.vector.is_integer

    @property
    def keeps_bits(self) -> bool:
        """Whether elements are packed as they are stored."""
        return self.elements.stored == self.vector

    @property
    def fill(self) -> str:
        """Operand of a vector of padding, unless it is loaded."""
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
        """Whether segments are rows of the kernel, of adjacent places, not single places."""
        conv = self.conv
        return conv.groups == 1 and conv.dilations[-1] == 1 and conv.kernel[-1] > 1

    @property
    def segment(self) -> int:
        return self.conv.weights[1] * (self.conv.kernel[-1] if self.rows_of_kernel else 1)

    @cached_property
    def axes(self) -> tuple[WindowAxis, ...]:
        return window_axes(self.conv, self.conv.rank, self.elements.itemsize)

    @property
    def kernel_axes(self) -> tuple[KernelAxis, ...]:
        """Axes of the kernel, without the last one if segments are rows of it."""
        return kernel_axes(self.conv, self.axes[: self.conv.rank - self.rows_of_kernel])

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
