"""CPU suite: its tables, and the measurement of small kernels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from benchmarks.cpu import attention, calls, two_cores
from benchmarks.cpu.measure import measure
from benchmarks.cpu.model_shapes import PRODUCTS
from benchmarks.cpu.tables import TWO_CORES, Table, tables
from benchmarks.page import PRODUCTS as LINES
from benchmarks.page import ROWS
from benchmarks.side_by_side import SUITES
from kgen.check.bench import timing
from kgen.check.peers.peer import values
from kgen.spec import Attention, DType, Matmul, text

SMALL = Matmul(m=16, n=16, k=16, dtype=DType.F32)


def new(_: str) -> bool:
    return False


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make samples take a fraction of their usual time."""
    monkeypatch.setattr(timing, "SAMPLE_SECONDS", 1e-4)
    monkeypatch.setattr(timing, "ATTEMPTS", 1)


def test_shapes_from_models() -> None:
    """There are forty distinct shapes, with values of M that occur in layers."""
    assert len(PRODUCTS) == len(set(PRODUCTS)) == 40
    assert all(1 <= m <= 512 and 256 <= min(n, k) <= max(n, k) <= 5120 for m, n, k in PRODUCTS)


def test_tables_of_the_page_and_of_side_by_side_exist() -> None:
    names = {table.name for table in tables()}
    used = {line.table for line in (*LINES, *ROWS)} | {name for s in SUITES.values() for name in s}
    # Types that this machine's target does not support have no table.
    assert {name for name in used - names if name.split("-")[0] not in ("s8", "bf16")} == set()


def test_kernels_are_timed_in_one_thread_and_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_cores, "CORES", 0.0)
    for name, peers in (("f32", ("numpy", "peak")), ("threads", ("one thread", *TWO_CORES))):
        table = Table(name=name, title="t", specs=[SMALL], peers=peers)
        (found,) = measure(table, 2, new)
        assert (found.table, found.work) == (name, text.form(SMALL))
        assert found.time is not None and found.time.rounds == 2
        assert set(found.peers) == set(peers) and (found.ratio(*peers) or 0.0) > 0
        assert not list(measure(table, 2, {text.form(SMALL)}.__contains__))


def test_attention_is_timed_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library's result counts for `furthest_apart`; what a library refuses is a reason."""

    def softmax(spec: Attention, _: Any, entry: Any, data: Any, __: int) -> attention.Made:
        q, k, v = (values(data, p) for p in entry.inputs)
        scores = np.float64(spec.scale or 1.0) * (q @ k.swapaxes(2, 3))
        weights = np.exp(scores - scores.max(axis=3, keepdims=True))
        return lambda: None, lambda: weights @ v / weights.sum(axis=3, keepdims=True)

    def refuses(*_: object) -> attention.Made:
        raise ValueError("no attention\nof this type")

    def doubles(*given: Any) -> attention.Made:
        call, result = softmax(*given)
        return call, lambda: 2 * result()

    spec = Attention(q=(1, 2, 5, 8), k=(1, 2, 7, 8), dtype=DType.F32)
    for right, peers in ((True, {"a": softmax, "b": refuses}), (False, {"a": doubles})):
        monkeypatch.setattr(attention, "PEERS", peers)
        table = Table(name="attention-f32", title="t", specs=[spec], peers=(*peers,))
        (found,) = measure(table, 2, new)
        assert found.time is not None and (found.ratio("a") or 0.0) > 0
        assert (float(found.values["furthest_apart"]) < 1e-5) == right
        assert "b" not in peers or found.peers["b"].missing == "ValueError: no attention"


def test_decoders_attend_to_all_keys_with_causal() -> None:
    """The libraries get no mask for a decoder's rows, which attend to all keys."""
    for spec in attention.specs(DType.F32):
        assert spec.queries > 1 or spec.pairs == spec.keys


def test_reading_is_timed_beside_skinny_gemms_only() -> None:
    table = next(table for table in tables() if table.name == "f32")
    beside = {spec.key: table.beside(spec) for spec in table.specs}
    assert "read" in beside["matmul_8x4096x4096_f32_nn"]
    assert "read" not in beside["matmul_128x384x384_f32_nn"]


def test_two_cores_take_half_of_the_time_at_best(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Matmul(m=64, n=64, k=64, dtype=DType.F32)
    monkeypatch.setattr(two_cores, "ARITHMETIC", small)
    monkeypatch.setattr(two_cores, "READING", (small,))
    table = next(t for t in tables() if t.name == "cores")
    found = list(measure(table, 1, new))
    assert [row.work for row in found] == ["multiply-adds of f32", "reading 64x64 of f32"]
    assert all(0 < (row.ratio("one core") or 0) < 4 for row in found)


def test_two_threads_are_not_measured_while_two_cores_are_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(two_cores, "CORES", 100.0)
    monkeypatch.setattr(two_cores, "PATIENCE", 0.0)
    table = Table(
        name="threads", title="t", specs=[SMALL], peers=("one thread",), ceilings=TWO_CORES
    )
    (found,) = measure(table, 1, new)
    assert found.time is None and "two cores did less" in str(found.peers["one thread"].missing)


def test_rounds_in_which_two_cores_are_one_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second core's gain beside the kernel selects the rounds, not the kernel's own times."""
    batches = [
        [[5.0, 9.0, 6.0], [1.9, 1.2, 1.9], [1.9, 1.9, 1.2]],
        [[8.0, 7.0, 7.5], [1.0, 1.9, 2.0], [1.0, 2.0, 1.9]],
    ]
    taken: list[int] = []

    def take() -> list[list[float]]:
        taken.append(1)
        return batches[len(taken) % 2 - 1]

    def while_two(rounds: int) -> list[list[float]] | None:
        taken.clear()
        return two_cores.while_two(take, rounds, lambda times: times[1:])

    assert while_two(1) == [[5.0], [1.9], [1.9]] and len(taken) == 1
    assert while_two(3) == [[5.0, 7.0, 7.5], [1.9, 1.9, 2.0], [1.9, 2.0, 1.9]]
    monkeypatch.setattr(two_cores, "PATIENCE", 0.0)
    assert while_two(3) is None and len(taken) == 1


def test_one_thread_has_either_core_in_turn() -> None:
    every, seen = os.sched_getaffinity(0), list[set[int]]()

    def note() -> None:
        seen.append(os.sched_getaffinity(0))

    with two_cores.places() as (first, second, either):
        for place in (first, second, either, first):
            place(note)()
    one, *others = ({core} for core in sorted(every))
    assert seen == [one, others[0] if others else one, every, one]
    assert os.sched_getaffinity(0) == every


def test_calls_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "SEVERAL", 2)
    found = calls.rows(1)
    assert {row.table for row in found} == {"calls"}
    assert f"{calls.PREPARED}, f32, numpy" in {row.work for row in found}
    assert all(row.time is not None and row.time.median < 1 for row in found)
