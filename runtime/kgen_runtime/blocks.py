"""4-bit block quantisation: blocks of 32 numbers with one f16 scale, in the format Q4_0 of GGUF.

A row is a sequence of blocks of 18 bytes: the scale (f16), then 16 bytes. Byte j holds number j in
its low half and number j + 16 in its high half, each with 8 added. Tensors of GGUF files need no
conversion.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

#: Numbers and bytes per block.
BLOCK, BLOCK_BYTES = 32, 18
#: Offset that is added to each number in memory.
OFFSET = 8
#: Numbers that 4 bits tell apart.
COUNT = 16
#: Largest distance from a whole number at which a quotient of weights in f16 counts as whole.
NEAR = 2.0**-7
#: Multiples that the number farthest from zero may be: -8 comes first, then the others by size.
TOPS = (-OFFSET, *(sign * size for size in range(OFFSET - 1, 0, -1) for sign in (1, -1)))
#: Steps that may lie between a block's least and its largest number.
STEPS = range(1, COUNT)
#: Numbers of the shorter blocks that :func:`spread` takes.
HALF = 16
#: Numbers of a block that are tested before all others.
PROBE = 2


def row_bytes(count: int) -> int:
    """Return the bytes of a row of `count` numbers, whose last block may be partial."""
    return -(-count // BLOCK) * BLOCK_BYTES


def packed(numbers: Array, scales: Array) -> npt.NDArray[np.uint8]:
    """Pack rows of numbers from -8 to 7 and one scale per block into bytes [row, bytes of a
    row]."""
    import numpy as np

    rows, count = numbers.shape
    blocks = -(-count // BLOCK)
    halves = np.full((rows, blocks * BLOCK), OFFSET, np.uint8)
    halves[:, :count] = numbers + OFFSET
    halves = halves.reshape(rows, blocks, 2, BLOCK // 2)
    found = np.empty((rows, blocks, BLOCK_BYTES), np.uint8)
    found[:, :, :2] = scales.astype("<f2").reshape(rows, blocks, 1).view(np.uint8)
    found[:, :, 2:] = halves[:, :, 0] | halves[:, :, 1] << 4
    return found.reshape(rows, blocks * BLOCK_BYTES)


def rounded(weights: Array) -> npt.NDArray[np.uint8]:
    """Quantise rows of f32. The number of a block that is farthest from zero becomes -8 times the
    scale; the others are rounded to the nearest multiple of the scale.

    A block of numbers that are already multiples of a scale, from -8 to 7, keeps these multiples.
    """
    return _rounded(weights, keeps_zero_points=False)[0]


def rounded_and_added(weights: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Quantise rows of f32 like `rounded`, but keep the numbers of a row that is quantised already
    with zero points: each of its blocks has at most 16 evenly spaced numbers, which need not
    include zero.

    Return the blocks and, for each [row, block], a number to add to all numbers of the block. It is
    0 for other rows.
    """
    return _rounded(weights, keeps_zero_points=True)


def spread(weights: Array) -> Array:
    """Return rows whose blocks of 16 numbers are the first halves of blocks of 32.

    The second halves repeat the last number of a block.
    """
    import numpy as np

    rows, count = weights.shape
    padded = np.pad(weights, ((0, 0), (0, -count % HALF)), mode="edge").reshape(rows, -1, HALF)
    return np.pad(padded, ((0, 0), (0, 0), (0, HALF)), mode="edge").reshape(rows, -1)


def is_quantised(weights: Array) -> bool:
    """Return whether rounding keeps all numbers: they are quantised already, in blocks of 32."""
    import numpy as np

    def keeps(rows: Array) -> bool:
        padded, farthest = _split(rows)
        least = padded.min(axis=-1)
        spans = padded.max(axis=-1) - least
        are_multiples = _multiples(padded, np.zeros_like(farthest), farthest, TOPS, -OFFSET) != 0
        return bool((are_multiples | (_multiples(padded, least, spans, STEPS, 0) != 0)).all())

    # Other weights mostly fail in their first row.
    return keeps(weights[:1]) and keeps(weights)


def _rounded(
    weights: Array, *, keeps_zero_points: bool
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    import numpy as np

    rows, count = weights.shape
    padded, farthest = _split(weights)
    blocks = padded.shape[1]
    multiples = _multiples(padded, np.zeros_like(farthest), farthest, TOPS, -OFFSET)
    exact = farthest / np.where(multiples == 0, -OFFSET, multiples)
    added = np.zeros((rows, blocks))
    if keeps_zero_points:
        least = padded.min(axis=-1)
        spans = padded.max(axis=-1) - least
        steps = np.where(multiples == 0, _multiples(padded, least, spans, STEPS, 0), 0)
        kept = (multiples != 0) | (steps != 0)
        spaced = (steps != 0) & kept.all(axis=-1, keepdims=True)
        exact = np.where(spaced, spans / np.where(spaced, steps, 1), exact)
        added = np.where(spaced, least + OFFSET * exact, 0.0)
        padded -= added[..., None]
    scales = exact.astype(np.float16)
    divisors = np.where(scales == 0.0, 1.0, scales.astype(np.float64))
    padded /= divisors[..., None]
    numbers = np.clip(np.rint(padded), -OFFSET, OFFSET - 1).astype(np.int8)
    return packed(numbers.reshape(rows, -1)[:, :count], scales), added.astype(np.float32)


def _split(weights: Array) -> tuple[Array, Array]:
    """Return the blocks of rows in f64, and the number of each that is farthest from zero.

    The last number of a row fills its last block.
    """
    import numpy as np

    rows, count = weights.shape
    padded = np.pad(weights.astype(np.float64), ((0, 0), (0, -count % BLOCK)), mode="edge")
    padded = padded.reshape(rows, -1, BLOCK)
    places = np.abs(padded).argmax(axis=-1, keepdims=True)
    return padded, np.take_along_axis(padded, places, axis=-1)[..., 0]


def _multiples(
    numbers: Array, least: Array, spans: Array, tops: Iterable[int], low: int
) -> npt.NDArray[np.int64]:
    """Return, for each block, the first of `tops` for which all its numbers are least + i * span /
    top with whole i from `low` to `low` + 15; 0 if there is none."""
    import numpy as np

    def are_whole(quotients: Array, top: int) -> Array:
        multiples = quotients * top
        return np.asarray(np.abs(multiples - np.rint(multiples)) <= NEAR)

    def fit(quotients: Array, top: int) -> Array:
        nearest = np.rint(quotients * top)
        fits = (nearest >= low) & (nearest < low + COUNT)
        return np.asarray((are_whole(quotients, top) & fits).all(axis=-1))

    found = np.zeros(spans.shape, np.int64)
    divisors = np.where(spans == 0.0, 1.0, spans)
    # Most blocks of other weights fail in their first places.
    first = [(numbers[..., place] - least) / divisors for place in range(PROBE)]
    for top in tops:
        at = np.logical_and.reduce([found == 0, *(are_whole(each, top) for each in first)])
        at[at] = fit((numbers[at] - least[at][:, None]) / divisors[at][:, None], top)
        found[at] = top
    return found
