"""Seeds select schedules of warps, CTAs and copies; a right kernel gives the same under all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen.emulate
from kgen.emulate import EmulationFault, LaunchReport
from tests.emulate.ptx.ptx_programs import program, run

SEEDS = range(20)
CUDA = (Path(__file__).parents[2] / "data" / "kernels.ptx").read_text()
Array = np.ndarray[Any, Any]


def same_for_all_seeds(
    launch: Callable[[int], tuple[LaunchReport, Array]], seeds: Iterable[int] = SEEDS
) -> None:
    """Check that results and all counters are equal for all seeds, and for a repeated one."""
    first, wanted = launch(0)
    for seed in seeds:
        for _ in range(2 if seed == 1 else 1):
            report, out = launch(seed)
            np.testing.assert_array_equal(out, wanted)
            assert report.counters == first.counters
            assert report.lines == first.lines


PIPELINE = """
    mov.u32 %r0, tile;
    mad.lo.u32 %r1, %t, 16, %r0;
    xor.b32 %r2, %t, 96;
    mad.lo.u32 %r2, %r2, 16, %r0;
    mad.wide.u32 %a0, %t, 16, %p0;
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
    cp.async.cg.shared.global [%r1], [%a0], 16;
    cp.async.commit_group;
LOOP:
    add.u64 %a0, %a0, 2048;
    xor.b32 %r5, %r3, 1;
    and.b32 %r5, %r5, 1;
    mad.lo.u32 %r6, %r5, 2048, %r1;
    setp.lt.u32 %q0, %r3, 7;
    @%q0 cp.async.cg.shared.global [%r6], [%a0], 16;
    cp.async.commit_group;
    {wait}
    {barrier}
    and.b32 %r7, %r3, 1;
    mad.lo.u32 %r8, %r7, 2048, %r2;
    ld.shared.v4.u32 {{%r9, %r10, %r11, %r12}}, [%r8];
    add.u32 %r4, %r4, %r9;
    add.u32 %r4, %r4, %r12;
    {free}
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %q1, %r3, 8;
    @%q1 bra LOOP;
    mad.wide.u32 %a1, %i, 4, %p1;
    st.global.u32 [%a1], %r4;
"""


def pipeline(
    wait: str = "cp.async.wait_group 1;", barrier: str = "bar.sync 0;", free: str = "bar.sync 0;"
) -> str:
    """Return a program with two stages of copies; in each CTA of 128 threads, warps read what
    others copied."""
    text = PIPELINE.format(wait=wait, barrier=barrier, free=free)
    return program(text, shared=".shared .align 16 .b8 tile[4096];")


def run_pipeline(source: str, seed: int, **options: Any) -> tuple[LaunchReport, Array]:
    data, out = np.arange(4096, dtype=np.uint32), np.zeros(3 * 128, np.uint32)
    return run(source, data, out, threads=128, ctas=3, seed=seed, **options), out


def test_a_pipeline_of_copies_under_all_seeds() -> None:
    same_for_all_seeds(lambda seed: run_pipeline(pipeline(), seed, profile=True))


@pytest.mark.parametrize(
    "source",
    [pipeline(wait="cp.async.wait_group 2;"), pipeline(barrier=""), pipeline(free="")],
    ids=["wait", "barrier", "free"],
)
def test_a_broken_pipeline_is_found_whatever_the_schedule(source: str) -> None:
    for seed in SEEDS:
        with pytest.raises(EmulationFault) as caught:
            run_pipeline(source, seed)
        assert caught.value.fault.kind in ("race", "pending-copy", "uninitialised-read")
        assert caught.value.fault.seed == seed and f", seed {seed})" in str(caught.value)


def test_without_checks_the_schedules_differ_in_what_a_race_does() -> None:
    """Copies land early or late and warps overtake each other, so a race has different results."""
    wanted = run_pipeline(pipeline(), 0)[1]
    for source in (
        pipeline(wait="cp.async.wait_group 2;"),
        pipeline(free=""),
        pipeline(barrier=""),
    ):
        right = [
            np.array_equal(run_pipeline(source, seed, checks=False)[1], wanted) for seed in SEEDS
        ]
        assert not all(right)
        assert any(right) or "wait_group 2" not in source


def test_what_only_another_order_of_ctas_shows_names_its_seed() -> None:
    """The program assumes an order of CTAs."""
    body = """
    setp.ne.u32 %q0, %t, 0;
    @%q0 ret;
    atom.relaxed.gpu.global.add.u32 %r0, [%p0], 1;
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %q1, %r0, %r1;
    @%q1 trap;
    """
    source = program(body, params=1)
    run(source, np.zeros(1, np.uint32), ctas=8)
    with pytest.raises(EmulationFault, match=r", seed 1\)") as caught:
        run(source, np.zeros(1, np.uint32), ctas=8, seed=1)
    assert caught.value.fault.kind == "trap"


def test_what_only_another_order_of_warps_shows() -> None:
    body = """
    mov.u32 %r9, tile;
    setp.eq.u32 %q0, %t, 0;
    @%q0 st.shared.u32 [%r9], 0;
    bar.sync 0;
    and.b32 %r1, %t, 31;
    setp.ne.u32 %q1, %r1, 0;
    @%q1 ret;
    atom.shared.add.u32 %r0, [%r9], 1;
    shr.u32 %r2, %t, 5;
    setp.ne.u32 %q2, %r0, %r2;
    @%q2 trap;
    """
    source = program(body, params=0, shared=".shared .align 4 .b8 tile[4];")
    run(source, threads=256)
    orders = []
    for seed in SEEDS:
        try:
            run(source, threads=256, seed=seed)
            orders.append(True)
        except EmulationFault as error:
            orders.append(False)
            assert f"seed {seed}" in str(error)
    assert orders.count(False) > len(SEEDS) // 2


ONES = np.ones((4, 100), np.float32)
KERNELS: dict[str, tuple[tuple[int, int, int], int, list[Any]]] = {
    "tensor_matmul": (
        (2, 2, 1),
        128,
        [
            np.eye(64, 80, dtype=np.float16),
            np.ones((80, 64), np.float16),
            np.zeros((64, 64), np.float32),
            np.int32(64),
            np.int32(80),
        ],
    ),
    "softmax": ((4, 1, 1), 128, [ONES, np.zeros((4, 100), np.uint16), np.int32(100)]),
    "histogram": (
        (4, 1, 1),
        64,
        [np.arange(500, dtype=np.uint32) % 20, np.zeros(16, np.uint32), np.int32(500)],
    ),
    "collatz": (
        (4, 1, 1),
        32,
        [np.arange(1, 101, dtype=np.uint32), np.zeros(100, np.int32), np.int32(100)],
    ),
}


@pytest.mark.parametrize("entry", KERNELS)
def test_kernels_of_a_compiler_under_all_seeds(entry: str) -> None:
    grid, block, arguments = KERNELS[entry]

    def launch(seed: int) -> tuple[LaunchReport, Array]:
        fresh = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        report = kgen.emulate.run(
            CUDA, language="ptx", entry=entry, grid=grid, block=(block, 1, 1),
            arguments=fresh, seed=seed, profile=True,
        )  # fmt: skip
        return report, next(a for a in fresh[1:] if isinstance(a, np.ndarray) and a.dtype != "f2")

    same_for_all_seeds(launch, range(6))


def test_named_barriers_between_producers_and_consumers() -> None:
    """Warps 0 and 1 fill two buffers, warps 2 and 3 empty them; barrier 1 + b means full, 3 + b
    empty."""
    body = """
    mov.u32 %r0, tile;
    and.b32 %r1, %t, 63;
    mad.lo.u32 %r1, %r1, 4, %r0;
    setp.ge.u32 %q0, %t, 64;
    mov.u32 %r2, 0;
    mov.u32 %r9, 0;
    @%q0 bra CONSUME;
PRODUCE:
    and.b32 %r3, %r2, 1;
    setp.lt.u32 %q1, %r2, 2;
    @%q1 bra FREE;
    add.u32 %r4, %r3, 3;
    {empty}
FREE:
    mad.lo.u32 %r5, %r3, 256, %r1;
    st.shared.u32 [%r5], %r2;
    add.u32 %r4, %r3, 1;
    {fill}
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %q2, %r2, 6;
    @%q2 bra PRODUCE;
    ret;
CONSUME:
    and.b32 %r3, %r2, 1;
    add.u32 %r4, %r3, 1;
    {full}
    mad.lo.u32 %r5, %r3, 256, %r1;
    ld.shared.u32 %r6, [%r5];
    add.u32 %r9, %r9, %r6;
    setp.ge.u32 %q3, %r2, 4;
    add.u32 %r4, %r3, 3;
    @!%q3 {drain}
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %q2, %r2, 6;
    @%q2 bra CONSUME;
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %r9;
    """
    steps = {
        "empty": "bar.sync %r4, 128;",
        "fill": "bar.arrive %r4, 128;",
        "full": "bar.sync %r4, 128;",
        "drain": "bar.arrive %r4, 128;",
    }
    shared = ".shared .align 16 .b8 tile[512];"
    source = program(body.format(**steps), params=1, shared=shared)

    def launch(seed: int) -> tuple[LaunchReport, Array]:
        out = np.zeros(256, np.uint32)
        return run(source, out, threads=128, ctas=2, seed=seed, profile=True), out

    same_for_all_seeds(launch)
    assert launch(0)[1].reshape(2, 128)[:, 64:].tolist() == [[15] * 64] * 2
    free = {**steps, "empty": "", "drain": "mov.u32 %r7, 0;"}
    for seed in SEEDS:
        with pytest.raises(EmulationFault) as caught:
            run(program(body.format(**free), params=1, shared=shared), np.zeros(256, np.uint32),
                threads=128, ctas=2, seed=seed)  # fmt: skip
        assert caught.value.fault.kind in ("race", "deadlock")
