"""Reference definitions of operators that select, place or pad elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_pad import Pad_18 as OnnxPad

Array = npt.NDArray[Any]


class GatherElements(OpRun):  # type: ignore[misc]
    def _run(self, x: Array, places: Array, axis: Any = None) -> tuple[Array]:
        # Indices select along one axis; along the others they may have fewer elements than x.
        axis = (axis or 0) % x.ndim
        others = tuple(slice(n) for n in places.shape)
        part = x[(*others[:axis], slice(None), *others[axis + 1 :])]
        return (np.take_along_axis(part, places.astype(np.int64), axis),)


class OneHot(OpRun):  # type: ignore[misc]
    def _run(self, index: Array, depth: Array, values: Array, axis: Any = None) -> tuple[Array]:
        n = int(np.reshape(depth, ()))
        at = np.trunc(index).astype(np.int64)
        is_hot = np.where(at < 0, at + n, at)[..., None] == np.arange(n)
        found = np.where(is_hot, values[1], values[0])
        return (np.moveaxis(found, -1, -1 if axis is None else axis),)


class SequenceInsert(OpRun):  # type: ignore[misc]
    """Insertion at a position from 0 to the number of tensors. onnx's definition inserts in front
    if the position is that number."""

    def _run(self, tensors: list[Array], new: Array, place: Any = None) -> tuple[list[Array]]:
        at = len(tensors) if place is None else int(np.reshape(place, ()))
        at = at + len(tensors) if at < 0 else at
        return ([*tensors[:at], new, *tensors[at:]],)


class Scatter(OpRun):  # type: ignore[misc]
    """ScatterElements without a reduction, which was called Scatter before opset 11."""

    def _run(self, x: Array, index: Array, rows: Array, axis: Any = None) -> tuple[Array]:
        places: list[Any] = list(np.indices(index.shape))
        places[axis or 0] = index
        found = x.copy()
        found[tuple(places)] = rows
        return (found,)


class Pad(OnnxPad):  # type: ignore[misc]
    """onnx's Pad, with negative pads and, as before opset 11, pads as an attribute."""

    def _run(
        self, x: Array, *given: Any, pads: Any = None, value: float = 0.0, **attributes: Any
    ) -> tuple[Array]:
        if pads is not None:
            given = (np.asarray(pads, np.int64), np.asarray(value, x.dtype))
        pads = given[0] if given else None
        if pads is None or len(given) > 2 or min(pads) >= 0:
            return super()._run(x, *given, **attributes)  # type: ignore[no-any-return]
        sides = np.reshape(pads, (2, -1)).T
        cut = tuple(
            slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, sides, strict=True)
        )
        return super()._run(  # type: ignore[no-any-return]
            x[cut], np.maximum(pads, 0), *given[1:], **attributes
        )
