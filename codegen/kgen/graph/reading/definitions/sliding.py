"""Reference definitions of convolutions and poolings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]


def around(
    x: Array,
    sizes: Sequence[int],
    steps: Sequence[int],
    apart: Sequence[int],
    pads: Sequence[int],
    how: str,
    ceil: bool,
    value: float,
) -> tuple[Array, list[int], list[int]]:
    """Pad x with a value; return it with the leading padding and the number of windows per axis."""
    rank, before, after, counts = len(sizes), [], [], []
    for i in range(rank):
        n, reach = x.shape[2 + i], (sizes[i] - 1) * apart[i] + 1
        if how in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-n // steps[i])
            total = max((count - 1) * steps[i] + reach - n, 0)
            front = total // 2 if how == "SAME_UPPER" else total - total // 2
            back = total - front
        else:
            front, back = (0, 0) if how == "VALID" else (pads[i], pads[rank + i])
            room = n + front + back - reach
            count = (math.ceil(room / steps[i]) if ceil else room // steps[i]) + 1
            if ceil and (count - 1) * steps[i] >= n + front:
                # Drop a window that would begin in the trailing padding.
                count -= 1
            back = max(back, (count - 1) * steps[i] + reach - n - front)
        before.append(front)
        after.append(back)
        counts.append(count)
    padded = np.pad(x, ((0, 0), (0, 0), *zip(before, after, strict=True)), constant_values=value)
    return padded, before, counts


def windows(
    x: Array,
    sizes: Sequence[int],
    steps: Sequence[int],
    apart: Sequence[int],
    counts: Sequence[int],
) -> Array:
    """View a padded tensor as (image, channel, windows..., places...), without a copy."""
    outer, inner = x.strides[:2], x.strides[2:]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *counts, *sizes),
        (
            *outer,
            *(s * t for s, t in zip(inner, steps, strict=True)),
            *(s * d for s, d in zip(inner, apart, strict=True)),
        ),
        writeable=False,
    )


def one_by_one(seen: Array, weights: Array) -> Array:
    """Return convolution sums that add one product after another.

    Their error is that of plain f32 code; partial sums in a library have a smaller error.
    """
    rank = weights.ndim - 2
    found = np.zeros((seen.shape[0], *seen.shape[2 : 2 + rank], weights.shape[0]), seen.dtype)
    for channel in range(weights.shape[1]):
        for at in np.ndindex(*weights.shape[2:]):
            part = seen[(slice(None), channel, *(slice(None),) * rank, *at)]
            found += part[..., None] * weights[(slice(None), channel, *at)]
    return found


class Conv(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, bias: Array | None = None, auto_pad: Any = None,
        dilations: Any = None, group: Any = None, kernel_shape: Any = None, pads: Any = None,
        strides: Any = None,
    ) -> tuple[Array]:  # fmt: skip
        rank, groups = w.ndim - 2, group or 1
        steps, apart = strides or [1] * rank, dilations or [1] * rank
        padded, _, counts = around(
            x, w.shape[2:], steps, apart, pads or [0] * 2 * rank, auto_pad or "NOTSET", False, 0.0
        )
        found = np.empty((x.shape[0], w.shape[0], *counts), x.dtype)
        depth, outputs = w.shape[1], w.shape[0] // groups
        seen = windows(padded, w.shape[2:], steps, apart, counts)
        own = range(2 + rank, 2 + 2 * rank)
        for g in range(groups):
            part = seen[:, g * depth : (g + 1) * depth]
            weights = w[g * outputs : (g + 1) * outputs]
            if x.dtype == np.float32:
                made = one_by_one(part, weights)
            else:
                made = np.tensordot(part, weights, ((1, *own), range(1, 2 + rank)))
            found[:, g * outputs : (g + 1) * outputs] = np.moveaxis(made, -1, 1)
        if bias is not None:
            found += bias.reshape(-1, *(1,) * rank)
        return (found,)


def less_zero(x: Array, zero: Array | None) -> Array:
    """Return numbers minus their zero point, as s64. `zero` has one element, or one per element of
    the first axis."""
    if zero is None:
        return x.astype(np.int64)
    return np.asarray(x.astype(np.int64) - zero.reshape(-1, *(1,) * (x.ndim - 1)))


class ConvInteger(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, x_zero: Array | None = None, w_zero: Array | None = None,
        **attributes: Any,
    ) -> tuple[Array]:  # fmt: skip
        (found,) = Conv._run(self, less_zero(x, x_zero), less_zero(w, w_zero), **attributes)
        return (found.astype(np.int32),)


class QLinearConv(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, x_scale: Array, x_zero: Array, w: Array, w_scale: Array, w_zero: Array,
        y_scale: Array, y_zero: Array, bias: Array | None = None, **attributes: Any,
    ) -> tuple[Array]:  # fmt: skip
        pair = less_zero(x, x_zero), less_zero(w, w_zero)
        (found,) = Conv._run(self, *pair, bias, **attributes)
        scale = x_scale.reshape(-1) * w_scale.reshape(-1) / y_scale.reshape(-1)
        wide = np.rint(found * scale.reshape(-1, *(1,) * (x.ndim - 2))) + y_zero.reshape(())
        limits = np.iinfo(y_zero.dtype)
        return (np.clip(wide, limits.min, limits.max).astype(y_zero.dtype),)


def pads_to(sizes: Sequence[int], wanted: Sequence[int], is_upper: bool) -> list[int]:
    """Return the elements to cut at the start and end of each axis.

    An odd element is cut at the end if `is_upper`.
    """
    more = [max(0, n - m) for n, m in zip(sizes, wanted, strict=True)]
    first = [n // 2 if is_upper else n - n // 2 for n in more]
    return [*first, *(n - m for n, m in zip(more, first, strict=True))]


class ConvTranspose(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, bias: Array | None = None, auto_pad: Any = None,
        dilations: Any = None, group: Any = None, kernel_shape: Any = None,
        output_padding: Any = None, output_shape: Any = None, pads: Any = None, strides: Any = None,
    ) -> tuple[Array]:  # fmt: skip
        rank, groups = w.ndim - 2, group or 1
        steps, apart = strides or [1] * rank, dilations or [1] * rank
        pads, extra = pads or [0] * 2 * rank, output_padding or [0] * rank
        sizes = [
            (n - 1) * s + (k - 1) * d + 1 + e
            for n, s, k, d, e in zip(x.shape[2:], steps, w.shape[2:], apart, extra, strict=True)
        ]
        if output_shape or (auto_pad or "").startswith("SAME"):
            wanted = output_shape or [n * s for n, s in zip(x.shape[2:], steps, strict=True)]
            pads = pads_to(sizes, wanted, auto_pad == "SAME_UPPER")
            sizes = [max(pair) for pair in zip(sizes, wanted, strict=True)]
        depth, outputs = x.shape[1] // groups, w.shape[1]
        found = np.zeros((x.shape[0], groups * outputs, *sizes), x.dtype)
        for at in np.ndindex(*w.shape[2:]):
            place = tuple(
                slice(p * d, p * d + (n - 1) * s + 1, s)
                for p, d, n, s in zip(at, apart, x.shape[2:], steps, strict=True)
            )
            for g in range(groups):
                part = x[:, g * depth : (g + 1) * depth]
                weights = w[(slice(g * depth, (g + 1) * depth), slice(None), *at)]
                made = np.moveaxis(np.tensordot(part, weights, ((1,), (0,))), -1, 1)
                found[(slice(None), slice(g * outputs, (g + 1) * outputs), *place)] += made
        cut = tuple(slice(pads[i], n - pads[rank + i]) for i, n in enumerate(sizes))
        found = found[(slice(None), slice(None), *cut)]
        return (found if bias is None else found + bias.reshape(-1, *(1,) * rank),)


class MaxPool(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, auto_pad: Any = None, ceil_mode: Any = None, dilations: Any = None,
        kernel_shape: Any = None, pads: Any = None, storage_order: Any = None, strides: Any = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        rank = len(kernel_shape)
        steps, apart = strides or [1] * rank, dilations or [1] * rank
        least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        padded, before, counts = around(
            x, kernel_shape, steps, apart, pads or [0] * 2 * rank, auto_pad or "NOTSET",
            bool(ceil_mode), least,
        )  # fmt: skip
        seen = windows(padded, kernel_shape, steps, apart, counts)
        found = seen.max(axis=tuple(range(2 + rank, 2 + 2 * rank)))
        if len(self.onnx_node.output) < 2:
            return (found,)
        # The index must point into the tensor, even if all elements of a window equal the padding.
        inside, _, _ = around(
            np.ones((1, 1, *x.shape[2:]), bool), kernel_shape, steps, apart, pads or [0] * 2 * rank,
            auto_pad or "NOTSET", bool(ceil_mode), 0,
        )  # fmt: skip
        at = windows(inside, kernel_shape, steps, apart, counts)
        largest = found.reshape(*found.shape, *(1,) * rank)
        is_first = at & ((seen == largest) | (seen != seen))
        first = is_first.reshape(*found.shape, -1).argmax(-1)
        sizes, within = x.shape[2:], np.unravel_index(first, tuple(kernel_shape))
        number = np.zeros(found.shape, np.int64)
        for i, place in enumerate(within):
            start = np.arange(counts[i]) * steps[i] - before[i]
            column = start.reshape([-1 if j == i else 1 for j in range(rank)])
            step = math.prod(sizes[:i] if storage_order else sizes[i + 1 :])
            number += (column + place * apart[i]) * step
        images = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *(1,) * rank)
        return found, number + images * math.prod(sizes)


class AveragePool(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, auto_pad: Any = None, ceil_mode: Any = None, count_include_pad: Any = None,
        dilations: Any = None, kernel_shape: Any = None, pads: Any = None, strides: Any = None,
    ) -> tuple[Array]:  # fmt: skip
        rank = len(kernel_shape)
        steps, apart = strides or [1] * rank, dilations or [1] * rank
        given, how = pads or [0] * 2 * rank, auto_pad or "NOTSET"
        padded, before, counts = around(
            x, kernel_shape, steps, apart, given, how, bool(ceil_mode), 0.0
        )
        # Count the tensor's elements and, with count_include_pad, the node's pads. Positions that
        # the last window covers beyond the pads do not count.
        counted = np.zeros((1, 1, *padded.shape[2:]), x.dtype)
        ends = [front + n for front, n in zip(before, x.shape[2:], strict=True)]
        inside = [slice(front, end) for front, end in zip(before, ends, strict=True)]
        if count_include_pad and how == "NOTSET":
            inside = [slice(end + given[rank + i]) for i, end in enumerate(ends)]
        elif count_include_pad:
            inside = [slice(None)] * rank
        counted[(slice(None), slice(None), *inside)] = 1
        own = tuple(range(2 + rank, 2 + 2 * rank))
        total, count = (
            windows(tensor, kernel_shape, steps, apart, counts).sum(axis=own)
            for tensor in (padded, counted)
        )
        return (total / count,)


class LpPool(OpRun):  # type: ignore[misc]
    """Norm of each window of a tensor padded with zeros."""

    def _run(
        self, x: Array, auto_pad: Any = None, ceil_mode: Any = None, dilations: Any = None,
        kernel_shape: Any = None, p: Any = None, pads: Any = None, strides: Any = None,
    ) -> tuple[Array]:  # fmt: skip
        rank, p = len(kernel_shape), 2 if p is None else p
        steps, apart = strides or [1] * rank, dilations or [1] * rank
        padded, _, counts = around(
            np.abs(x) ** p, kernel_shape, steps, apart, pads or [0] * 2 * rank,
            auto_pad or "NOTSET", bool(ceil_mode), 0.0,
        )  # fmt: skip
        seen = windows(padded, kernel_shape, steps, apart, counts)
        total = seen.sum(axis=tuple(range(2 + rank, 2 + 2 * rank)))
        return ((total ** (1 / p)).astype(x.dtype),)


class GlobalLpPool(OpRun):  # type: ignore[misc]
    def _run(self, x: Array, p: Any = None) -> tuple[Array]:
        p = 2 if p is None else p
        total = (np.abs(x) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
        return ((total ** (1 / p)).astype(x.dtype),)


class GlobalMaxPool(OpRun):  # type: ignore[misc]
    def _run(self, x: Array) -> tuple[Array]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)
