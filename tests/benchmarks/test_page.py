"""Pages that are generated from result files are current and use the newest rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.machine import ROOT, Machine
from benchmarks.page import Data, Figure, Line
from benchmarks.results import Peer, Results, Row, Timing, read_all
from scripts.documents import DOCUMENTS

LINE = Line(what="GEMMs", table="f32", against="a library", peers=("torch", "onednn"))


def results(date: str, machine: str, **ratios: tuple[float, ...]) -> Results:
    rows = [
        Row(table=table, work=str(i), time=Timing(median=1.0), peers={"torch": Peer(ratio=ratio)})
        for table, found in ratios.items()
        for i, ratio in enumerate(found)
    ]
    return Results(
        suite="cpu", machine=Machine(name=machine), date=date, commit="c", command="x", rows=rows
    )


def test_the_pages_are_current() -> None:
    """Run `make figures` after a change of a result file."""
    data, readme = Data(read_all()), page.README.read_text()
    assert page.PAGE.read_text() == page.page(data)
    assert readme == page.readme(readme, data)


def test_every_suite_and_machine_is_on_the_page() -> None:
    text, found = page.PAGE.read_text(), read_all()
    shown = set(re.findall(r"benchmarks/results/([^)]+\.json)", text))
    assert shown <= {results.path.name for results in found}
    hidden = (
        "tune-gap",
        "vulkan-compiled",
        "vulkan-glsl",
        "side-by-side",
        "regret",
        "gpu",
        "exports",
    )
    for results in found:
        names = {r.path.name for r in found if r.suite == results.suite}
        names &= {r.path.name for r in found if r.machine.name == results.machine.name}
        assert names & shown or results.suite in hidden
    assert set(re.findall(r"make bench SUITE=(\w+)", text)) == {
        "cpu", "models", "vulkan", "triton", "flagships", "tool",
    }  # fmt: skip


def test_a_table_is_from_the_newest_file_that_has_it() -> None:
    data = Data(
        [
            results("2026-02-01", "A", f32=(2.0, 8.0)),
            results("2026-01-01", "A", f32=(1.0,), s8=(3.0,)),
            results("2026-01-01", "B", s8=(5.0,)),
        ]
    )
    assert page.cpu_table(data, [LINE])[-1] == "| GEMMs | a library | 4.00x (2.00x) |"
    found = data.newest("cpu", "s8", "A")
    assert found is not None and found.results.date == "2026-01-01"
    assert [r.date for r in data.used("cpu", ["f32", "s8"])] == [
        "2026-02-01", "2026-01-01", "2026-01-01",
    ]  # fmt: skip


def test_a_fraction_is_a_percentage() -> None:
    line = Line(what="", table="f32", against="", peers=("torch",), is_fraction=True)
    assert page.cell(results("2026-01-01", "A", f32=(0.5,)).rows, line) == "50% (50%)"
    assert page.cell([], line) == "-"


def test_readme_shows_the_slowest_and_the_fastest_cpu() -> None:
    data = Data(
        [
            results("2026-01-01", "A", f32=(1.0, 4.0)),
            results("2026-01-01", "B", f32=(1.5,), s8=(9.0,)),
        ]
    )
    figure = Figure(workload="w", peer="p", suite="cpu", table="f32", peers=("torch",))
    slowest, fastest = "1.50x (minimum 1.50x) on B", "2.00x (minimum 1.00x) on A"
    assert figure.cells(data) == ["w", "p", slowest, fastest]
    alone = Figure(workload="w", peer="p", suite="cpu", table="s8", peers=("torch",))
    assert alone.cells(data)[2:] == ["9.00x (minimum 9.00x) on B", "not measured"]


def test_readme_without_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"README\.md has no lines"):
        page.readme("no table", Data([]))


def test_figures_stand_in_no_other_document() -> None:
    """Only README and the generated page contain figures that a command writes."""
    found = {
        (path.name, name)
        for path in DOCUMENTS
        for name in re.findall(r"<!-- (.*): begin -->", path.read_text())
    }
    assert found == {("README.md", "figures: make figures")}
    measured = re.compile(r"[Mm]easured on 20\d\d-|\b20\d\d-\d\d-\d\d at commit")
    others = (path for path in DOCUMENTS if path != page.PAGE)
    assert not [path for path in others if measured.search(path.read_text())]


def test_a_damaged_file_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def damaged() -> list[Results]:
        (tmp_path / "a.json").write_text("{")
        return read_all(tmp_path)

    monkeypatch.setattr(page, "read_all", damaged)
    monkeypatch.setattr("sys.argv", ["page"])
    assert page.main() == 1
    assert capsys.readouterr().err.startswith("a.json is not JSON")
    assert (ROOT / "docs" / "performance.md").exists()
