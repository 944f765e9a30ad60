"""Relative links in the documents lead to files of the checkout, and to headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.documents import DOCUMENTS, ROOT

_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def links(text: str) -> list[str]:
    """Return relative links outside of code blocks."""
    return [link for link in _LINK.findall(_CODE.sub("", text)) if "://" not in link]


def anchors(text: str) -> set[str]:
    """Return the names that GitHub gives to headings."""
    titles = (re.sub(r"[^\w\- ]", "", title.lower()) for title in _HEADING.findall(text))
    return {title.replace(" ", "-") for title in titles}


def is_broken(link: str, page: Path) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target.read_text())


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in links(page.read_text()) if is_broken(link, page)] == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title: x\n[a](#a-title-x) [b](gone.md) [c](#gone) [d](https://x.org)\n")
    assert [link for link in links(page.read_text()) if is_broken(link, page)] == [
        "gone.md",
        "#gone",
    ]
