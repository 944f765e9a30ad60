"""Specs that many tests use."""

from __future__ import annotations

from kgen.spec import DType, Elementwise, Rowwise


def relu_of(shape: tuple[int, ...], dtype: DType | str = "f16") -> Elementwise:
    return Elementwise(expression="relu(x)", shapes=(shape,), dtype=DType(dtype))


def softmax_of(
    rows: int,
    cols: int,
    *,
    dtype: DType | str = "f16",
    out_dtype: DType | str | None = None,
    log: bool = False,
) -> Rowwise:
    """Return softmax or log-softmax of each row."""
    return Rowwise(
        expression="log_softmax(x)" if log else "softmax(x)",
        shapes=((rows, cols),),
        dtype=DType(dtype),
        out_dtype=None if out_dtype is None else DType(out_dtype),
    )
