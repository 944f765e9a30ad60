"""Instructions by class, by line and by lane, against counts by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.emulate import run as kgen_run
from kgen.emulate.counters import MEANING
from tests.emulate.ptx.ptx_programs import program, run


def test_instructions_by_class_lanes_and_divergence() -> None:
    """At a branch, 8 of 48 threads leave: that splits the first warp, not the half one."""
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


CUDA = (Path(__file__).parents[2] / "data" / "kernels.ptx").read_text()
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
    """A second run with the same seed has the same counts, with branches and loops."""

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
