"""Cases that a test run for another CPU selects."""

from __future__ import annotations

import itertools

from tests.each_value import covering


def test_each_value_of_each_parameter_appears() -> None:
    sizes = {"target": 5, "cache": 3, "rows": 11}
    numbers = itertools.product(*map(range, sizes.values()))
    cases = [(number, "a", dict(zip(sizes, map(str, number), strict=True))) for number in numbers]
    chosen = covering(cases)
    assert len(chosen) < 20 < len(cases)
    for axis, size in enumerate(sizes.values()):
        assert {number[axis] for number in chosen} == set(range(size))


def test_tests_are_apart_and_those_without_parameters_stay() -> None:
    cases = [("a0", "a", {"x": "0"}), ("b0", "b", {"x": "0"}), ("b0'", "b", {"x": "0"})]
    assert covering([*cases, ("c", "c", {}), ("c'", "c", {})]) == ["a0", "b0", "c", "c'"]
