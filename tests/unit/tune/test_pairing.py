"""Races: data that kernels share, turns of cold calls, and kernels on devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline, targets
from kgen.check.bench import cold, run
from kgen.errors import DeviceError
from kgen.schedule import BlockedMatmul, CpuSplitMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Plan
from kgen.tune import pairing
from kgen.tune.pairing import (
    ALL_THREADS,
    ONE_THREAD,
    DeviceRace,
    SharedBuffers,
    TimingCondition,
    contents_of,
)
from kgen_runtime.backends.cpu import CpuBackend
from tests import needs
from tests.attention_specs import attention

SPEC = Matmul(m=64, n=64, k=64, dtype=DType.F32)
COLD = TimingCondition(is_cold=True)


def plan(spec: Matmul = SPEC) -> Plan:
    return pipeline.plan(spec, targets.find("x86-64-v3"))


def test_conditions_have_names() -> None:
    names = [condition.name for condition in (*ONE_THREAD, *ALL_THREADS)]
    assert names == [
        "warm, one thread",
        "cold, one thread",
        "warm, all threads",
        "cold, all threads",
    ]
    assert pairing.conditions_of("cpu") == ONE_THREAD
    assert pairing.confirming(ONE_THREAD) == (*ONE_THREAD, *ALL_THREADS)
    assert pairing.confirming(pairing.ON_DEVICE) == pairing.ON_DEVICE


class Recorded:
    """Backend that records the buffers of a call."""

    def __init__(self) -> None:
        self.made: list[tuple[object, object]] = []
        self.called: list[tuple[object, object]] = []

    def prepare(self, kernel: object, buffers: object) -> object:
        self.made.append((kernel, buffers))
        return partial(self.called.append, (kernel, buffers))


class Numbered:
    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, entry: object) -> int:
        return self.number


def test_cold_calls_take_the_next_set_each() -> None:
    """Kernels share the turns, and calls on one set are prepared together."""
    backend = Recorded()
    entry = SimpleNamespace(op="matmul", parameters=(), sizes={})
    kernels = [(entry, "a"), (entry, "b")]
    sets = [Numbered(number) for number in range(3)]
    calls = pairing.calls_of(backend, kernels, sets)  # type: ignore[arg-type]
    assert backend.made == [(name, number) for number in range(3) for name in "ab"]
    for call in (*calls, *calls):
        call()
    assert backend.called == [("a", 0), ("b", 1), ("a", 2), ("b", 0)]


def test_a_race_takes_the_least_time() -> None:
    calls, finished = list[int](), list[int]()

    def slow() -> None:
        calls.append(sum(range(20000)))

    seconds = pairing.race([slow, lambda: None], lambda: finished.append(1))
    assert seconds[0] > seconds[1] > 0
    assert len(calls) >= pairing.ROUNDS and len(finished) == 2 * (pairing.ROUNDS + 2)


def test_a_slow_kernel_leaves_a_race_unless_it_is_the_first() -> None:
    def slow() -> int:
        return sum(range(20000))

    for calls, rounds in (
        ([lambda: None, slow], pairing.TRIALS),
        ([slow, lambda: None], pairing.ROUNDS),
    ):
        finished = list[int]()
        seconds = pairing.race(calls, lambda found=finished: found.append(1))  # type: ignore[misc]
        assert max(seconds) == seconds[calls.index(slow)] < 1
        assert len(finished) == 4 + pairing.ROUNDS + rounds


@pytest.mark.integration
def test_kernels_of_a_race_share_buffers() -> None:
    needs.cpu("x86-64-v3")
    backend = CpuBackend(num_threads=1)
    buffers = SharedBuffers(backend)
    with pairing.loaded(backend, [plan(), plan()]) as kernels:
        first, second = (buffers.of(contents_of(entry)) for entry, _ in kernels.values())
        assert first == second and len(buffers.known) == 3
        for call in pairing.calls_of(backend, list(kernels.values()), [buffers]):
            call()
    buffers.free()
    assert not buffers.known


@pytest.mark.integration
def test_attention_is_timed_with_every_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With lengths of 0 there would be nothing to compute, and a single page would stay in a
    cache."""
    needs.cpu("x86-64-v3")
    spec = attention(1, 12, 4, batch=2, dtype="f32", page_size=4, pages=5)
    path = kgen.build(spec, targets=["x86-64-v3"]).save(tmp_path / "pages.kgen")
    found = list[Mapping[str, Any]]()

    def keep(_: object, kernel: Any, sets: Sequence[Mapping[str, Any]], *others: object) -> None:
        found.extend((sets[0], {name: value for name, _, value in contents_of(kernel.entry)}))
        raise StopIteration

    monkeypatch.setattr(run, "_bench_kernel", keep)
    with pytest.raises(StopIteration):
        run.bench(path, device="cpu")
    for values in found:
        assert values["kv_length"].view(np.int32).tolist() == [12, 12]
        assert values["page_table"].view(np.int32).tolist() == [0, 1, 2, 3, 4, 0]


@pytest.mark.integration
def test_a_kernel_with_a_workspace_is_run() -> None:
    """Split-k adds up its slices in a workspace."""
    needs.cpu("x86-64-v3")
    begun = plan(Matmul(m=4, n=64, k=64, dtype=DType.F32))
    assert isinstance(begun.schedule, BlockedMatmul)
    blocks = {n: getattr(begun.schedule, n) for n in ("mr", "nr", "pack_a", "pack_b")}
    whole = CpuSplitMatmul(**blocks, mc=4 * begun.schedule.mr, nc=64, kc=16, split_k=2)
    split = pipeline.plan(begun.spec, begun.target, whole)
    assert split.workspaces
    times = DeviceRace()([split, begun], ONE_THREAD[0])
    assert len(times) == 2 and min(times) > 0


@pytest.mark.integration
def test_a_cold_race_has_fresh_buffers_of_many_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.cpu("x86-64-v3")
    asked: list[int] = []
    made: list[Sequence[SharedBuffers]] = []
    calls_of = pairing.calls_of

    def sets_of(nbytes: int) -> int:
        asked.append(nbytes)
        return 3

    def recorded(backend: CpuBackend, kernels: object, sets: Sequence[SharedBuffers]) -> object:
        made.append(sets)
        return calls_of(backend, kernels, sets)  # type: ignore[arg-type]

    monkeypatch.setattr(cold, "sets_of", sets_of)
    monkeypatch.setattr(pairing, "calls_of", recorded)
    for _ in range(2):
        DeviceRace()([plan()], COLD)
    assert asked == [3 * 64 * 64 * 4] * 2
    assert [len(sets) for sets in made] == [3, 3] and made[0][0] is not made[1][0]
    DeviceRace()([plan()], ONE_THREAD[0])
    assert len(asked) == 2


def test_a_device_that_does_not_exist_is_named() -> None:
    with pytest.raises(DeviceError, match="cpu:7 does not exist"):
        pairing.conditions_of("cpu:7")
