"""Error bounds of a model's results."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.check.model.steps import worst

EXACT = np.array([1e39, 1.0, -2.0])
ROUNDED = np.array([np.inf, 1.0, -2.0], np.float32)


def test_what_is_beyond_f32_is_infinite() -> None:
    """Other elements keep their own bound."""
    assert worst(ROUNDED, EXACT, ROUNDED) == 0.0
    assert worst(np.array([np.inf, 1.0, -2.1], np.float32), EXACT, ROUNDED) > 1.0


@pytest.mark.parametrize("made", [np.nan, -np.inf, 3e38, 0.0])
def test_what_is_beyond_f32_is_nothing_else(made: float) -> None:
    assert worst(np.array([made, 1.0, -2.0], np.float32), EXACT, ROUNDED) > 1.0


def test_what_is_beyond_f16_is_infinite() -> None:
    exact = np.array([1e6, 1.0])
    assert worst(np.array([np.inf, 1.0], np.float16), exact, exact.astype(np.float32)) == 0.0
    assert worst(np.array([np.inf, 1.0], np.float32), exact, exact.astype(np.float32)) > 1.0


def test_what_the_model_in_f32_has_no_number_for() -> None:
    """Infinity divided by infinity, where both are finite in f64."""
    exact, rounded = np.array([1.0, 1.0]), np.array([np.nan, 1.0], np.float32)
    assert worst(rounded, exact, rounded) == 0.0
    assert worst(np.array([1.0, np.nan], np.float32), exact, rounded) > 1.0


def test_not_a_number_among_others_leaves_their_bound() -> None:
    exact = np.array([np.nan, *np.linspace(1, 2, 9)])
    rounded = exact.astype(np.float32)
    rounded[-1] += 1e-3
    made = exact.astype(np.float32)
    made[1] += 2e-3
    assert worst(made, exact, rounded) < 1.0


def test_zeros_that_a_relu_left_do_not_hide_what_rounding_costs() -> None:
    exact = np.array([0.0, 0.0, 0.0, 300.0, 200.0])
    rounded = np.array([0.0, 0.0, 0.0, 300.001, 200.0], np.float32)
    made = np.array([0.0, 0.0, 0.0, 300.0, 200.002], np.float32)
    assert worst(made, exact, rounded) < 1.0


def test_numbers_that_stand_for_infinity_say_nothing_of_the_others() -> None:
    exact = np.array([-1e38, 1.0, 0.0, 0.0, 2.0, 3.0])
    rounded = exact.astype(np.float32)
    assert worst(rounded, exact, rounded) <= 1.0
    made = rounded.copy()
    made[1] += np.float32(1e-3)
    assert worst(made, exact, rounded) > 1.0
