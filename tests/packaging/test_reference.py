"""Generated tables of the documents are current."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.reference import pages

PAGES = pages.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_current(page: Path) -> None:
    text = page.read_text()
    assert pages.rewritten(text, page.name) == text, f"{page.name} is not current: make reference"


def test_some_page_holds_each_table() -> None:
    held = {name for page in PAGES for name in pages.names(page.read_text())}
    assert held == set(pages.TABLES)


def test_an_unknown_table_is_refused() -> None:
    text = "<!-- table none such: make reference -->\n<!-- end of table -->\n"
    with pytest.raises(SystemExit, match=r"a\.md: no table 'none such'; the tables are "):
        pages.rewritten(text, "a.md")
