"""docs/emulator.md: its table has every class of fault."""

from __future__ import annotations

import re
from pathlib import Path

from kgen.emulate.report import FAULTS, WARNINGS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "emulator.md").read_text()


def test_the_page_names_every_class_of_fault_and_warning() -> None:
    start = TEXT.index("## What it checks")
    section = TEXT[start : TEXT.index("\n## ", start + 1)]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", " ".join(rows))) == FAULTS.keys()
    warned = section[section.index("`warning:`") :]
    assert all(f"`{kind}`" in warned for kind in WARNINGS)
