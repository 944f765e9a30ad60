"""Inputs whose memory a kernel's output may reuse, because each element is computed in place.

Such an input is the table of a scatter, whose memory is the output's. Or the input has the shape
and the strides of the output, and each element is read last when that element is written: an
operand of an element-wise expression or of a product's epilogue, or the rows of a row-wise
operation whose results are whole rows. runtime/c/in_place.c has the same rules.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from kgen_runtime.expressions import views
from kgen_runtime.expressions.formulas import Formulas, formulas_in, input_names
from kgen_runtime.manifest import Launch, TensorParam
from kgen_runtime.schema.partial_writes import lies_upon


def in_place(
    spec: Mapping[str, Any],
    inputs: Sequence[TensorParam],
    outputs: Sequence[TensorParam],
    launches: Sequence[Launch],
    schedule: Mapping[str, Any],
) -> frozenset[str]:
    """Return the names of these inputs. A kernel of several launches has none: one launch may read
    what another has written. Nor has a kernel whose vectors or tiles of the output may overlap, so
    that it computes elements twice: one with nontemporal stores or AMX."""
    if (table := lies_upon(spec)) is not None:
        return frozenset({table})
    overlaps = schedule.get("nontemporal") or schedule.get("mainloop") == "amx"
    if len(outputs) != 1 or len(launches) != 1 or overlaps:
        return frozenset()
    out = outputs[0]
    alike = {
        p.name
        for p in inputs
        if (p.dtype, p.shape, p.strides, p.packing)
        == (out.dtype, out.shape, out.strides, out.packing)
    }
    if spec["op"] in ("matmul", "conv2d"):
        return frozenset(alike - {"a", "b"})
    if spec["op"] not in ("elementwise", "rowwise"):
        return frozenset()
    if spec["op"] == "rowwise":
        rank, axes = len(out.shape), spec["axes"]
        if sorted(axes) != [*range(rank - len(axes), rank)]:
            return frozenset()
    return frozenset(alike - _viewed(formulas_in(spec["expression"])))


def _viewed(formulas: Formulas) -> set[str]:
    """Return the names of inputs that views read, directly or inside formulas."""
    found: set[str] = set()
    waiting = list(formulas.values())
    while waiting:
        term = waiting.pop()
        if views.is_view(term):
            found.update(input_names({"": term}))
        elif isinstance(term, ast.Call):
            waiting += term.args
    return found
