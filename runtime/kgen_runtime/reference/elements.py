"""Entry point of the scalar reference: the function that computes one output element of a spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kgen_runtime.reference.attended import attention
from kgen_runtime.reference.elementwise import elementwise
from kgen_runtime.reference.matmul import matmul
from kgen_runtime.reference.numbers import Buffers, Element
from kgen_runtime.reference.rowwise import rowwise
from kgen_runtime.reference.window_sums import conv2d

OPERATIONS: Mapping[str, Callable[[Mapping[str, Any], Buffers, str | None], Element]] = {
    "matmul": lambda spec, buffers, _: matmul(spec, buffers),
    "conv2d": lambda spec, buffers, _: conv2d(spec, buffers),
    "attention": attention,
    "elementwise": elementwise,
    "rowwise": rowwise,
}


def elements(
    spec: Mapping[str, Any], buffers: Mapping[str, Any], output: str | None = None
) -> Element:
    """Return the function that computes one element of an output (by default the first) from the
    JSON form of a spec.

    `buffers` has, for each input, an object with Python's buffer protocol.
    """
    views = {name: memoryview(buffer).cast("B") for name, buffer in buffers.items()}
    return OPERATIONS[spec["op"]](spec, views, output)
