"""The scalar language: expressions over a few primitives, and functions composed of them.

The language is independent of hardware. Each family of targets renders the primitives in its
instruction set (`targets/*/expressions.py`).
"""

from __future__ import annotations

from kgen.ops.expand import beyond, expand, instructions_of, is_rowwise, reduces
from kgen.ops.expression import Expression, Primitive, steps
from kgen.ops.parse import OUT, canonical, formulas, parse
from kgen.ops.registry import Accuracy, ScalarFunction, function, functions, register
from kgen.ops.rows import COORDINATES, REDUCTIONS, Reduction, RowFacts, row_function
from kgen.ops.storage import is_exact
from kgen.ops.views import VIEWS

__all__ = [
    "COORDINATES", "OUT", "REDUCTIONS", "VIEWS", "Accuracy", "Expression", "Primitive", "Reduction",
    "RowFacts", "ScalarFunction", "beyond", "canonical", "expand", "formulas", "function",
    "functions", "instructions_of", "is_exact", "is_rowwise", "parse", "reduces", "register",
    "row_function", "steps",
]  # fmt: skip
