"""Counters of the LLVM emulator, against counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.counters import MEANING
from kgen.emulate.report import LaunchReport
from tests.emulate.llvm.llvm_kernels import kernel, run

DECLARATIONS = """
@tile = internal addrspace(3) global [4096 x i32] poison, align 16
declare void @llvm.amdgcn.s.barrier()
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(
    <4 x half>, <4 x half>, <4 x float>, i32, i32, i32)
declare float @llvm.exp2.f32(float)
declare float @llvm.fma.f32(float, float, float)"""


def profiled(body: str, *, cpu: str = "gfx942", lanes: int = 64, seed: int = 0) -> LaunchReport:
    data = np.zeros(1 << 16, np.uint32)
    source = kernel(body, "ptr addrspace(1) %p", cpu=cpu, declarations=DECLARATIONS)
    return run(
        source,
        entry="k",
        grid=(2, 1, 1),
        block=(lanes, 1, 1),
        arguments=[data],
        checks=False,
        profile=True,
        seed=seed,
    )


def lds(access: str, words: int) -> str:
    """Return an access to LDS at word ``words * thread``."""
    return f"""
  %n = mul i32 %t, {words}
  %at = getelementptr i32, ptr addrspace(3) @tile, i32 %n
  {access}
  ret void"""


READ_32 = "%x = load i32, ptr addrspace(3) %at"
READ_64 = "%x = load <2 x i32>, ptr addrspace(3) %at, align 8"
READ_128 = "%x = load <4 x i32>, ptr addrspace(3) %at, align 16"
WRITE_128 = "store <4 x i32> zeroinitializer, ptr addrspace(3) %at, align 16"


@pytest.mark.parametrize(
    ("cpu", "access", "words", "wavefronts", "ideal"),
    [
        # 32 banks: a wave of 64 takes two cycles for words, four for 8 bytes, eight for 16.
        ("gfx942", READ_32, 1, 2, 2),
        ("gfx942", READ_32, 0, 2, 2),  # one word for all lanes
        ("gfx942", READ_32, 2, 4, 2),
        ("gfx942", READ_32, 33, 2, 2),
        ("gfx942", READ_32, 32, 64, 2),
        ("gfx942", READ_64, 2, 4, 4),
        ("gfx942", READ_128, 4, 8, 8),
        # Rows of 32 words: in every phase, eight lanes meet in the same four banks.
        ("gfx942", READ_128, 32, 64, 8),
        # Rows of 20 words. Lanes 0-3 and 20-23 start at banks 0 20 8 28 and 16 4 24 12: none meet.
        ("gfx942", READ_128, 20, 8, 8),
        ("gfx942", WRITE_128, 20, 8, 8),
        # Rows of 36 words: neighbours 0-7 do not meet, 0-3 and 20-23 do in pairs.
        ("gfx942", WRITE_128, 36, 8, 8),
        ("gfx942", READ_128, 36, 8, 8),
        # 64 banks: twice as many lanes in a phase.
        ("gfx950", READ_32, 1, 1, 1),
        ("gfx950", READ_32, 2, 2, 1),
        ("gfx950", READ_128, 4, 4, 4),
        # Waves of 32.
        ("gfx1100", READ_32, 1, 2, 2),
        ("gfx1100", READ_128, 4, 8, 8),
        # Not aligned to its size: as two reads of 8 bytes, each two-way: only every other pair.
        ("gfx942", READ_128.replace("16", "8"), 4, 16, 8),
    ],
)
def test_wavefronts(cpu: str, access: str, words: int, wavefronts: int, ideal: int) -> None:
    report = profiled(lds(access, words), cpu=cpu)
    found = report.counters["shared_wavefronts"], report.counters["shared_wavefronts_ideal"]
    assert found == (2 * wavefronts, 2 * ideal)
    assert report.counters["bank_conflicts"] == 2 * (wavefronts - ideal)


def test_atomics_of_one_word_take_turns() -> None:
    atomic = "%x = atomicrmw add ptr addrspace(3) %at, i32 1 monotonic"
    assert profiled(lds(atomic, 0)).counters["shared_wavefronts"] == 2 * 64
    assert profiled(lds(atomic, 1)).counters["shared_wavefronts"] == 2 * 2


@pytest.mark.parametrize(
    ("type_", "words", "sectors", "ideal"),
    [
        ("i32", 1, 4, 4),
        ("<4 x i32>", 4, 16, 16),
        ("i32", 2, 8, 4),
        ("i32", 16, 64, 4),
        ("i32", 0, 1, 1),
        ("i16", 1, 4, 2),
    ],
)
def test_sectors(type_: str, words: int, sectors: int, ideal: int) -> None:
    size = {"i32": 4, "<4 x i32>": 16, "i16": 2}[type_]
    body = f"""
  %n = mul i32 %t, {words}
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %n
  %x = load {type_}, ptr addrspace(1) %at, align {min(size, 4)}
  %to = getelementptr i8, ptr addrspace(1) %at, i32 131072
  store {type_} %x, ptr addrspace(1) %to, align {min(size, 4)}
  ret void"""
    report = profiled(body)
    counters = report.counters
    # Two workgroups of one wave that do the same.
    assert counters["global_load_sectors"] == counters["global_store_sectors"] == 2 * sectors
    assert counters["global_sectors"] == 4 * sectors
    assert counters["global_sectors_ideal"] == 4 * ideal
    assert counters["global_load_bytes"] == counters["global_store_bytes"] == 2 * 64 * size
    assert counters["global_unique_bytes"] == 2 * (64 * size if words else size)
    lines = [line for line in report.lines.values() if line.global_sectors]
    assert [line.global_sectors for line in lines] == [2 * sectors] * 2
    assert all((line.issued, line.lanes) == (2, 128) for line in lines)


def test_a_misaligned_access_touches_two_sectors() -> None:
    body = """
  %at = getelementptr i8, ptr addrspace(1) %p, i32 62
  %x = load i32, ptr addrspace(1) %at, align 2
  ret void"""
    assert profiled(body).counters["global_load_sectors"] == 2 * 2


MIXED = """
  %low = icmp ult i32 %t, 16
  br i1 %low, label %some, label %join
some:
  %f = uitofp i32 %t to float
  %e = call float @llvm.exp2.f32(float %f)
  %g = call float @llvm.fma.f32(float %e, float %e, float %f)
  br label %join
join:
  fence syncscope("workgroup") acq_rel
  call void @llvm.amdgcn.s.barrier()
  %d = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(
    <4 x half> zeroinitializer, <4 x half> zeroinitializer, <4 x float> zeroinitializer,
    i32 0, i32 0, i32 0)
  ret void"""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_classes_and_lanes(seed: int) -> None:
    """The launch has 96 lanes: one wave diverges, and half a wave does not."""
    body = MIXED[: MIXED.index("  %d = call")] + "  ret void"
    report = profiled(body, lanes=96, seed=seed)
    counters = report.counters
    assert set(MEANING) - {"copies_in_flight"} <= set(counters)
    expected = {
        "integer": 0,
        "compare": 4,
        "control": 4 + 2 + 4,
        "convert": 2 + 4,  # the number of the thread, widened
        "other": 4,  # the number itself
        "special": 2,
        "fma": 2,
        "barrier": 4,
        "fence": 4,
        "divergent_branches": 2,
        "barriers": 1,
    }
    assert {name: counters[name] for name in expected} == expected
    assert counters["instructions"] == 4 * (2 + 2 + 3) + 2 * 4
    assert counters["lane_instructions"] == 2 * (96 * (2 + 2 + 3) + 16 * 4)


def test_matrix_instructions_are_named() -> None:
    counters = profiled(MIXED).counters
    assert counters["matrix"] == counters["matrix.mfma.f32.16x16x16f16"] == 2


def test_traffic_is_counted_only_in_a_profile() -> None:
    source = kernel("  ret void", "ptr addrspace(1) %p", declarations=DECLARATIONS)
    arguments = [np.zeros(1, np.uint32)]
    report = run(source, entry="k", grid=(1, 1, 1), block=(64, 1, 1), arguments=arguments)
    assert "global_sectors" not in report.counters and not report.lines
