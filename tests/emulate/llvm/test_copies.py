"""Loads to LDS: copied bytes, the time when they land, and accesses that are too early."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, Fault, LaunchReport
from tests.emulate.llvm.llvm_kernels import kernel, run

LANES = 128
DECLARATIONS = """
@tile = internal addrspace(3) global [1024 x i32] poison, align 16
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.s.waitcnt(i32 immarg)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare void @llvm.amdgcn.global.load.lds(
    ptr addrspace(1), ptr addrspace(3), i32 immarg, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(
    ptr addrspace(8), ptr addrspace(3), i32 immarg, i32, i32, i32 immarg, i32 immarg)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
"""
RELEASE, ACQUIRE = (f'  fence syncscope("workgroup") {o}\n' for o in ("release", "acquire"))
BARRIER = "  call void @llvm.amdgcn.s.barrier()\n"
#: vmcnt(0) and vmcnt(1) with all other counters at their largest.
WAIT_0, WAIT_1 = (f"  call void @llvm.amdgcn.s.waitcnt(i32 {0x0F70 + n})\n" for n in (0, 1))

ADDRESSES = """
  %first = and i32 %t, 64
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %first)
  %to = getelementptr i32, ptr addrspace(3) @tile, i32 %wave
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %t
"""
COPY = """  call void @llvm.amdgcn.global.load.lds(
    ptr addrspace(1) %from, ptr addrspace(3) %to, i32 4, i32 0, i32 0)
"""
READ = """  %o = xor i32 %t, 127
  %at = getelementptr i32, ptr addrspace(3) @tile, i32 %o
  %x = load i32, ptr addrspace(3) %at
"""
OUT = """  %g = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %x, ptr addrspace(1) %g
  ret void"""


def launch(
    body: str, *, cpu: str = "gfx942", seed: int = 0, checks: bool = True
) -> tuple[np.ndarray, LaunchReport]:
    data = np.arange(1000, 1000 + 4 * LANES, dtype=np.uint32)
    out = np.zeros(LANES, np.uint32)
    parameters = "ptr addrspace(1) %in, ptr addrspace(1) %out"
    source = kernel(ADDRESSES + body + OUT, parameters, cpu=cpu, declarations=DECLARATIONS)
    report = run(
        source,
        entry="k",
        grid=(1, 1, 1),
        block=(LANES, 1, 1),
        arguments=[data, out],
        seed=seed,
        checks=checks,
        profile=True,
    )
    return out, report


def fault(body: str, seed: int = 0) -> Fault:
    with pytest.raises(EmulationFault) as error:
        launch(body, seed=seed)
    return error.value.fault


REVERSED = 1000 + np.arange(LANES, dtype=np.uint32)[::-1]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("wait", ["", WAIT_0])
def test_a_copy_that_is_waited_for(wait: str, seed: int) -> None:
    """A release fence waits, too, as LLVM compiles it."""
    out, report = launch(COPY + wait + RELEASE + BARRIER + ACQUIRE + READ, seed=seed)
    np.testing.assert_array_equal(out, REVERSED)
    assert report.counters["copy"] == 2
    assert report.counters["global_load_bytes"] == 4 * LANES


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_copy_that_nobody_waits_for(seed: int) -> None:
    """A barrier alone does not wait."""
    found = fault(COPY + BARRIER + ACQUIRE + READ, seed)
    assert found.kind == "pending-copy"
    assert "has not waited" in found.message and found.instruction.startswith("%x = load")
    # Its bytes are poison until then.
    out, _ = launch(COPY + BARRIER + ACQUIRE + READ, checks=False)
    assert (out == 0xFFFFFFFF).any()


def test_its_own_wave_waits_before_it_reads() -> None:
    own = READ.replace("%o = xor i32 %t, 127", "%o = add i32 %t, 0")
    out, _ = launch(COPY + own)
    np.testing.assert_array_equal(out, REVERSED[::-1])


def test_a_wait_without_a_barrier_is_a_race() -> None:
    assert fault(COPY + WAIT_0 + RELEASE + ACQUIRE + READ).kind == "race"


SECOND = COPY.replace("%from", "%from2").replace("%to,", "%to2,")
SECOND = (
    """  %to2 = getelementptr i32, ptr addrspace(3) %to, i32 256
  %from2 = getelementptr i32, ptr addrspace(1) %from, i32 128
"""
    + SECOND
)


def test_the_older_of_two_copies() -> None:
    """vmcnt(1) waits for all copies but the last."""
    tail = WAIT_1 + BARRIER + ACQUIRE
    first = fault(COPY + SECOND + BARRIER + ACQUIRE + READ)
    assert first.kind == "pending-copy"
    # The first has landed, though without a release it is not ordered.
    assert fault(COPY + SECOND + tail + READ).kind == "race"
    late = READ.replace("@tile, i32 %o", "@tile, i32 %o2").replace(
        "  %at", "  %o2 = add i32 %o, 256\n  %at"
    )
    assert fault(COPY + SECOND + tail + late).kind == "pending-copy"
    out, _ = launch(COPY + SECOND + WAIT_0 + RELEASE + BARRIER + ACQUIRE + late)
    np.testing.assert_array_equal(out, REVERSED + LANES)


def test_a_store_over_a_copy_under_way() -> None:
    store = "  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %t\n"
    store += "  store i32 5, ptr addrspace(3) %mine\n"
    assert fault(COPY + store + "  %x = add i32 %t, 0\n").kind == "pending-copy"
    # Nor may it begin while others read what was there.
    reads = store + RELEASE + BARRIER + ACQUIRE + READ
    assert fault(reads + COPY).kind == "race"
    launch(reads + RELEASE + BARRIER + ACQUIRE + COPY)


def test_sixteen_bytes_and_a_buffer_of_which_some_lanes_are_out_of_range() -> None:
    body = f"""
  %to4 = getelementptr i32, ptr addrspace(3) @tile, i32 %lds
  %n = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(
    ptr addrspace(1) %in, i16 0, i64 1600, i32 0)
  %offset = mul i32 %t, 16
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(
    ptr addrspace(8) %n, ptr addrspace(3) %to4, i32 16, i32 %offset, i32 0, i32 0, i32 0)
{RELEASE}{BARRIER}{ACQUIRE}
  %w = mul i32 %t, 4
  %at = getelementptr i32, ptr addrspace(3) @tile, i32 %w
  %x = load i32, ptr addrspace(3) %at
"""
    body = "  %lds = mul i32 %wave, 4\n" + body
    out, _ = launch(body, cpu="gfx950")
    expected = np.arange(1000, 1000 + 4 * LANES, 4)
    expected[100:] = 0  # 1600 bytes are 100 lanes
    np.testing.assert_array_equal(out, expected)
