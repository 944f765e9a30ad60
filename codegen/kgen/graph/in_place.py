"""Rules for computing in place: which inputs' memory a kernel's output may reuse.

The output of a scatter lies in the memory of its table. Any other such input has the shape and the
strides of the output, and the kernel reads each of its elements for the last time when it writes
the output's element: an operand of an element-wise expression or of a GEMM's epilogue, or a row of
a row-wise operation whose output rows are complete. runtime/c/in_place.c has the same rules.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from kgen_runtime.expressions import views
from kgen_runtime.expressions.formulas import Formulas, formulas_in, input_names
from kgen_runtime.manifest import Launch, TensorParam
from kgen_runtime.schema.partial_writes import overwritten_table


def in_place(
    spec: Mapping[str, Any],
    inputs: Sequence[TensorParam],
    outputs: Sequence[TensorParam],
    launches: Sequence[Launch],
    schedule: Mapping[str, Any],
) -> frozenset[str]:
    """Return the names of the inputs whose memory the output may reuse.

    The set is empty for a kernel of several launches, as one launch may read what another has
    written. It is also empty where stores may overlap, so that elements are computed twice: with
    nontemporal stores or AMX tiles.
    """
    if (table := overwritten_table(spec)) is not None:
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
    """Return the names of inputs that are read through views, directly or inside an expression."""
    found: set[str] = set()
    waiting = list(formulas.values())
    while waiting:
        term = waiting.pop()
        if views.is_view(term):
            found.update(input_names({"": term}))
        elif isinstance(term, ast.Call):
            waiting += term.args
    return found
