"""Result files: the committed ones are valid, damaged ones are refused in one line."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.machine import AMX, AVX2, AVX512, OTHER, ROOT, Machine, instructions_of
from benchmarks.results import (
    FOLDER,
    Peer,
    ResultError,
    Results,
    Row,
    Timing,
    geometric_mean,
    newest,
    read,
    read_all,
)

RESULTS = Results(
    suite="cpu",
    machine=Machine(name="AVX2, Zen 3", cpu="a CPU", cores=2, features=("fma",)),
    date="2026-01-02",
    commit="1234567",
    command="python -m benchmarks.cpu",
    versions={"numpy": "2.0"},
    rows=[
        Row(
            table="f32",
            work="matmul 16x16x16 f32",
            variant={"threads": 1},
            time=Timing.of([3.0, 1.0, 2.0]),
            peers={"numpy": Peer(ratio=1.5, noise=0.01), "torch": Peer(missing="not here")},
            values={"gflops": 4.0},
        )
    ],
)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_committed_files_are_valid(path: Path) -> None:
    found = read(path)
    assert found.rows and found.path.name == path.name


def test_a_file_holds_what_was_written(tmp_path: Path) -> None:
    path = RESULTS.write(tmp_path / "a.json")
    assert read(path) == RESULTS
    assert RESULTS.path.name == "2026-01-02-avx2-zen-3-cpu.json"
    assert RESULTS.rows[0].time == Timing(median=2.0, quartiles=(1.5, 2.5), rounds=3)


Change = Callable[[Any], object]
DAMAGES: dict[str, tuple[Change, str]] = {
    "schema": (lambda f: f.update(schema=2), "schema 2, but this version reads schema 1"),
    "lacks": (lambda f: f.pop("machine"), "the file has no field machine"),
    "unknown": (lambda f: f.update(colour="red"), "the file: unknown field colour"),
    "date": (lambda f: f.update(date=3), "the file: date=3 is not valid"),
    "row": (lambda f: f["rows"].append([1]), "row 2 is [1], not an object"),
    "work": (lambda f: f["rows"][0].pop("work"), "row 1 has no field work"),
    "ratio": (
        lambda f: f["rows"][0]["peers"]["numpy"].update(ratio=-1),
        "row 1, peer numpy: ratio=-1 is not valid",
    ),
    "value": (
        lambda f: f["rows"][0]["values"].update(gflops=[]),
        "row 1, values: gflops=[] is not valid",
    ),
    "variant": (
        lambda f: f["rows"][0]["variant"].update(threads=1.5),
        "row 1, variant: threads=1.5 is not valid",
    ),
    "feature": (lambda f: f["machine"].update(features=[1]), "machine: features=[1] is not valid"),
    "quartiles": (
        lambda f: f["rows"][0]["time"].update(quartiles=[1]),
        "row 1, time: quartiles=[1] is not valid",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_one_line(name: str, tmp_path: Path) -> None:
    change, words = DAMAGES[name]
    path = RESULTS.write(tmp_path / "a.json")
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(ResultError) as error:
        read(path)
    assert str(error.value) == f"a.json: {words}"


@pytest.mark.parametrize("text", [b"", b"[1", b"\xff", b"[]"])
def test_another_file_is_refused_in_one_line(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with pytest.raises(ResultError, match=r"^a\.json.*(is not JSON|not an object)[^\n]*$"):
        read(path)


def test_the_newest_file_of_a_machine(tmp_path: Path) -> None:
    for date, machine in (("2026-01-02", "A"), ("2026-02-01", "A"), ("2026-03-01", "B")):
        results = copy.copy(RESULTS)
        results.date, results.machine = date, Machine(name=machine)
        results.write(tmp_path / results.path.name)
    found = newest("cpu", "A", tmp_path)
    assert found is not None and found.date == "2026-02-01"
    assert newest("models", "A", tmp_path) is None
    assert len(read_all(tmp_path)) == 3


def test_a_ratio_is_to_the_fastest_peer() -> None:
    row = Row(table="t", work="w", peers={"a": Peer(ratio=2.0), "b": Peer(ratio=1.5), "c": Peer()})
    assert row.ratio("a", "b", "c", "d") == 1.5 and row.ratio("c", "d") is None
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    with pytest.raises(ValueError):
        geometric_mean([])


def test_kinds_of_cpu() -> None:
    found = [instructions_of(f) for f in ({"avx2"}, {"avx512f"}, {"avx512f", "amx_tile"}, ())]
    assert found == [AVX2, AVX512, AMX, OTHER]


@pytest.mark.parametrize("kind", [Results, Machine, Row, Peer, Timing])
def test_every_field_of_the_schema_is_documented(kind: Any) -> None:
    text = (ROOT / "benchmarks" / "README.md").read_text()
    missing = [field.name for field in dataclasses.fields(kind) if f"`{field.name}`" not in text]
    assert not missing
