"""Functions of element-wise expressions, with their errors in f32 and f64."""

from __future__ import annotations

from kgen.ops import ScalarFunction, functions
from scripts.reference.markdown import rows

RELATIVE_TO = {
    "result": "the result",
    "argument": "the largest |argument|",
    "one": "the result, or 1 if that is larger",
}


def table() -> str:
    """Return one row per function, in the order of the registry."""
    found = [f for f in functions().values() if not f.rowwise]
    header = ("function", "error in f32", "relative to", "error in f64", "relative to")
    return rows(header, [(call(f), *error(f), *error_f64(f)) for f in found])


def error(f: ScalarFunction) -> tuple[str, str]:
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


def error_f64(f: ScalarFunction) -> tuple[str, str]:
    """Return the bound in f64, and the value that it is relative to; empty if there is none."""
    a = f.accuracy
    if not a.ulps:
        return "", ""
    text = {"result": "the result", "argument": "the larger of the result and x"}[a.ulps_of]
    return f"{a.ulps} ulp", text if a.holds is None else f"{text}, for |x| up to 40"


def call(f: ScalarFunction) -> str:
    """Return a function's call with required parameters, then the defaults of optional ones."""
    optional = zip(f.parameters[f.fewest :], f.defaults, strict=True)
    shown = [f"`{parameter}={default:.4g}`" for parameter, default in optional]
    return ", ".join([f"`{f.name}({', '.join(f.parameters[: f.fewest])})`", *shown])
