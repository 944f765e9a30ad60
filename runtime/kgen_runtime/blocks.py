"""Numbers of 4 bits in blocks of 32 with a scale, as GGUF's Q4_0 has them.

A row is as many blocks as its numbers need, one behind the other: the scale in f16, then 16 bytes,
of which byte j has the numbers j and j + 16 in its lower and its upper half, 8 added to each. So a
tensor of a GGUF file is taken as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

#: Numbers of a block, and its bytes.
BLOCK, BLOCK_BYTES = 32, 18
#: What is added to a number.
OFFSET = 8


def row_bytes(count: int) -> int:
    """Return the bytes of a row of `count` numbers."""
    return -(-count // BLOCK) * BLOCK_BYTES


def packed(numbers: Array, scales: Array) -> npt.NDArray[np.uint8]:
    """Rows of numbers from -8 to 7, with a scale for each block of a row, as bytes."""
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
    """Rows of f32 as blocks: the number of a block that is farthest from zero becomes -8 scales,
    and each the nearest one that there is."""
    import numpy as np

    rows, count = weights.shape
    blocks = -(-count // BLOCK)
    padded = np.zeros((rows, blocks * BLOCK))
    padded[:, :count] = weights
    padded = padded.reshape(rows, blocks, BLOCK)
    places = np.abs(padded).argmax(axis=-1, keepdims=True)
    scales = (np.take_along_axis(padded, places, axis=-1) / -OFFSET).astype(np.float16)
    steps = np.where(scales == 0.0, 1.0, scales.astype(np.float64))
    numbers = np.clip(np.rint(padded / steps), -OFFSET, OFFSET - 1).astype(np.int8)
    return packed(numbers.reshape(rows, -1)[:, :count], scales[:, :, 0])
