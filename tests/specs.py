"""Specs that many tests build, in few words."""

from __future__ import annotations

from kgen.spec import DType, Rowwise


def softmax_spec(
    rows: int,
    cols: int,
    *,
    dtype: DType | str = DType.F16,
    out_dtype: DType | str | None = None,
    log: bool = False,
) -> Rowwise:
    """Softmax, or its logarithm, of each row."""
    expression = "log_softmax(x)" if log else "softmax(x)"
    return Rowwise(
        expression=expression, shapes=((rows, cols),), dtype=DType(dtype), out_dtype=out_dtype
    )
