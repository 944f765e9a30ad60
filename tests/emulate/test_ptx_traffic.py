"""What the PTX emulator counts, against counts by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.emulate import Report
from kgen.emulate import run as kgen_run
from kgen.emulate.counters import MEANING
from tests.emulate.ptx_programs import program, run

SHARED = ".shared .align 16 .b8 s[8192];"
#: Shared memory is read as it was: the checks are for other tests.
UNCHECKED: dict[str, Any] = {"checks": False, "profile": True}


def shared_access(access: str, shift: str, *, threads: int = 32) -> tuple[int, int]:
    """(wavefronts, ideal) of one access at s + the address in %r0, which `shift` computes."""
    body = f"{shift}\n mov.u32 %r1, s;\n add.u32 %r1, %r1, %r0;\n {access}"
    report = run(program(body, params=0, shared=SHARED), threads=threads, **UNCHECKED)
    counters = report.counters
    assert counters["bank_conflicts"] == (
        counters["shared_wavefronts"] - counters["shared_wavefronts_ideal"]
    )
    return counters["shared_wavefronts"], counters["shared_wavefronts_ideal"]


LOAD = {
    2: "ld.shared.b16 %h0, [%r1];",
    4: "ld.shared.b32 %r2, [%r1];",
    8: "ld.shared.v2.b32 {%r2, %r3}, [%r1];",
    16: "ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];",
}
STORE = {
    4: "st.shared.b32 [%r1], %r2;",
    8: "st.shared.v2.b32 [%r1], {%r2, %r3};",
    16: "st.shared.v4.b32 [%r1], {%r2, %r3, %r4, %r5};",
}


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        (4, 4, (1, 1)),  # each lane its own bank
        (4, 0, (1, 1)),  # one word for all: a broadcast
        (4, 8, (2, 1)),  # every second bank, twice
        (4, 128, (32, 1)),  # all in bank 0
        (4, 132, (1, 1)),  # padded by a word
        (2, 2, (1, 1)),  # two lanes in each word
        (2, 4, (1, 1)),
        (8, 8, (2, 2)),  # half warps
        (8, 16, (4, 2)),
        (8, 128, (32, 2)),
        (16, 16, (4, 4)),  # quarter warps
        (16, 32, (8, 4)),
        (16, 128, (32, 4)),  # a row of 64 halves, unswizzled
        (16, 144, (4, 4)),  # padded by 16 bytes
        (16, 0, (2, 2)),  # one address for all: half of what four registers need
        (8, 0, (1, 1)),
    ],
)
def test_bank_conflicts_of_loads(size: int, stride: int, expected: tuple[int, int]) -> None:
    assert shared_access(LOAD[size], f"mul.lo.u32 %r0, %t, {stride};") == expected


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [(4, 4, (1, 1)), (4, 128, (32, 1)), (8, 8, (2, 2)), (16, 16, (4, 4)), (16, 0, (4, 4))],
)
def test_bank_conflicts_of_stores(size: int, stride: int, expected: tuple[int, int]) -> None:
    """Stores are not merged as loads are."""
    assert shared_access(STORE[size], f"mul.lo.u32 %r0, %t, {stride};") == expected


def test_a_broadcast_to_pairs_of_lanes_halves_a_wide_load() -> None:
    """Lanes l and l ^ 1 read one address, as both halves of a row of A in an FMA kernel."""
    pairs = "shr.u32 %r0, %t, 1;\n shl.b32 %r0, %r0, 4;"
    assert shared_access(LOAD[16], pairs) == (2, 2)
    every_other = "and.b32 %r0, %t, 1;\n shl.b32 %r0, %r0, 4;"  # l and l ^ 2
    assert shared_access(LOAD[16], every_other) == (2, 2)
    by_four = "and.b32 %r0, %t, 3;\n shl.b32 %r0, %r0, 4;"  # neither: a quarter warp each
    assert shared_access(LOAD[16], by_four) == (4, 4)


def test_lanes_that_are_not_there_need_no_wavefront() -> None:
    shift = "mul.lo.u32 %r0, %t, 16;"
    assert shared_access(LOAD[16], shift, threads=8) == (1, 1)
    assert shared_access(LOAD[16], shift, threads=40) == (5, 5)
    guarded = "setp.lt.u32 %q0, %t, 9;\n @%q0 " + LOAD[16]
    assert shared_access(guarded, shift) == (2, 2)


@pytest.mark.parametrize(
    ("row_bytes", "count", "expected"),
    [(16, 4, (4, 4)), (64, 4, (16, 4)), (128, 4, (32, 4)), (144, 4, (4, 4)), (128, 2, (16, 2))],
)
@pytest.mark.parametrize("transposed", ["", ".trans"])
def test_matrix_loads_and_stores(
    row_bytes: int, count: int, expected: tuple[int, int], transposed: str
) -> None:
    """Each 8x8 matrix is eight rows of 16 bytes: one wavefront if they lie in different banks."""
    shift = f"mul.lo.u32 %r0, %t, {row_bytes};"
    registers = ", ".join(f"%r{2 + i}" for i in range(count))
    form = f"sync.aligned.m8n8.x{count}{transposed}.shared.b16"
    assert shared_access(f"ldmatrix.{form} {{{registers}}}, [%r1];", shift) == expected
    assert shared_access(f"stmatrix.{form} [%r1], {{{registers}}};", shift) == expected


def test_atomics_on_one_word_go_one_after_the_other() -> None:
    add = "atom.shared.add.u32 %r2, [%r1], 1;"
    assert shared_access(add, "mov.u32 %r0, 0;") == (32, 1)
    assert shared_access(add, "shl.b32 %r0, %t, 2;") == (1, 1)


# ---------------------------------------------------------------------------- global memory


def global_access(access: str, offset: str, *, threads: int = 32, ctas: int = 1) -> Report:
    """One access at p0 + the offset in %r0."""
    body = f"{offset}\n mad.wide.u32 %a0, %r0, 1, %p0;\n {access}"
    data = np.zeros(1 << 16, np.uint8)
    return run(program(body, params=1), data, threads=threads, ctas=ctas, profile=True)


@pytest.mark.parametrize(
    ("access", "offset", "sectors", "ideal", "unique"),
    [
        ("ld.global.b32 %r1, [%a0];", "shl.b32 %r0, %t, 2;", 4, 4, 128),
        ("ld.global.b32 %r1, [%a0];", "mad.lo.u32 %r0, %t, 4, 16;", 5, 4, 128),  # not aligned
        ("ld.global.b32 %r1, [%a0];", "shl.b32 %r0, %t, 5;", 32, 4, 128),  # one in each sector
        ("ld.global.b32 %r1, [%a0];", "mov.u32 %r0, 64;", 1, 1, 4),  # one for all
        ("ld.global.b16 %h0, [%a0];", "shl.b32 %r0, %t, 1;", 2, 2, 64),
        ("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%a0];", "shl.b32 %r0, %t, 4;", 16, 16, 512),
        ("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%a0];", "shl.b32 %r0, %t, 6;", 32, 16, 512),
    ],
)
def test_sectors(access: str, offset: str, sectors: int, ideal: int, unique: int) -> None:
    counters = global_access(access, offset).counters
    assert counters["global_load_sectors"] == counters["global_sectors"] == sectors
    assert counters["global_sectors_ideal"] == ideal
    assert counters["global_unique_bytes"] == unique
    assert counters["global_store_sectors"] == counters["global_store_bytes"] == 0


def test_bytes_are_counted_for_every_lane_and_once_for_all() -> None:
    """Three CTAs of 40 threads read the same 160 bytes: a whole warp and a quarter of one."""
    counters = global_access(
        "ld.global.b32 %r1, [%a0];", "shl.b32 %r0, %t, 2;", threads=40, ctas=3
    ).counters
    assert counters["global_load_bytes"] == 3 * 160
    assert counters["global_unique_bytes"] == 160
    assert counters["global_sectors"] == counters["global_sectors_ideal"] == 3 * (4 + 1)


def test_generic_addresses_are_counted_where_they_lead() -> None:
    body = """
    mul.lo.u32 %r0, %t, 128;
    mov.u32 %r1, s;
    add.u32 %r1, %r1, %r0;
    cvt.u64.u32 %a1, %r1;
    cvta.shared.u64 %a1, %a1;
    mad.wide.u32 %a0, %t, 4, %p0;
    setp.lt.u32 %q0, %t, 8;
    selp.b64 %a2, %a0, %a1, %q0;
    ld.u32 %r2, [%a2];
    """
    data = np.zeros(32, np.uint32)
    counters = run(program(body, params=1, shared=SHARED), data, **UNCHECKED).counters
    assert (counters["shared_wavefronts"], counters["global_load_sectors"]) == (24, 1)
    assert counters["global_load_bytes"] == 32


def test_copies_count_on_both_sides() -> None:
    """16 bytes to each row of 128: eight lanes of a quarter in four banks; half are zero-filled."""
    body = """
    mul.lo.u32 %r0, %t, 128;
    mov.u32 %r1, s;
    add.u32 %r1, %r1, %r0;
    mad.wide.u32 %a0, %t, 16, %p0;
    setp.lt.u32 %q0, %t, 16;
    selp.u32 %r2, 16, 0, %q0;
    cp.async.cg.shared.global [%r1], [%a0], 16, %r2;
    cp.async.wait_all;
    """
    data = np.zeros(256, np.uint8)
    report = run(program(body, params=1, shared=SHARED), data, profile=True)
    counters = report.counters
    assert (counters["shared_wavefronts"], counters["shared_wavefronts_ideal"]) == (32, 4)
    assert counters["global_load_sectors"] == counters["global_sectors_ideal"] == 8
    assert counters["global_load_bytes"] == counters["global_unique_bytes"] == 256
    assert (counters["copy"], counters["barrier"]) == (1, 1)


def test_a_copy_of_part_of_its_bytes_reads_that_part() -> None:
    body = """
    mov.u32 %r1, s;
    mad.lo.u32 %r1, %t, 16, %r1;
    mad.wide.u32 %a0, %t, 16, %p0;
    mov.u32 %r2, 6;
    cp.async.ca.shared.global [%r1], [%a0], 16, %r2;
    cp.async.wait_all;
    """
    counters = run(
        program(body, params=1, shared=SHARED), np.zeros(512, np.uint8), profile=True
    ).counters
    assert counters["global_load_bytes"] == counters["global_unique_bytes"] == 6 * 32
    assert (counters["global_load_sectors"], counters["global_sectors_ideal"]) == (16, 6)


@pytest.mark.parametrize(("pending", "expected"), [(2, 2 * 16 * 40), (1, 16 * 40), (0, 0)])
def test_copies_in_flight(pending: int, expected: int) -> None:
    """Three groups of 16 bytes a thread, all but `pending` waited for; 40 threads in each CTA."""
    copy = "cp.async.cg.shared.global [%r1], [%p0], 16; cp.async.commit_group;"
    body = f"mov.u32 %r1, s;\n mad.lo.u32 %r1, %t, 16, %r1;\n {copy * 3}"
    body += f"cp.async.wait_group {pending};"
    report = run(
        program(body, params=1, shared=SHARED), np.zeros(16, np.uint8), threads=40, **UNCHECKED
    )
    assert report.counters["copies_in_flight"] == expected


# ---------------------------------------------------------------------------- instructions


def test_instructions_by_class_lanes_and_divergence() -> None:
    """Of 48 threads, 8 leave at the branch: the first warp is parted, the half one is not."""
    body = """
    setp.lt.u32 %q0, %t, 8;
    @%q0 bra DONE;
    add.f32 %f0, %f1, %f2;
    fma.rn.f32 %f0, %f1, %f2, %f0;
    @!%q0 ex2.approx.f32 %f0, %f0;
    @%q0 rcp.approx.f32 %f0, %f0;
    and.pred %q1, %q0, %q0;
DONE:
    bar.sync 0;
    bar.sync 1, 64;
    bar.sync 2, 32;
    """
    body = body.replace("bar.sync 2, 32;", "setp.lt.u32 %q2, %t, 32;\n @%q2 bar.sync 2, 32;")
    report = run(program(body, params=0), threads=48)
    counters = report.counters
    assert counters["divergent_branches"] == 1
    assert counters["barriers"] == 2  # the third is of one warp
    assert (counters["float"], counters["fma"], counters["special"]) == (2, 2, 4)
    assert counters["compare"] == 2 + 2 + 2
    assert (counters["control"], counters["barrier"]) == (2 + 2, 3 * 2)
    assert (
        counters["instructions"]
        == report.instructions
        == sum(value for name, value in counters.items() if name in CLASSES)
    )
    skipped = 40  # lanes that did not branch
    common = 48 * (3 + 1 + 1 + 1 + 2 + 1 + 1)  # 3 moves, mad, setp, bra, 2 barriers, setp, ret
    assert counters["lane_instructions"] == common + 32 + skipped * (2 + 1 + 1)
    assert report.lines == {} and "shared_wavefronts" not in counters


CLASSES = set(MEANING) - {"instructions", "lane_instructions", "barriers", "divergent_branches"}


def test_lines_hold_what_their_instructions_did() -> None:
    source = program(
        """
    shl.b32 %r0, %t, 5;
    mad.wide.u32 %a0, %r0, 1, %p0;
    ld.global.b32 %r1, [%a0];
    setp.lt.u32 %q0, %t, 4;
    @%q0 st.global.b32 [%a0], %r1;
    """,
        params=1,
    )
    report = run(source, np.zeros(1024, np.uint8), ctas=3, profile=True, checks=False)
    text = source.splitlines()
    load = next(c for n, c in report.lines.items() if "ld.global" in text[n - 1])
    store = next(c for n, c in report.lines.items() if "st.global" in text[n - 1])
    assert (load.issued, load.lanes, load.global_sectors, load.global_bytes) == (3, 96, 96, 384)
    assert (store.issued, store.lanes, store.global_sectors) == (3, 12, 12)
    assert (load.global_sectors_ideal, store.global_sectors_ideal) == (12, 3)
    assert sum(line.issued for line in report.lines.values()) == report.instructions
    assert list(report.lines) == sorted(report.lines)


CUDA = (Path(__file__).parent / "data" / "kernels.ptx").read_text()
HALF, SUMS = np.ones((64, 80), np.float16), np.zeros((64, 64), np.float32)


def test_wmma_of_a_cuda_kernel() -> None:
    """Six CTAs of four warps, five steps of k; rows of 48 bytes do not conflict for wmma.

    The copies write two pieces of 16 bytes to each row of 48, four rows in a quarter warp: the
    fourth row's first piece is in the banks of the first row's second.
    """
    m, n, k = 64, 96, 80
    a, b, out = np.zeros((m, k), "f2"), np.zeros((n, k), "f2"), np.zeros((m, n), "f4")
    counters = kgen_run(
        CUDA,
        language="ptx",
        entry="tensor_matmul",
        grid=(n // 32, m // 32, 1),
        block=(128, 1, 1),
        arguments=[a, b, out, np.int32(n), np.int32(k)],
        profile=True,
    ).counters
    warps_and_steps = (n // 32) * (m // 32) * 4 * (k // 16)
    assert counters["matrix.wmma.m16n16k16.f16"] == counters["matrix"] == warps_and_steps
    assert counters["copy"] == warps_and_steps
    assert counters["shared_wavefronts_ideal"] == warps_and_steps * (2 * 4 + 4)
    assert counters["bank_conflicts"] == warps_and_steps * 4
    assert counters["global_store_sectors"] == out.nbytes // 32
    assert counters["global_load_sectors"] == (n // 32) * (m // 32) * 64 * k * 2 // 32
    assert counters["global_unique_bytes"] == a.nbytes + b.nbytes + out.nbytes


@pytest.mark.parametrize(
    ("entry", "block", "arguments"),
    [
        ("tensor_matmul", 128, [HALF, HALF, SUMS, np.int32(64), np.int32(80)]),
        ("softmax", 128, [np.ones((4, 100), "f4"), np.zeros((4, 100), "u2"), np.int32(100)]),
        ("histogram", 64, [np.arange(500, dtype="u4") % 20, np.zeros(16, "u4"), np.int32(500)]),
        ("collatz", 32, [np.arange(1, 101, dtype="u4"), np.zeros(100, "i4"), np.int32(100)]),
    ],
)
def test_counters_depend_on_no_seed(entry: str, block: int, arguments: list[Any]) -> None:
    """Nor does a second run with the same seed count anything else; branches and loops included."""

    def counted(seed: int) -> tuple[Any, Any]:
        report = kgen_run(
            CUDA,
            language="ptx",
            entry=entry,
            grid=(2, 2, 1) if entry == "tensor_matmul" else (4, 1, 1),
            block=(block, 1, 1),
            arguments=arguments,
            profile=True,
            seed=seed,
        )
        return report.counters, report.lines

    first = counters, lines = counted(0)
    for name in ("shared_wavefronts", "global_sectors", "global_sectors_ideal"):
        assert counters[name] == sum(getattr(line, name) for line in lines.values())
    assert counters["instructions"] == sum(line.issued for line in lines.values())
    assert counters["bank_conflicts"] >= 0
    assert counters["global_sectors"] >= counters["global_sectors_ideal"]
    assert counted(0) == first
    for seed in (1, 2, 3):
        assert counted(seed) == first
