"""docs/performance-gate.md lists the metrics that there are; kgen's own budgets are well formed."""

from __future__ import annotations

from pathlib import Path

from kgen.check.gate import budgets
from kgen.check.gate.metrics import METRICS, Bound, Metric
from kgen.targets import families

ROOT = Path(__file__).parents[2]


def row(metric: Metric) -> str:
    bound = "at most" if metric.bound is Bound.MAXIMUM else "at least"
    return f"| `{metric.name}` | {bound} | {metric.unit} | {metric.tier}: {metric.meaning} |"


def test_the_table_of_metrics_is_the_registry() -> None:
    lines = (ROOT / "docs" / "performance-gate.md").read_text().splitlines()
    first = lines.index("| metric | bound | unit | meaning |") + 2
    found = lines[first : lines.index("", first)]
    assert found == [row(metric) for metric in METRICS], "\n".join(map(row, METRICS))


def test_the_example_of_the_document_is_a_good_file() -> None:
    text = (ROOT / "docs" / "performance-gate.md").read_text()
    example = text[text.index("```toml\n") + 8 :]
    assert budgets.parse_text(example[: example.index("```")], Path("example")).entries


def test_every_target_has_a_budget() -> None:
    """A flagship of each target stands in the gate; features of a CPU alone need none, and what
    metal3 translates is the code of vulkan1.1."""
    held = {entry.target_name for entry in budgets.load(ROOT / "perf_budgets.toml").entries}
    named = {t.name for family in families() for t in family.targets if "+" not in t.name}
    assert named - {"metal3"} <= held
