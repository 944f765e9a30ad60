"""Scalar reference of matrix products, with scales and epilogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.evaluators import Evaluator
from kgen_runtime.expressions.formulas import formulas_in
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.reference.numbers import Buffers, Element, in_blocks, read, values
from kgen_runtime.reference.sums import dot

#: Cached rows of A and columns of B; more than the output columns that samples of a row have.
SHARED_OPERANDS = 1024


def batch_offset(spec: Mapping[str, Any], of: str, number: int) -> int:
    """Return the offset of a matrix in a batch, in elements. Each batch dimension has a stride; the
    last one varies fastest."""
    strides = spec[f"batch_stride_{of}"]
    if not spec.get("batch_dims"):
        return int(number * strides)
    offset = 0
    for size, stride in zip(reversed(spec["batch_dims"]), reversed(strides), strict=True):
        offset += number % size * stride
        number //= size
    return offset


def matmul(spec: Mapping[str, Any], buffers: Buffers) -> Element:
    """Return the function that computes an element of scale_out * epilogue(alpha * scale_a *
    scale_b * A @ B + beta * C).

    Its index is (batch, row, column).
    """
    dtype, out = DType(spec["dtype"]), DType(spec["out_dtype"])
    has_blocks = spec.get("b_dtype") == "s4"
    b_dtype = DType.U8 if has_blocks else DType(spec.get("b_dtype") or dtype)
    scales = {name: read(buffers[f"scale_{name}"], 0, DType.F32) for name in spec["scales"]}
    a_transposed, b_transposed = (letter == "t" for letter in spec["layout"])

    tree = formulas_in(spec["epilogue"])["out"]
    extents = dict(shape.split("=") for shape in spec["epilogue_shapes"])
    factor = spec["alpha"] * scales.get("a", 1.0) * scales.get("b", 1.0)
    beta, ldc = spec["beta"], spec["ldc"]
    exact, scale_out = dtype != DType.F64, scales.get("out", 1.0)
    finish = Evaluator({}, Scalars()).compiled(tree, ["x", *extents])
    # Vectors are f32 if the output or B has 8-bit elements: 8 bits are too few for a vector that is
    # applied before rounding, or that scales a quantised B.
    own = dict(part.split("=") for part in spec.get("epilogue_dtypes", ()))
    vectors = {
        name: DType(own[name])
        if name in own
        else DType.F32
        if out.itemsize == 1 or (b_dtype.itemsize == 1 and name != "bias")
        else out
        for name in extents
    }

    # Neighbouring output elements share rows of A and columns of B.
    @lru_cache(maxsize=SHARED_OPERANDS)
    def a_row(batch: int, row: int) -> list[float]:
        start = batch_offset(spec, "a", batch)
        if a_transposed:
            return values(buffers["a"], start + row, spec["k"], spec["lda"], dtype)
        return values(buffers["a"], start + row * spec["lda"], spec["k"], 1, dtype)

    @lru_cache(maxsize=SHARED_OPERANDS)
    def b_column(batch: int, col: int) -> list[float]:
        start = batch_offset(spec, "b", batch)
        if has_blocks:
            return in_blocks(buffers["b"], start + col * spec["ldb"], spec["k"])
        if b_transposed:
            return values(buffers["b"], start + col * spec["ldb"], spec["k"], 1, b_dtype)
        return values(buffers["b"], start + col, spec["k"], spec["ldb"], b_dtype)

    def element(index: tuple[int, ...]) -> float:
        batch, row, col = index
        out_offset = batch_offset(spec, "c", batch) + row * ldc + col
        x: float = factor * dot(a_row(batch, row), b_column(batch, col), exact_products=exact)
        if beta != 0.0:
            x += beta * read(buffers["c"], out_offset, out)
        inputs = [x]
        for name, extent in extents.items():
            place = {"n": col, "mx1": row, "1": 0, "mxn": out_offset}[extent]
            inputs.append(read(buffers[name], place, out if extent == "mxn" else vectors[name]))
        return float(finish(inputs)) * scale_out

    return element
