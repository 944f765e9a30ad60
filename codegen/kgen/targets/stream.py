"""The plan of an element-wise kernel that all families share: vectors, and where inputs lie.

The output is packed, so its elements are one line. It is cut into vectors of `vector` elements;
what is left behind the last whole vector is `rest`. An input is read where the output's coordinates
say: dimensions that every tensor walks alike are first made one, so that most kernels have a single
dimension, in which an input either is as long as the output or is one element.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property

from kgen.spec import Elementwise
from kgen_runtime.values import frozen


@frozen
class Dimension:
    """A dimension of the output behind the innermost one, counted in vectors.

    A vector's coordinate in it is `index // divisor % size`; the outermost needs no remainder.
    `number` is its place among the plan's sizes.
    """

    number: int
    divisor: int
    size: int
    outermost: bool

    @property
    def is_whole(self) -> bool:
        """The number itself is the coordinate."""
        return self.outermost and self.divisor == 1


@frozen
class StreamInput:
    """Where an input's elements lie. `strides` (elements) go with the plan's sizes; the last one is
    the innermost's, for a step of a whole vector: 0, or the vector's elements.

    `linear`: element i of the output needs element i. `single`: one element serves a whole vector.
    An input that is neither is read by whole vectors at an address of its own.
    """

    name: str
    strides: tuple[int, ...]
    linear: bool
    single: bool

    @property
    def terms(self) -> tuple[tuple[int, int], ...]:
        """The (coordinate, stride) whose products sum to the element; none of a single element."""
        return tuple((d, stride) for d, stride in enumerate(self.strides) if stride)


@frozen
class StreamPlan:
    """`vector` elements at a time; it divides the innermost dimension if there are several."""

    spec: Elementwise
    vector: int

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The output's dimensions, those merged that every tensor walks alike."""
        return merged(self.spec)[0]

    @cached_property
    def inputs(self) -> tuple[StreamInput, ...]:
        """The inputs in the order of the parameters."""
        sizes, strides = merged(self.spec)
        packed = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
        found = []
        for name, steps in zip(self.spec.inputs, strides, strict=True):
            inner = steps[-1]
            found.append(
                StreamInput(
                    name=name,
                    strides=(*steps[:-1], inner * self.vector),
                    linear=steps == packed,
                    single=inner == 0,
                )
            )
        return tuple(found)

    @property
    def vectors(self) -> int:
        """Whole vectors in the output."""
        return self.spec.elements // self.vector

    @property
    def rest(self) -> int:
        """Elements behind the last whole vector; 0 if there are several dimensions."""
        return self.spec.elements % self.vector

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """How a vector's number gives the coordinates that some input needs, outermost first."""
        counts = (*self.sizes[:-1], self.sizes[-1] // self.vector)
        return self.coordinates(counts)

    def coordinates(self, counts: tuple[int, ...]) -> tuple[Dimension, ...]:
        """How a number gives its coordinates in these dimensions, those that some input needs."""
        return coordinates(counts, {d for i in self.inputs if not i.linear for d, _ in i.terms})


def merged(spec: Elementwise) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The output's sizes and each input's strides, in as few dimensions as there can be."""
    return merge(spec.domain, [spec.broadcast_strides(name) for name in spec.inputs])


def merge(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """A shape and the strides of tensors in it, dimensions merged that all of them walk alike."""
    # From the innermost outwards: (size, the stride of every tensor).
    found: list[tuple[int, list[int]]] = []
    for axis in reversed(range(len(shape))):
        size, steps = shape[axis], [s[axis] for s in strides]
        if size == 1:
            continue
        if found and steps == [s * found[-1][0] for s in found[-1][1]]:
            found[-1] = (found[-1][0] * size, found[-1][1])
        else:
            found.append((size, steps))
    found = found[::-1] or [(1, [0] * len(strides))]
    columns = tuple(zip(*(steps for _, steps in found), strict=True))
    return tuple(size for size, _ in found), columns


def coordinates(counts: Sequence[int], needed: Collection[int]) -> tuple[Dimension, ...]:
    """How a number gives those of its coordinates that are needed, outermost first."""
    return tuple(
        Dimension(number=d, divisor=math.prod(counts[d + 1 :]), size=size, outermost=d == 0)
        for d, size in enumerate(counts)
        if d in needed
    )


def widest_vector(spec: Elementwise, most: int) -> int:
    """The most elements, a power of two up to `most`, that a vector of every tensor can have."""
    sizes, strides = merged(spec)
    if len(sizes) == 1:
        return most
    vector = most
    # A vector stays in its row, and every row of an input that is read by vectors starts at one.
    lengths = [sizes[-1], *(s for steps in strides if steps[-1] for s in steps[:-1])]
    while any(length % vector for length in lengths):
        vector //= 2
    return vector
