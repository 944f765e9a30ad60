"""Float64 numpy version of every operation, with the error bound of a correct kernel.

Tests check it against the scalar reference (:mod:`kgen_runtime.reference`) on small shapes, and
every verification on a sample of elements. Outputs are addressed in the coordinates of
:class:`kgen_runtime.manifest.Tile`:

- matmul: (batch, m, n)
- convolution: (group, output position, channel of the group)
- attention: (head of a batch element, query, element)
- element-wise: (element,)
- row-wise: (row, column)
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.check.oracle import (
    attention_bounds,
    elementwise,
    rowwise,
    tolerance,
    transformed_sums,
    window_products,
)
from kgen.check.oracle.tolerance import Estimate
from kgen.check.oracle.views import viewed
from kgen.check.tensors import Bits, Bytes, Values, decode, strided_bits
from kgen_runtime.dtypes import DType, computed_in, output_dtypes
from kgen_runtime.expressions import views
from kgen_runtime.expressions.formulas import Formulas, formulas_in, input_names, reduced
from kgen_runtime.expressions.views import has_views, index_names
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.reference.rowwise import split_axes
from kgen_runtime.reference.winograd_weights import winograd_tile

Box = tuple[slice, ...]


def output_shape(entry: KernelEntry) -> tuple[int, ...]:
    """Return the shape of the output in the oracle's coordinates."""
    shape = entry.output.shape
    if entry.op == "matmul":
        return (math.prod(shape[:-2]), *shape[-2:])
    if entry.op == "conv2d":
        return window_products.output_shape(entry.spec)
    if entry.op == "attention":
        return attention_bounds.output_shape(entry.spec, entry.output.name)
    if entry.spec["op"] == "rowwise":
        rows, cols = row_shape(entry)
        return rows, 1 if is_reduced(entry) else cols
    return (math.prod(shape),)


def depth(entry: KernelEntry) -> int:
    """Return the number of products per output element of a contraction; 1 for other operations."""
    if entry.op == "conv2d":
        return math.prod(entry.spec["weights"][1:])
    if entry.op == "attention":
        return attention_bounds.depth(entry.spec)
    return int(entry.spec["k"]) if entry.op == "matmul" else 1


def domain(entry: KernelEntry) -> tuple[int, ...]:
    """Return the shape that an expression broadcasts to."""
    return views.domain(formulas_of(entry), {p.name: p.shape for p in entry.inputs})


def row_shape(entry: KernelEntry) -> tuple[int, int]:
    """Return the numbers of rows and columns of a row-wise operation."""
    shape = domain(entry)
    cols = math.prod(shape[axis] for axis in entry.spec["axes"])
    return math.prod(shape) // cols, cols


def rows_first(entry: KernelEntry) -> list[int]:
    """Return the order of a row-wise operation's axes that puts rows before columns."""
    kept, reduced = split_axes(len(domain(entry)), entry.spec["axes"])
    return kept + reduced


def height(entry: KernelEntry) -> int:
    """Return the number of rows after which `row` is 0 again."""
    kept, _ = split_axes(len(domain(entry)), entry.spec["axes"])
    return domain(entry)[kept[-1]] if kept else 1


def is_reduced(entry: KernelEntry) -> bool:
    """Whether a row-wise operation's output has one number per row."""
    return reduced(formulas_in(entry.spec["expression"]))[entry.output.name]


def in_coordinates(entry: KernelEntry, bits: Bits) -> Bits:
    """Return the output's bits in the oracle's coordinates."""
    if entry.spec["op"] == "rowwise" and not is_reduced(entry):
        bits = bits.transpose(rows_first(entry))
    if entry.op == "conv2d":
        return window_products.by_group(entry.spec, bits)
    if entry.op == "attention":
        return attention_bounds.by_head(entry.spec, entry.output.name, bits)
    return bits.reshape(output_shape(entry))


def own_coordinates(entry: KernelEntry, at: tuple[int, ...]) -> tuple[int, ...]:
    """Convert the oracle's coordinates to those of the output tensor."""
    shape = entry.output.shape
    if entry.op in ("conv2d", "attention"):
        numbers = np.arange(math.prod(shape)).reshape(shape)
        flat = int(in_coordinates(entry, numbers.astype(np.uint64))[at])
        return tuple(int(i) for i in np.unravel_index(flat, shape))
    flat = int(np.ravel_multi_index(at, output_shape(entry)))
    if entry.spec["op"] != "rowwise" or is_reduced(entry):
        return tuple(int(i) for i in np.unravel_index(flat, shape))
    order = rows_first(entry)
    place = np.unravel_index(flat, tuple(shape[axis] for axis in order))
    return tuple(int(place[order.index(axis)]) for axis in range(len(shape)))


def estimate(
    entry: KernelEntry, buffers: Mapping[str, Bytes], box: Box, whole: bool = False
) -> Estimate:
    """Return the reference and error bound of one box of the output, before its last rounding.

    `whole` says that A and B hold integers only.
    """
    inputs = {p.name: strided_bits(buffers[p.name], p) for p in entry.inputs}
    params = {p.name: p for p in entry.inputs}
    with np.errstate(all="ignore"):
        if entry.op == "matmul":
            return _matmul(entry, inputs, params, box, whole)
        if entry.op == "conv2d":
            return _conv2d(entry, inputs, params, box, whole)
        if entry.op == "attention":
            values = {name: decode(bits, params[name].dtype) for name, bits in inputs.items()}
            return attention_bounds.estimate(
                entry.spec, values, entry.output.name, box, entry.tolerance
            )
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
        bits = inputs[name] if inputs[name].ndim >= 3 else inputs[name][np.newaxis]
        if dims := spec.get("batch_dims"):
            bits = np.broadcast_to(bits, (*dims, *bits.shape[-2:])).reshape(-1, *bits.shape[-2:])
        bits = bits.swapaxes(1, 2) if transposed else bits
        values = decode(
            bits[batch if len(bits) > 1 else slice(None), rows, cols], params[name].dtype
        )
        # A matrix that the batch shares is repeated.
        return np.broadcast_to(values, (batch.stop - batch.start, *values.shape[1:]))

    everything = slice(None)
    a = piece("a", spec["layout"][0] == "t", rows, everything)
    if spec.get("b_dtype") == "s4":
        # Rows of s4 storage are columns of B.
        b = blocks(piece("b", False, cols, everything), spec["k"]).swapaxes(1, 2)
    else:
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
    operands = {}
    for shape in spec["epilogue_shapes"]:
        name, extent = shape.split("=")
        if extent == "mxn":
            operands[name] = piece(name, False, rows, cols)
        else:
            part = {"n": cols, "mx1": rows, "1": everything}[extent]
            operands[name] = decode(inputs[name][part], params[name].dtype)
    result = elementwise.applied(tree(spec["epilogue"]), result, operands, entry.tolerance)
    if "scale_out" in inputs:
        result = result.scale(float(decode(inputs["scale_out"], DType.F32)[0]))
    return result


def _conv2d(
    entry: KernelEntry,
    inputs: Mapping[str, Bits],
    params: Mapping[str, TensorParam],
    box: Box,
    whole: bool,
) -> Estimate:
    spec, (groups, rows, cols) = entry.spec, box
    values = {name: decode(bits, params[name].dtype) for name, bits in inputs.items()}
    a = window_products.windows(spec, values, rows)[groups]
    if winograd_tile(spec):
        b = transformed_sums.kernels(spec, values["b"])[np.newaxis, :, cols]
        magnitude = transformed_sums.magnitude(spec, values["a"], values["b"], a[0], rows, cols)
    else:
        b = window_products.weights(spec, values["b"], cols)[groups]
        magnitude = np.abs(a) @ np.abs(b)
    result = tolerance.product(a @ b, magnitude, depth(entry), whole, entry.tolerance)
    if result.accumulate.is_integer and entry.output.dtype is not result.accumulate:
        result = result.convert(DType.F32)
    operands = {}
    for shape in spec["epilogue_shapes"]:
        name, extent = shape.split("=")
        if extent == "mxn":
            operands[name] = window_products.by_group(spec, values[name])[box]
        elif extent == "n":
            operands[name] = values[name].reshape(spec["groups"], 1, -1)[groups, :, cols]
        else:
            operands[name] = values[name]
    found = elementwise.applied(tree(spec["epilogue"]), result, operands, entry.tolerance)
    if np.isfinite(b).all():
        return found
    # A kernel may leave out products with padding, which such weights make NaN.
    seen = window_products.windows(spec, {**values, "a": np.ones_like(values["a"])}, rows)[groups]
    is_open = (seen == 0) @ ~np.isfinite(b)
    return dataclasses.replace(found, error=np.where(is_open, np.inf, found.error))


def blocks(rows: Values, count: int) -> Values:
    """Return the numbers in rows of 18-byte blocks of 32 (GGUF's Q4_0).

    A block is an f16 scale, then 16 bytes.
    """
    split = rows.astype(np.uint8).reshape(*rows.shape[:-1], -1, 18)
    scales = split[..., :2].copy().view("<f2").astype(np.float64)
    halves = np.concatenate([split[..., 2:] % 16, split[..., 2:] // 16], axis=-1)
    numbers = (halves.astype(np.float64) - 8.0) * scales
    return numbers.reshape(*rows.shape[:-1], -1)[..., :count]


def _elementwise(
    entry: KernelEntry, inputs: Mapping[str, Bits], params: Mapping[str, TensorParam], box: Box
) -> Estimate:
    shape = entry.output.shape
    if has_views(formulas_of(entry)):
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
    found, out = formulas_of(entry), entry.output
    numbers = {p.name: _numbers(values[p.name], p.dtype) for p in entry.inputs}
    return elementwise.estimate(
        found, out.name, numbers, entry.tolerance, shape, compute_of(entry), out.dtype
    )


def compute_of(entry: KernelEntry) -> DType:
    """Return the type that an expression is computed in."""
    found = formulas_of(entry)
    indices = index_names(found)
    values = (p.dtype for p in entry.inputs if p.name not in indices)
    return computed_in(values, output_dtypes(entry.spec, len(found)))


def _numbers(values: Values, dtype: DType) -> Values:
    """Return the elements of a tensor, as int64 for integers."""
    return values.astype(np.int64) if dtype.is_integer else values


def _rowwise(
    entry: KernelEntry, inputs: Mapping[str, Bits], params: Mapping[str, TensorParam], box: Box
) -> Estimate:
    """Return the estimate of a box of a row-wise operation, which is computed from whole rows."""
    shape, order, cols = domain(entry), rows_first(entry), row_shape(entry)[1]
    kept = tuple(shape[axis] for axis in order[: len(order) - len(entry.spec["axes"])])
    plain, found = views.lifted(formulas_of(entry))
    dtypes = {name: param.dtype for name, param in params.items()}
    for name, at in found.items():
        (tensor,) = input_names({name: at})
        inputs, dtypes = {**inputs, name: taken(at, inputs)}, {**dtypes, name: dtypes[tensor]}
    rows = np.unravel_index(np.arange(box[0].start, box[0].stop), kept) if kept else (None,)
    values = {
        name: _numbers(
            decode(
                np.broadcast_to(bits, shape).transpose(order)[rows].reshape(-1, cols), dtypes[name]
            ),
            dtypes[name],
        )
        for name, bits in inputs.items()
        if name in input_names(plain)
    }
    result = rowwise.estimate(
        plain,
        entry.output.name,
        values,
        box[0].start,
        height(entry),
        entry.tolerance,
        compute_of(entry),
        entry.output.dtype,
    )
    columns = slice(0, 1) if is_reduced(entry) else box[1]
    whole = (box[0].stop - box[0].start, output_shape(entry)[1])
    return Estimate(
        value=np.broadcast_to(result.value, whole)[:, columns].copy(),
        error=np.broadcast_to(result.error, whole)[:, columns].copy(),
        accumulate=result.accumulate,
    )


def looks(entry: KernelEntry, param: TensorParam) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the numbers of an input's elements in memory order, and in the order of each view."""
    numbers = np.arange(math.prod(param.shape)).reshape(param.shape)
    plain, found = views.lifted(formulas_of(entry))
    if param.name in input_names(plain):
        yield numbers
    for at in found.values():
        if param.name in input_names({"": at}):
            yield taken(at, {param.name: numbers})


def taken(at: ast.expr, inputs: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return a view of an input's bits, or of other numbers of its elements."""
    if isinstance(at, ast.Name):
        return inputs[at.id]
    name, (tensor,), numbers = views.parts(at)
    return viewed(name, [taken(tensor, inputs)], numbers)


def tree(expression: str) -> ast.expr:
    """Return the Python syntax tree of an expression without a name."""
    return formulas_in(expression)["out"]


def formulas_of(entry: KernelEntry) -> Formulas:
    """Return the Python syntax trees of the outputs' expressions."""
    return formulas_in(entry.spec["expression"])
