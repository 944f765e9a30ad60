"""Links of the documents lead to files and headings that exist, and so do paths in sources."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from scripts.documents import DOCUMENTS, ROOT, name_of

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")
#: Files that name pages of other projects, or pages that a test makes up.
NOT_OURS = ("tests/data/", "tests/packaging/test_document_links.py")


@cache
def anchors(path: Path) -> frozenset[str]:
    """Anchors of a page's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text()), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return frozenset(re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in plain)


def broken(path: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    found = []
    for link in _LINK.findall(_FENCE.sub("", path.read_text())):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    assert broken(document) == []


def test_pages_that_sources_name_exist() -> None:
    """Comments, messages and tests name pages by their path in the checkout."""
    listed = ["git", "grep", "-I", "-l", "-E", r"docs/[A-Za-z0-9_/-]+\.md"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 128:
        pytest.skip("not a git checkout")
    missing = {
        f"{name}: {page}"
        for name in done.stdout.splitlines()
        if not name.startswith(NOT_OURS)
        for page in _PAGE.findall((ROOT / name).read_text())
        if not (ROOT / page).exists()
    }
    assert not missing


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.md").write_text("# A `head`: one\n\n```sh\n# not a heading\n```\n")
    page = tmp_path / "sub" / "a.md"
    page.write_text(
        "[1](../b.md) [2](../b.md#a-head-one) [3](../c.md) [4](../b.md#not-a-heading) [5](#here)\n"
        "[6](https://example.org/x)\n```text\n[7](no.md)\n```\n## Here\n"
    )
    assert broken(page) == ["../c.md", "../b.md#not-a-heading"]
