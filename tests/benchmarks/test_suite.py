"""Shared parts of the benchmark programs: options, result file of a run, lines on the screen."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks import results, suite
from benchmarks.machine import Machine
from benchmarks.results import Peer, Row, Timing, read
from kgen.check.bench.run import BenchResult, PeerResult

MACHINE = Machine(name="a machine")
ROW = Row(
    table="f32",
    work="w",
    variant={"threads": 2},
    time=Timing(median=1.5e-5),
    peers={"torch": Peer(ratio=1.25), "iree": Peer(missing="not here")},
    values={"gflops": 12.345, "note": "x"},
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use another folder of result files than the committed one."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(
        suite, "newest", lambda name, machine: results.newest(name, machine, tmp_path)
    )
    return tmp_path


def run(*words: str, versions: dict[str, str] | None = None) -> suite.Run:
    args = suite.options("text").parse_args(words)
    return suite.Run("cpu", args, versions=versions or {"torch": "1"}, machine=MACHINE)


def test_a_run_writes_each_row_and_is_continued(folder: Path) -> None:
    first = run()
    first.add(ROW)
    assert read(first.path).rows == [ROW] and first.path.parent == folder
    assert not run().has("f32", "w")
    second = run("--resume")
    assert second.has("f32", "w") and not second.has("f32", "v") and not second.has("s8", "w")
    second.add(dataclasses.replace(ROW, work="v"))
    assert [row.work for row in read(first.path).rows] == ["w", "v"]


def test_a_file_of_other_libraries_or_of_a_document_is_not_continued(folder: Path) -> None:
    first = run()
    first.add(ROW)
    assert not run("--resume", versions={"torch": "2"}).has("f32", "w")
    first.results.source = "exported from a page"
    first.results.write(first.path)
    assert not run("--resume").has("f32", "w")


def test_the_output_is_chosen(folder: Path) -> None:
    found = run("-o", str(folder / "mine.json"))
    found.add(ROW)
    assert [path.name for path in folder.iterdir()] == ["mine.json"]


def test_only_names_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    parser = suite.options("text")
    assert suite.chosen(parser, None, {"a": 1, "b": 2}) == [1, 2]
    assert suite.chosen(parser, "b", {"a": 1, "b": 2}) == [2]
    with pytest.raises(SystemExit):
        suite.chosen(parser, "c", {"a": 1, "b": 2})
    assert "--only c: names are a, b" in capsys.readouterr().err


def test_a_row_is_one_line() -> None:
    words = "w  threads=2  15 us  torch 1.25x  iree: not here  gflops=12.3  note=x"
    assert suite.line(ROW) == words
    assert [suite.seconds(t) for t in (2.0, 0.002)] == ["2 s", "2 ms"]


def test_a_timed_kernel_is_a_row() -> None:
    result = BenchResult(
        kernel="k", target="t", device="d", seconds=2e-3, quartiles=(1e-3, 3e-3), rounds=9,
        load=0.0, noise=0.5, gflops=3.0, gbytes=4.0,
        peers=(
            PeerResult(name="numpy (in f32)", seconds=4e-3, ratio=2.0, noise=0.5),
            PeerResult(name="torch", reason="not here"),
        ),
    )  # fmt: skip
    row = suite.timed(result, "f32", "w")
    assert row.time == Timing(median=2e-3, quartiles=(1e-3, 3e-3), rounds=9)
    assert row.ratio("numpy") == 2.0 and row.peers["torch"].missing == "not here"
    assert "halves of the rounds differ by 50%" in str(row.values["disturbed"])


def test_versions_of_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    found = suite.versions("numpy", "no-such-package")
    assert set(found) == {"numpy"}
    assert capsys.readouterr().out == "no-such-package is not installed: not measured\n"
