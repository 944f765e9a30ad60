"""Samples of the tasks of a CPU kernel: each task writes the outputs that its launch lists, a
right kernel passes, and a bug in what one task leaves for the next is found."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline, targets
from kgen.bundle import Bundle, pack
from kgen.check import tensors
from kgen.check.execute.runners import EmulatorExecutor
from kgen.check.oracle import operations as oracle
from kgen.check.verify import cost, inputs, sampling, walk
from kgen.check.verify.run import KernelResult, verify
from kgen.schedule import OuterMatmul, ScheduleOrigin
from kgen.spec import DType, Layout, Matmul
from kgen_runtime.manifest import KernelEntry
from tests.emulate.text_only import text_only

#: Target, spec, schedule: every main loop, both orders of tasks, and B packed by a launch before.
CASES: dict[str, tuple[str, Matmul, dict[str, Any] | OuterMatmul]] = {
    "columns-fastest": (
        "x86-64-v4",
        Matmul(m=21, n=70, k=24, dtype=DType.F32, batch=2),
        {"mr": 4, "nr": 32, "mc": 8, "kc": 24, "nc": 32, "pack_a": 0, "pack_b": 0},
    ),
    "rows-fastest": (
        "x86-64-v4",
        Matmul(m=21, n=70, k=24, dtype=DType.F32, batch=2),
        {"mr": 4, "nr": 32, "mc": 8, "kc": 24, "nc": 32, "pack_a": 0, "pack_b": 1},
    ),
    "groups": (
        "x86-64-v4+vnni",
        Matmul(m=13, n=40, k=68, dtype=DType.S8),
        {"mr": 4, "nr": 16, "mc": 4, "nc": 16},
    ),
    "inner": (
        "x86-64-v4",
        Matmul(m=3, n=86, k=64, dtype=DType.F32, layout=Layout.NT),
        {"mainloop": "inner", "nc": 16},
    ),
    "outer": (
        "x86-64-v4",
        Matmul(m=3, n=372, k=64, dtype=DType.F32),
        OuterMatmul(
            mr=3,
            nr=32,
            mc=3,
            kc=64,
            nc=64,
            pack_a=False,
            pack_b=False,
            origin=ScheduleOrigin.USER,
            parts=4,
        ),
    ),
    # One block of all rows packs B beside its products, several have it packed before.
    "tiles": (
        "x86-64-amx",
        Matmul(m=64, n=256, k=64, dtype=DType.BF16),
        {"mainloop": "amx", "mr": 32, "nr": 32, "mc": 64, "nc": 32, "kc": 32, "pack_a": 1},
    ),
    "tiles-of-blocks-packed-before": (
        "x86-64-amx",
        Matmul(m=128, n=160, k=64, dtype=DType.BF16),
        {"mainloop": "amx", "mr": 32, "nr": 32, "mc": 64, "nc": 32, "kc": 32, "pack_a": 1},
    ),
    "tiles-packed-before": (
        "x86-64-amx",
        Matmul(m=110, n=100, k=70, dtype=DType.S8, batch=2),
        {"mainloop": "amx", "mr": 32, "nr": 32, "mc": 64, "nc": 64, "kc": 64},
    ),
}


def built(case: str) -> Bundle:
    target, spec, schedule = CASES[case]
    if isinstance(schedule, OuterMatmul):  # never chosen for such a small N
        return pack([pipeline.kernel(spec, targets.find(target), schedule)])
    return kgen.build(spec, [target], schedule=schedule)


def emulator(bundle: Bundle) -> tuple[KernelEntry, EmulatorExecutor]:
    (entry,) = bundle.manifest.kernels
    source = next(a for a in entry.artifacts if a.format == "llvm-ir")
    return entry, EmulatorExecutor(entry, "llvm-ir", bundle.files[source.file].decode())


@pytest.mark.parametrize("case", CASES)
def test_each_task_writes_what_its_launch_says(case: str) -> None:
    entry, executor = emulator(built(case))
    *before, launch = entry.launches
    assert launch.tile is not None and launch.grid[0] > 3
    assert bool(before) == case.endswith("before")
    data = next(inputs.data_sets(entry, 0))
    prepared = [[(x, 0, 0) for x in range(earlier.grid[0])] for earlier in before]
    for task in range(launch.grid[0]):
        buffers = {name: buffer.copy() for name, buffer in data.buffers.items()}
        buffers |= inputs.output_buffers(entry, data.buffers)
        executor.run(buffers, [*prepared, [(task, 0, 0)]])
        bits = oracle.in_coordinates(entry, tensors.strided_bits(buffers["out"], entry.output))
        said = np.zeros(bits.shape, np.bool_)
        for bounds in walk.written(launch, launch.tile, (task, 0, 0)):
            said[tuple(slice(*ends) for ends in bounds)] = True
        assert np.array_equal(~inputs.holds_poison(bits, entry.output.dtype), said)


@pytest.mark.parametrize("case", ["rows-fastest", "tiles-packed-before"])
def test_a_sample_has_the_corners_and_their_neighbours(case: str) -> None:
    (entry,) = built(case).manifest.kernels
    *before, launch = entry.launches
    last = launch.grid[0] - 1
    sample = sampling.sample(entry, budget=5, seed=0)
    assert sample is not None
    tasks = [x for x, _, _ in sample.workgroups[-1]]
    tile = launch.tile
    assert tile is not None and tile.walk is not None
    blocks = walk.counts(tile)[1 if tile.walk.group > 1 else 2]
    # The next of the same packed operand, and the one with which another operand begins.
    assert {0, last - 1, last, last - blocks, last - blocks + 1} <= set(tasks)
    assert len(tasks) <= last
    assert [len(chosen) for chosen in sample.workgroups[:-1]] == [
        earlier.grid[0] for earlier in before
    ]
    small = sampling.sample(entry, budget=1, seed=0)
    assert small is not None
    assert last in {x for x, _, _ in small.workgroups[-1]}
    assert sampling.sample(entry, budget=last + 1, seed=0) is None


def sampled(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> KernelResult:
    monkeypatch.setattr(cost, "emulated_workgroups", lambda entry: 5)
    return verify(bundle, on="emulator").kernels[0]


@pytest.mark.parametrize("case", CASES)
def test_a_sample_of_a_right_kernel(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sampled(built(case), monkeypatch)
    assert found.passed, found.reason
    assert found.coverage is not None
    assert 0 < found.coverage.workgroups < found.coverage.of


@pytest.mark.parametrize(
    ("case", "pattern", "replacement"),
    [
        # What the task before has packed is taken for this one's, though its columns are others.
        ("rows-fastest", r"(%packs\.next = icmp eq i64 %block\.m, )0", r"\g<1>9"),
        ("columns-fastest", r"(%block\.m = urem i64 %task\.m, )3", r"\g<1>2"),
        ("tiles-of-blocks-packed-before", r"(%task\.isleft = icmp eq i64 %block\.n, )0", r"\g<1>9"),
    ],
    ids=["packs-once", "last-block-left-out", "copies-once"],
)
def test_a_bug_between_tasks_is_found(
    case: str, pattern: str, replacement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = built(case)
    (name,) = [name for name in right.files if name.endswith(".ll")]
    text, count = re.subn(pattern, replacement, right.files[name].decode())
    assert count == 1
    found = sampled(replace(right, files={**right.files, name: text.encode()}), monkeypatch)
    assert found.status == "failed"


@pytest.mark.slow
def test_a_large_product_on_tiles_is_sampled_in_seconds() -> None:
    """Running all tasks would take half a minute."""
    spec = Matmul(m=1024, n=1024, k=1024, dtype=DType.S8)
    (found,) = verify(kgen.build(spec, ["x86-64-amx"]), on="emulator").kernels
    assert found.passed, found.reason
    assert found.coverage is not None and found.coverage.workgroups < found.coverage.of


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v4+bf16", "x86-64-amx"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16, DType.S8])
def test_large_products_are_not_refused(target: str, dtype: DType) -> None:
    for size in (512, 1000, 1024):
        spec = Matmul(m=size, n=size, k=size, dtype=dtype)
        (entry,) = pack([text_only(spec, targets.find(target))]).manifest.kernels
        sample = sampling.sample(entry, cost.emulated_workgroups(entry), seed=0)
        assert cost.emulation_refusal(entry, sample) is None
