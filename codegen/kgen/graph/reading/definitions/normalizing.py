"""Reference definitions of normalizations (BatchNormalization, Softmax, LRN, ...)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

from kgen.graph.reading.definitions.opsets import opset_of

Array = npt.NDArray[Any]


class BatchNormalization(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, scale: Array, shift: Array, mean: Array, variance: Array,
        epsilon: Any = None, training_mode: Any = None, **attributes: Any,
    ) -> tuple[Array]:  # fmt: skip
        if training_mode:
            if len(self.onnx_node.output) > 1:
                raise NotImplementedError("running statistics of a batch")
            axes = tuple(axis for axis in range(x.ndim) if axis != 1)
            mean, variance = x.mean(axis=axes), x.var(axis=axes)
        by_channel = [v.reshape(-1, *(1,) * (x.ndim - 2)) for v in (scale, shift, mean, variance)]
        scale, shift, mean, variance = by_channel
        return ((x - mean) / np.sqrt(variance + np.asarray(epsilon, x.dtype)) * scale + shift,)


def joined_axes(run: OpRun, x: Array) -> tuple[int, ...]:
    """Return the axes of a Softmax or Hardmax: one, by default the last.

    Before opset 13 they are `axis` and all axes after it, by default all but the first.
    """
    named = next((a.i for a in run.onnx_node.attribute if a.name == "axis"), None)
    if opset_of(run) < 13:
        return tuple(range((1 if named is None else named) % x.ndim, x.ndim))
    return ((-1 if named is None else named) % x.ndim,)


def shifted(run: OpRun, x: Array) -> tuple[Array, tuple[int, ...]]:
    """Return a Softmax's input less its maximum, and the axes of the maximum."""
    axes = joined_axes(run, x)
    return x - x.max(axis=axes, keepdims=True), axes


class Softmax(OpRun):  # type: ignore[misc]
    def _run(self, x: Array, **attributes: Any) -> tuple[Array]:
        below, axes = shifted(self, x)
        powers = np.exp(below)
        return ((powers / powers.sum(axis=axes, keepdims=True)).astype(x.dtype),)


class LogSoftmax(OpRun):  # type: ignore[misc]
    def _run(self, x: Array, **attributes: Any) -> tuple[Array]:
        below, axes = shifted(self, x)
        total = np.exp(below).sum(axis=axes, keepdims=True)
        return ((below - np.log(total)).astype(x.dtype),)


class Hardmax(OpRun):  # type: ignore[misc]
    """Rows over the joined axes with a one at the first largest element and zeros elsewhere."""

    def _run(self, x: Array, **attributes: Any) -> tuple[Array]:
        axes = joined_axes(self, x)
        last = tuple(range(x.ndim - len(axes), x.ndim))
        moved = np.moveaxis(x, axes, last)
        rows = moved.reshape(*moved.shape[: last[0]], -1)
        found = np.zeros_like(rows)
        np.put_along_axis(found, rows.argmax(-1)[..., None], 1, -1)
        return (np.moveaxis(found.reshape(moved.shape), last, axes),)


class LpNormalization(OpRun):  # type: ignore[misc]
    """Elements divided by the norm of their row; zeros if the norm is zero."""

    def _run(self, x: Array, axis: Any = None, p: Any = None) -> tuple[Array]:
        p, axis = 2 if p is None else p, -1 if axis is None else axis
        norm = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.where(norm == 0, 0, x / norm).astype(x.dtype),)


class LRN(OpRun):  # type: ignore[misc]
    """Elements divided by a power of the sum of squares of `size` neighbouring channels."""

    def _run(
        self, x: Array, alpha: Any = None, beta: Any = None, bias: Any = None, size: Any = None
    ) -> tuple[Array]:
        squares, total = x * x, np.empty_like(x)
        before, behind = (size - 1) // 2, size // 2
        for c in range(x.shape[1]):
            total[:, c] = squares[:, max(c - before, 0) : c + behind + 1].sum(1)
        return ((x / (float(bias) + float(alpha) / size * total) ** float(beta)).astype(x.dtype),)


class MeanVarianceNormalization(OpRun):  # type: ignore[misc]
    """Distances from the mean, divided by the standard deviation, in the input's precision."""

    def _run(self, x: Array, axes: Any = None) -> tuple[Array]:
        over = tuple((0, 2, 3) if axes is None else axes)
        mean = x.mean(axis=over, keepdims=True)
        deviation = np.sqrt(((x - mean) ** 2).mean(axis=over, keepdims=True))
        return (((x - mean) / (deviation + 1e-9)).astype(x.dtype),)
