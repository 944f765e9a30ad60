"""Jobs that threads share: every task runs once, with many callers, across fork and at exit."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from kgen_runtime import libkgen
from kgen_runtime.backends.cpu.jobs import (
    ALONE_TRIALS,
    TRIALS,
    CpuLaunch,
    Jobs,
    Launcher,
    arguments_of,
    prepared,
)
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.launch_limits import CPU_POINTERS
from kgen_runtime.manifest import Launch
from tests import needs
from tests.specs import relu_of

#: void task(i64 *counts, i64 begin, i64 end), called through ctypes: slow, so that threads overlap.
Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
#: Trials of a launch: always shared, never, to be tried with others' help, and faster with it.
SHARED, ALONE, OPEN, GAINING = (10**6, 0, 3), (1000, 0, 3), (50_000, 0, 3), (50_000, 1000, 3)


#: Trials with shared tasks of a launch in a list, as sessions have them.
LISTED_TRIALS = 10


class Listed:
    """Steps of launches, run by one foreign call, as in a session."""

    def __init__(
        self, num_threads: int, steps: Sequence[tuple[Sequence[CpuLaunch], Mapping[str, int]]]
    ) -> None:
        """`steps` has the launches of each step, and its buffers by name."""
        launches = [launch for each, _ in steps for launch in each]
        pointers = [buffers[name] for each, buffers in steps for name in arguments_of(each)]
        self._jobs = Jobs(num_threads, launches, pointers, LISTED_TRIALS)
        self._ends = (ctypes.c_int64 * len(steps))(*accumulate(len(each) for each, _ in steps))
        self.run = prepared(self._jobs)

    def timed(self) -> list[float]:
        nanoseconds = (ctypes.c_int64 * len(self._ends))()
        profile = libkgen.library().kgen_jobs_profile
        profile.restype = None
        profile.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        profile(self._jobs.address, self._ends, len(self._ends), nanoseconds)
        return [taken * 1e-9 for taken in nanoseconds]


def launch_of(
    work: Callable[[int, int, int], object], tasks: int, trials: tuple[int, int, int]
) -> tuple[CpuLaunch, object]:
    """Return a launch of one pointer whose tasks are Python functions, and the objects to keep
    alive."""
    function = Task(work)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    found = CpuLaunch(Launch(entry_point="f", grid=(tasks, 1, 1), arguments=("x",)), address)
    found.words[TRIALS:] = list(trials)
    return found, function


def counting(tasks: int) -> tuple[CpuLaunch, npt.NDArray[np.int64], object]:
    """Return a shared launch whose tasks each increment a counter."""
    counts = np.zeros(tasks, np.int64)

    def count(_: int, begin: int, end: int) -> None:
        counts[begin:end] += 1

    launch, keep = launch_of(count, tasks, SHARED)
    return launch, counts, keep


def run_of(launch: CpuLaunch, threads: int) -> Callable[[], None]:
    return prepared(Jobs(threads, [launch], [0], ALONE_TRIALS))


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("tasks", [1, 2, 7, 100])
def test_every_task_is_done_once(tasks: int, threads: int) -> None:
    launch, counts, keep = counting(tasks)
    run = run_of(launch, threads)
    for runs in range(1, 30):
        run()
        assert (counts == runs).all()
    assert keep


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_take_fewer_tasks_towards_the_end(threads: int) -> None:
    """So no thread waits long for one that took many tasks last."""
    taken: list[tuple[int, int]] = []
    launch, keep = launch_of(lambda _, b, e: taken.append((b, e - b)), 44, SHARED)
    run_of(launch, threads)()
    begins, counts = zip(*sorted(taken), strict=True)
    assert begins == tuple(accumulate((0, *counts)))[:-1] and sum(counts) == 44
    assert list(counts) == sorted(counts, reverse=True)
    assert counts[0] == 44 // (2 * threads) and counts[-2 * threads :] == (1,) * (2 * threads)
    assert keep


def test_others_take_part() -> None:
    """Each of two tasks waits for the other, so two threads must run them."""
    both = threading.Barrier(2, timeout=30)
    launch, counts, first = counting(2)
    run_of(launch, 2)()  # makes the thread, which may miss the launch that it was made for
    threading.Event().wait(0.1)
    launch, keep = launch_of(lambda *_: both.wait(), 2, SHARED)
    run = run_of(launch, 2)
    for _ in range(3):
        run()
        threading.Event().wait(0.02)  # the worker falls asleep, and wakes
    assert not both.broken and (counts == 1).all() and first and keep


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = relu_of((40_000,), dtype=DType.F32)
    schedule = CpuStream(task=64, unroll=1)
    kernel = pipeline.kernel(spec, targets.find("x86-64-v3"), schedule)
    return bundle.pack([kernel]).save(tmp_path_factory.mktemp("workers") / "relu.kgen")


def share_always(kernels: kgen_runtime.Kernels) -> None:
    """Let every launch be shared from the first call on."""
    for kernel in kernels.values():
        for launch in kernel.held.handle.launches:
            launch.words[TRIALS:] = list(SHARED)


def test_many_python_threads_share_the_pool(path: Path) -> None:
    """A launch that finds the pool busy runs alone; every task runs once."""
    x = np.random.default_rng(0).standard_normal(40_000).astype(np.float32)
    with kgen_runtime.load(path, device="cpu", num_threads=3) as kernels:
        share_always(kernels)

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


def called(way: str, launch: CpuLaunch) -> tuple[Callable[[], object], int]:
    """Return a function that runs a launch with two threads, and its number of shared trials."""
    if way == "sequence":
        return Listed(2, [([launch], {"x": 0})]).run, LISTED_TRIALS
    if way == "timed sequence":
        return Listed(2, [([launch], {"x": 0})]).timed, LISTED_TRIALS
    if way == "prepared":
        return run_of(launch, 2), ALONE_TRIALS
    launcher = Launcher([launch], 2, ["x"])
    return (lambda: launcher.run([0])), ALONE_TRIALS


@pytest.mark.parametrize("way", ["prepared", "launcher", "sequence", "timed sequence"])
@pytest.mark.parametrize(
    ("trials", "microseconds", "tried", "then"),
    [
        ((0, 0, 0), 1000, [0, 0, 0], 1),  # long: shared without a trial of that
        (ALONE, 0, [], 0),  # short: never
        (GAINING, 0, [1] * ALONE_TRIALS, 1),  # between: as was faster
        (OPEN, 100, [1] * ALONE_TRIALS, 0),
    ],
)
def test_the_first_runs_decide(
    trials: tuple[int, int, int], microseconds: int, tried: list[int], then: int, way: str
) -> None:
    """The test sets each run's time; the tasks show which runs were shared."""
    shared: list[int] = []

    def work(_: int, begin: int, end: int) -> None:
        if begin == 0:
            shared.append(int(end < 8))
            until = time.perf_counter() + microseconds * 1e-6
            while time.perf_counter() < until:
                pass

    launch, keep = launch_of(work, 8, trials)
    call, shared_trials = called(way, launch)
    expected = [*tried[: max(3, shared_trials)], then, then, then]
    for _ in expected:
        call()
    assert shared == expected and keep
    alone, together, count = launch.words[TRIALS:]
    assert count == max(3, len(expected) - 3 + trials[2])
    if trials is OPEN:
        assert alone == OPEN[0] and together >= microseconds * 1000


def test_a_prepared_call(tmp_path: Path) -> None:
    spec = Matmul(m=5, n=6, k=7, dtype=DType.F32, epilogue=(Epilogue.BIAS,))
    path = kgen.build(spec, targets=["x86-64-v3"]).save(tmp_path / "x.kgen")
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
import os, sys, numpy as np, kgen_runtime
from tests.device.cpu.test_jobs import share_always
def threads(): return len(os.listdir("/proc/self/task"))
kernels = kgen_runtime.load(sys.argv[1], device="cpu", num_threads=3)
share_always(kernels)
x = -np.ones(40_000, np.float32)
prepared = kernels.relu.prepare(x)
def right(call): return all((call() == 0).all() for _ in range(10))
def ordinary(): return kernels.relu(x)
before = threads()
assert right(ordinary) and right(prepared) and threads() == before + 2
pid = os.fork()
if pid == 0:
    assert threads() == 1
    first, second = (prepared, ordinary) if sys.argv[2] == "prepared" else (ordinary, prepared)
    prepared.out[:] = -1
    done = right(first) and threads() == 3 and right(second)
    os._exit(0 if done and threads() == 3 else 1)
assert right(ordinary)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
if len(sys.argv) > 3: sys.exit("the end")
"""


@pytest.mark.parametrize("end", [[], ["raise"]])
@pytest.mark.parametrize("first", ["prepared", "ordinary"])
def test_fork_and_exit(path: Path, first: str, end: list[str]) -> None:
    """A child makes its own threads, also for calls that its parent prepared, and the
    interpreter ends without hanging."""
    done = python(FORKING, path, first, *end)
    assert done.returncode == len(end), done.stderr
    assert done.stderr.strip() == ("the end" if end else "")


def python(program: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), **environment},
    )


def test_a_list_of_jobs() -> None:
    """Steps run in order and each task once, alone and shared, with several launches in a step."""
    made = [counting(tasks) for tasks in (1, 7, 100, 3)]
    seen: list[list[int]] = []
    look, keep = launch_of(
        lambda *_: seen.append([int(counts.min()) for _, counts, _ in made]), 1, ALONE
    )
    launches = [launch for launch, _, _ in made]
    steps = [launches[:2], [look], launches[2:]]
    for runs, threads in enumerate((1, 3, 2, 3), 1):
        several = Listed(threads, [(step, {"x": 0}) for step in steps])
        if runs % 2:
            several.run()
        else:
            seconds = several.timed()
            assert len(seconds) == 3 and all(0 < s < 10 for s in seconds)
        assert all((counts == runs).all() for _, counts, _ in made)
    assert seen == [[n, n, n - 1, n - 1] for n in (1, 2, 3, 4)]
    assert keep


def test_a_step_of_a_list_costs_less_than_two_calls_of_python() -> None:
    """The best of many runs counts, because other processes may hold up most of them."""
    nothing = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value
    assert nothing is not None
    launch = CpuLaunch(Launch(entry_point="f", grid=(1, 1, 1), arguments=("x",)), nothing)
    several = Listed(1, [([launch], {"x": 0})] * 1000)

    def seconds(work: Callable[[], object]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def calls() -> None:
        for _ in range(1000):
            empty()

    def empty() -> None:
        pass

    rounds = [(seconds(several.run), seconds(calls)) for _ in range(100)]
    listed, called = map(min, zip(*rounds, strict=True))
    assert listed < 2 * called, (listed, called)


def test_threads_stay_awake_within_a_list() -> None:
    """Threads stay awake during an unshared job that is longer than their spinning time, and
    sleep soon after the list."""
    launch, counts, keep = counting(50)
    used: list[float] = []

    def wait(*_: int) -> None:
        start = time.process_time()
        threading.Event().wait(0.1)
        used.append(time.process_time() - start)

    waiting, more = launch_of(wait, 1, ALONE)
    several = Listed(2, [([each], {"x": 0}) for each in (launch, waiting, launch)])
    for _ in range(3):
        several.run()
    assert (counts == 6).all() and keep and more
    wait()
    # A thread that spins takes all of the time, if it has a core; that begins with the second run.
    assert max(used[1:3]) > 0.01, used
    assert used[3] < 0.005, used


REFUSED_THREADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
static int asked;
int pthread_create(pthread_t *a, const pthread_attr_t *b, void *(*c)(void *), void *d)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
        dlsym(RTLD_NEXT, "pthread_create");
    fprintf(stderr, "asked\\n");
    return ++asked > 1 ? EAGAIN : real(a, b, c, d);
}
"""
FEW_THREADS = """
from tests.device.cpu.test_jobs import counting, run_of
launch, counts, keep = counting(50)
run = run_of(launch, 5)
for runs in range(1, 4):
    run()
    assert (counts == runs).all()
"""


def test_a_system_that_refuses_threads(tmp_path: Path) -> None:
    """Under a limit on threads, launches use the existing ones, and do not request more each
    time."""
    needs.program("cc", "gcc")
    (tmp_path / "refused.c").write_text(REFUSED_THREADS)
    command = ["cc", "-shared", "-fPIC", "refused.c", "-o", "refused.so", "-ldl"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = python(FEW_THREADS, LD_PRELOAD=str(tmp_path / "refused.so"))
    assert (done.returncode, done.stderr) == (0, "asked\n" * 2)


def test_kernels_of_too_many_tensors_are_refused_when_they_are_built(tmp_path: Path) -> None:
    """Kernels with as many tensors as the pool can pass are built and run."""
    names = [f"x{i}" for i in range(CPU_POINTERS)]
    with pytest.raises(ScheduleError, match=r"25 tensors; the CPU allows 24; use an expression"):
        kgen.build(text.parse(f"{'+'.join(names)} 8 f32"), targets=["x86-64-v3"])
    fits = kgen.build(text.parse(f"{'+'.join(names[1:])} 8 f32"), targets=["x86-64-v3"])
    with kgen_runtime.load(fits.save(tmp_path / "x.kgen"), device="cpu") as kernels:
        (kernel,) = kernels.values()
        assert (kernel(*[np.ones(8, np.float32)] * 23) == 23).all()


def test_what_cannot_be_passed() -> None:
    names = tuple(f"x{i}" for i in range(CPU_POINTERS + 1))
    with pytest.raises(DeviceError, match=f"the limit is {CPU_POINTERS}"):
        CpuLaunch(Launch(entry_point="f", grid=(1, 1, 1), arguments=names), 0)
