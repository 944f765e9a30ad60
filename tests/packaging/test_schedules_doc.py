"""docs/how-it-works/schedules.md lists the core and the caches of each named CPU target."""

from __future__ import annotations

from pathlib import Path

from kgen.targets.base import Target
from kgen.targets.cpu.limits import TARGETS

PAGE = Path(__file__).parents[2] / "docs" / "how-it-works" / "schedules.md"


def row(target: Target) -> str:
    sizes = [target.limits[f"l{level}_bytes"] for level in (1, 2, 3)]
    words = [f"{n >> 20} MiB" if n >= 1 << 20 else f"{n >> 10} KiB" for n in sizes]
    return f"| {' | '.join([target.name, target.device, *words])} |"


def test_the_core_and_the_caches_of_named_targets() -> None:
    lines = PAGE.read_text().splitlines()
    first = lines.index("| | core | L1, per core | L2, per core | L3, of all cores |") + 2
    found = lines[first : lines.index("", first)]
    assert found == [row(target) for target in TARGETS if "+" not in target.name]
