"""Figures in the documents: markers, and when and at which commit they were measured."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from kgen.check.bench.timing import Taken
from scripts import bench_tool, documents, readme_figures

#: Families of blocks of which each kind of CPU that was measured has its own.
FAMILIES = ("bench-cpu summary", "make bench-models")
KINDS = tuple(documents.kinds(documents.PERFORMANCE, "bench-cpu summary"))
#: Every block that a command writes measurements into.
BLOCKS = (
    ("docs/performance.md", "make bench-tool"),
    ("docs/performance.md", "make bench-triton"),
    ("docs/performance.md", "make bench-vulkan"),
    ("docs/performance.md", "make bench-vulkan, compiled"),
    ("docs/performance.md", "python -m scripts.bench_vulkan.glsl"),
    *(
        ("docs/performance.md", f"{family}, {kind}")
        for family in FAMILIES
        for kind in documents.kinds(documents.PERFORMANCE, family)
    ),
    *(
        (str(documents.page_of(kind).relative_to(documents.ROOT)), f"{family}, {kind}")
        for kind in KINDS
        for family in documents.SECTIONS
        if kind in documents.kinds(documents.page_of(kind), family)
    ),
    ("docs/flagships.md", "make flagships"),
)
#: What a command makes of other blocks.
COLLECTED = (("README.md", readme_figures.NAME),)
MOMENT = re.compile(r"20\d\d-\d\d-\d\d at commit [0-9a-f]{7}\b")


@pytest.mark.parametrize(("document", "name"), BLOCKS)
def test_figures_carry_the_day_and_the_commit(document: str, name: str) -> None:
    text = (documents.ROOT / document).read_text()
    assert text.count(f"<!-- {name}: begin -->") == text.count(f"<!-- {name}: end -->") == 1
    block = text.split(f"<!-- {name}: begin -->")[1].split(f"<!-- {name}: end -->")[0]
    assert MOMENT.search(block)


def test_no_document_has_a_block_that_no_command_renews() -> None:
    listed = set()
    for path in (documents.ROOT / "README.md", *sorted((documents.ROOT / "docs").rglob("*.md"))):
        for name in re.findall("<!-- (.*): begin -->", path.read_text()):
            listed.add((str(path.relative_to(documents.ROOT)), name))
    assert listed == {*BLOCKS, *COLLECTED}
    rule = (documents.ROOT / "Makefile").read_text().split("\nfigures:")[1].split("\n\n")[0]
    for word in ("bench-tool", "bench-triton", "bench-cpu", "--tune-gap", "flagships", "reference"):
        assert word in rule


def test_a_new_kind_of_machine_gets_a_section_after_the_last(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    first = "<!-- f, AVX2, Zen 3: begin -->\nold\n<!-- f, AVX2, Zen 3: end -->"
    other = "<!-- f, rows, AVX2, Zen 3: begin -->\nrow\n<!-- f, rows, AVX2, Zen 3: end -->"
    path.write_text(f"{first}\n{other}\nend")
    documents.put_kind(path, "f", "AVX2, Skylake", ["", "new", ""])
    assert list(documents.kinds(path, "f")) == ["AVX2, Zen 3", "AVX2, Skylake"]
    documents.put_kind(path, "f", "AVX2, Zen 3", ["", "newer", ""])
    text = path.read_text()
    assert "old" not in text and text.endswith(f"\n{other}\nend")
    assert documents.kinds(path, "f, rows") == {"AVX2, Zen 3": "\nrow\n"}
    assert [section.strip() for section in documents.kinds(path, "f").values()] == ["newer", "new"]


def test_each_kind_of_cpu_has_a_page_that_the_summary_links_to() -> None:
    text = documents.PERFORMANCE.read_text()
    pages = [documents.page_of(kind) for kind in KINDS]
    assert all(f"(performance/{page.name})" in text and page.exists() for page in pages)
    written = {page.name for page in documents.PERFORMANCE.with_suffix("").glob("*.md")}
    assert written == {page.name for page in pages}


def test_a_page_gets_a_section_when_there_is_something_to_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "PERFORMANCE", tmp_path / "performance.md")
    kind = "AVX2, Zen 3"
    for words in ("old", "new"):
        documents.put_in_page(kind, "make bench-cpu", ["", words, ""])
    documents.put_in_page(kind, "tune gap", ["", "a gap", ""])
    text = (tmp_path / "performance" / "avx2-zen-3.md").read_text()
    assert text.startswith("# AVX2, Zen 3\n") and "old" not in text
    assert text.index("## Products") < text.index("new") < text.index("## Tuned schedules")
    assert documents.kinds(documents.page_of(kind), "tune gap") == {kind: "\n\na gap\n\n"}


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


def test_the_readme_shows_the_slowest_and_the_fastest_cpu_of_each_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of other kinds of CPU, and of workloads that README does not show, do not matter."""
    path = tmp_path / "performance.md"
    path.write_text(
        "<!-- bench-cpu summary, AVX2, Zen 3: begin -->\n"
        "| softmax and norms f32 | PyTorch | 1.10x | 0.90x | 2.00x |\n"
        "<!-- bench-cpu summary, AVX2, Zen 3: end -->\n"
        "<!-- bench-cpu summary, AVX-512, Zen 4: begin -->\n"
        "| softmax and norms f32 | PyTorch | 1.30x | 0.80x | 3.00x |\n"
        "| matmul f32 | best | 9.00x | 9.00x | 9.00x |\n"
        "<!-- bench-cpu summary, AVX-512, Zen 4: end -->\n"
        "<!-- make bench-models, AMX, Golden Cove: begin -->\n"
        "| minilm | 1 | 28 (28.6) | 34.8 (35.6) | 29.2 (29) | 1.25x | 1.04x | 1 |\n"
        "| minilm | 2 | 16 (17) | 22 (23) | 18 (19) | 1.39x | 1.12x | 1 |\n"
        "<!-- make bench-models, AMX, Golden Cove: end -->\n"
    )
    monkeypatch.setattr(documents, "PERFORMANCE", path)
    model, kernels = readme_figures.ROWS[0], readme_figures.ROWS[-1]
    assert model.line().endswith("| ONNX Runtime, f32 | 1.25x on AMX, Golden Cove | not measured |")
    assert kernels.line().endswith(
        "| PyTorch | 1.10x (minimum 0.90x) on AVX2, Zen 3 "
        "| 1.30x (minimum 0.80x) on AVX-512, Zen 4 |"
    )


def test_the_figures_of_the_readme_are_those_that_were_measured() -> None:
    """`python -m scripts.readme_figures` rewrites them."""
    assert "\n".join(readme_figures.lines()) in (documents.ROOT / "README.md").read_text()
