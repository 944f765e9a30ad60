"""--executor dask:// with two workers, one of which is killed in the middle of each work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgen
from kgen.check.model.programs import verify_programs
from kgen.check.model.truth import truth
from kgen.check.verify.run import opened, verify
from kgen.cli.main import main
from kgen.errors import DeviceError
from kgen.parallel import executors
from kgen.spec import DType, Matmul
from kgen.targets import family, find
from kgen.targets.tuning.file import read
from kgen.tune.record import TuningFile
from kgen.tune.tuner import Tuner
from tests import needs
from tests.onnx_models import mlp

pytestmark = pytest.mark.integration

SPECS = tuple(Matmul(m=16, n=16, k=k, dtype=DType.F32) for k in range(8, 16))
TARGETS = ("sm_80", "x86-64-v3")


class Cluster:
    """Scheduler and two workers, each a process of one thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []
        listed = folder / "scheduler.json"
        self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", listed)
        until = time.monotonic() + 60
        while not listed.exists() and time.monotonic() < until:
            time.sleep(0.05)
        self.tcp = json.loads(listed.read_text())["address"]
        self.address = self.tcp.replace("tcp://", executors.DASK)
        self.workers = [self.worker() for _ in range(2)]

    def start(self, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard"]
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.running.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start("worker", self.tcp, "--no-nanny", "--nthreads", 1)

    def both(self) -> None:
        """Wait until there are two workers, one of which replaces the killed one."""
        from distributed import Client

        self.workers = [w if w.poll() is None else self.worker() for w in self.workers]
        with Client(self.tcp, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)

    def kill_one(self) -> None:
        self.workers[0].send_signal(signal.SIGKILL)
        self.workers[0].wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    needs.module("distributed")
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster
    finally:
        for process in reversed(cluster.running):
            process.kill()
            process.wait()


class KillInTheMiddle:
    """Progress that kills a worker when the first results have arrived."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.lines = cluster, list[str]()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        if len(self.lines) == 3:
            assert " 0 left" not in line
            self.cluster.kill_one()


@pytest.mark.slow
def test_nothing_is_lost_of_a_build(cluster: Cluster, tmp_path: Path) -> None:
    cluster.both()
    told = KillInTheMiddle(cluster)
    with executors.cluster(cluster.address) as workers:
        made = kgen.build(SPECS, TARGETS, executor=workers, progress=told)
    assert cluster.workers[0].poll() == -signal.SIGKILL
    assert len(told.lines) == len(SPECS) * len(TARGETS)
    here = kgen.build(SPECS, TARGETS)
    assert made.save(tmp_path / "a").read_bytes() == here.save(tmp_path / "b").read_bytes()


@pytest.mark.slow
def test_nothing_is_lost_of_a_verification(cluster: Cluster) -> None:
    cluster.both()
    bundle = kgen.build(SPECS, TARGETS)
    told = KillInTheMiddle(cluster)
    with executors.cluster(cluster.address) as workers:
        report = verify(bundle, on="emulator", executor=workers, progress=told)
    assert cluster.workers[0].poll() == -signal.SIGKILL
    assert report.passed
    assert [(k.target, k.kernel) for k in report.kernels] == [
        (target, spec.key) for target in TARGETS for spec in SPECS
    ]


@pytest.mark.slow
def test_nothing_is_lost_of_programs(cluster: Cluster, tmp_path: Path) -> None:
    """A worker is killed when the first program of a model is verified."""
    cluster.both()
    model = tmp_path / "m.onnx"
    model.write_bytes(mlp().SerializeToString())
    made = kgen.compile_model(model, TARGETS).bundle
    programs = made.manifest.programs
    expected = truth(model, programs[0])
    lines: list[str] = []

    def told(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            cluster.kill_one()

    with opened(made) as reader, executors.cluster(cluster.address) as workers:
        found = verify_programs(reader, programs, expected, progress=told, executor=workers)
    assert cluster.workers[0].poll() == -signal.SIGKILL
    assert len(lines) == len(programs) == 2 and all(result.passed for result in found)
    assert [result.target for result in found] == list(TARGETS)
    assert all(len(r.steps) == len(p.steps) for r, p in zip(found, programs, strict=True))


@pytest.mark.slow
def test_nothing_is_lost_of_a_search(cluster: Cluster, tmp_path: Path) -> None:
    cluster.both()
    told = KillInTheMiddle(cluster)
    target = find("native")
    path = tmp_path / "tuned.toml"
    file = TuningFile.opened(path, family(target.family).core(target))
    with executors.cluster(cluster.address) as workers:
        tuner = Tuner(file=file, target=target, executor=workers, progress=told)
        results = tuner.tune(SPECS[:4])
    assert cluster.workers[0].poll() == -signal.SIGKILL
    assert len(results) == 4 and all(each.found is not None for each in results)
    assert file.count == 4 and read(path).core == file.core


@pytest.mark.slow
def test_commands_take_it(cluster: Cluster, tmp_path: Path) -> None:
    cluster.both()
    there, here = tmp_path / "there.kgen", tmp_path / "here.kgen"
    words = ["build", "matmul 8x8x8 f32", "relu 5x7 f32", "--target", "sm_80,vulkan1.3"]
    assert main([*words, "-o", str(there), "--executor", cluster.address]) == 0
    assert main([*words, "-o", str(here), "--jobs", "1"]) == 0
    assert there.read_bytes() == here.read_bytes()
    assert main(["verify", str(there), "--executor", cluster.address]) == 0


@pytest.mark.slow
def test_nobody_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.module("distributed")
    monkeypatch.setattr(executors, "TIMEOUT", 0.2)
    address = f"{executors.DASK}127.0.0.1:{os.getpid() % 1000 + 1}"
    with pytest.raises(DeviceError) as error, executors.cluster(address):
        pass
    assert str(error.value).startswith(f"--executor {address}: no scheduler answers there within")
    assert "\n" not in str(error.value)
