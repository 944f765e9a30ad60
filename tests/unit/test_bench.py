"""Timing: interleaving, medians, limits of time, the roofline."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

import kgen
from kgen.check import bench, tensors
from kgen.errors import DeviceError
from kgen.spec import DType, Matmul, Operand
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry, TargetEntry

EntryFor = Callable[..., KernelEntry]


def test_medians_are_taken_over_interleaved_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    cost = {"kernel": 0.5, "peer": 2.0}

    def timed(run: Callable[[], object], count: int) -> float:
        name = str(run())
        order.append(name)
        return cost[name] * count

    monkeypatch.setattr(bench, "timed", timed)
    medians = bench.interleaved([lambda: "kernel", lambda: "peer"], rounds=3)
    assert medians == [0.5, 2.0]
    # Every other round goes backwards.
    assert order[2:] == ["kernel", "peer", "peer", "kernel", "kernel", "peer"]


def test_an_untimed_call_comes_before_each_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    def timed(run: Callable[[], object], count: int) -> float:
        events.append("timed")
        return float(count)

    monkeypatch.setattr(bench, "timed", timed)
    bench.samples([lambda: events.append("run")], rounds=2)
    assert events == ["run", "timed"] * 3  # The first pair finds out how often to repeat.


def test_a_limit_of_time_leaves_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "timed", lambda run, count: count)
    found = bench.samples([lambda: None], rounds=50, limit=0)
    assert found == [[1.0] * bench.LEAST_ROUNDS]


def test_the_roofline_is_that_of_a_known_gpu(entry_for: EntryFor) -> None:
    spec = Matmul(m=4096, n=4096, k=4096, dtype=DType.F16)
    target = TargetEntry(name="sm_80", family="cuda", arch="sm_80")
    entry = dataclasses.replace(entry_for(spec), target=target)
    least = 2 * 4096**3 / 312e12
    gpu = DeviceInfo(backend="cuda", index=0, name="NVIDIA A100-SXM4-80GB", kind="gpu")
    assert bench.fraction(entry, gpu, 2 * least) == pytest.approx(0.5, rel=0.01)
    for name, kind in (("NVIDIA RTX A2000", "gpu"), ("A100", "software")):
        other = DeviceInfo(backend="cuda", index=0, name=name, kind=kind)
        assert bench.fraction(entry, other, least) is None


def test_buffers_start_at_a_cache_line() -> None:
    for nbytes in (1, 63, 1000):
        buffer = tensors.empty_buffer(nbytes)
        assert buffer.nbytes == nbytes and buffer.ctypes.data % 64 == 0


@pytest.mark.parametrize("constant", [(), (Operand.B,)], ids=["given", "packed"])
def test_a_bundle_is_timed_on_the_cpu(tmp_path: Path, constant: tuple[Operand, ...]) -> None:
    spec = Matmul(m=64, n=64, k=64, dtype=DType.F32, constant=constant)
    path = kgen.build(spec, targets=["native"]).save(tmp_path / "x.kgen")
    report = bench.bench(path, device="cpu", rounds=3)
    (result,) = report.kernels
    (peer,) = result.peers
    assert result.gflops == pytest.approx(2 * 64**3 / result.seconds / 1e9)
    assert peer.seconds is not None and peer.ratio == peer.seconds / result.seconds
    assert set(report.to_json()["kernels"][0]) >= {"kernel", "seconds", "gflops", "roofline"}
    with pytest.raises(DeviceError, match="against=mkl is unknown"):
        bench.bench(path, against=("mkl",))
