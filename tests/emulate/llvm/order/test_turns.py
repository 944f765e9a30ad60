"""Seeded scheduler: waves and workgroups that are held back, and those that wait for others."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, LaunchReport
from tests.emulate.llvm.llvm_kernels import kernel, run
from tests.emulate.llvm.order.test_global_races import LANES, NUMBER, load, store, zeros
from tests.emulate.llvm.order.test_races import BARRIER, EXCHANGE
from tests.emulate.llvm.order.test_races import DECLARATIONS as LDS
from tests.emulate.llvm.order.test_races import LANES as WIDE

GENERATED = Path(__file__).parents[4] / "generated"
SEEDS = range(1, 9)


def exchange(body: str, *, seed: int, checks: bool) -> np.ndarray:
    out = np.zeros(5 * WIDE, np.uint32)
    source = kernel(body, "ptr addrspace(1) %out", declarations=LDS)
    run(
        source,
        entry="k",
        grid=(5, 1, 1),
        block=(WIDE, 1, 1),
        arguments=[out],
        checks=checks,
        seed=seed,
    )
    return out


def test_luck_does_not_hide_a_dropped_barrier() -> None:
    """Without checks, the exchange is right in lockstep, and wrong if waves run apart."""
    expected = np.tile(np.arange(WIDE)[::-1], 5)
    dropped = EXCHANGE.replace("call void @llvm.amdgcn.s.barrier()", "")
    np.testing.assert_array_equal(exchange(dropped, seed=0, checks=False), expected)
    wrong = [
        seed for seed in SEEDS if (exchange(dropped, seed=seed, checks=False) != expected).any()
    ]
    assert len(wrong) > len(SEEDS) // 2
    for seed in SEEDS:
        np.testing.assert_array_equal(exchange(EXCHANGE, seed=seed, checks=True), expected)
        with pytest.raises(EmulationFault, match=rf", seed {seed}\)") as error:
            exchange(dropped, seed=seed, checks=True)
        assert error.value.fault.kind in ("race", "uninitialised-read")


def matmul(path: Path, seed: int) -> LaunchReport:
    """Return a product of 64x64x128, launched as the header of a committed golden says."""
    source = path.read_text()
    found = re.search(r"launch: +(\d+) x (\d+) x (\d+) workgroups of (\d+) threads", source)
    assert found is not None
    x, y, z, threads = (int(number) for number in found.groups())
    random = np.random.default_rng(1)
    dtype = np.float32 if "_f32_" in path.name else np.float16
    a, b = (random.integers(-4, 5, 64 * 128).astype(dtype) for _ in range(2))
    out = np.full(64 * 64, np.nan, dtype)
    report = run(
        source,
        entry=path.stem,
        grid=(x, y, z),
        block=(threads, 1, 1),
        arguments=[a, b, out],
        profile=True,
        seed=seed,
    )
    exact = a.reshape(64, 128).astype(np.float64) @ b.reshape(128, 64).astype(np.float64)
    np.testing.assert_array_equal(out.reshape(64, 64), exact)
    return report


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_results_and_counters_are_those_of_lockstep(arch: str) -> None:
    (path,) = (GENERATED / arch).glob("matmul_64x64x128_*.ll")
    lockstep = matmul(path, 0)
    for seed in (1, 2, 2):
        report = matmul(path, seed)
        assert report.counters == lockstep.counters
        assert report.lines == lockstep.lines


SPIN = f"""
  %is.first = icmp eq i32 %g, 0
  %is.lane = icmp eq i32 %t, 0
  br i1 %is.first, label %produce, label %consume
produce:
{store("data", "p0", "%t", "%t")}
  {BARRIER}
  br i1 %is.lane, label %publish, label %done
publish:
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %p1 syncscope("agent") monotonic, align 4
  br label %done
consume:
  %flag = load atomic i32, ptr addrspace(1) %p1 syncscope("agent") monotonic, align 4
  %ready = icmp eq i32 %flag, 1
  br i1 %ready, label %take, label %consume
take:
  fence syncscope("agent") acquire
{load("x", "p0", "%t")}
{store("to", "p2", "%n", "%x")}
  br label %done
done:
  ret void"""


def spin(body: str, seed: int) -> np.ndarray:
    out = zeros(4 * LANES)
    source = kernel(
        NUMBER + body,
        "ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2",
        declarations=LDS,
    )
    run(
        source,
        entry="k",
        grid=(4, 1, 1),
        block=(LANES, 1, 1),
        arguments=[zeros(LANES), zeros(1), out],
        seed=seed,
    )
    return out


@pytest.mark.parametrize("order", ["natural", "consumers first"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_workgroups_that_wait_for_another(seed: int, order: str) -> None:
    """Workgroups poll a flag, before or after the producer in the text."""
    body = SPIN
    if order == "consumers first":
        swapped = "icmp ne i32 %g, 0\n", "label %consume, label %produce"
        body = body.replace("icmp eq i32 %g, 0\n", swapped[0])
        body = body.replace("label %produce, label %consume", swapped[1])
    out = spin(body, seed)
    np.testing.assert_array_equal(out.reshape(4, LANES)[1:], np.tile(np.arange(LANES), (3, 1)))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("side", ["release", "acquire"])
def test_a_flag_without_its_fence_is_a_race(seed: int, side: str) -> None:
    with pytest.raises(EmulationFault) as error:
        spin(SPIN.replace(f'  fence syncscope("agent") {side}\n', ""), seed)
    assert error.value.fault.kind == "race"
    assert error.value.fault.instruction.startswith("%x = load")


def test_a_flag_that_nobody_sets_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgen.emulate.llvm.exec.launch._FREE_STEPS", 3000)
    with pytest.raises(EmulationFault) as error:
        spin(SPIN.replace("store atomic i32 1", "store atomic i32 2"), 0)
    assert error.value.fault.kind == "deadlock"


def test_a_wait_without_its_signal_is_a_deadlock() -> None:
    body = "  call void @llvm.amdgcn.s.barrier.wait(i16 -1)\n  ret void"
    source = kernel(body, "", cpu="gfx1201", declarations=LDS)
    with pytest.raises(EmulationFault) as error:
        run(source, entry="k", grid=(1, 1, 1), block=(LANES, 1, 1), arguments=[])
    assert error.value.fault.kind == "deadlock"
    signal = "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)\n"
    source = kernel(signal + body, "", cpu="gfx1201", declarations=LDS)
    report = run(source, entry="k", grid=(1, 1, 1), block=(LANES, 1, 1), arguments=[])
    assert report.counters["barriers"] == 1
