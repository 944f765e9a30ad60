"""Migration of specs in bundles from older versions of kgen to today's fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from kgen_runtime.manifest import KernelEntry

Spec = Mapping[str, Any]


def _relu(spec: Spec) -> dict[str, Any]:
    return {
        "op": "elementwise",
        "expression": "relu(x)",
        "shapes": [spec["shape"]],
        "dtype": spec["dtype"],
        "out_dtype": spec["dtype"],
    }


def _softmax(spec: Spec) -> dict[str, Any]:
    return {
        "op": "rowwise",
        "expression": "log_softmax(x)" if spec["log"] else "softmax(x)",
        "shapes": [[spec["rows"], spec["cols"]]],
        "dtype": spec["dtype"],
        "dtypes": [],
        "out_dtype": spec["out_dtype"],
        "out_dtypes": [],
        "axes": [1],
    }


def _matmul(spec: Spec) -> dict[str, Any]:
    """Convert an epilogue from a list of steps to an expression of x."""
    steps = spec["epilogue"]
    if isinstance(steps, str):
        return dict(spec)
    before, behind, shapes = [], [], []
    for step in steps:
        before.append("add(" if step in SUMS else f"{step}(")
        behind.append(f", {step})" if step in SUMS else ")")
        if step in SUMS:
            shapes.append(f"{step}={SUMS[step]}")
    expression = "".join([*reversed(before), "x", *behind])
    return {**spec, "epilogue": expression, "epilogue_shapes": shapes}


#: Steps that added a tensor, and the extent of that tensor.
SUMS = {"bias": "n", "residual": "mxn"}


def _rowwise(spec: Spec) -> dict[str, Any]:
    """Convert axes from a count, from the last axis on, to a list."""
    count = spec["axes"]
    if type(count) is not int:
        return dict(spec)
    rank = max(map(len, spec["shapes"]))
    return {**spec, "axes": list(range(max(0, rank - count), rank))}


#: Migration of each operation whose spec has changed.
RENEWED: Mapping[str, Callable[[Spec], dict[str, Any]]] = {
    "relu": _relu,
    "softmax": _softmax,
    "rowwise": _rowwise,
    "matmul": _matmul,
}


def renewed(kernel: KernelEntry) -> KernelEntry:
    """Return the kernel with a spec in today's form; launches are unchanged."""
    make = RENEWED.get(str(kernel.spec.get("op")))
    try:
        spec = kernel.spec if make is None else make(kernel.spec)
    except (KeyError, TypeError, ValueError):
        return kernel
    return kernel if spec == kernel.spec else dataclasses.replace(kernel, spec=spec)
