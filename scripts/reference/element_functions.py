"""Functions of element-wise expressions, with their error in f32."""

from __future__ import annotations

from kgen.ops import Function, functions
from scripts.reference.markdown import rows

RELATIVE_TO = {
    "result": "the result",
    "argument": "the largest argument",
    "one": "the result, or 1 if that is larger",
}


def table() -> str:
    """Return one row per function, in the order of the registry."""
    found = [f for f in functions().values() if not f.rowwise]
    return rows(("function", "error", "relative to"), [(call(f), *error(f)) for f in found])


def error(f: Function) -> tuple[str, str]:
    """Return the bound on the error of a function, and the value that it is relative to."""
    a = f.accuracy
    if not a.roundings:
        return "exact", ""
    measure = "m" if a.measure else "|x|"
    terms = [f"({a.roundings:g} + {a.growth:g} {measure}) u" if a.growth else f"{a.roundings:g} u"]
    if a.amplified:
        terms.append(f"({a.transcendental:g} + {a.amplified:g} {measure}) f")
    elif a.transcendental:
        terms.append(f"{a.transcendental:g} f")
    return " + ".join(terms), RELATIVE_TO[a.scale]


def call(f: Function) -> str:
    """Return a function's call with required parameters, then the defaults of optional ones."""
    optional = zip(f.parameters[f.fewest :], f.defaults, strict=True)
    shown = [f"`{parameter}={default:.4g}`" for parameter, default in optional]
    return ", ".join([f"`{f.name}({', '.join(f.parameters[: f.fewest])})`", *shown])
