"""Many kernels at once: every executor gives the same bundle; errors name the kernel; nothing
stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import onnx
import pytest

import kgen
from kgen import building, pipeline
from kgen.cache import kernel_cache
from kgen.check.verify.run import verify
from kgen.cli.main import main
from kgen.errors import AssembleError
from kgen.parallel import executors
from kgen.spec import DType, Matmul
from kgen.targets.base import Plan
from tests.onnx_models import mlp
from tests.specs import relu_of

SPECS = (*(Matmul(m=8, n=8, k=k, dtype=DType.F32) for k in (3, 4)), relu_of((5, 7), "f32"))
TARGETS = ["sm_80", "gfx942", "vulkan1.3", "x86-64-v3"]


class AtOnce(Executor):
    """Executor that calls immediately and records the calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls.append(args)
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def failing(bad: str) -> Callable[[Plan], object]:
    """Return a function that fails to assemble kernels whose names contain a word."""
    assembled = pipeline.assembled

    def made(plan: Plan) -> object:
        if bad in building.name_of(plan):
            raise AssembleError("LLVM refuses it")
        return assembled(plan)

    return made


@pytest.mark.integration
def test_processes_make_the_same_bundle(tmp_path: Path) -> None:
    told = list[str]()
    with executors.processes(2) as pool:
        made = kgen.build(SPECS, TARGETS, executor=pool, progress=told.append)
        assert pool is not None
        pids = {pool.submit(os.getpid).result() for _ in range(8)}
    assert made.save(tmp_path / "a").read_bytes() == (
        kgen.build(SPECS, TARGETS).save(tmp_path / "b").read_bytes()
    )
    assert os.getpid() not in pids
    assert told[0].startswith("building sm_80/") and told[0].endswith(": 0 done, 12 left")
    assert told[-1].endswith(": 11 done, 1 left")


@pytest.mark.integration
def test_any_executor_does(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        made = kgen.build(SPECS, ["vulkan1.3", "x86-64-v3"], executor=threads)
    alone = kgen.build(SPECS, ["vulkan1.3", "x86-64-v3"])
    assert made.manifest == alone.manifest and made.files == alone.files


@pytest.mark.integration
def test_one_kernel_is_built_here() -> None:
    executor = AtOnce()
    kgen.build(SPECS[0], ["vulkan1.3"], executor=executor)
    assert executor.calls == []
    kgen.build(SPECS[0], ["vulkan1.3", "sm_80"], executor=executor)
    assert len(executor.calls) == 2


@pytest.mark.integration
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_names_the_kernel(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(pipeline, "assembled", failing("matmul_8x8x4_f32_nn"))
    expected = r"^vulkan1\.3/matmul_8x8x4_f32_nn: LLVM refuses it$"
    with pytest.raises(AssembleError, match=expected), executors.processes(jobs) as pool:
        kgen.build(SPECS, ["vulkan1.3"], executor=pool)


@pytest.mark.integration
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_names_the_nodes(
    monkeypatch: pytest.MonkeyPatch, jobs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mlp.onnx"
    onnx.save(mlp(), path)
    monkeypatch.setattr(pipeline, "assembled", failing("matmul_5x3x24"))
    out = tmp_path / "m.kgen"
    words = ["compile", str(path), "--target", "vulkan1.3", "-o", str(out), "--jobs", str(jobs)]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("kgen compile: vulkan1.3/matmul_5x3x24_f32_nn")
    assert error.endswith(": LLVM refuses it (node /MatMul3, /Add4)\n")
    assert not out.exists()


@pytest.mark.integration
def test_a_process_that_dies_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "assembled", lambda plan: os._exit(3))
    with (
        pytest.raises(AssembleError, match=r"vulkan1.3/.*a worker process died"),
        executors.processes(2) as pool,
    ):
        kgen.build(SPECS, ["vulkan1.3"], executor=pool)


def test_a_worker_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    key = kernel_cache.key
    count = iter(range(100))
    monkeypatch.setattr(kernel_cache, "key", lambda *parts: f"{next(count)}{key(*parts)}")
    with pytest.raises(AssembleError, match=r"has another version of kgen or of its tools; ins"):
        kgen.build(SPECS, ["vulkan1.3"], executor=AtOnce())


def test_an_executor_that_fails_is_one_line() -> None:
    class Fails(AtOnce):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(lambda: 1 // 0)

    with pytest.raises(AssembleError, match=r"_f32(_nn)?: ZeroDivisionError: integer"):
        kgen.build(SPECS, ["vulkan1.3"], executor=Fails())


@pytest.mark.integration
def test_kernels_are_verified_by_an_executor() -> None:
    bundle = kgen.build(SPECS, ["sm_80", "x86-64-v3"])
    here = verify(bundle, on="emulator")
    executor = AtOnce()
    told = list[str]()
    there = verify(bundle, on="emulator", executor=executor, progress=told.append)
    assert len(executor.calls) == 6
    for one, other in zip(here.kernels, there.kernels, strict=True):
        assert one.to_json() | {"seconds": 0} == other.to_json() | {"seconds": 0}
    assert there.passed


def test_an_executor_is_named_well(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "--shape", "8x8x8", "--target", "vulkan1.3"]
    for more, message in (
        (["--jobs", "0"], "--jobs 0 is out of range; give 1 or more"),
        (["--executor", "ray://x"], "--executor ray://x is not of the form dask://HOST:PORT"),
        (["--executor", "dask://x"], "--executor dask://x is not of the form dask://HOST:PORT"),
        (
            ["--executor", "dask://x:1", "--jobs", "2"],
            "--jobs 2 and --executor exclude each other: one sets processes here, the other names "
            "remote workers; leave one out",
        ),
    ):
        assert main([*words, *more]) == 2
        assert capsys.readouterr().err == f"kgen build: {message}\n"


@pytest.mark.integration
@pytest.mark.parametrize(
    "to_all", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["key", "kill"]
)
def test_an_interrupt_leaves_nothing(tmp_path: Path, to_all: bool) -> None:
    """There is no process, temporary file or partial bundle left, and no message."""
    temporary, out = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    out.mkdir()
    words = [f"matmul {size}x{size}x{size} f16 +gelu" for size in range(512, 640, 8)]
    running = subprocess.Popen(
        [sys.executable, "-m", "kgen", "build", *words, "--target", "sm_80,sm_90a,gfx942",
         "--jobs", "3", "-o", str(out / "x.kgen")],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not list(temporary.rglob("kernel.ptx")) and time.monotonic() < end:
        time.sleep(0.005)
    assert list(temporary.iterdir()), "nothing was assembled yet"
    (os.killpg if to_all else os.kill)(running.pid, signal.SIGINT)
    assert running.communicate(timeout=60) == (b"", b"")
    assert running.returncode == 130
    with pytest.raises(ProcessLookupError):  # LLVM's own process ends just after its owner
        for _ in range(1000):
            os.killpg(running.pid, 0)
            time.sleep(0.01)
    assert list(out.iterdir()) == []
    assert list(temporary.iterdir()) == []


def _told_in_a_callback(seconds: float) -> None:
    """Send a signal while Python runs the callback of a weak reference, which loses exceptions."""

    class Thing:
        pass

    thing = Thing()
    alive = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    del thing
    assert alive() is None
    time.sleep(seconds)


@pytest.mark.integration
def test_a_process_that_is_told_to_end_where_it_is_lost_ends(
    capfd: pytest.CaptureFixture[str],
) -> None:
    begun = time.monotonic()
    with executors.processes(2) as pool:
        assert pool is not None
        with pytest.raises(SystemExit):
            pool.submit(_told_in_a_callback, 60).result()
    assert time.monotonic() - begun < 60
    assert capfd.readouterr().err == ""
