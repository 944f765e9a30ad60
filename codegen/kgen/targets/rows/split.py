"""Dimensions of rows and of columns of a row-wise kernel's tensors, and the vectors that they
allow.

If the innermost axis is kept (column sums of a matrix, softmax over the channels of NCHW), rows are
*interleaved*: adjacent elements belong to adjacent rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.ops.views import has_views
from kgen.spec import Rowwise
from kgen.spec.shapes import Shape
from kgen.targets.stream import merge
from kgen_runtime.manifest import Tile
from kgen_runtime.values import frozen

#: Interleaved rows of a block: the threads of a warp, which read 64 bytes of f16 at once.
INTERLEAVED_ROWS = 32
#: Fewest columns per lane of an interleaved row; with fewer, the exchange costs more than it saves.
COLUMNS_PER_LANE = 4


@frozen
class Split:
    """Sizes of the dimensions of rows and of columns, and the strides of every tensor in both, by
    name. Dimensions that all tensors traverse alike are merged."""

    rows: Shape
    cols: Shape
    strides: Mapping[str, tuple[Shape, Shape]]

    @property
    def rows_are_near(self) -> bool:
        """Whether neighbouring rows are adjacent in every tensor, or share one element."""
        return all(outer[-1] in (0, 1) for outer, _ in self.strides.values())

    @property
    def columns_are_near(self) -> bool:
        """Whether neighbouring columns are adjacent in every tensor, or share one element."""
        return all(inner[-1] in (0, 1) for _, inner in self.strides.values())


def split(spec: Rowwise) -> Split:
    """Split a spec's dimensions into those of rows and those of columns.

    If neighbouring columns are not adjacent, an innermost dimension of one is added, so that no
    vector has several columns.
    """
    found = _merged(spec)
    if is_interleaved(spec) or found.columns_are_near:
        return found
    strides = {name: (outer, (*inner, 0)) for name, (outer, inner) in found.strides.items()}
    return Split(rows=found.rows, cols=(*found.cols, 1), strides=strides)


def _merged(spec: Rowwise) -> Split:
    whole = {read.name: read.strides for read in spec.reads.reads}
    whole |= {name: spec.output_strides(name) for name in spec.outputs}
    (rows, outer), (cols, inner) = (
        merge([spec.domain[a] for a in axes], [[s[a] for a in axes] for s in whole.values()])
        for axes in (spec.kept, spec.axes)
    )
    pairs = zip(outer, inner, strict=True)
    return Split(rows=rows, cols=cols, strides=dict(zip(whole, pairs, strict=True)))


def is_interleaved(spec: Rowwise) -> bool:
    """Return whether rows are interleaved: the innermost axis of more than one element is kept, or
    views make rows adjacent and columns not."""
    if has_views(*spec.formula_calls):
        found = _merged(spec)
        return found.rows_are_near and not found.columns_are_near
    last = len(spec.domain) - 1
    sized = [axis for axis, size in enumerate(spec.domain) if size > 1]
    return not {*sized[-1:], last} & set(spec.axes)


def interleaved_block(spec: Rowwise, threads: int) -> tuple[int, int]:
    """Return the number of adjacent rows of a block, and of lanes per row.

    The rows together read whole sectors of memory. Each lane has at least COLUMNS_PER_LANE columns.
    """
    rows, lanes = 1, 1
    while rows < min(INTERLEAVED_ROWS, spec.rows):
        rows *= 2
    while 2 * lanes * rows <= threads and 2 * lanes * COLUMNS_PER_LANE <= spec.cols:
        lanes *= 2
    return rows, lanes


def line_length(spec: Rowwise) -> int:
    """Return the number of consecutive columns in which no input starts again: a whole row, unless
    an input broadcasts along some axes of it, or kept axes lie between reduced ones."""
    return split(spec).cols[-1]


def walked_itemsize(spec: Rowwise) -> int:
    """Return the bytes of the widest element of tensors that are accessed by vectors, so without
    outputs of one element per row."""
    whole = [name for name in spec.outputs if not spec.reduced[name]]
    return max(spec.dtype_of(name).itemsize for name in (*spec.inputs, *whole))


def widest_vector(spec: Rowwise, most: int) -> int:
    """Return the largest vector, a power of two up to `most`, that every tensor allows."""
    if is_interleaved(spec):
        return 1
    found = split(spec)
    lengths = [found.cols[-1], *(read.offset for read in spec.reads.reads)]
    for outer, inner in found.strides.values():
        # A vector stays within its row, and rows of a tensor with vectors start at a vector.
        lengths += [s for s in (*outer, *inner[:-1]) if inner[-1] and s]
    vector = most
    while any(length % vector for length in lengths):
        vector //= 2
    return vector


def tile_of(spec: Rowwise, rows: int, axis: int = 0) -> Tile:
    """Return the tile of whole rows that a workgroup writes; `axis` of the grid counts them."""
    cols = spec.out_cols
    return Tile(shape=(spec.rows, cols), extent=(rows, cols), axes=(axis, -1))
