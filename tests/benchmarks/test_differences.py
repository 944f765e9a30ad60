"""Differences of results: relative to the largest value, and NaN where one is NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.differences import apart


def test_the_largest_difference_is_relative() -> None:
    theirs = {"a": np.array([1.0, -4.0]), "b": np.array([True, False]), "none": np.zeros(0)}
    ours = {"a": np.array([1.0, -3.0]), "b": np.array([True, False]), "none": np.zeros(0)}
    assert apart(ours, theirs) == 0.25


def test_a_nan_in_any_output_is_seen() -> None:
    theirs = {"a": np.ones(2), "b": np.ones(2)}
    assert math.isnan(apart(theirs | {"b": np.array([1.0, math.nan])}, theirs))


def test_further_names_of_an_output_are_ignored() -> None:
    """OpenVINO also names an output after a tensor that it has fused into it."""
    ours = {"a": np.ones(2)}
    assert apart(ours, ours | {"fused": np.zeros(3)}) == 0.0
    with pytest.raises(KeyError):
        apart(ours | {"b": np.ones(2)}, ours)
