"""Each concept has one name (docs/reference/glossary.md); abandoned names do not return."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = ("README.md", "CHANGELOG.md", "perf_budgets.toml")
FOLDERS = (
    "docs",
    "templates",
    "generated",
    "codegen",
    "runtime",
    "benchmarks",
    "scripts",
    "examples",
)
SUFFIXES = frozenset({".md", ".toml", ".py", ".j2", ".ptx", ".ll", ".spvasm", ".c", ".h"})

#: What to write instead of a phrase that means nothing else.
INSTEAD = {
    "CTAs that stay": "persistent CTAs",
    "CTAs stay": "persistent CTAs",
    "comes last adds": "last-arriving-CTA reduction",
    "parts of k": "split-k slices",
    "a wave and a little": "tail effect, wave quantization",
    "taking turns": "ping-pong",
    "packed ahead": "prepacked",
    "smooth step": "transcendental function",
    "slab": "K-tile",
    "short sums": "reduced-precision sums",
    "what binds": "the bottleneck, limited by",
}


def texts() -> list[Path]:
    inside = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    return [*(ROOT / name for name in READ), *sorted(p for p in inside if p.suffix in SUFFIXES)]


def given_up(text: str) -> list[str]:
    plain = " ".join(text.lower().split())
    return [
        f"write {instead!r} for {phrase!r}"
        for phrase, instead in INSTEAD.items()
        if phrase.lower() in plain and re.search(rf"\b{phrase.lower()}s?\b", plain)
    ]


def test_names_that_were_given_up_stay_away() -> None:
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in texts()
        if (wrong := given_up(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize("text", ["weights packed\nahead", "two Slabs of K", "Parts of k"])
def test_they_are_found(text: str) -> None:
    assert given_up(text)


def test_enough_is_read() -> None:
    assert len(texts()) > 500
