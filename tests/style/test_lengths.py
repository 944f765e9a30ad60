"""Lengths of the documents, without generated tables and pages, and how each page begins."""

from __future__ import annotations

from scripts.documents import DOCUMENTS, ROOT, name_of, written_lines

README, DOCS, CHANGELOG = 149, 4499, 89


def test_the_documents_are_short() -> None:
    lengths = {name_of(p): written_lines(name_of(p), p.read_text("utf-8")) for p in DOCUMENTS}
    pages = {name: lines for name, lines in lengths.items() if name.startswith("docs/")}
    longest = sorted(pages, key=lambda name: -pages[name])[:5]
    assert len(pages) > 30
    assert sum(pages.values()) <= DOCS, f"shorten a page of docs/; the longest: {longest}"


def test_readme_and_changelog_are_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= README
    assert len((ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()) <= CHANGELOG


def test_generated_parts_are_not_counted() -> None:
    table = "<!-- table views: make reference -->\n| a |\n| b |\n<!-- end of table -->\n"
    assert written_lines("docs/a.md", f"# A\n{table}text\n\n{table}end") == 4
    assert written_lines("docs/a.md", "# A\n<!-- table views: make reference -->\n| a |\n") == 3
    assert written_lines("docs/performance.md", "# Performance\n") == 0


def test_every_page_begins_with_who_it_is_for() -> None:
    pages = [path for path in DOCUMENTS if name_of(path).startswith("docs/")]
    openings = {name_of(path): path.read_text("utf-8").split("\n\n", 2)[1] for path in pages}
    assert [name for name, text in openings.items() if not text.startswith("For ")] == []
