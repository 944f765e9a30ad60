"""Checks of LDS: races between waves and within one, uninitialised reads, barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, Fault, LaunchReport
from tests.emulate.llvm.llvm_kernels import kernel, run

LANES = 128
FENCE = 'fence syncscope("workgroup") acq_rel'
BARRIER = f"""{FENCE}
  call void @llvm.amdgcn.s.barrier()
  {FENCE}"""
DECLARATIONS = """
@tile = internal addrspace(3) global [256 x i32] poison, align 16
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.s.barrier.signal(i32 immarg)
declare void @llvm.amdgcn.s.barrier.wait(i16 immarg)
declare void @llvm.amdgcn.wave.barrier()"""


def at(name: str, index: str) -> str:
    return f"  %{name} = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 {index}\n"


def store(name: str, index: str, value: str) -> str:
    return at(f"{name}.p", index) + f"  store i32 {value}, ptr addrspace(3) %{name}.p\n"


def load(name: str, index: str) -> str:
    return at(f"{name}.p", index) + f"  %{name} = load i32, ptr addrspace(3) %{name}.p\n"


OUT = """
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %g, 128
  %n = add i32 %base, %t
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %n
  store i32 %x, ptr addrspace(1) %to
  ret void"""


def launch(
    body: str, *, cpu: str = "gfx942", checks: bool = True
) -> tuple[np.ndarray, LaunchReport]:
    out = np.zeros(3 * LANES, np.uint32)
    source = kernel(body, "ptr addrspace(1) %out", cpu=cpu, declarations=DECLARATIONS)
    report = run(
        source,
        entry="k",
        grid=(3, 1, 1),
        block=(LANES, 1, 1),
        arguments=[out],
        checks=checks,
    )
    return out, report


def fault(body: str, *, cpu: str = "gfx942") -> Fault:
    launch(body, cpu=cpu, checks=False)
    with pytest.raises(EmulationFault) as error:
        launch(body, cpu=cpu)
    return error.value.fault


#: Every lane leaves its number and takes that of the lane across the workgroup.
EXCHANGE = (
    store("s", "%t", "%t") + f"  {BARRIER}\n" + "  %o = xor i32 %t, 127\n" + load("x", "%o") + OUT
)


def test_an_exchange_with_its_barrier_is_clean() -> None:
    out, report = launch(EXCHANGE)
    np.testing.assert_array_equal(out, np.tile(np.arange(LANES)[::-1], 3))
    assert report.counters["barrier"] == 2 * 3  # one each in two waves of three workgroups


def test_a_dropped_barrier_is_a_race() -> None:
    found = fault(EXCHANGE.replace("call void @llvm.amdgcn.s.barrier()", ""))
    assert found.kind == "race"
    assert found.instruction.startswith("%x = load i32")
    assert "lane 127" in found.message and "no barrier" in found.message


@pytest.mark.parametrize("which", [0, 1])
def test_a_barrier_without_a_fence_orders_nothing(which: int) -> None:
    head, middle, tail = EXCHANGE.split(FENCE)
    found = fault(head + FENCE * which + middle + FENCE * (1 - which) + tail)
    assert found.kind == "race" and "no barrier with fences" in found.message
    # A fence that reaches no further than the wave is none for another wave.
    narrow = FENCE.replace("workgroup", "wavefront")
    assert fault(EXCHANGE.replace(FENCE, narrow, 1)).kind == "race"


def test_the_next_round_needs_a_barrier_after_the_reads() -> None:
    """The tile is overwritten while the other wave may still read it."""
    again = store("s2", "%t", "%x")
    body = EXCHANGE.replace(OUT, again + OUT)
    found = fault(body)
    assert found.kind == "race" and "read by wave" in found.message
    launch(EXCHANGE.replace(OUT, f"  {BARRIER}\n" + again + OUT))


def test_two_waves_that_write_one_place() -> None:
    body = "  %k = and i32 %t, 63\n" + store("s", "%k", "%t")
    body += f"  {BARRIER}\n" + load("x", "%k") + OUT
    assert fault(body).kind == "race"
    # One wave of another value each, behind a condition, is fine.
    guarded = (
        "  %first = icmp ult i32 %t, 64\n  br i1 %first, label %write, label %join\nwrite:\n"
        "  %k = and i32 %t, 63\n" + store("s", "%k", "%t") + "  br label %join\njoin:\n"
        f"  {BARRIER}\n  %q = and i32 %t, 63\n" + load("x", "%q") + OUT
    )
    out, _ = launch(guarded)
    np.testing.assert_array_equal(out, np.tile(np.arange(LANES) % 64, 3))


def test_lanes_of_a_wave_may_store_one_value_but_not_two() -> None:
    same = (
        "  %w = lshr i32 %t, 6\n"
        + store("s", "%w", "%w")
        + f"  {BARRIER}\n"
        + load("x", "%w")
        + OUT
    )
    out, _ = launch(same)
    np.testing.assert_array_equal(out, np.tile(np.arange(LANES) // 64, 3))
    found = fault(same.replace("store i32 %w,", "store i32 %t,"))
    assert found.kind == "race" and "also written by lane" in found.message


@pytest.mark.parametrize("order", ["", "  call void @llvm.amdgcn.wave.barrier()\n", f"  {FENCE}\n"])
def test_an_exchange_within_a_wave_needs_a_fence(order: str) -> None:
    """Without one, LLVM may move a load of another lane's element above the store."""
    body = store("s", "%t", "%t") + order + "  %o = xor i32 %t, 1\n" + load("x", "%o") + OUT
    if order:
        out, _ = launch(body)
        np.testing.assert_array_equal(out, np.tile(np.arange(LANES) ^ 1, 3))
    else:
        found = fault(body)
        assert found.kind == "race" and "no fence" in found.message


def test_reading_what_nothing_wrote() -> None:
    found = fault(EXCHANGE.replace("%o = xor i32 %t, 127", "%o = add i32 %t, 1"))
    assert (found.kind, found.lanes, found.address) == ("uninitialised-read", (127,), 512)


def test_a_split_barrier_orders_what_came_before_its_signal() -> None:
    signal = "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)\n"
    wait = "  call void @llvm.amdgcn.s.barrier.wait(i16 -1)\n"
    write, read = store("s", "%t", "%t"), "  %o = xor i32 %t, 127\n" + load("x", "%o")
    fence = f"  {FENCE}\n"
    launch(write + fence + signal + wait + fence + read + OUT, cpu="gfx1201")
    found = fault(signal + write + fence + wait + fence + read + OUT, cpu="gfx1201")
    assert found.kind == "race"


def test_a_barrier_that_a_wave_reaches_in_part() -> None:
    body = (
        "  %few = icmp ult i32 %t, 100\n  br i1 %few, label %some, label %join\nsome:\n"
        f"  {BARRIER}\n"
        "  br label %join\njoin:\n  %x = add i32 %t, 0\n" + OUT
    )
    found = fault(body)
    assert found.kind == "divergent-warp-instruction"
    assert found.lanes == tuple(range(100, 108))
    # Whole waves may be at barriers of their own.
    body = body.replace("100", "64").replace(
        "label %join\nsome",
        "label %others\nothers:\n  call void @llvm.amdgcn.s.barrier()\n  br label %join\nsome",
    )
    launch(body)


def test_workgroups_that_go_different_ways_keep_their_own_books() -> None:
    """The last workgroup does not store, so it reads uninitialised memory."""
    body = (
        "  %g0 = call i32 @llvm.amdgcn.workgroup.id.x()\n  %last = icmp eq i32 %g0, 2\n"
        "  br i1 %last, label %join, label %write\nwrite:\n"
        + store("s", "%t", "%t")
        + f"  br label %join\njoin:\n  {BARRIER}\n  %o = xor i32 %t, 127\n"
        + load("x", "%o")
        + OUT
    )
    found = fault(body)
    assert (found.kind, found.workgroup) == ("uninitialised-read", (2, 0, 0))
    launch(body.replace("icmp eq i32 %g0, 2", "icmp eq i32 %g0, 9"))


def test_atomics_do_not_race_with_each_other() -> None:
    body = (
        "  %z = icmp eq i32 %t, 0\n  br i1 %z, label %init, label %join\ninit:\n"
        + store("s", "0", "0")
        + f"  br label %join\njoin:\n  {BARRIER}\n"
        + at("c", "0")
        + "  %old = atomicrmw add ptr addrspace(3) %c, i32 %t monotonic\n"
        + f"  {BARRIER}\n"
        + load("x", "0")
        + OUT
    )
    out, _ = launch(body)
    assert (out == LANES * (LANES - 1) // 2).all()
    barrier = body.rindex("call void @llvm.amdgcn.s.barrier()")
    dropped = body[:barrier] + body[barrier:].replace("call void @llvm.amdgcn.s.barrier()", "", 1)
    assert "atomic" in fault(dropped).message


def test_misaligned_accesses_of_lds() -> None:
    odd = EXCHANGE.replace(
        "store i32 %t, ptr addrspace(3) %s.p",
        """%u = shl i32 %t, 1
  %odd = getelementptr i8, ptr addrspace(3) %s.p, i32 %u
  store i32 %t, ptr addrspace(3) %odd""",
    )
    found = fault(odd)
    assert (found.kind, found.address, found.lanes) == ("misaligned", 6, (1,))


def test_a_run_tells_of_every_distinct_fault() -> None:
    """The kernel has two races and an uninitialised read; each report names its array and both
    lines."""
    body = (
        store("a", "%t", "%t")
        + "  %u = xor i32 %t, 64\n"
        + load("b", "%u")
        + "  %v = add i32 %t, 128\n"
        + load("c", "%v")
        + store("d", "%u", "%v")
        + "  %x = add i32 %b, %c\n"
        + OUT
    )
    source = kernel(
        body, "ptr addrspace(1) %out", declarations=DECLARATIONS.replace("256", "512")
    ).replace("256 x", "512 x")
    with pytest.raises(EmulationFault) as caught:
        run(
            source, entry="k", grid=(3, 1, 1), block=(LANES, 1, 1),
            arguments=[np.zeros(3 * LANES, np.uint32)], most_faults=20,
        )  # fmt: skip
    found = caught.value.faults
    assert [fault.kind for fault in found] == ["race", "uninitialised-read", "race"]
    assert [fault.array for fault in found] == [
        "byte 256 of @tile", "byte 512 of @tile", "byte 256 of @tile",
    ]  # fmt: skip
    assert (found[0].lanes, found[0].more_lanes) == (tuple(range(8)), 120)
    text = source.splitlines()
    stored = next(n for n, line in enumerate(text, 1) if "store i32 %t" in line)
    assert f"line {stored};" in found[0].message


#: Lane l and lane l + 64, of another wave, store to the same word.
HALF = "  %h = and i32 %t, 63\n"
READ_ALL = f"""
  {BARRIER}
{load("x", "%h")}"""


def warned(body: str, **options: Any) -> tuple[Fault, ...]:
    source = kernel(body + OUT, "ptr addrspace(1) %out", declarations=DECLARATIONS)
    return run(
        source, entry="k", grid=(3, 1, 1), block=(LANES, 1, 1),
        arguments=[np.zeros(3 * LANES, np.uint32)], **options,
    ).warnings  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_waves_that_store_the_same_value(seed: int) -> None:
    body = HALF + store("a", "%h", "%h") + READ_ALL
    (found,) = warned(body, seed=seed)
    assert found.kind == "same-value-write"
    assert found.array.endswith("of @tile")
    with pytest.raises(EmulationFault) as caught:
        warned(body, seed=seed, strict=True)
    assert (caught.value.fault.kind, caught.value.fault.line) == ("race", found.line)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("ulps", "expected"), [(0, "same-value-write"), (1, "nearly-same-value-write"), (1000, "race")]
)
def test_waves_that_store_sums_of_another_order(ulps: int, expected: str, seed: int) -> None:
    """The upper wave's f32 differs by some units in the last place."""
    body = f"""{HALF}
  %w = lshr i32 %t, 6
  %d = mul i32 %w, {ulps}
  %bits = add i32 %d, 1069547520
  %sum = bitcast i32 %bits to float
{at("a", "%h")}  store float %sum, ptr addrspace(3) %a
{READ_ALL}"""
    if expected == "race":
        with pytest.raises(EmulationFault) as caught:
            warned(body, seed=seed)
        assert caught.value.fault.kind == "race"
    else:
        assert [one.kind for one in warned(body, seed=seed)] == [expected]


@pytest.mark.parametrize("seed", range(4))
def test_integers_have_no_last_bits(seed: int) -> None:
    body = f"""{HALF}
  %w = lshr i32 %t, 6
  %bits = add i32 %w, 1069547520
{store("a", "%h", "%bits")}{READ_ALL}"""
    with pytest.raises(EmulationFault) as caught:
        warned(body, seed=seed)
    assert caught.value.fault.kind == "race"


@pytest.mark.parametrize("seed", range(4))
def test_a_read_must_be_ordered_after_every_one_of_the_writes(seed: int) -> None:
    """A wave that reads without a barrier is ordered after its own write, but not after the
    other wave's."""
    body = f"""{HALF}{store("a", "%h", "%h")}
  {FENCE}
{load("x", "%h")}"""
    with pytest.raises(EmulationFault) as caught:
        warned(body, seed=seed)
    assert caught.value.fault.kind == "race"
