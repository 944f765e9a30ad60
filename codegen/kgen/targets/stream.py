"""Plan of an element-wise kernel, for all families: vectors, and the addresses of inputs.

The output is packed, so its elements are one line; a scatter's rows count as such a line. The line
is cut into vectors of `vector` elements; `rest` counts the elements after the last whole vector.
The output's coordinates decide where an input is read. Dimensions that every tensor strides alike
are merged first, so that most kernels have a single dimension, in which an input either is as long
as the output or is one element.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from kgen.spec import DType, Elementwise
from kgen.spec.views import Read
from kgen.targets.header import counted
from kgen_runtime.manifest import Tile
from kgen_runtime.values import frozen


@frozen
class Dimension:
    """Dimension of the output behind the innermost one, counted in vectors.

    The coordinate of a vector is `index // divisor % size`; the outermost needs no remainder.
    `number` is the dimension's place among the plan's sizes.
    """

    number: int
    divisor: int
    size: int
    outermost: bool

    @property
    def is_innermost(self) -> bool:
        return self.divisor == 1

    @property
    def is_whole(self) -> bool:
        """The number itself is the coordinate."""
        return self.outermost and self.is_innermost


@frozen
class StreamInput:
    """Place of an input's elements. `strides` (elements) belong to the plan's sizes; the last one
    is the innermost stride per whole vector: 0, or the vector's elements.

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
class StreamOperand(StreamInput):
    """An operand of an element-wise expression: what it takes of its `tensor`, from `offset` on.

    `lane` is how far a vector's elements are apart; unless it is read `whole`, they are read one by
    one. `indices` are the conditions whose places this one is gathered by, with their strides.
    Where one of the conditions in `guards` does not hold there may be no element; then `spare` is
    read, from which on a whole vector is in the tensor.
    """

    tensor: str
    offset: int
    lane: int
    whole: bool
    indices: tuple[tuple[str, int], ...]
    guards: tuple[str, ...]
    is_index: bool
    spare: int

    @property
    def is_contiguous(self) -> bool:
        """Whether a vector's elements lie side by side."""
        return self.lane == 1

    @property
    def is_constant(self) -> bool:
        """Whether one element serves the whole output."""
        return not (any(self.strides) or self.indices or self.guards)


@frozen
class StreamCondition:
    """A truth value of the expression: a vector's coordinate in a dimension is in [low, high), both
    in vectors in the innermost; or an operand that is an `index` is a place below `high`, negative
    ones from the end. `loads` are indices that none before it needs."""

    name: str
    dimension: int
    low: int
    high: int
    index: str
    loads: tuple[StreamOperand, ...]

    @property
    def count(self) -> int:
        """Coordinates of which it holds."""
        return self.high - self.low


@frozen
class StreamPlan:
    """`vector` elements at a time; it divides the innermost dimension if there are several, and
    wherever a condition begins or ends to hold along it."""

    spec: Elementwise
    vector: int

    @cached_property
    def merged(self) -> Merged:
        return merged_of(self.spec)

    @property
    def note(self) -> str:
        """Header line about the elements."""
        rest = f" and {counted(self.rest, 'element')} in the remainder" if self.rest else ""
        return f"{counted(self.vectors, 'vector')} of {counted(self.vector, 'element')}{rest}"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Dimensions of the output; those that every tensor strides alike are merged."""
        return self.merged.sizes

    @cached_property
    def inputs(self) -> tuple[StreamOperand, ...]:
        """Operands in the order of the parameters, indices first."""
        reads = self.spec.reads.reads
        found = [self._operand(*pair) for pair in zip(reads, self.merged.strides, strict=False)]
        order = {name: i for i, name in enumerate(self.spec.inputs)}
        return tuple(sorted(found, key=lambda i: (not i.is_index, order[i.tensor])))

    def has_long_index(self, of: StreamOperand) -> bool:
        """Return whether an index has 64 bits, not 32."""
        return self.spec.dtype_of(of.tensor) is DType.S64

    @cached_property
    def write(self) -> StreamOperand | None:
        """Place at which a scatter's output is written if its guards hold; None for a `linear`
        output."""
        write = self.spec.reads.write
        return None if write is None else self._operand(write, self.merged.strides[-1])

    def _operand(self, read: Read, steps: tuple[int, ...]) -> StreamOperand:
        sizes, inner = self.sizes, steps[-1]
        packed = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
        plain = not (read.offset or read.indices or read.guards)
        places = (read.offset, *steps[:-1], *(stride for _, stride in read.indices))
        return StreamOperand(
            name=read.name,
            tensor=read.tensor,
            offset=read.offset,
            strides=(*steps[:-1], inner * self.vector),
            lane=inner,
            linear=plain and steps == packed,
            single=inner == 0,
            whole=self.vector == 1
            or (inner in (0, 1) and not any(n % self.vector for n in places if inner)),
            indices=read.indices,
            guards=read.guards,
            is_index=read.is_index,
            spare=max(0, -inner * (self.vector - 1)),
        )

    @cached_property
    def conditions(self) -> tuple[StreamCondition, ...]:
        """Conditions of the expression and of operands that lack elements; each after the
        conditions that guard its index."""
        found: list[StreamCondition] = []
        indices = {i.name: i for i in self.inputs if i.is_index}
        for c in self.spec.reads.conditions:
            dimension = -1 if c.index else self.merged.dimension_of[c.axis]
            step = self.vector if dimension == len(self.sizes) - 1 else 1
            loads = [indices.pop(c.index)] if c.index in indices else []
            found.append(
                StreamCondition(
                    name=c.name,
                    dimension=dimension,
                    low=c.low // step,
                    high=c.high // step,
                    index=c.index,
                    loads=tuple(loads),
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
        """Dimensions that split a vector's number into the coordinates that inputs need."""
        counts = (*self.sizes[:-1], self.sizes[-1] // self.vector)
        return self.coordinates(counts)

    def coordinates(self, counts: tuple[int, ...]) -> tuple[Dimension, ...]:
        """Return the dimensions that split a number into the coordinates that something needs."""
        needed = {d for i in self.inputs if not i.linear for d, _ in i.terms}
        needed |= {d for d, _ in self.write.terms} if self.write else set()
        needed |= {c.dimension for c in self.conditions if not c.index}
        return coordinates(counts, needed)


@frozen
class Merged:
    """The output's `sizes` and each operand's `strides`, and behind these those of a scatter's
    output, in as few dimensions as there can be, and the dimension that each of the output's axes
    has become part of."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    dimension_of: Mapping[int, int]


def merged_of(spec: Elementwise) -> Merged:
    """Merge dimensions, except those that a condition is about. An innermost dimension of one
    element, so that no vector has several, is added if indices differ from element to element, or
    if a scatter's elements are not contiguous."""
    reads = spec.reads
    accesses = [*reads.reads, *([reads.write] if reads.write else [])]
    strides = [access.strides for access in accesses]
    apart = {c.axis for c in reads.conditions}
    sizes, columns, dimension_of = merge_apart(spec.domain, strides, apart)
    of = list(zip(accesses, columns, strict=True))
    apart_in_rows = any(access.is_index and steps[-1] for access, steps in of)
    if apart_in_rows or (reads.write and of[-1][1][-1] not in (0, 1)):
        sizes = (*sizes, 1)
        columns = tuple((*steps, 0) for steps in columns)
    return Merged(sizes=sizes, strides=columns, dimension_of=dimension_of)


def merge(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return the shape and the strides of tensors in it, with dimensions that all stride alike
    merged."""
    return merge_apart(shape, strides, ())[:2]


def merge_apart(
    shape: Sequence[int], strides: Sequence[Sequence[int]], apart: Collection[int]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...], dict[int, int]]:
    """Merge dimensions as `merge` does, except axes that stay `apart`; the third result is the
    dimension of each axis."""
    # From the innermost outwards: (the axes, their size, the stride of every tensor).
    found: list[tuple[list[int], int, list[int]]] = []
    for axis in reversed(range(len(shape))):
        size, steps = shape[axis], [s[axis] for s in strides]
        if size == 1:
            continue
        inner, count, inner_steps = found[-1] if found else ([], 0, [])
        alike = steps == [s * count for s in inner_steps] and not {axis, *inner} & set(apart)
        if found and alike:
            found[-1] = ([axis, *inner], count * size, inner_steps)
        else:
            found.append(([axis], size, steps))
    found = found[::-1] or [([], 1, [0] * len(strides))]
    columns = tuple(zip(*(steps for _, _, steps in found), strict=True))
    dimension_of = {axis: d for d, (axes, _, _) in enumerate(found) for axis in axes}
    return tuple(size for _, size, _ in found), columns, dimension_of


def coordinates(counts: Sequence[int], needed: Collection[int]) -> tuple[Dimension, ...]:
    """Return the dimensions that split a number into needed coordinates, outermost first."""
    return tuple(
        Dimension(number=d, divisor=math.prod(counts[d + 1 :]), size=size, outermost=d == 0)
        for d, size in enumerate(counts)
        if d in needed
    )


def operand_terms(
    name: str, number: str, dimensions: Sequence[Dimension], terms: Sequence[tuple[int, int]]
) -> tuple[tuple[str, int], ...]:
    """Return terms with operands for coordinates of `number`: <name>.at<d>, which templates
    compute, or the number itself if it is the coordinate."""
    at = {d.number: number if d.is_whole else f"{name}.at{d.number}" for d in dimensions}
    return tuple((at[d], stride) for d, stride in terms)


def tile_of(spec: Elementwise, extent: int) -> Tile | None:
    """Return the tile that a workgroup writes; None for a scatter, which decides it at run time."""
    if spec.scatter is not None:
        return None
    return Tile(shape=(spec.elements,), extent=(extent,), axes=(0,))


def widest_vector(spec: Elementwise, most: int) -> int:
    """Return the most elements, a power of two up to `most`, of a vector that all tensors allow."""
    stream = StreamPlan(spec=spec, vector=1)
    sizes = stream.sizes
    if stream.write is None and all(i.linear or i.is_constant for i in stream.inputs):
        return most
    vector = most
    # A vector stays in its row, and a condition holds for all of it or for none.
    inner = len(sizes) - 1
    ends = [end for c in stream.conditions if c.dimension == inner for end in (c.low, c.high)]
    while any(length % vector for length in (sizes[-1], *ends)) or not _writes_whole(spec, vector):
        vector //= 2
    return vector


def _writes_whole(spec: Elementwise, vector: int) -> bool:
    """Return whether a scatter writes vectors that are aligned in its table."""
    write = StreamPlan(spec=spec, vector=vector).write
    return write is None or write.whole
