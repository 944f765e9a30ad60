"""kgen's own budgets, and the file of docs/reference/metrics.md, are well formed."""

from __future__ import annotations

import tomllib
from pathlib import Path

from kgen.check.gate import budgets
from kgen.targets import families

ROOT = Path(__file__).parents[2]


def test_the_example_of_the_document_is_a_good_file() -> None:
    text = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    example = text[text.index("```toml\n") + 8 :]
    entries = budgets.parse_text(example[: example.index("```")], Path("example")).entries
    assert len(entries) == 2


def test_every_target_has_a_budget() -> None:
    """Each target has a flagship kernel in the gate, except CPU targets that differ in features
    only, and metal3, which has the code of vulkan1.1. The gate itself reads the whole file."""
    rows = tomllib.loads((ROOT / "perf_budgets.toml").read_text())["budget"]
    held = {row["target"] for row in rows}
    named = {t.name for family in families() for t in family.targets if "+" not in t.name}
    assert named - {"metal3"} <= held
