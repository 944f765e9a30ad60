"""Rendered kernels equal the files in generated/; `make generated` rewrites them."""

from __future__ import annotations

import re

import pytest

from tests.golden.goldens import ROOT, Golden, goldens

MAX_LINES = 820


@pytest.mark.parametrize("golden", list(goldens()), ids=lambda g: f"{g.target}/{g.spec.key}")
def test_no_drift(golden: Golden) -> None:
    assert golden.path.is_file(), f"{golden.path} is missing; run make generated"
    text = golden.path.read_text()
    assert golden.text() == text, "the rendered text changed; run make generated, read the diff"
    assert len(text.splitlines()) <= MAX_LINES, "too long to read; take a smaller tile"


def test_comments_and_blank_lines_read_well() -> None:
    """A PTX macro that renders nothing leaves no blank line, and a count of one has no plural."""
    texts = {path: path.read_text() for path in ROOT.rglob("*.ptx")}
    assert texts
    for path, text in texts.items():
        assert "\n\n\n" not in text, path
        assert not re.search(r"\b1 (tile|stage|strip|byte|element)s\b", text), path


#: What the comment on top of every kernel says, in this order; some have no method or memory.
LABELS = ["computes", "target", "schedule", "launch", "method", "memory", "arguments"]


def test_headers_say_the_same_in_the_same_order() -> None:
    for golden in goldens():
        mark = "//" if golden.path.suffix == ".ptx" else ";"
        head = golden.path.read_text().partition("\n\n")[0]
        lines = head.splitlines()
        assert all(line.startswith(mark) for line in lines) and lines[1] == mark, golden.path
        assert lines[0] == f"{mark} {golden.spec.key}"
        labels = re.findall(rf"^{mark} (\w+): +\S", head, re.MULTILINE)
        assert labels == [x for x in LABELS if x in labels], golden.path
        assert {*LABELS} - {*labels} <= {"method", "memory"}, golden.path
        for parameter in golden.spec.parameters:
            assert re.search(rf"^{mark} .* {parameter.name}: {parameter.role} ", head, re.MULTILINE)


def test_nothing_else_is_there() -> None:
    wanted = {golden.path for golden in goldens()}
    assert {p for p in ROOT.rglob("*") if p.is_file()} == wanted
