"""Figures in the documents: markers, and when and at which commit they were measured."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from kgen.check.bench.timing import Taken
from scripts import bench_tool, documents

#: Kinds of CPU, each with sections of its own.
KINDS = ("AVX-512", "AVX2", "AMX")
#: Every block that a command writes measurements into.
BLOCKS = (
    ("docs/performance.md", "make bench-tool"),
    ("docs/performance.md", "make bench-triton"),
    ("docs/performance.md", "make bench-models"),
    *(("docs/performance.md", f"make bench-cpu, {kind}") for kind in KINDS),
    *(("docs/performance.md", f"make bench-cpu, rows, {kind}") for kind in KINDS),
    *(("docs/performance.md", f"tune gap, {kind}") for kind in KINDS),
    ("docs/flagships.md", "make flagships"),
    *(("README.md", f"bench-cpu summary, {kind}") for kind in KINDS),
)
#: Blocks of CPUs that nobody has measured yet say so.
UNMEASURED = {(document, name) for document, name in BLOCKS if name.endswith(", AMX")} | {
    ("docs/performance.md", "make bench-cpu, AVX2"),
    ("docs/performance.md", "make bench-cpu, rows, AVX2"),
    ("docs/performance.md", "tune gap, AVX2"),
    ("docs/performance.md", "make bench-models"),
    ("README.md", "bench-cpu summary, AVX2"),
}
MOMENT = re.compile(r"20\d\d-\d\d-\d\d at commit [0-9a-f]{7}\b")


@pytest.mark.parametrize(("document", "name"), BLOCKS)
def test_figures_carry_the_day_and_the_commit(document: str, name: str) -> None:
    text = (documents.ROOT / document).read_text()
    assert text.count(f"<!-- {name}: begin -->") == text.count(f"<!-- {name}: end -->") == 1
    block = text.split(f"<!-- {name}: begin -->")[1].split(f"<!-- {name}: end -->")[0]
    assert MOMENT.search(block) or (
        block.strip() == "Not measured yet." and (document, name) in UNMEASURED
    )


def test_no_document_has_a_block_that_no_command_renews() -> None:
    listed = set()
    for path in (documents.ROOT / "README.md", *sorted((documents.ROOT / "docs").glob("*.md"))):
        for name in re.findall("<!-- (.*): begin -->", path.read_text()):
            listed.add((str(path.relative_to(documents.ROOT)), name))
    assert listed == set(BLOCKS)
    rule = (documents.ROOT / "Makefile").read_text().split("\nfigures:")[1].split("\n\n")[0]
    for word in ("bench-tool", "bench-triton", "bench-cpu", "--tune-gap", "flagships", "readme"):
        assert word in rule


def test_lines_go_between_markers(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("head\n<!-- t: begin -->\nold\n<!-- t: end -->\ntail\n")
    documents.put(path, "t", ["new"])
    documents.put(path, "t", ["new", "er"])
    assert path.read_text() == "head\n<!-- t: begin -->\nnew\ner\n<!-- t: end -->\ntail\n"
    with pytest.raises(SystemExit, match=r"x\.md has no markers"):
        documents.put(path, "u", [])


def test_a_moment_is_a_day_and_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    assert documents.moment().endswith(" outside of a checkout")

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    (tmp_path / "codegen").mkdir()
    for name in ("codegen/x.py", "README.md"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "README.md").write_text("figures that a command before this one wrote")
    found = documents.moment()
    assert MOMENT.fullmatch(found)
    (tmp_path / "codegen" / "x.py").write_text("2")
    assert documents.moment() == f"{found} with changes"
    assert documents.measured([found, found, "x"]) == f"Measured on {found}; x."


def test_the_tools_own_times_are_a_table() -> None:
    rows = [
        bench_tool.Row(
            name="`kgen --help`",
            taken=Taken(times=[[0.03, 0.04, 0.05]], load=load, noise=0.0),
            limit=limit,
        )
        for load, limit in ((0.01, 0.3), (1.25, None))
    ]
    text = "\n".join(bench_tool.lines(rows, 3, "2026-11-22 at commit 1234567"))
    assert "3 runs each. Measured on 2026-11-22 at commit 1234567." in text
    assert "| `kgen --help` | 0.04 | 0.035 to 0.045 | 0.3 |  |" in text
    assert "| `kgen --help` | 0.04 | 0.035 to 0.045 |  | 1.25 |" in text
