"""Views: their parameters, and what they read in numpy's words."""

from __future__ import annotations

from kgen.ops.views import STRIDED, VIEWS, ViewFunction
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per view."""
    cells = ((call(name, v), v.meaning, in_rows(name, v)) for name, v in VIEWS.items())
    return rows(("view", "in numpy", "in row-wise formulas"), cells)


def call(name: str, view: ViewFunction) -> str:
    """Return a view's call with required parameters, then the defaults of optional ones."""
    required = view.parameters[: len(view.parameters) - len(view.defaults)]
    optional = view.numbers[len(view.numbers) - len(view.defaults) :]
    defaults = [f"`{n}={d:g}`" for n, d in zip(optional, view.defaults, strict=True)]
    return ", ".join([f"`{name}({', '.join(required)})`", *defaults])


def in_rows(name: str, view: ViewFunction) -> str:
    """Return whether row-wise formulas accept a view."""
    if name not in STRIDED:
        return "no"
    return "with a positive step" if "step" in view.numbers else "yes"
