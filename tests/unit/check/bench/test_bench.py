"""Benchmarks of a bundle: rates, ratios and their spread, the roofline, a busy machine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import kgen
from kgen.check import tensors
from kgen.check.bench import run as bench
from kgen.check.bench import timing
from kgen.cli.main import main
from kgen.errors import DeviceError
from kgen.spec import ConstantOperand, DType, Matmul
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry, TargetEntry

EntryFor = Callable[..., KernelEntry]


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


@pytest.mark.integration
@pytest.mark.parametrize("constant", [(), (ConstantOperand.B,)], ids=["given", "packed"])
def test_a_bundle_is_timed_on_the_cpu(
    tmp_path: Path, constant: tuple[ConstantOperand, ...]
) -> None:
    spec = Matmul(m=64, n=64, k=64, dtype=DType.F32, constant=constant)
    path = kgen.build(spec, targets=["native"]).save(tmp_path / "x.kgen")
    report = bench.bench(path, device="cpu", rounds=3)
    (result,) = report.kernels
    (peer,) = result.peers
    assert result.gflops == pytest.approx(2 * 64**3 / result.seconds / 1e9)
    assert peer.seconds is not None and peer.ratio == peer.seconds / result.seconds
    assert result.quartiles[0] <= result.seconds <= result.quartiles[1]
    assert peer.quartiles is not None and peer.quartiles[0] <= peer.quartiles[1]
    assert set(report.to_json()["kernels"][0]) >= {"kernel", "seconds", "gflops", "roofline"}
    with pytest.raises(DeviceError, match="against=mkl is unknown"):
        bench.bench(path, against=("mkl",))


def busy_bench(monkeypatch: pytest.MonkeyPatch, folder: Path, load: float, *rounds: float) -> Path:
    """Return a bundle whose kernel seems to take a second, and numpy these seconds in each
    round."""
    path = kgen.build(Matmul(m=8, n=8, k=8, dtype=DType.F32), targets=["native"])
    times = [[1.0] * len(rounds), list(rounds)]
    noise = timing.ratio_noise(*times)
    taken = timing.TimingSample(times=times, load=load, noise=noise)
    monkeypatch.setattr(timing, "quiet_samples", lambda *_, **__: taken)
    return path.save(folder / "x.kgen")


@pytest.mark.integration
@pytest.mark.parametrize(
    "threads, against, rest",
    [(1, ("numpy",), 0.0), (2, (), 0.0), (2, ("numpy",), timing.REST), (None, ("numpy",), 0.05)],
)
def test_threads_of_a_library_rest_before_the_kernel_is_timed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int | None,
    against: tuple[str, ...],
    rest: float,
) -> None:
    path = kgen.build(Matmul(m=8, n=8, k=8, dtype=DType.F32), targets=["native"])
    rests: list[float] = []
    monkeypatch.setattr("time.sleep", rests.append)
    bundle = path.save(tmp_path / "x.kgen")
    bench.bench(bundle, device="cpu", num_threads=threads, against=against, rounds=1)
    assert set(rests) == {rest}


@pytest.mark.integration
def test_kgen_bench_shows_the_spread_and_a_busy_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = busy_bench(monkeypatch, tmp_path, 1.25, 1.0, 2.0, 3.0, 177.0)
    assert main(["bench", str(path), "--device", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert "2.50x numpy (1.75x to 46.50x)" in shown
    assert "busy machine: other processes used 1.25 cores during the run (limit 0.05)" in shown
    assert "of the rounds differ by 98% (limit 3%)" in shown
    assert "do not rely on these figures" in shown
    assert main(["bench", str(path), "--device", "cpu", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["kernels"]
    assert result["load"] == 1.25 and "1.25 cores" in result["disturbed"]
    assert result["peers"][0]["quartiles"] == [1.75, 46.5]


@pytest.mark.integration
def test_kgen_bench_says_nothing_of_a_quiet_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = busy_bench(monkeypatch, tmp_path, 0.01, 1.7, 1.7, 1.7, 1.7)
    assert main(["bench", str(path), "--device", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert "1.70x numpy (1.70x to 1.70x)" in shown and "busy" not in shown
    report = bench.bench(path, device="cpu")
    assert report.kernels[0].disturbed is None
