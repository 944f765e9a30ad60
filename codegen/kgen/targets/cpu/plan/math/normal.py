"""Tail of the normal distribution, for gelu: constants of templates/cpu/lib/activation.j2.

They come from `normal.toml`. If an instruction (VPERMPS) looks up sixteen numbers, each element
takes its coefficients from a register, by the number nearest to z. On so short a stretch a
polynomial of far lower degree is enough.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from kgen.spec import DType
from kgen_runtime.values import frozen

#: Entries of a table.
ENTRIES = 16


@frozen
class NormalTail:
    """Phi(-z) = 2^L(z), z >= 0, with L a polynomial in z - `center`, and 2^r one for |r| <= 1/2.

    From `limit` on z Phi(-z) is zero in the type of the results. Highest powers first.
    """

    limit: float
    center: float
    coefficients: tuple[float, ...]
    power_coefficients: tuple[float, ...]


@frozen
class NormalTables:
    """Polynomials L(z) of `tail` for z near i, from entry i of each table: coefficients of powers
    of z, or of z - i if it `is_centered`, highest first. Limit and 2^r are those of `tail`."""

    tail: NormalTail
    is_centered: bool
    coefficients: tuple[tuple[float, ...], ...]


@cache
def _constants(out: DType) -> dict[str, Any]:
    """Return the coarsest constants that the rounding of results to `out` hides."""
    path = resources.files("kgen.targets.cpu.plan.math") / "normal.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    found: dict[str, Any] = tables.get(out, tables[DType.F32])
    return found


def normal_tail(out: DType) -> NormalTail:
    """Return the tail of a gelu in f32 whose results are rounded to `out`."""
    of = _constants(out)
    return NormalTail(
        limit=of["limit"],
        center=of["center"],
        coefficients=tuple(of["coefficients"]),
        power_coefficients=tuple(of["power_coefficients"]),
    )


def normal_tables(out: DType) -> NormalTables:
    """Return the tables of a gelu in f32 whose results are rounded to `out`."""
    of = _constants(out)
    tables = ((*table, *[0.0] * (ENTRIES - len(table))) for table in of["tables"])
    centered = of["tables_are_centered"]
    return NormalTables(
        tail=normal_tail(out), is_centered=centered, coefficients=tuple(map(tuple, tables))
    )
