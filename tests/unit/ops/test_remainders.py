"""Definitions of remainders and rounded quotients, of numbers and arrays, in exact arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kgen.check.oracle.elementwise import Arrays, WholeArrays
from kgen.ops import expand, parse
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.mathematics import Scalars
from tests import remainders
from tests.unit.ops.ops_in_numpy import run

NAMES = {"cut": "fmod", "out": "mod", "down": "floor_divide"}


def test_definitions_of_numbers() -> None:
    x, y = remainders.pairs(np.float64)
    found = {
        name: np.array(
            [DEFINITIONS[f](Scalars(), float(a), float(b)) for a, b in zip(x, y, strict=True)]
        )
        for name, f in NAMES.items()
    }
    remainders.check(x, y, found)


def test_definitions_of_arrays() -> None:
    x, y = remainders.pairs(np.float64)
    with np.errstate(all="ignore"):
        found = {name: DEFINITIONS[f](Arrays(), x, y) for name, f in NAMES.items()}
    remainders.check(x, y, found)


def test_expansions() -> None:
    x, y = remainders.pairs(np.float32)
    found = {name: run(expand(parse(f"{f}(x, y)")), {"x": x, "y": y}) for name, f in NAMES.items()}
    remainders.check(x, y, found)


@pytest.mark.parametrize(("x", "y"), [(7, 3), (-7, 3), (7, -3), (-7, -3), (7, 0), (0, 5), (6, -1)])
def test_whole_numbers(x: int, y: int) -> None:
    expected = {
        "cut": int(math.fmod(x, y)) if y else 0,
        "out": x % y if y else 0,
        "down": x // y if y else 0,
    }
    arrays = np.array([x]), np.array([y])
    for name, f in NAMES.items():
        assert DEFINITIONS[f](Scalars(), x, y) == expected[name], f
        with np.errstate(all="ignore"):
            assert DEFINITIONS[f](WholeArrays(), *arrays)[0] == expected[name], f
