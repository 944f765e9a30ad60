"""File with one budget, and the verdict on given numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kgen.check.gate import budgets
from kgen.check.gate.judge import EntryReport, GateReport, judge
from kgen.check.gate.metrics import Tier
from kgen.check.gate.ratio import Ratio
from kgen.check.gate.values import Values

FILE = """\
# Why these kernels, and not others.
[toolchain]
ptxas = "nvidia-cuda-nvcc-cu12==12.9.86"
[defaults]
spills = 0

[[budget]]
kernel = "relu 4096 f16"
target = "sm_80"
why = "small and quick"
static = { registers = 64, code_bytes = 10_000 } # two numbers
emulated = { global_sectors = 512, instructions=1000 }
"""
NUMBERS: dict[str, float] = {
    "registers": 16,
    "code_bytes": 10_000,
    "global_sectors": 513,
    "instructions": 999,
}


def judged(
    text: str, numbers: Mapping[str, float], timed: Ratio | str | None = None
) -> EntryReport:
    (entry,) = budgets.parse_text(text, Path("b.toml")).entries
    return judge(entry, Values(numbers=numbers), timed, tuple(Tier))


def report_of(entry: EntryReport) -> GateReport:
    return GateReport(path="b.toml", entries=(entry,), seconds=0.0)
