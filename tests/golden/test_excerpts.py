"""Kernel excerpts in the documents are lines of a golden kernel that the page links to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.documents import blocks

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "generated"
#: Languages that kernels are rendered to.
LANGUAGES = ("ptx", "llvm", "spvasm")
_LINK = re.compile(r"\]\(([^)#\s]+)\)")


def excerpts(page: Path) -> list[str]:
    """Return the kernel text that a page shows, except kernels that the reader saves."""
    return [b.text for b in blocks(page) if b.language in LANGUAGES and not b.file]


PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if excerpts(path)]


def goldens(page: Path) -> dict[str, str]:
    """Return the text of each golden kernel that the page links to."""
    linked = ((page.parent / link).resolve() for link in _LINK.findall(page.read_text()))
    return {
        str(path.relative_to(GENERATED)): path.read_text()
        for path in linked
        if path.is_relative_to(GENERATED) and path.is_file()
    }


def test_pages_with_excerpts_are_found() -> None:
    assert len(PAGES) >= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_excerpts_are_in_a_golden_kernel(page: Path) -> None:
    kernels = goldens(page)
    assert kernels, "link the golden kernel that the excerpts are from"
    for excerpt in excerpts(page):
        assert any(excerpt in kernel for kernel in kernels.values()), excerpt
