"""Generated tables of the documents are current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgen import schedule
from scripts.reference import c_header, main_loops, pages

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


def test_every_schedule_type_has_a_row() -> None:
    used = {kind for types in main_loops.TYPES.values() for kind in types}
    bases = {base for kind in used for base in kind.__mro__}
    exported = [getattr(schedule, name) for name in schedule.__all__]
    types = [t for t in exported if isinstance(t, type) and issubclass(t, schedule.Schedule)]
    assert not [t.__name__ for t in types if t not in bases]


@pytest.mark.parametrize("family", main_loops.TYPES)
def test_a_family_uses_its_schedule_types(family: str) -> None:
    folder = {"NVIDIA": "cuda", "AMD": "amdgpu", "Vulkan": "vulkan", "CPU": "cpu"}[family]
    sources = (pages.ROOT / "codegen/kgen/targets" / folder).rglob("*.py")
    text = "\n".join(source.read_text() for source in sources)
    unused = [t.__name__ for t in main_loops.TYPES[family] if t.__name__ not in text]
    assert not unused


def test_a_command_with_exit_status_1_says_when() -> None:
    folder = pages.ROOT / "codegen/kgen/cli/commands"
    fails = re.compile(r"^ +return (1|(0 if .* else|1 if .* else) \d)$", re.MULTILINE)
    for path in folder.rglob("*.py"):
        text = path.read_text()
        assert bool(fails.search(text)) == ("\nFAILED = " in text), path.name


def test_the_tables_of_c_list_every_function_and_status() -> None:
    code = re.sub(r"/\*.*?\*/", "", c_header.HEADER.read_text(), flags=re.DOTALL)
    declared = re.findall(r"\b(kgen_\w+)\(", code)
    listed = re.findall(r"^\| (.*?) \|", c_header.functions(), re.MULTILINE)
    assert re.findall(r"kgen_\w+", " ".join(listed)) == declared
    assert len(declared) == len({*declared}) > 40
    statuses = re.findall(r"\bKGEN_\w+", code.split("typedef enum kgen_status {")[1].split("}")[0])
    assert re.findall(r"^\| `(KGEN_\w+)`", c_header.types(), re.MULTILINE) == statuses
