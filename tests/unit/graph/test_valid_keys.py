"""Masks that hide all keys from a number on: found in models, with the right results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from kgen.graph.lowering.calls import Lowered
from kgen.spec import Attention
from kgen.spec.attention import Diagonal
from tests.onnx_models import Maker, defined, run
from tests.unit.graph.test_attention import SK, SQ, B, Change, H, calls_of, data, written
from tests.unit.graph.test_contributed_attention import CASES
from tests.unit.graph.test_contributed_attention import calls_of as calls_of_contributed

KEYS = np.arange(SK).reshape(1, 1, 1, SK)
ROWS = np.arange(SQ).reshape(1, 1, SQ, 1)


def hides(m: Maker, seen: str, x: str, hidden: float = -math.inf, shown: float = 0.0) -> str:
    mask = m.add("Where", seen, m.constant(shown), m.constant(hidden))
    return str(m.add("Add", x, mask))


def keys_before(
    shape: tuple[int, ...] = (B, 1, 1, 1), *, more: int = 0, factor: int = 1, **given: float
) -> Change:
    """Return a mask of the keys before `factor` times a number, combined with `more`."""

    def change(m: Maker, x: str) -> str:
        number = m.input("number", shape, T.INT64)
        end = m.add("Mul", number, m.constant(factor, np.int64)) if factor != 1 else number
        end = m.add("Add", end, m.constant(more, np.int64)) if more else end
        return hides(m, m.add("Less", m.constant(KEYS, np.int64), end), x, **given)

    return change


def causal(*, window: int = 0, late: int = 0, most: int = SK, less: int = 0) -> Change:
    """Return a mask of the keys up to each query's position; the last query is at the last valid
    key."""

    def change(m: Maker, x: str) -> str:
        number = m.input("number", (B, 1, 1, 1), T.INT64)
        number = m.add("Min", number, m.constant(most, np.int64)) if most else number
        number = m.add("Sub", number, m.constant(less, np.int64)) if less else number
        rows = m.constant(ROWS - SQ + late, np.int64)
        places, keys = m.add("Add", number, rows), m.constant(KEYS, np.int64)
        x = hides(m, m.add("LessOrEqual", keys, places), x)
        if window:
            first = m.add("Sub", places, m.constant(window, np.int64))
            x = hides(m, m.add("Greater", keys, first), x)
        return x

    return change


def checked(model: onnx.ModelProto, numbers: Any) -> tuple[Lowered, Attention]:
    """Return the calls of a model, after a comparison with ONNX's reference."""
    found = calls_of(model)
    inputs = data(model)
    shape = inputs["number"].shape
    inputs["number"] = np.broadcast_to(np.reshape(numbers, (-1, 1, 1, 1)), shape).astype(np.int64)
    (expected,) = defined(model, inputs)
    (made,) = run(found, inputs).values()
    np.testing.assert_allclose(made, expected.reshape(-1), rtol=1e-5, atol=2e-6)
    spec = found.calls[-1].spec
    assert isinstance(spec, Attention)
    return found, spec


@pytest.mark.parametrize("more", [0, 1, -1])
def test_numbers_of_valid_keys(more: int) -> None:
    found, spec = checked(written(keys_before(more=more)), (2, 4))
    assert spec.kv_length and spec.mask is None and not spec.causal
    assert len(found.calls) == 2  # The numbers in s32, and attention.


def test_one_number_for_all_sequences() -> None:
    _, spec = checked(written(keys_before((1, 1, 1, 1))), 3)
    assert spec.kv_length and spec.mask is None


@pytest.mark.parametrize("window", [0, 1, 2])
def test_positions_that_count_from_the_last_valid_key(window: int) -> None:
    _, spec = checked(written(causal(window=window)), (SQ, SK))
    assert (spec.kv_length, spec.causal, spec.diagonal) == (True, True, Diagonal.BOTTOM_RIGHT)
    assert spec.window == (window or None)


def test_a_number_with_an_upper_bound() -> None:
    _, spec = checked(written(causal(most=SK + 1, less=1)), (SQ + 1, SK + 4))
    assert spec.kv_length and spec.causal


@pytest.mark.parametrize(
    "change",
    [
        keys_before((B, H, 1, 1)),
        keys_before((B, 1, SQ, 1)),
        keys_before(factor=2),
        keys_before(hidden=-1e4),
        keys_before(shown=1.0),
        causal(late=1),
        causal(most=0),
        causal(most=SK + 1),
        causal(most=SK + 2, less=1),
    ],
)
def test_other_masks_stay_masks(change: Change) -> None:
    """A number for each head or query, another factor, finite masks, and positions past all keys
    are not recognised."""
    _, spec = checked(written(change), (SQ, SK + 1))
    assert not spec.kv_length and spec.mask is not None


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("GQA, step in a cache", None), ("GQA, chunk", 2), ("GQA, padded chunks", None),
        ("GQA, all keys", None), ("GQA, all keys of a padded prompt", None),
    ],
)  # fmt: skip
def test_caches_of_onnx_runtime(name: str, window: int | None) -> None:
    (spec,) = (
        call.spec
        for call in calls_of_contributed(CASES[name].model()).calls
        if isinstance(call.spec, Attention)
    )
    assert spec.kv_length and spec.mask is None and spec.window == window
