"""Names that several classes or modules share are listed with their concept, and become fewer."""

from __future__ import annotations

import ast

from tests.style import names
from tests.style.names import SharedName


def test_shared_names_only_get_fewer() -> None:
    found = names.shared(names.files())
    text = names.FILE.read_text(encoding="utf-8")
    assert not (wrong := names.complaint(found, text)), wrong


TWO = [
    ("codegen/kgen/a/base.py", "class Step:\n    class Inner: ...\n"),
    ("codegen/kgen/b/base.py", "x = 1\nclass Step(Base): ...\n"),
    ("runtime/kgen_runtime/__init__.py", "class Inner: ...\n"),
    ("runtime/kgen_runtime/c/__init__.py", "class Other: ...\n"),
]
PATHS = ["codegen/kgen/a/base.py", "codegen/kgen/b/base.py"]
FOUND = {
    "module base": PATHS,
    "class Step": PATHS,
    "class Inner": ["codegen/kgen/a/base.py", "runtime/kgen_runtime/__init__.py"],
}
LISTED = {name: SharedName(count=2, concept="one concept") for name in FOUND}


def test_shared_names_are_found() -> None:
    assert names.shared(TWO) == FOUND


def test_classes_are_found_as_python_finds_them() -> None:
    nodes = [
        (path, node.name)
        for path, text in names.files()
        if path.startswith("codegen/kgen/emulate/")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    ]
    sources = ((p, t) for p, t in names.files() if p.startswith("codegen/kgen/emulate/"))
    matches = [(path, m["name"]) for path, text in sources for m in names._CLASS.finditer(text)]
    assert sorted(matches) == sorted(nodes) and len(nodes) > 100


def test_a_new_shared_name_is_refused() -> None:
    fewer = {name: entry for name, entry in LISTED.items() if name != "class Step"}
    assert names.complaint(FOUND, names.render(LISTED)) == ""
    assert "class Step: 2 in codegen/kgen/a/base.py" in names.complaint(FOUND, names.render(fewer))


def test_a_third_class_of_a_listed_name_is_refused() -> None:
    more = FOUND | {"class Step": [*PATHS, "codegen/kgen/c.py"]}
    assert "class Step: 3 in" in names.complaint(more, names.render(LISTED))


def test_a_name_that_became_unique_has_to_be_recorded() -> None:
    fewer = {name: paths for name, paths in FOUND.items() if name != "class Step"}
    assert names.WRITE in names.complaint(fewer, names.render(LISTED))
    assert names.complaint(fewer, names.render(names.lowered(fewer, LISTED))) == ""


def test_every_entry_names_a_concept() -> None:
    entries = names.allowed(names.render(LISTED) + "class NoConcept 2: \nclass Line 3: x\n")
    assert "class NoConcept" not in entries and entries["class Line"].count == 3


def test_two_versions_of_a_line_allow_the_larger_count() -> None:
    text = "<<<<<<< a\nclass Step 2: x\n=======\nclass Step 4: x\n>>>>>>> b\n"
    assert names.allowed(text)["class Step"].count == 4
