"""DFT and STFT as products with constant matrices, and Col2Im."""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.operators.indexing import at_places
from kgen.graph.operators.registry import Operator, axis_of, check_shape, integers, one, optional
from kgen.graph.reading.model import Array, Node
from kgen.ops.expression import view
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType


def waves(n: int, length: int, parts: int, bins: int, sign: float) -> Array:
    """Return the matrix of a Fourier transform, of shape (n, parts, bins, 2).

    The axes are input elements, the parts of an element (1 if real, 2 if complex), coefficients,
    and the parts of a coefficient. The transform has length `length`, of which the first n elements
    and the first `bins` coefficients occur.
    """
    turns = np.outer(np.arange(n), np.arange(bins)) % length
    angle = sign * 2 * np.pi * turns / length
    cos, sin = np.cos(angle), np.sin(angle)
    # (re + i im) (cos + i sin)
    rows = [[cos, sin], [-sin, cos]][:parts]
    return np.stack([np.stack(row, -1) for row in rows], 1)


def real_waves(n: int, length: int) -> Array:
    """Return the matrix of the inverse transform to real elements, of shape (n, 2, length, 1).

    The axes are coefficients, the parts of a coefficient, and elements. The input is the first half
    of the coefficients.
    """
    k = np.arange(n)
    angle = 2 * np.pi * (np.outer(k, np.arange(length)) % length) / length
    # All coefficients but the first, and the last one of an even length, occur twice.
    twice = np.where((k == 0) | (2 * k == length), 1.0, 2.0)[:, None] / length
    return np.stack([np.cos(angle) * twice, -np.sin(angle) * twice], 1)[..., None]


def transformed(b: Builder, x: GraphValue, matrix: Array) -> GraphValue:
    """Transform (..., n, parts) to (..., bins, parts) by a matrix (n, parts, bins, parts)."""
    n, parts, bins, made = matrix.shape
    b.check_table(matrix.size)
    weights = b.made(
        "waves", matrix.reshape(n * parts, bins * made).astype(x.dtype.storage), x.dtype
    )
    rows = b.reshape(x, (*x.shape[:-2], n * parts))
    left = b.reshape(rows, (1, n * parts)) if rows.rank == 1 else rows
    return b.reshape(b.product(left, weights), (*x.shape[:-2], bins, made))


def dft(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, named = one(given), optional(given, 1)
    if node.opset < 20:
        axes: tuple[int, ...] = (node.attribute("axis", 1),)
    else:
        at = optional(given, 2)
        axes = (-2,) if at is None else integers(b, at, "axis")
    axis = axis_of(b, axes[0], x.rank)
    parts, inverse = x.shape[-1], bool(node.attribute("inverse", 0))
    if axis == x.rank - 1 or parts not in (1, 2):
        raise b.refusal(
            f"transforms axis {axis} of {by_x(x.shape)}; the last axis holds the real and "
            "imaginary parts",
            "give another axis, and a last axis of size 1 or 2",
        )
    (length,) = integers(b, named, "dft_length") if named is not None else (x.shape[axis],)
    is_half, bins = bool(node.attribute("onesided", 0)), b.result.shape[axis]
    if named is None and is_half and inverse:
        length = bins
    n = min(x.shape[axis], length // 2 + 1 if is_half and inverse else length)
    rows = b.slice(x, axis, 0, n)
    order = [*(i for i in range(x.rank - 1) if i != axis), axis, x.rank - 1]
    if is_half and inverse:
        matrix = real_waves(n, length)
        matrix = matrix if parts == 2 else matrix[:, :1]
    else:
        matrix = waves(n, length, parts, bins, 1.0 if inverse else -1.0)
        matrix = matrix / length if inverse else matrix
    found = transformed(b, b.permute(rows, order), matrix)
    return b.permute(found, [order.index(i) for i in range(x.rank)])


def stft(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower STFT: gather the frames and transform each; a constant window is part of the matrix."""
    x, window = one(given), optional(given, 2)
    (step,) = integers(b, one(given, 1), "frame_step")
    named = optional(given, 3)
    if named is None and window is None:
        raise b.refusal("has neither a window nor a frame_length", "add a frame_length")
    length = window.shape[0] if named is None and window else integers(b, named, "frame_length")[0]
    check_shape(b, window, (length,), "window")
    batch, size = x.shape[:2]
    x = b.reshape(x, (batch, size, x.shape[2] if x.rank > 2 else 1))
    if step < 1 or not 1 <= length <= size:
        raise b.refusal(
            f"has frame_step={step} and frame_length={length} for a signal of {size} elements",
            f"give a frame_step of 1 or more, and a frame_length of 1 to {size}",
        )
    frames, bins = b.result.shape[1:3]
    b.check_table(frames * length)
    places = np.arange(frames)[:, None] * step + np.arange(length)
    parts = x.shape[-1]
    rows = b.reshape(at_places(b, x, 1, places.reshape(-1)), (batch, frames, length, parts))
    matrix = waves(length, length, parts, bins, -1.0)
    if window is not None:
        known = b.array(window)
        if known is not None:
            matrix = matrix * known.astype(np.float64)[:, None, None, None]
        else:
            factor = b.reshape(window, (length, 1))
            rows = b.formula(b.call("mul", rows, factor), rows.shape, rows.dtype)
    return transformed(b, rows, matrix)


def col2im(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Col2Im: axis by axis, gather the block elements of each image element, and add them."""
    x = one(given)
    image, block = (integers(b, one(given, i), what) for i, what in ((1, "shape"), (2, "block")))
    rank = len(image)
    steps = tuple(node.attribute("strides", (1,) * rank))
    apart = tuple(node.attribute("dilations", (1,) * rank))
    pads = tuple(node.attribute("pads", (0,) * 2 * rank))
    if not len(block) == len(steps) == len(apart) == rank or len(pads) != 2 * rank:
        raise b.refusal(
            f"has block_shape with {len(block)}, strides with {len(steps)}, dilations with "
            f"{len(apart)} and pads with {len(pads)} numbers for {rank} axes",
            f"give {2 * rank} pads, and {rank} of the others",
        )
    counts = [
        (n + pads[i] + pads[rank + i] - apart[i] * (block[i] - 1) - 1) // steps[i] + 1
        for i, n in enumerate(image)
    ]
    channels = x.shape[1] // math.prod(block)
    if x.shape[1:] != (channels * math.prod(block), math.prod(counts)):
        raise b.refusal(
            f"has an input of shape {by_x(x.shape)}; blocks of {by_x(block)} at "
            f"{by_x(tuple(counts))} positions require {math.prod(counts)} columns and a multiple "
            f"of {math.prod(block)} rows",
            CHANGE_MODEL,
        )
    found = b.reshape(x, (x.shape[0], channels, *block, *counts))
    for i, n in enumerate(image):
        # After batch and channels come the remaining block axes, the remaining axes of block
        # positions, and the image axes so far.
        left = rank - i
        order = [0, 1, *range(3, 2 + left), *range(3 + left, found.rank), 2, 2 + left]
        rows = b.permute(found, order)
        shape = rows.shape[:-2]
        # The block that covers an image element, for each position in the block. Where there is
        # none, the index is past the end, and the gather reads zero.
        seen = np.arange(n)[:, None] + pads[i] - np.arange(block[i]) * apart[i]
        at, left_over = np.divmod(seen, steps[i])
        is_seen = (left_over == 0) & (at >= 0) & (at < counts[i])
        size = block[i] * counts[i]
        table = np.where(is_seen, at + np.arange(block[i]) * counts[i], size)
        b.check_table(table.size)
        index = b.made("places", table.reshape(-1).astype(np.int32), DType.S32)
        flat = b.reshape(rows, (*shape, size))
        each = view("gather", (b.tensor(flat), b.tensor(index), len(shape)))
        line = b.formula(each, (*shape, table.size), x.dtype)
        apiece = b.reshape(line, (*shape, *table.shape))
        total = b.formula(b.call("sum", apiece), (*shape, n, 1), x.dtype, (len(shape) + 1,))
        found = b.reshape(total, (*shape, n))
    return b.reshape(found, b.result.shape)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="DFT", family="product", becomes="matmul", lower=dft,
        unsupported="axis and dft_length from data",
    ),
    Operator(
        name="STFT", family="product", becomes="gather, matmul", lower=stft,
        unsupported="frame_step and frame_length from data",
    ),
    Operator(
        name="Col2Im", family="row-wise", becomes="gather, sum", lower=col2im,
        unsupported="image_shape and block_shape from data",
    ),
)  # fmt: skip
