"""Definitions of operators whose reference in onnx is wrong, slow or incomplete.

Written from the operators' specification, in the precision of their inputs; nothing here is shared
with the kernels. The import folds constants by some of them, so that what a model is verified
against and what it becomes agree. onnx's own takes the batch's statistics for a BatchNormalization
before opset 14, one axis alone for a Softmax before opset 13, the last axis for the slope of a
PRelu before opset 7, no attributes for operands that broadcast before opset 7, and a part of an
element for one between aligned corners; makes one maximum of all channels (GlobalMaxPool), pads the
wrong side (auto_pad=SAME_LOWER of poolings), has no DequantizeLinear before opset 19, no groups of
transposed convolutions, one direction and the usual functions of recurrent layers, and resizes
pixel by pixel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_add import Add
from onnx.reference.ops.op_and import And
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_23 as OnnxDequantizeLinear
from onnx.reference.ops.op_div import Div
from onnx.reference.ops.op_equal import Equal
from onnx.reference.ops.op_greater import Greater
from onnx.reference.ops.op_less import Less
from onnx.reference.ops.op_mul import Mul
from onnx.reference.ops.op_or import Or
from onnx.reference.ops.op_pad import Pad_18 as OnnxPad
from onnx.reference.ops.op_pow import Pow
from onnx.reference.ops.op_resize import Resize as OnnxResize
from onnx.reference.ops.op_sub import Sub
from onnx.reference.ops.op_upsample import Upsample as OnnxUpsample
from onnx.reference.ops.op_xor import Xor

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
    """The tensor with a value around it, how much of it is in front, and how many windows fit."""
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
                # A window begins in the tensor or in front of it.
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
    """Channels, windows and places of a padded tensor, without a copy."""
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
    """Sums in which each product is rounded in after the other: what f32 costs who does it plainly,
    and not by way of a library that sums in parts."""
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
        first = seen.reshape(*found.shape, -1).argmax(-1)
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
        # Places that count: those of the tensor, or with the node's pads, but not those that the
        # last window reaches beyond them.
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


class BatchNormalization(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, scale: Array, shift: Array, mean: Array, variance: Array,
        epsilon: Any = None, training_mode: Any = None, **attributes: Any,
    ) -> tuple[Array]:  # fmt: skip
        if training_mode:
            raise NotImplementedError("statistics of a batch")
        by_channel = [v.reshape(-1, *(1,) * (x.ndim - 2)) for v in (scale, shift, mean, variance)]
        scale, shift, mean, variance = by_channel
        return ((x - mean) / np.sqrt(variance + np.asarray(epsilon, x.dtype)) * scale + shift,)


class DequantizeLinear(OnnxDequantizeLinear):  # type: ignore[misc]
    """onnx's own, which it does not have before opset 19."""


class GlobalMaxPool(OpRun):  # type: ignore[misc]
    def _run(self, x: Array) -> tuple[Array]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class GatherElements(OpRun):  # type: ignore[misc]
    def _run(self, x: Array, places: Array, axis: Any = None) -> tuple[Array]:
        # Places select along one axis, and may be fewer than x has along the others.
        axis = (axis or 0) % x.ndim
        others = tuple(slice(n) for n in places.shape)
        part = x[(*others[:axis], slice(None), *others[axis + 1 :])]
        return (np.take_along_axis(part, places.astype(np.int64), axis),)


def opset_of(run: OpRun) -> int:
    """The version of ONNX's operators that a model takes."""
    opsets = run.run_params["opsets"]
    return int(opsets.get("", opsets.get("ai.onnx", 1)))


class PRelu(OpRun):  # type: ignore[misc]
    """Before opset 7 a slope of one axis is one number for each channel, or for all."""

    def _run(self, x: Array, slope: Array) -> tuple[Array]:
        if opset_of(self) < 7 and slope.size > 1:
            slope = slope.reshape(-1, *(1,) * (x.ndim - 2))
        return (np.where(x < 0, x * slope, x).astype(x.dtype),)


def by_attributes(base: type[OpRun]) -> type[OpRun]:
    """An operator whose second operand's axes are those of the first from `axis` on before opset 7;
    onnx's own takes no attributes."""

    def _run(self: OpRun, a: Array, b: Array, **attributes: Any) -> tuple[Array]:
        axis = next((at.i for at in self.onnx_node.attribute if at.name == "axis"), None)
        if axis is not None and b.size > 1:
            b = b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))
        return base._run(self, a, b)  # type: ignore[no-any-return]

    return type(base.__name__.split("_")[0], (base,), {"_run": _run})


#: Operators of two operands that broadcast by attributes before opset 7.
BY_ATTRIBUTES = tuple(
    by_attributes(base) for base in (Add, And, Div, Equal, Greater, Less, Mul, Or, Pow, Sub, Xor)
)


def shifted(run: OpRun, x: Array) -> tuple[Array, tuple[int, ...]]:
    """Shifted input of a Softmax, and its axes.

    Before opset 13 these are all axes from one on, by default the second.
    """
    named = next((a.i for a in run.onnx_node.attribute if a.name == "axis"), None)
    if opset_of(run) < 13:
        axes = tuple(range((1 if named is None else named) % x.ndim, x.ndim))
    else:
        axes = ((-1 if named is None else named) % x.ndim,)
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


class Pad(OnnxPad):  # type: ignore[misc]
    """Pads below zero, and those of attributes before opset 11; else onnx's own."""

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


class Resize(OnnxResize):  # type: ignore[misc]
    """Resize to nearest elements by whole factors; otherwise onnx's Resize, which gets the number
    of elements between aligned corners."""

    def _run(self, x: Array, *given: Any, **attributes: Any) -> tuple[Array]:
        scales = given[1] if len(given) > 1 else None
        plain = (
            attributes.get("mode") == "nearest"
            and attributes.get("coordinate_transformation_mode") == "asymmetric"
            and attributes.get("nearest_mode") == "floor"
            and scales is not None
            and len(scales) == x.ndim
            and all(float(s) == int(s) >= 1 for s in scales)
        )
        if not plain or scales is None:
            aligns = attributes.get("coordinate_transformation_mode") == "align_corners"
            if aligns and scales is not None and len(scales):
                axes = attributes.get("axes") or range(x.ndim)
                lengths = np.array([x.shape[axis] for axis in axes])
                given = (given[0], None, np.floor(scales * lengths).astype(np.int64))
                attributes |= {"keep_aspect_ratio_policy": "stretch"}
            return super()._run(x, *given, **attributes)  # type: ignore[no-any-return]
        for axis, scale in enumerate(scales):
            x = x.repeat(int(scale), axis)
        return (x,)


class Upsample(OnnxUpsample):  # type: ignore[misc]
    """onnx's own, with the scales of an attribute too, as before opset 9."""

    def _run(self, x: Array, *given: Any, scales: Any = None, mode: Any = None) -> tuple[Array]:
        given = given if scales is None else (np.asarray(scales, np.float32),)
        return super()._run(x, *given, mode=mode or "nearest")  # type: ignore[no-any-return]


class Dropout(OpRun):  # type: ignore[misc]
    """Dropout in inference, which onnx's own does not have before opset 7."""

    def _run(
        self, x: Array, ratio: Any = None, training_mode: Any = None, **attributes: Any
    ) -> tuple[Array, ...]:
        if training_mode is not None and np.any(training_mode):
            raise NotImplementedError("training mode")
        return (x, np.ones(x.shape, np.bool_))[: len(self.onnx_node.output)]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


#: What recurrent layers may name in place of their own functions.
ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
}


def activations_of(
    attributes: Mapping[str, Any], way: int, defaults: Sequence[str]
) -> list[Callable[[Array], Array]]:
    """The functions of one direction of a recurrent layer."""
    names = attributes.get("activations") or [*defaults, *defaults]
    return [ACTIVATIONS[name] for name in names[way * len(defaults) :][: len(defaults)]]


#: Of one direction: what comes, and the states, make the next states.
Step = Callable[..., tuple[Array, ...]]


def over_time(
    x: Array,
    r: Array,
    first: Sequence[Array | None],
    attributes: Mapping[str, Any],
    step_of: Callable[[int], Step],
) -> tuple[Array, ...]:
    """Outputs of a recurrent layer: its first state at each time, and its last states.

    It begins with `first`, or zeros. `step_of` gives the step of a direction.
    """
    time, batch, _ = x.shape
    count, _, units = r.shape
    out = np.empty((time, count, batch, units), x.dtype)
    last = np.empty((len(first), count, batch, units), x.dtype)
    for way in range(count):
        step = step_of(way)
        states = tuple(np.zeros((batch, units), x.dtype) if s is None else s[way] for s in first)
        reverse = attributes.get("direction") == "reverse" or way == 1
        for t in range(time - 1, -1, -1) if reverse else range(time):
            states = step(x[t], *states)
            out[t, way] = states[0]
        last[:, way] = states
    return out, *last


class LSTM(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, r: Array, bias: Array | None = None, lengths: Any = None,
        h0: Array | None = None, c0: Array | None = None, peep: Array | None = None,
        **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        units = r.shape[-1]

        def step_of(way: int) -> Step:
            p = np.zeros(3 * units, x.dtype) if peep is None else peep[way]
            pi, po, pf = np.split(p, 3)
            sums = np.zeros(8 * units, x.dtype) if bias is None else bias[way]
            gate, candidate, squash = activations_of(attributes, way, ("Sigmoid", "Tanh", "Tanh"))

            def step(x: Array, h: Array, c: Array) -> tuple[Array, Array]:
                gates = x @ w[way].T + h @ r[way].T + sums[: 4 * units] + sums[4 * units :]
                i, o, f, g = np.split(gates, 4, axis=-1)
                i, f = gate(i + pi * c), gate(f + pf * c)
                c = f * c + i * candidate(g)
                return gate(o + po * c) * squash(c), c

            return step

        return over_time(x, r, (h0, c0), attributes, step_of)


class GRU(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, r: Array, bias: Array | None = None, lengths: Any = None,
        h0: Array | None = None, **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        units = r.shape[-1]

        def step_of(way: int) -> Step:
            sums = np.zeros(6 * units, x.dtype) if bias is None else bias[way]
            bz, br, bn, cz, cr, cn = np.split(sums, 6)
            wz, wr, wn = np.split(w[way], 3)
            rz, rr, rn = np.split(r[way], 3)
            gate, candidate = activations_of(attributes, way, ("Sigmoid", "Tanh"))

            def step(x: Array, h: Array) -> tuple[Array]:
                z = gate(x @ wz.T + h @ rz.T + bz + cz)
                reset = gate(x @ wr.T + h @ rr.T + br + cr)
                if attributes.get("linear_before_reset"):
                    inner = reset * (h @ rn.T + cn)
                else:
                    inner = (reset * h) @ rn.T + cn
                return ((1 - z) * candidate(x @ wn.T + bn + inner) + z * h,)

            return step

        return over_time(x, r, (h0,), attributes, step_of)


class RNN(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, r: Array, bias: Array | None = None, lengths: Any = None,
        h0: Array | None = None, **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        units = r.shape[-1]

        def step_of(way: int) -> Step:
            sums = np.zeros(2 * units, x.dtype) if bias is None else bias[way]
            (function,) = activations_of(attributes, way, ("Tanh",))

            def step(x: Array, h: Array) -> tuple[Array]:
                return (function(x @ w[way].T + h @ r[way].T + sums[:units] + sums[units:]),)

            return step

        return over_time(x, r, (h0,), attributes, step_of)


OPERATORS = (
    Conv,
    ConvTranspose,
    MaxPool,
    AveragePool,
    BatchNormalization,
    DequantizeLinear,
    GatherElements,
    GlobalMaxPool,
    LogSoftmax,
    PRelu,
    Softmax,
    Pad,
    Resize,
    Upsample,
    Dropout,
    LSTM,
    GRU,
    RNN,
    *BY_ATTRIBUTES,
)
#: Those that constants are folded by: every use of the operator is theirs, or raises an error.
FOLDED = (
    MaxPool,
    AveragePool,
    BatchNormalization,
    DequantizeLinear,
    GatherElements,
    GlobalMaxPool,
    LogSoftmax,
    PRelu,
    Softmax,
    Pad,
    Resize,
    Upsample,
    Dropout,
    *BY_ATTRIBUTES,
)
