"""Special values: every kind next to every other, at every residue of K and of a row, with
results that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen.check.oracle import operations as oracle
from kgen.check.tensors import decode, strided_bits
from kgen.check.verify import inputs, special_values
from kgen.check.verify.special_values import FINITE, INFINITE, KINDS, NAN
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen_runtime.manifest import KernelEntry
from tests.specs import relu_of, softmax_of

EntryFor = Callable[..., KernelEntry]


def special(entry: KernelEntry) -> list[inputs.DataSet]:
    return [data for data in inputs.data_sets(entry, 0) if data.name == "special-value"]


@pytest.mark.parametrize("length", [1, 2, 7, 64, 96, 1000, 1001])
def test_positions_are_the_ends_and_then_all(length: int) -> None:
    found = [special_values.spread(i, length) for i in range(length + 1)]
    assert found[:2] == [length - 1, 0] and set(found) == set(range(length))
    for divisor in (d for d in (2, 3, 4, 8, 16, 32) if length % d == 0):
        assert {at % divisor for at in found[1 : divisor + 1]} == set(range(divisor))


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 33, 70, 512])
def test_eight_neighbours_have_every_kind(rows: int, turn: int) -> None:
    kinds = special_values.kinds_of(rows, np.random.default_rng(3), turn)
    assert len(kinds) == rows
    assert rows == 1 or FINITE in kinds
    for first in range(8, rows - 15, 8):
        assert sorted(kinds[first : first + 8]) == sorted(KINDS)
    if rows >= 8:
        assert kinds[0] == kinds[-1] == INFINITE and NAN in kinds


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("batch", [{}, {"batch": 3}, {"batch": 3, "batch_stride_b": 0}], ids=str)
def test_results_of_a_matmul(entry_for: EntryFor, layout: Layout, batch: dict[str, Any]) -> None:
    """Every tile has NaN, both infinities and finite results; infinities do not become NaN."""
    entry = entry_for(Matmul(m=40, n=48, k=30, layout=layout, dtype=DType.F16, **batch))
    (data,) = special(entry)
    shape = oracle.output_shape(entry)
    out = oracle.estimate(entry, data.buffers, tuple(slice(0, n) for n in shape)).value
    finite = np.isfinite(out)
    assert 0.25 < finite.mean() < 0.5
    assert np.abs(out[finite]).max() < 40  # zero-mean: 30 terms would add up to more
    for tile in (out[:, i : i + 8, j : j + 8] for i in range(0, 40, 8) for j in range(0, 48, 8)):
        assert np.isnan(tile).any() and np.isinf(tile).any() and np.isfinite(tile).any()
    a = decode(strided_bits(data.buffers["a"], entry.inputs[0]), DType.F16)
    along_k = a.swapaxes(-1, -2) if layout.a_transposed else a
    assert np.isnan(along_k[..., -1]).any() and np.isnan(along_k[..., 0]).any()
    assert (np.isinf(along_k).all(axis=-1) == np.isinf(along_k).any(axis=-1)).all()


def test_places_repeat_over_a_large_batch(entry_for: EntryFor) -> None:
    """Every matrix has special values; matrices whose numbers differ by PLACEMENTS share them."""
    entry = entry_for(Matmul(m=9, n=9, k=5, batch=300, dtype=DType.F32))
    (data,) = special(entry)
    for param in entry.inputs[:2]:
        values = decode(strided_bits(data.buffers[param.name], param), DType.F32)
        nan, again = np.isnan(values), special_values.PLACEMENTS
        assert nan.any(axis=(1, 2)).all() and np.isinf(values).any(axis=(1, 2)).all()
        np.testing.assert_array_equal(nan[: 300 - again], nan[again:])
        assert (nan[0] != nan[1]).any()


@pytest.mark.parametrize("shape", [(1, 40), (40, 1), (3, 40), (1, 1)])
def test_few_rows_take_two_turns(entry_for: EntryFor, shape: tuple[int, int]) -> None:
    entry = entry_for(Matmul(m=shape[0], n=shape[1], k=30, dtype=DType.F32))
    whole = tuple(slice(0, n) for n in oracle.output_shape(entry))
    results = [oracle.estimate(entry, data.buffers, whole).value for data in special(entry)]
    assert len(results) == 2
    assert any(np.isinf(r).any() or np.isnan(r).any() for r in results)
    assert any(np.isfinite(r).any() for r in results)


def test_where_an_infinity_is_not_defined_there_is_none(entry_for: EntryFor) -> None:
    entry = entry_for(Matmul(m=40, n=48, k=30, dtype=DType.F32, epilogue=(Epilogue.GELU,)))
    (data,) = special(entry)
    for param in entry.inputs[:2]:
        values = decode(strided_bits(data.buffers[param.name], param), DType.F32)
        assert not np.isinf(values).any() and np.isnan(values).any()


def test_a_large_matmul_has_them_among_its_random_data(entry_for: EntryFor) -> None:
    small, large = (entry_for(Matmul(m=n, n=n, k=n, dtype=DType.F16)) for n in (160, 192))
    names = [[data.name for data in inputs.data_sets(entry, 0)] for entry in (small, large)]
    assert names == [["random", "whole-number", "special-value"], ["whole-number", "special-value"]]


def test_a_relu_has_every_value_everywhere(entry_for: EntryFor) -> None:
    entry = entry_for(relu_of((5, 67), dtype=DType.F16))
    runs = [strided_bits(data.buffers["x"], entry.inputs[0]) for data in special(entry)]
    wanted = np.unique(runs[0])
    assert len(wanted) == len(runs) == 10
    assert (np.sort(np.array(runs), axis=0) == wanted[:, None, None]).all()
    (large,) = special(entry_for(relu_of((100, 1024), dtype=DType.F32)))
    values = large.buffers["x"].view(np.float32).reshape(-1, 1024)
    assert np.isnan(values).any(axis=0).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 8])
def test_few_rows_have_a_peak_in_every_lane(entry_for: EntryFor, rows: int) -> None:
    entry = entry_for(softmax_of(rows, 256, dtype=DType.F32))
    peaks = set()
    for data in special(entry):
        x = decode(strided_bits(data.buffers["x"], entry.inputs[0]), DType.F32)
        peaks |= set(np.flatnonzero((x == special_values.FAR).any(axis=0)))
    assert 255 in peaks and 0 in peaks
    assert {at % 16 for at in peaks} == set(range(16)) == {at // 16 for at in peaks}
