"""Timing: interleaving, medians, and peers that compute what the kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kgen
from kgen.check import bench, tensors
from kgen.errors import DeviceError
from kgen.spec import DType, Matmul, Operand
from kgen_runtime.manifest import KernelEntry

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
    assert order[2:] == ["kernel", "peer"] * 3


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
