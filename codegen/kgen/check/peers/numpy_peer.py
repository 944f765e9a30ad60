"""numpy peer: products by its BLAS (usually OpenBLAS), other operations by its own loops."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kgen.check.oracle import operations as oracle
from kgen.check.oracle import transformed_sums, window_products
from kgen.check.oracle.attention_bounds import heads_first
from kgen.check.oracle.elementwise import Arrays
from kgen.check.oracle.rowwise import FOLDS
from kgen.check.oracle.views import split, viewed
from kgen.check.peers.peer import (
    Array,
    Peer,
    aligned,
    check_has_no_pages,
    check_last_axes,
    first,
    score_bias,
    values,
)
from kgen.check.tensors import Bytes
from kgen.errors import DeviceError
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.evaluators import Evaluator, RowEvaluator
from kgen_runtime.expressions.views import TENSORS
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.reference.winograd_weights import winograd_tile

#: Functions that numpy computes in one call into an existing array.
INTO: Mapping[str, Callable[[Array, Array], object]] = {
    "abs": lambda x, out: np.abs(x, out=out),
    "neg": lambda x, out: np.negative(x, out=out),
    "relu": lambda x, out: np.maximum(x, 0, out=out),
}


def numpy_peer(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    if device.kind == "gpu":
        raise DeviceError(f"numpy does not run on {device.id}; try against=torch")
    # numpy's matmul is fast for f32 and f64 only, so widen narrower types beforehand.
    wide = np.float64 if entry.parameters[0].dtype is DType.F64 else np.float32
    x = {p.name: aligned(values(buffers, p).astype(wide)) for p in entry.inputs}
    name = "numpy" if entry.parameters[0].dtype.itemsize >= 4 else "numpy (f32)"
    return Peer(name=name, run=_operation(entry, x))


def _operation(entry: KernelEntry, x: Mapping[str, Array]) -> Callable[[], object]:
    spec = entry.spec
    if spec["op"] == "elementwise":
        return _elementwise(entry, x)
    if spec["op"] == "rowwise":
        return _rowwise(entry, x)
    if spec["op"] == "conv2d":
        return _conv2d(entry, x)
    if spec["op"] == "attention":
        return _attention(entry, x)
    a = x["a"].swapaxes(-1, -2) if spec["layout"][0] == "t" else x["a"]
    b = x["b"].swapaxes(-1, -2) if spec["layout"][1] == "t" else x["b"]

    out = aligned(np.matmul(a, b))
    epilogue, arrays = oracle.tree(spec["epilogue"]), Arrays()
    _check_erf(spec["epilogue"])

    def matmul() -> Array:
        y: Array = np.matmul(a, b, out=out)
        if spec["alpha"] != 1.0:
            y *= spec["alpha"]
        for name in ("scale_a", "scale_b"):
            y *= x.get(name, 1.0)
        if spec["beta"] != 0.0:
            y += spec["beta"] * x["c"]
        if spec["epilogue"] != "x":
            with np.errstate(all="ignore"):
                y = _Steps({**x, "x": y}, arrays).value(epilogue)
        return y * x["scale_out"] if "scale_out" in x else y

    return matmul


def _conv2d(entry: KernelEntry, x: Mapping[str, Array]) -> Callable[[], object]:
    """Return a convolution: windows copied to rows (im2col), times the weights."""
    spec = entry.spec
    groups, rank = spec["groups"], len(spec["stride"])
    images = x["a"] if spec["layout"] == "nhwc" else np.moveaxis(x["a"], 1, -1)
    pads = zip(spec["padding"][:rank], spec["padding"][rank:], strict=True)
    value = spec.get("padding_value", 0)
    value = x[value][0] if isinstance(value, str) else value
    padded = np.pad(images, [(0, 0), *pads, (0, 0)], constant_values=value)
    kernel = spec["weights"][2:]
    reaches = [(n - 1) * d + 1 for n, d in zip(kernel, spec["dilation"], strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(padded, reaches, tuple(range(1, rank + 1)))
    steps = (slice(None, None, step) for step in spec["stride"])
    apart = (slice(None, None, step) for step in spec["dilation"])
    windows = np.moveaxis(seen[(slice(None), *steps, slice(None), *apart)], rank + 1, -1)
    split = windows.reshape(*windows.shape[:-1], groups, -1)
    rows = np.moveaxis(split, -2, 0)
    if winograd_tile(spec):
        weights = aligned(transformed_sums.kernels(spec, x["b"])[np.newaxis].astype(x["b"].dtype))
    else:
        weights = aligned(window_products.weights(spec, x["b"], slice(None)))
    epilogue, arrays = oracle.tree(spec["epilogue"]), Arrays()
    _check_erf(spec["epilogue"])

    def conv2d() -> Array:
        flat = rows.reshape(groups, -1, weights.shape[1])
        y: Array = np.matmul(flat, weights).swapaxes(0, 1)
        y = y.reshape(*windows.shape[: rank + 1], -1)
        if spec["epilogue"] != "x":
            others = {
                name: np.moveaxis(value, 1, -1)
                if spec["layout"] == "nchw" and value.ndim > 1
                else value
                for name, value in x.items()
            }
            with np.errstate(all="ignore"):
                y = _Steps({**others, "x": y}, arrays).value(epilogue)
        return y if spec["layout"] == "nhwc" else np.moveaxis(y, -1, 1)

    return conv2d


def _attention(entry: KernelEntry, x: Mapping[str, Array]) -> Callable[[], object]:
    """Return attention as two products and a softmax; query heads that share K and V broadcast."""
    spec = entry.spec
    check_has_no_pages(spec)
    layouts = {"q": spec["layout"], "k": spec["kv_layout"], "v": spec["kv_layout"]}
    q, k, v = (heads_first(layout, x[name]) for name, layout in layouts.items())
    batch, kv_heads, keys, _ = k.shape
    q = q.reshape(batch, kv_heads, -1, *q.shape[2:])
    k, v = k[:, :, np.newaxis].swapaxes(-1, -2), v[:, :, np.newaxis]
    bias = score_bias(spec, x)
    if bias is not None:
        bias = bias.reshape(*q.shape[:-1], keys)

    def attention() -> Array:
        scores = np.matmul(q, k)
        scores *= spec["scale"]
        if cap := spec["softcap"]:
            scores = cap * np.tanh(scores / cap)
        if bias is not None:
            scores += bias
        most = scores.max(axis=-1, keepdims=True)
        scores -= np.where(np.isneginf(most), 0.0, most)
        np.exp(scores, out=scores)
        total = scores.sum(axis=-1, keepdims=True)
        out = np.matmul(scores, v) / np.where(total == 0.0, 1.0, total)
        out *= spec.get("v_scale", 1.0)
        return heads_first(spec["layout"], out.reshape(batch, -1, *out.shape[3:]))

    return attention


def _elementwise(entry: KernelEntry, x: Mapping[str, Array]) -> Callable[[], object]:
    """Return an expression evaluated call by call, as a program with numpy would do.

    A single function writes into an existing array, if numpy supports it.
    """
    formulas = oracle.formulas_of(entry)
    match next(iter(formulas.values())):
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=only)]) if (
            name in INTO and len(formulas) == 1
        ):
            result = np.empty_like(x[only])
            return lambda: INTO[name](x[only], result)
    _check_erf(entry.spec["expression"])

    def run() -> object:
        with np.errstate(all="ignore"):
            return first(NumpyElements(x, Arrays()).outputs(formulas))

    return run


class NumpyElements(Evaluator):
    """Evaluator of functions and views of whole arrays."""

    def apply(self, name: str, arguments: list[Any]) -> Any:
        if name in TENSORS:
            return viewed(name, *split(name, arguments))
        return super().apply(name, arguments)


class _Steps(Evaluator):
    """Evaluator of functions in the form that a numpy program would use."""

    def apply(self, name: str, arguments: list[Any]) -> Any:
        if name in STEPS:
            return STEPS[name](*arguments)
        return super().apply(name, arguments)


def _gelu_tanh(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


STEPS: Mapping[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu_tanh": _gelu_tanh,
    "silu": lambda x: np.asarray(x / (1 + np.exp(-x))),
}


def _check_erf(expression: str) -> None:
    """Raise DeviceError for functions that need erf, which numpy lacks."""
    for name in ("gelu", "erf"):
        if f"{name}(" in expression:
            raise DeviceError(f"numpy has no erf and cannot compute {name}; try against=torch")


class NumpyRows(RowEvaluator):
    """Evaluator of rows along the last axis; reductions keep the axis."""

    def each(self, name: str, arguments: list[Any]) -> Any:
        return DEFINITIONS[name](self.m, *arguments)

    def fold(self, name: str, x: Any) -> Any:
        return FOLDS[name](x, axis=-1, keepdims=True)

    def find(self, x: Any, value: Any) -> Any:
        return np.argmax((x == value) | np.isnan(x), axis=-1)[..., None]


def _rowwise(entry: KernelEntry, x: Mapping[str, Array]) -> Callable[[], object]:
    formulas = oracle.formulas_of(entry)
    domain = oracle.domain(entry)
    rows, cols = oracle.row_shape(entry)
    check_last_axes(entry)
    values: dict[str, Array] = {
        name: np.broadcast_to(v, domain).reshape(rows, cols) for name, v in x.items()
    }
    height = oracle.height(entry)
    values["column"] = np.arange(cols, dtype=np.float32)
    values["row"] = (np.arange(rows, dtype=np.float32) % height)[:, None]
    evaluator = NumpyRows(values, Arrays())
    evaluator.count = cols

    def run() -> object:
        with np.errstate(all="ignore"):
            return first(evaluator.outputs(formulas))

    return run
