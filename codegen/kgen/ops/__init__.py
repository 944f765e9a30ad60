"""The scalar language: expressions over a few primitives, and the functions that are made of them.

Knows no hardware. Each family of targets renders the primitives in its instruction set
(`targets/*/expressions.py`).
"""

from __future__ import annotations

from kgen.ops.expand import expand
from kgen.ops.expression import Expression, Primitive, steps
from kgen.ops.functions import Accuracy, Function, function, functions, register
from kgen.ops.parse import parse

__all__ = [
    "Accuracy",
    "Expression",
    "Function",
    "Primitive",
    "expand",
    "function",
    "functions",
    "parse",
    "register",
    "steps",
]
