"""Traffic of global memory that the PTX emulator counts, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_programs import program, run
from tests.emulate.ptx.traffic_programs import SHARED, UNCHECKED, global_access


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
    """Each of 40 threads in a CTA copies three groups of 16 bytes, and waits for all but
    `pending`."""
    copy = "cp.async.cg.shared.global [%r1], [%p0], 16; cp.async.commit_group;"
    body = f"mov.u32 %r1, s;\n mad.lo.u32 %r1, %t, 16, %r1;\n {copy * 3}"
    body += f"cp.async.wait_group {pending};"
    report = run(
        program(body, params=1, shared=SHARED), np.zeros(16, np.uint8), threads=40, **UNCHECKED
    )
    assert report.counters["copies_in_flight"] == expected
