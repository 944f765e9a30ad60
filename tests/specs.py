"""Specs that many tests take."""

from __future__ import annotations

from kgen.spec import DType, Elementwise


def relu_of(shape: tuple[int, ...], dtype: DType | str = "f16") -> Elementwise:
    return Elementwise(expression="relu(x)", shapes=(shape,), dtype=DType(dtype))
