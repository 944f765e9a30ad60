"""Which inputs a kernel's output may lie upon, element upon element.

They are the table of a scatter, which its output has to lie upon; and those of the output's own
shape and strides that are read at the very element that is written, and no more after it: operands
of an element-wise expression or of a product's epilogue, and the rows of a row-wise operation whose
results are whole rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgen_runtime.expressions import views
from kgen_runtime.expressions.formulas import formulas_in
from kgen_runtime.manifest import Launch, TensorParam
from kgen_runtime.schema.partial_writes import lies_upon


def in_place(
    spec: Mapping[str, Any],
    inputs: Sequence[TensorParam],
    outputs: Sequence[TensorParam],
    launches: Sequence[Launch],
    schedule: Mapping[str, Any],
) -> frozenset[str]:
    """Their names. There are none of a kernel of several launches, where one may read what another
    has written, nor where vectors or tiles of the output may overlap, so that some elements are
    computed twice: past the caches, by AMX, and where rows lie beside one another."""
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
    if spec["op"] == "matmul":
        return frozenset(alike - {"a", "b"})
    if spec["op"] not in ("elementwise", "rowwise"):
        return frozenset()
    if spec["op"] == "rowwise":
        rank, axes = len(out.shape), spec["axes"]
        if sorted(axes) != [*range(rank - len(axes), rank)]:
            return frozenset()
    return frozenset(alike - views.viewed_names(formulas_in(spec["expression"])))
