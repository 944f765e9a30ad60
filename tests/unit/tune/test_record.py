"""Tuning file that a search extends: another core's, damaged, too large, written atomically."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen import targets
from kgen.errors import TargetError
from kgen.spec import Matmul
from kgen.targets.choose import schedule_fields
from kgen.targets.tuning import file as files_read
from kgen.targets.tuning.file import TuningSource, parse
from kgen.tune import record
from kgen.tune.record import MEASURED, TuningFile
from tests.unit.tune.fake_race import CORE, TARGET

SOURCE = TuningSource(kind=MEASURED, machine='a "CPU"', day="d", commit="abc")
SCHEDULE = targets.family(TARGET.family).choose(Matmul(m=8, n=64, k=64, dtype="f32"), TARGET)


def filled(path: Path, count: int = 3) -> TuningFile:
    found = TuningFile.opened(path, CORE)
    for n in range(1, count + 1):
        found.add("matmul f32", (1, n, 1), SCHEDULE, SOURCE, gain=1 + n / 100, seconds=n * 1e-6)
    found.check("matmul f32", (9, 9, 9), SOURCE)
    return found


def test_a_file_is_read_back_and_extended(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    filled(path).save()
    again = TuningFile.opened(path, CORE)
    assert again.text() == path.read_text() == filled(path).text()
    other = TuningSource(kind=MEASURED, machine="m", day="e", commit="abc")
    again.add("matmul f32", (1, 1, 1), SCHEDULE, other, gain=2.0)
    again.save()
    found = parse(path.read_text(), "own.toml")
    assert {row.sizes: row.source for row in found.rows("matmul f32")} == {
        (1, 1, 1): "s1",
        (1, 2, 1): "s0",
        (1, 3, 1): "s0",
    }
    assert found.rows("matmul f32")[0].fields == schedule_fields(SCHEDULE)


def test_a_row_and_a_check_of_the_same_sizes_exclude_each_other(tmp_path: Path) -> None:
    found = filled(tmp_path / "own.toml", count=1)
    found.check("matmul f32", (1, 1, 1), SOURCE)
    assert found.rows["matmul f32"] == {} and found.is_done("matmul f32", (1, 1, 1), "abc")
    assert not found.is_done("matmul f32", (1, 1, 1), "def")
    found.add("matmul f32", (1, 1, 1), SCHEDULE, SOURCE, gain=1.5)
    assert found.count == 1 and found.is_done("matmul f32", (1, 1, 1), "def")
    assert (1, 1, 1) not in found.checked["matmul f32"]


def test_a_source_without_rows_is_left_out(tmp_path: Path) -> None:
    found = filled(tmp_path / "own.toml", count=1)
    old = TuningSource(kind="exported", machine="m", day="d", commit="c")
    found.add("matmul f32", (5, 5, 5), SCHEDULE, old, gain=None)
    assert "exported" in found.text()
    found.check("matmul f32", (5, 5, 5), SOURCE)
    assert "exported" not in found.text()


def test_rows_without_those_of_a_kernel(tmp_path: Path) -> None:
    found = filled(tmp_path / "own.toml").tuning(without=("matmul f32", (1, 2, 1)))
    assert [row.sizes for row in found.rows("matmul f32")] == [(1, 1, 1), (1, 3, 1)]


@pytest.mark.parametrize(("limit", "value"), [("MOST_ROWS", 40), ("MOST_BYTES", 6000)])
def test_no_row_is_dropped_to_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """A row is removed only if the choice without it was measured. A file beyond its limits is
    refused, and the saved one stays."""
    path = tmp_path / "own.toml"
    filled(path, count=20).save()
    saved = path.read_text()
    monkeypatch.setattr(record, limit, value)
    found = filled(path, count=60)
    assert not found.has_room(1)
    with pytest.raises(
        TargetError, match=rf"would have 60 rows .* {value}.*name another file with"
    ):
        found.save()
    assert path.read_text() == saved and found.count == 60


def test_room_is_that_of_both_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = filled(tmp_path / "own.toml", count=4)
    monkeypatch.setattr(record, "MOST_ROWS", 6)
    assert found.has_room(2) and not found.has_room(3)
    monkeypatch.setattr(record, "MOST_BYTES", len(found.text().encode()) + record.ROW_BYTES)
    assert found.has_room(1) and not found.has_room(2)


def test_a_file_of_another_core_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    filled(path).save()
    with pytest.raises(TargetError, match=r"own.toml has schedules for '.*', not for 'another'"):
        TuningFile.opened(path, "another")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("9 9 9 s0", "9 9 s", "checked sizes of class 'matmul f32': source s is not in [sources]"),
        ("9 9 9 s0", "9 x 9 s0", "checked sizes of class 'matmul f32': size 'x' is not an integer"),
        ("1 2 1 ", "1 2 ", ""),
        (",mr=", ",mr=x", "row 1 of class 'matmul f32': mr=x"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "own.toml"
    filled(path).save()
    path.write_text(path.read_text().replace(old, new))
    if not message:
        assert TuningFile.opened(path, CORE).count == 3  # a class may have other sizes
        return
    with pytest.raises(TargetError) as error:
        TuningFile.opened(path, CORE)
    assert message in str(error.value) and str(error.value).endswith(files_read.REMEDY)


def test_places_without_a_file_are_refused(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "nowhere" / "x", "nowhere is not a directory; make it first"),
        (tmp_path, "is a device or folder, not a plain file"),
        (Path("/dev/null"), "is a device or folder, not a plain file"),
    ):
        with pytest.raises(TargetError, match=message):
            TuningFile.opened(path, CORE)
