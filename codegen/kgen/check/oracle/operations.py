"""The float64 numpy version of every operation, with the error that a kernel may make.

Checked in turn against the scalar reference (:mod:`kgen_runtime.scalar`) on small shapes by the
tests, and on a sample of elements by every verification. Outputs are addressed in the coordinates
of :class:`kgen_runtime.manifest.Tile`: (batch, m, n), (element,) or (row, column).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

import numpy as np

from kgen.check.oracle import elementwise, rowwise, tolerance
from kgen.check.oracle.tolerance import Estimate
from kgen.check.tensors import Bits, Bytes, Values, decode, strided_bits
from kgen.ops import functions
from kgen_runtime.dtypes import DType, computed_in
from kgen_runtime.manifest import KernelEntry, TensorParam, Tolerance
from kgen_runtime.scalar import out_columns
from kgen_runtime.views import has_views, index_names

Box = tuple[slice, ...]


def output_shape(entry: KernelEntry) -> tuple[int, ...]:
    """The output in the coordinates used here."""
    shape = entry.output.shape
    if entry.op == "matmul":
        return (1, *shape)[-3:]
    if entry.spec["op"] == "rowwise":
        cols = out_columns(entry.spec, shape)
        return (math.prod(shape) // cols, cols)
    return (math.prod(shape),)


def row_shape(entry: KernelEntry) -> tuple[int, int]:
    """Rows and columns that a row-wise operation's inputs broadcast to."""
    domain = np.broadcast_shapes(*(p.shape for p in entry.inputs))
    cols = math.prod(domain[len(domain) - entry.spec["axes"] :])
    return math.prod(domain) // cols, cols


def in_coordinates(entry: KernelEntry, bits: Bits) -> Bits:
    """The output's bits, given in its own shape, reshaped to the coordinates used here."""
    return bits.reshape(output_shape(entry))


def estimate(
    entry: KernelEntry, buffers: Mapping[str, Bytes], box: Box, whole: bool = False
) -> Estimate:
    """Reference and error bound of one box of the output, before its last rounding.

    `whole` says that A and B hold whole numbers only.
    """
    inputs = {p.name: strided_bits(buffers[p.name], p) for p in entry.inputs}
    params = {p.name: p for p in entry.inputs}
    with np.errstate(all="ignore"):
        if entry.op == "matmul":
            return _matmul(entry, inputs, params, box, whole)
        if entry.spec["op"] == "elementwise":
            return _elementwise(entry, inputs, params, box)
        return _rowwise(entry, inputs, params, box)


def _matmul(
    entry: KernelEntry,
    inputs: Mapping[str, Bits],
    params: Mapping[str, TensorParam],
    box: Box,
    whole: bool,
) -> Estimate:
    spec = entry.spec
    batch, rows, cols = box

    def piece(name: str, transposed: bool, rows: slice, cols: slice) -> Values:
        bits = inputs[name] if inputs[name].ndim == 3 else inputs[name][np.newaxis]
        bits = bits.swapaxes(1, 2) if transposed else bits
        values = decode(
            bits[batch if len(bits) > 1 else slice(None), rows, cols], params[name].dtype
        )
        # One matrix that all of the batch shares is repeated.
        return np.broadcast_to(values, (batch.stop - batch.start, *values.shape[1:]))

    everything = slice(None)
    a = piece("a", spec["layout"][0] == "t", rows, everything)
    b = piece("b", spec["layout"][1] == "t", everything, cols)
    result = tolerance.product(a @ b, np.abs(a) @ np.abs(b), spec["k"], whole, entry.tolerance)
    if result.accumulate.is_integer and entry.output.dtype is not result.accumulate:
        result = result.convert(DType.F32)
    result = result.scale(spec["alpha"])
    for name in ("scale_a", "scale_b"):
        if name in inputs:
            result = result.scale(float(decode(inputs[name], DType.F32)[0]))
    if spec["beta"] != 0.0:
        result = result.add(piece("c", False, rows, cols), spec["beta"])
    for step in spec["epilogue"]:
        if step == "bias":
            result = result.add(decode(inputs["bias"][cols], params["bias"].dtype))
        elif step == "residual":
            result = result.add(piece("residual", False, rows, cols))
        else:
            result = _applied(result, step, entry.tolerance)
    if "scale_out" in inputs:
        result = result.scale(float(decode(inputs["scale_out"], DType.F32)[0]))
    return result


def _applied(result: Estimate, step: str, target: Tolerance) -> Estimate:
    """A function of the scalar language; those of old have a known slope, which costs less."""
    if step in FUNCTIONS:
        return result.apply(step, FUNCTIONS[step])
    defaults = [elementwise.Bounded.constant(d) for d in functions()[step].defaults]
    bounded = elementwise.Bounded({}, target)
    value, error = bounded.apply(step, [(result.value, result.error), *defaults])
    return Estimate(value=value, error=error, accumulate=result.accumulate)


def _elementwise(
    entry: KernelEntry, inputs: Mapping[str, Bits], params: Mapping[str, TensorParam], box: Box
) -> Estimate:
    expression, shape = tree(entry.spec["expression"]), entry.output.shape
    if has_views(expression):
        values = {name: decode(bits, params[name].dtype) for name, bits in inputs.items()}
        found = _estimate(entry, values, shape)
        return Estimate(
            value=found.value.reshape(-1)[box],
            error=found.error.reshape(-1)[box],
            accumulate=found.accumulate,
        )
    values = {
        name: decode(np.broadcast_to(bits, shape).reshape(-1)[box], params[name].dtype)
        for name, bits in inputs.items()
    }
    return _estimate(entry, values, next(iter(values.values())).shape)


def _estimate(entry: KernelEntry, values: Mapping[str, Values], shape: tuple[int, ...]) -> Estimate:
    expression, out = tree(entry.spec["expression"]), entry.output.dtype
    indices = index_names(expression)
    compute = computed_in((p.dtype for p in entry.inputs if p.name not in indices), out)
    found: dict[str, Values] = {}
    for p in entry.inputs:
        whole = p.dtype.is_integer
        found[p.name] = values[p.name].astype(np.int64) if whole else values[p.name]
    return elementwise.estimate(expression, found, entry.tolerance, shape, compute, out)


def _rowwise(
    entry: KernelEntry, inputs: Mapping[str, Bits], params: Mapping[str, TensorParam], box: Box
) -> Estimate:
    """Whole rows, of which the box' columns are taken."""
    domain = np.broadcast_shapes(*(bits.shape for bits in inputs.values()))
    rows, cols = box[0], row_shape(entry)[1]
    values = {
        name: decode(np.broadcast_to(bits, domain).reshape(-1, cols)[rows], params[name].dtype)
        for name, bits in inputs.items()
    }
    height = (1, *domain)[-1 - entry.spec["axes"]]
    found = rowwise.estimate(
        tree(entry.spec["expression"]), values, rows.start, height, entry.tolerance
    )
    reduced = output_shape(entry)[1] == 1
    columns = slice(0, 1) if reduced else box[1]
    shape = (rows.stop - rows.start, 1 if reduced else cols)
    return Estimate(
        value=np.broadcast_to(found.value, shape)[:, columns].copy(),
        error=np.broadcast_to(found.error, shape)[:, columns].copy(),
        accumulate=found.accumulate,
    )


def tree(expression: str) -> ast.expr:
    """An expression in calls as Python's grammar has it."""
    return ast.parse(expression, mode="eval").body


def relu(x: Values) -> Values:
    return np.where(x <= 0.0, 0.0, x)


def sigmoid(x: Values) -> Values:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0.0, 1.0, small) / (1.0 + small))


def silu(x: Values) -> Values:
    return x * sigmoid(x)


#: numpy has no erfc; this is the math module's, element by element.
ERFC = np.vectorize(math.erfc, otypes=[np.float64])


def gelu(x: Values) -> Values:
    return np.asarray(0.5 * x * ERFC(-x / math.sqrt(2.0)))


def gelu_tanh(x: Values) -> Values:
    return x * sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))


FUNCTIONS = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}
