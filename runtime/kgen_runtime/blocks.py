"""4-bit block quantisation: blocks of 32 numbers with one f16 scale, in the format Q4_0 of GGUF.

A row is a sequence of blocks of 18 bytes: the scale (f16), then 16 bytes. Byte j holds number j in
its low half and number j + 16 in its high half, each with 8 added. Tensors of GGUF files need no
conversion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

#: Numbers and bytes per block.
BLOCK, BLOCK_BYTES = 32, 18
#: Offset that is added to each number in memory.
OFFSET = 8
#: Distance from a whole number within which a quotient of weights in f16 is whole, and numbers of a
#: block that are divided first.
NEAR, PROBE = 2.0**-7, 2


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
    import numpy as np

    rows, count = weights.shape
    blocks = -(-count // BLOCK)
    padded = np.zeros((rows, blocks * BLOCK))
    padded[:, :count] = weights
    padded = padded.reshape(rows, blocks, BLOCK)
    places = np.abs(padded).argmax(axis=-1, keepdims=True)
    farthest = np.take_along_axis(padded, places, axis=-1)
    scales = (farthest / _multiples(padded, farthest)).astype(np.float16)
    steps = np.where(scales == 0.0, 1.0, scales.astype(np.float64))
    numbers = np.clip(np.rint(padded / steps), -OFFSET, OFFSET - 1).astype(np.int8)
    return packed(numbers.reshape(rows, -1)[:, :count], scales[:, :, 0])


def _multiples(padded: Array, farthest: Array) -> Array:
    """Return the multiple of the scale that the farthest number of each block becomes."""
    import numpy as np

    def are_whole(quotients: Array, top: int) -> Array:
        multiples = quotients * top
        return np.asarray(np.abs(multiples - np.rint(multiples)) <= NEAR)

    def fit(numbers: Array, whole: Array, top: int) -> Array:
        quotients = numbers / whole
        nearest = np.rint(quotients * top)
        fits = (nearest >= -OFFSET) & (nearest < OFFSET)
        return np.asarray((are_whole(quotients, top) & fits).all(axis=-1))

    found = np.full(farthest.shape, -OFFSET)
    left = farthest[..., 0] != 0.0
    # Most blocks of other weights fail in their first places.
    divisors = np.where(left, farthest[..., 0], 1.0)
    first = [padded[..., place] / divisors for place in range(PROBE)]
    # -8 comes first, then the others by their size.
    for top in (-OFFSET, *(sign * size for size in range(OFFSET - 1, 0, -1) for sign in (1, -1))):
        at = np.logical_and.reduce([left, *(are_whole(each, top) for each in first)])
        at[at] = fit(padded[at], farthest[at], top)
        found[at], left = top, left & ~at
    return found
