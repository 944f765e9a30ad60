"""Assembly of Vulkan drivers, and budgets for it without a driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.check.gate import budgets, run
from kgen.check.gate.judge import GateReport, Verdict
from kgen.check.gate.metrics import Tier
from kgen.check.gate.summary import broken_lines, conclusion
from kgen.check.static import hot_loop
from kgen.check.static.hot_loop import WORDS, WorkKind
from kgen.check.static.vulkan.assembly import parse_nvk, parse_radv
from kgen.settings import CI, DRIVERS, in_ci

RADV = """\
BB0:
	s_mov_b32 s0, 4                                             ; be800084
	s_branch BB1                                                ; bfa00001
BB1:
	buffer_load_b128 v[4:7], v5, s[8:11], 0 offen               ; e05c0000 80420405
	v_dual_fmac_f32 v0, v4, v5 :: v_dual_fmac_f32 v1, v6, v7    ; c8000000 00000000
(invalid instruction)                                        ; 7fd0cd6c
	s_cbranch_scc0 BB1                                          ; bfa1fd29
BB4:
	s_endpgm                                                    ; bfb00000
"""
#: The loop is L1 and L7; L4, which comes after it, stands before its last block.
NVK = """\
block.u 0 L2 [] -> {
 r0        = s2r sr[0x21]                                      // delay=2 wr:0
} -> [1]
block.u 1 L1 [0, 3] -> {
 r12..16   = ld.global.a64.constant.b128 [r8..10], pT          // delay=1 rd:0 wr:1
 r0..4     = hmma.m16n8k16.f32 r108..112 r20..22 r0..4         // delay=15 wt=011000 wr:2
             bra !up0 L7                                       // delay=1 wt=000011
} -> [2, 3]
block.u 2 L4 [1] -> {
             st.global.a64.strong.gpu.b128 [r4..6] r8..12      // delay=1
             exit                                              // delay=1
} -> []
block.u 3 L7 [1] -> {
 @!p0 r9   = iadd3 r9 r8 rZ                                    // delay=1
             bra pT L1                                         // delay=1
} -> [1]
"""


def test_radv() -> None:
    """A dual-issued pair counts as two, and an instruction that the driver cannot print as one;
    the encoding after ; is no operand."""
    code = parse_radv(RADV)
    loop = hot_loop.find(code, WORDS["amdgpu"])
    assert loop is not None and loop.kind is WorkKind.FMA and not loop.unrolled
    assert (loop.instructions, loop.work, loop.loads) == (5, 2, 1)
    assert code[1].goes_to == 2 and code[2].operands.endswith("offen")


def test_nvk() -> None:
    code = parse_nvk(NVK)
    loop = hot_loop.find(code, WORDS["nvk"])
    assert loop is not None and loop.kind is WorkKind.MATRIX and not loop.unrolled
    assert (loop.instructions, loop.work, loop.loads) == (5, 1, 1)
    assert set(loop.opcodes) == {
        "ld.global.a64.constant.b128", "hmma.m16n8k16.f32", "bra", "iadd3",
    }  # fmt: skip


FILE = """\
[defaults]
nvk = { spills = 0 }
[[budget]]
kernel = "relu 64 f32"
target = "vulkan1.3"
why = "small"
static = { shared_memory = 0, radv = { registers = 64 } }
"""


@pytest.fixture
def no_drivers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(DRIVERS, str(tmp_path))
    monkeypatch.delenv(CI, raising=False)


def checked() -> GateReport:
    loaded = budgets.parse_text(FILE, Path("b.toml"))
    return run.check(loaded, loaded.entries, tiers=(Tier.STATIC,))


@pytest.mark.usefixtures("no_drivers")
def test_an_absent_driver_skips_its_budgets_and_breaks_them_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A default for all kernels does not require a driver."""
    report = checked()
    assert report.passed and report.count(Verdict.SKIPPED) == report.count(Verdict.OK) == 1
    assert "make drivers" in "".join(conclusion(report))
    monkeypatch.setenv(CI, "true")
    report = checked()
    assert not report.passed and report.count(Verdict.BROKEN) == 1
    lines = "\n".join(broken_lines(report))
    assert "radv.registers is not measured, the budget is at most 64, b.toml line 7" in lines
    assert "not measured here: " in lines and "make drivers" in lines


@pytest.mark.parametrize(
    ("value", "expected"), [("", False), ("0", False), ("False", False), ("1", True)]
)
def test_what_ci_is(value: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CI, value)
    assert in_ci() is expected
