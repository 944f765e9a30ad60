"""The thread pool: every task once, from many threads at once, across fork and to the end."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import kgen
import kgen_runtime
from kgen import bundle, pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import CpuStream
from kgen.spec import DType, Epilogue, Matmul, text
from kgen_runtime.backends.cpu import launch as cpu_launch
from kgen_runtime.backends.cpu import workers as cpu_workers
from kgen_runtime.backends.cpu.launch import SHARED_TRIALS, TRIALS
from kgen_runtime.backends.cpu.sequence import JobSequence
from kgen_runtime.backends.cpu.workers import Job, JobList
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.launch_limits import CPU_POINTERS
from kgen_runtime.manifest import Launch
from tests.specs import relu_of

#: void task(i64 *counts, i64 begin, i64 end), called through ctypes: slow, so that threads overlap.
Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def counting(tasks: int) -> tuple[Job, npt.NDArray[np.int64], object]:
    """A job that adds one to a counter of each task."""
    counts = np.zeros(tasks, np.int64)

    def count(_: int, begin: int, end: int) -> None:
        counts[begin:end] += 1

    function = Task(count)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return Job(address, tasks, [counts.ctypes.data]), counts, function


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("tasks", [1, 2, 7, 100])
def test_every_task_is_done_once(tasks: int, threads: int) -> None:
    pool = cpu_workers.workers(threads - 1)
    job, counts, function = counting(tasks)
    job.share(min(threads, tasks))
    for runs in range(1, 30):
        pool.code.parallel(pool.address, job.address)
        assert (counts == runs).all()
    assert function


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_take_fewer_tasks_towards_the_end(threads: int) -> None:
    """So that one that took many at last does not make the others wait."""
    taken: list[tuple[int, int]] = []
    function = Task(lambda _, begin, end: taken.append((begin, end - begin)))
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    job = Job(address, 44, [0])
    job.share(threads)
    cpu_workers.workers(threads - 1).code.parallel(cpu_workers.workers(1).address, job.address)
    begins, counts = zip(*sorted(taken), strict=True)
    assert begins == tuple(accumulate((0, *counts)))[:-1] and sum(counts) == 44
    assert list(counts) == sorted(counts, reverse=True)
    assert counts[0] == 44 // (2 * threads) and counts[-2 * threads :] == (1,) * (2 * threads)


def test_sleeping_workers_wake() -> None:
    pool = cpu_workers.workers(2)
    job, counts, function = counting(50)
    job.share(3)
    for runs in range(1, 4):
        threading.Event().wait(0.02)
        pool.code.parallel(pool.address, job.address)
        assert (counts == runs).all()
    assert function


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = relu_of((40_000,), dtype=DType.F32)
    schedule = CpuStream(task=64, unroll=1)
    kernel = pipeline.kernel(spec, targets.find("native"), schedule)
    return bundle.pack([kernel]).save(tmp_path_factory.mktemp("workers") / "relu.kgen")


def test_many_python_threads_share_the_pool(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that find the pool taken run alone; none loses or doubles a task."""
    monkeypatch.setattr(cpu_launch, "SHARED_SECONDS", 0.0)
    x = np.random.default_rng(0).standard_normal(40_000).astype(np.float32)
    with kgen_runtime.load(path, device="cpu", num_threads=3) as kernels:

        def run(_: int) -> bool:
            out = np.full_like(x, np.nan)
            call = kernels.relu.prepare(x, out=out)
            for _ in range(20):
                out[:] = np.nan
                call()
                if not np.array_equal(out, np.maximum(x, 0)):
                    return False
            return True

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(run, range(16)))


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize(
    ("alone", "together", "shared"),
    [
        (1.0, 1.0, [*[0] * TRIALS, 1, 1, 1]),  # long: shared without trial
        (1e-6, 1e-9, [0] * (TRIALS + 3)),  # short: never
        (20e-6, 10e-6, [*[0] * TRIALS, *[1] * SHARED_TRIALS, 1, 1]),  # between: as was faster
        (20e-6, 19e-6, [*[0] * TRIALS, *[1] * SHARED_TRIALS, 0, 0]),
    ],
)
def test_the_first_runs_decide(
    alone: float,
    together: float,
    shared: list[int],
    prepared: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One thread and two take as long as they are said to; the calls that were shared are noted."""
    now, seen = [0.0], []

    def run(seconds: float, kind: int) -> None:
        now[0] += seconds
        seen.append(kind)

    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(cpu_workers.code(), "serial", lambda _: run(alone, 0))
    monkeypatch.setattr(cpu_launch, "shared", lambda *_: lambda: run(together, 1))
    launch = Launch(entry_point="f", grid=(8, 1, 1), arguments=("x", "out"))
    entry = cpu_launch.CpuLaunch(launch=launch, address=0)
    ordinary = partial(cpu_launch.Launcher(entry, 2, ["x", "out"]).run, [0, 0])
    call = cpu_launch.prepared(entry, 2, [0, 0]) if prepared else ordinary
    for _ in shared:
        call()
    assert seen == shared


def test_a_prepared_call(tmp_path: Path) -> None:
    spec = Matmul(m=5, n=6, k=7, dtype=DType.F32, epilogue=(Epilogue.BIAS,))
    path = kgen.build(spec, targets=["native"]).save(tmp_path / "x.kgen")
    a, b, bias = np.ones((5, 7), "f4"), np.ones((7, 6), "f4"), np.arange(6, dtype="f4")
    kernels = kgen_runtime.load(path, device="cpu")
    call = kernels.matmul.prepare(a, b, bias)
    assert np.array_equal(call(), np.tile(7 + bias, (5, 1)))
    a[0] = 2  # it reads the arrays anew each time
    assert call() is call.out
    assert np.array_equal(call.out[0], 14 + bias)
    with pytest.raises(ArgumentError, match="expected 5x7"):
        kernels.matmul.prepare(a[:2], b, bias)
    with pytest.raises(ArgumentError, match="overlaps"):
        kernels.matmul.prepare(a, b, bias, out=b[:5])
    kernels.close()
    with pytest.raises(DeviceError, match="was closed"):
        call()


def test_arguments_are_kept_alive(path: Path) -> None:
    with kgen_runtime.load(path, device="cpu") as kernels:
        call = kernels.relu.prepare(np.full(40_000, 3.0, np.float32))
        for _ in range(100):
            np.empty(40_000, np.float32).fill(np.nan)
        assert (call() == 3).all()


FORKING = """
import os, sys, threading, numpy as np, kgen_runtime, kgen_runtime.backends.cpu.launch as launch
launch.SHARED_SECONDS = 0.0
kernels = kgen_runtime.load(sys.argv[1], device="cpu", num_threads=3)
x = -np.ones(40_000, np.float32)
prepared = kernels.relu.prepare(x)
def right(call): return all((call() == 0).all() for _ in range(10))
def ordinary(): return kernels.relu(x)
assert right(ordinary) and right(prepared) and threading.active_count() == 3
pid = os.fork()
if pid == 0:
    assert threading.active_count() == 1
    first, second = (prepared, ordinary) if sys.argv[2] == "prepared" else (ordinary, prepared)
    prepared.out[:] = -1
    done = right(first) and threading.active_count() == 3 and right(second)
    os._exit(0 if done and threading.active_count() == 3 else 1)
assert right(ordinary)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
if len(sys.argv) > 3: sys.exit("the end")
"""


@pytest.mark.parametrize("end", [[], ["raise"]])
@pytest.mark.parametrize("first", ["prepared", "ordinary"])
def test_fork_and_exit(path: Path, first: str, end: list[str]) -> None:
    """A child makes workers of its own, also for calls that its parent prepared; the interpreter's
    end does not hang on them."""
    command = [sys.executable, "-c", FORKING, str(path), first, *end]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == len(end), done.stderr
    assert done.stderr.strip() == ("the end" if end else "")


def test_a_list_of_jobs() -> None:
    """In order, each task once, alone and shared; as long as one is shared workers are awake, and
    soon after it nobody works any more."""
    pool = cpu_workers.workers(2)
    made = [counting(tasks) for tasks in (1, 7, 100, 3)]
    awake = ctypes.c_int32.from_address(pool.address + cpu_workers.POOL["awake"])
    seen: list[object] = []

    def look(_: int, begin: int, end: int) -> None:
        seen.append((awake.value, [int(counts.min()) for _, counts, _ in made]))

    function = Task(look)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    jobs = [job for job, _, _ in made]
    jobs.insert(2, Job(address, 1, [0]))
    several = JobList(jobs)
    for runs, threads in enumerate(([1, 1, 1, 1, 1], [1, 3, 1, 2, 3], [3, 3, 1, 3, 3]), 1):
        several.share(threads)
        if runs % 2:
            several.run(pool)
        else:
            seconds = several.timed(pool)
            assert len(seconds) == 5 and all(0 < s < 10 for s in seconds)
        assert all((counts == runs).all() for _, counts, _ in made)
        assert awake.value == 0
    assert seen == [(int(n > 1), [n, n, n - 1, n - 1]) for n in (1, 2, 3)]
    threading.Event().wait(0.001)
    before = time.process_time()
    threading.Event().wait(0.05)
    assert time.process_time() - before < 0.005  # a worker that spins takes 0.05
    assert made


def test_a_step_of_a_list_costs_less_than_two_calls_of_python() -> None:
    """A tenth of a microsecond where one takes 50 ns; in the best of many runs, as others may hold
    up most of them."""
    nothing = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value
    assert nothing is not None
    several, pool = JobList([Job(nothing, 1, [0]) for _ in range(1000)]), cpu_workers.workers(0)
    several.share([1] * 1000)

    def seconds(work: Callable[[], object]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def calls() -> None:
        for _ in range(1000):
            empty()

    def empty() -> None:
        pass

    rounds = [(seconds(lambda: several.run(pool)), seconds(calls)) for _ in range(100)]
    listed, called = map(min, zip(*rounds, strict=True))
    assert listed < 2 * called, (listed, called)


def test_workers_stay_awake_within_a_list() -> None:
    """A job that nobody shares, for longer than idle workers spin: none of them sleeps over it."""
    pool = cpu_workers.workers(1)
    job, counts, function = counting(50)
    sleepers = ctypes.c_int32.from_address(pool.address + cpu_workers.POOL["sleepers"])
    seen: list[int] = []

    def wait(_: int, begin: int, end: int) -> None:
        threading.Event().wait(0.02)
        seen.append(sleepers.value)

    waiting = Task(wait)
    address = ctypes.cast(waiting, ctypes.c_void_p).value
    assert address is not None
    several = JobList([job, Job(address, 1, [0]), job])
    several.share([2, 1, 2])
    for _ in range(3):
        several.run(pool)
    # The pool may have had more workers before, which sleep on.
    assert min(seen) < pool.count
    assert (counts == 6).all() and function


def test_a_thread_that_begins_after_the_end() -> None:
    pool = cpu_workers.Workers(cpu_workers.code())
    pool.stop()
    late = threading.Thread(target=pool.code.worker, args=(pool.address,), daemon=True)
    late.start()
    late.join(10)
    assert not late.is_alive()


def test_what_a_list_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs alone, ten shared where that may pay, and then as was faster."""
    times = {(0, 1): 1.0, (1, 1): 1e-6, (2, 1): 20e-6, (2, 2): 10e-6, (3, 1): 20e-6, (3, 2): 19e-6}
    runs: list[list[int]] = []

    def timed(several: JobList, _: object) -> list[float]:
        runs.append([1 + job.is_shared for job in several.jobs])
        return [times.get((i, n), 1e-9) for i, n in enumerate(runs[-1])]

    monkeypatch.setattr(JobList, "timed", timed)
    monkeypatch.setattr(JobList, "run", timed)
    launch = Launch(entry_point="f", grid=(8, 1, 1), arguments=())
    entries = [cpu_launch.CpuLaunch(launch=launch, address=0) for _ in range(4)]
    sequence = JobSequence(2, [([entry], {}) for entry in entries])
    for _ in range(20):
        sequence.run()
    assert runs[:TRIALS] == [[1, 1, 1, 1]] * TRIALS
    assert runs[TRIALS:13] == [[2, 1, 2, 2]] * 10
    assert runs[13:] == [[2, 1, 2, 1]] * 7
    assert sequence.timed() == [1e-9, 1e-6, 10e-6, 20e-6]
    assert JobSequence(1, [(entries[:2], {}), (entries[2:3], {})]).timed() == [1.0 + 1e-6, 20e-6]


def test_a_system_that_refuses_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container with a limit does: launches take the threads that there are, and it is not
    asked again at each of them."""
    pool = cpu_workers.Workers(cpu_workers.code())
    started, asked = pool._started, list[str]()

    def refused(name: str) -> threading.Thread:
        asked.append(name)
        if len(asked) > 1:
            raise RuntimeError("can't start new thread")
        return started(name)

    monkeypatch.setattr(pool, "_started", refused)
    try:
        for _ in range(3):
            pool.grow(4)
        assert pool.count == 1 and len(asked) == 2
        job, counts, keep = counting(50)
        job.share(5)
        pool.code.parallel(pool.address, job.address)
        assert (counts == 1).all() and keep
    finally:
        pool.stop()


def test_kernels_of_too_many_tensors_are_refused_when_they_are_built(tmp_path: Path) -> None:
    """Those that the pool can pass are built and run."""
    names = [f"x{i}" for i in range(CPU_POINTERS)]
    with pytest.raises(ScheduleError, match=r"25 tensors; the CPU allows 24; use an expression"):
        kgen.build(text.parse(f"{'+'.join(names)} 8 f32"), targets=["native"])
    fits = kgen.build(text.parse(f"{'+'.join(names[1:])} 8 f32"), targets=["native"])
    with kgen_runtime.load(fits.save(tmp_path / "x.kgen"), device="cpu") as kernels:
        (kernel,) = kernels.values()
        assert (kernel(*[np.ones(8, np.float32)] * 23) == 23).all()


def test_what_cannot_be_passed() -> None:
    with pytest.raises(DeviceError, match=f"the limit is {CPU_POINTERS}"):
        Job(0, 1, [0] * (CPU_POINTERS + 1))


def test_no_pool_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(DeviceError, match="vax is not supported"):
        cpu_workers.WorkerCode()


def test_the_pool_serves_aarch64_too() -> None:
    """It is made for both; here only that it is there."""
    folder = Path(cpu_workers.__file__).parents[2] / "native"
    assert {p.name for p in folder.iterdir()} >= {"workers-x86_64.so", "workers-aarch64.so"}
    assert os.access(folder / "workers-aarch64.so", os.R_OK)
