"""Specs: what a kernel computes, as an operation with fixed shapes, dtypes and memory layout.

A spec knows no hardware and is an immutable value. It checks itself, and gives itself a name
(`key`) and a list of the tensors it takes (`parameters`). It converts to JSON and back, so the
reference in the runtime can compute it from a bundle's manifest alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgen import suggest
from kgen.errors import SpecError
from kgen.ops import VIEWS, formulas, functions, is_rowwise
from kgen.spec.attention import Attention
from kgen.spec.choices import ConstantOperand, Epilogue, Layout, Math, Scale
from kgen.spec.conv2d import Conv2d, ImageLayout, WeightLayout
from kgen.spec.elementwise import Elementwise
from kgen.spec.epilogue import EpilogueOperand, Extent
from kgen.spec.formula import Formula
from kgen.spec.matmul import Matmul
from kgen.spec.rowwise import Rowwise
from kgen.spec.spec import Spec
from kgen.spec.winograd import ConvMath
from kgen_runtime.dtypes import DType

__all__ = [
    "OPS", "Attention", "ConstantOperand", "Conv2d", "ConvMath", "DType", "Elementwise", "Epilogue",
    "EpilogueOperand", "Extent", "Formula", "ImageLayout", "Layout", "Math", "Matmul", "Rowwise",
    "Scale", "Spec", "WeightLayout", "formula_class", "from_json", "op_class",
]  # fmt: skip

OPS: tuple[type[Spec], ...] = (Matmul, Conv2d, Attention, Elementwise, Rowwise)


def op_class(name: str) -> type[Spec]:
    """Return the spec class of an operation. Raises SpecError for an unknown name."""
    for cls in OPS:
        if cls.op == name:
            return cls
    if name in VIEWS:
        raise SpecError(
            f"op={name} is a view and needs arguments; write one such as {VIEWS[name].example!r}"
        )
    own = [cls.op for cls in OPS if not issubclass(cls, Formula)]
    raise SpecError(
        f"op={name} is unknown; {suggest.meant(name, [*own, *functions()], after=' ')}known are "
        f"{', '.join(own)}, functions such as relu, add or clip, and expressions of them such as "
        "'silu(gate) * up'; docs/reference/operations.md lists all"
    )


def formula_class(expression: str) -> type[Formula]:
    """Return the spec class of an expression: row-wise if it calls a function of whole rows."""
    rowwise = any(map(is_rowwise, formulas(expression).values()))
    return Rowwise if rowwise else Elementwise


def from_json(data: Mapping[str, Any]) -> Spec:
    """Return the spec that `Spec.to_json` wrote. Raises SpecError for anything else."""
    fields: dict[str, Any] = {k: _frozen(v) for k, v in data.items() if k != "op"}
    try:
        return op_class(data.get("op", ""))(**fields)
    except TypeError as error:
        raise SpecError(
            f"not a spec of this kgen: {error}; use the version that wrote it"
        ) from None


def _frozen(value: Any) -> Any:
    """Return a value with its lists, nested ones included, as tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
