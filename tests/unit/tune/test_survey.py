"""Survey with a fake clock and a fake race: measured sizes, and recorded and removed rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kgen import targets
from kgen.spec import Matmul
from kgen.targets.choose import class_of, schedule_fields, sizes_of
from kgen.targets.cpu.schedule.adapt import SHARING
from kgen.targets.tuning.file import TunedRow, TuningSource, read
from kgen.tune import record, survey
from kgen.tune.record import EXPORTED, MEASURED, TuningFile
from kgen.tune.survey import Survey
from tests.unit.tune.fake_race import CORE, TARGET, FakeClock, FakeRace, hide_shipped, tuner_of

SOURCE = TuningSource(kind=MEASURED, machine="m", day="d", commit="abc")
SPEC = Matmul(m=64, n=64, k=64, dtype="f32")
NAME = class_of(SPEC, TARGET)
FAMILY = targets.family(TARGET.family)


@pytest.fixture(autouse=True)
def nothing_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_shipped(monkeypatch)
    monkeypatch.setattr(survey, "ROWS", (1, 64))
    monkeypatch.setattr(survey, "COLUMNS", (64, 128))
    monkeypatch.setattr(survey, "classes_of", lambda target: [SPEC])


def small(spec: Matmul | None = None, **sizes: int) -> Matmul:
    found = survey.resized(spec or SPEC, **({"m": 64, "n": 64, "k": 64} | sizes))
    assert found is not None
    return found


def surveyed(path: Path, race: FakeRace, minutes: float = 1e9) -> Survey:
    tuner = tuner_of(path, race, FakeClock(60.0))
    tuner.limit(minutes)
    found = Survey(tuner)
    found.run()
    return found


def test_a_survey_measures_the_grid_once(tmp_path: Path) -> None:
    path, race = tmp_path / "core.toml", FakeRace(lambda plan: 1.0)
    done = surveyed(path, race).tuner.results
    assert len({sizes_of(each.spec) for each in done}) == len(done) == 2 * 2 * 2
    assert not surveyed(path, race).tuner.results
    # No schedule was faster than the model's: there are no rows, and a build reads none.
    found = read(path)
    assert not found.texts and len(found.checked[NAME].splitlines()) == len(done)


def test_a_survey_ends_in_time_and_resumes(tmp_path: Path) -> None:
    path, race = tmp_path / "core.toml", FakeRace(lambda plan: 1.0)
    first = surveyed(path, race, minutes=4).tuner.results
    rest = surveyed(path, race).tuner.results
    assert first and rest and len(first) + len(rest) == 8
    assert not {sizes_of(each.spec) for each in first} & {sizes_of(each.spec) for each in rest}


def test_rows_stand_where_the_choice_without_them_is_slower(tmp_path: Path) -> None:
    path = tmp_path / "core.toml"
    found = surveyed(path, FakeRace())
    rows = read(path).rows(NAME)
    assert rows and all(row.fields["mr"] == 1 for row in rows)
    # Neighbours of a row with a tile of one row choose such a tile: they need no row of their own.
    assert len(rows) < len(found.tuner.results)
    for each in found.tuner.results:
        assert found.tuner.current(each.spec).schedule is not None
        row = found.tuner.file.row(NAME, sizes_of(each.spec))
        chosen = found.tuner.current(each.spec).schedule
        assert row is None or schedule_fields(chosen) != dict(row.fields)


def test_rows_without_which_the_same_is_chosen_are_removed(tmp_path: Path) -> None:
    """Two rows have the same schedule: the one with less gain is removed, and its sizes stay
    checked."""
    found = Survey(tuner_of(tmp_path / "core.toml", FakeRace()))
    file = found.tuner.file
    schedule = dataclasses.replace(FAMILY.choose(small(n=128), TARGET), mr=1, mc=4)  # type: ignore[call-arg]
    schedule = FAMILY.complete(small(n=128), TARGET, schedule, {*schedule.names} - {*SHARING})
    for n, gain in ((64, 1.1), (128, 1.2)):
        file.add(NAME, sizes_of(small(n=n)), schedule, SOURCE, gain=gain)
    found.thin([SPEC])
    assert [*file.rows[NAME]] == [(64, 128, 64)] and [*file.checked[NAME]] == [(64, 64, 64)]


def test_exported_rows_that_follow_from_others_are_removed(tmp_path: Path) -> None:
    """The choice without such a row is the same; its sizes count as not measured."""
    found = Survey(tuner_of(tmp_path / "core.toml", FakeRace()))
    file, exported = found.tuner.file, dataclasses.replace(SOURCE, kind=EXPORTED)
    other = dataclasses.replace(FAMILY.choose(small(n=128), TARGET), mr=1, mc=4)  # type: ignore[call-arg]
    other = FAMILY.complete(small(n=128), TARGET, other, {*other.names} - {*SHARING})
    file.add(NAME, sizes_of(small(n=128)), other, exported, gain=None)
    model = small(n=4096)
    file.add(NAME, sizes_of(model), FAMILY.choose(model, TARGET), exported, gain=None)
    found.thin([SPEC])
    assert [*file.rows[NAME]] == [(64, 128, 64)] and not file.checked.get(NAME)


def test_a_removed_row_is_put_back_if_a_later_removal_changes_the_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two rows follows from the other, and one of them must stay."""
    found = Survey(tuner_of(tmp_path / "core.toml", FakeRace()))
    file = found.tuner.file
    for n in (64, 128):
        file.add(NAME, sizes_of(small(n=n)), FAMILY.choose(small(n=n), TARGET), SOURCE, gain=1.1)
    left: list[int] = []

    def follows(spec: Matmul, row: TunedRow) -> bool:
        left.append(len(file.rows[NAME]))
        return len(left) <= 2 or left[-1] > 0

    monkeypatch.setattr(found, "follows", follows)
    found.thin([SPEC])
    assert left == [2, 1, 0, 1] and len(file.rows[NAME]) == 1


def test_what_an_older_version_checked_is_measured_again(tmp_path: Path) -> None:
    path, race = tmp_path / "core.toml", FakeRace(lambda plan: 1.0)
    surveyed(path, race)
    tuner = tuner_of(path, race, FakeClock(60.0), commit="def")
    tuner.limit(4)
    Survey(tuner).run()
    assert tuner.results


def test_a_check_removes_an_exported_row(tmp_path: Path) -> None:
    path = tmp_path / "core.toml"
    file = TuningFile.opened(path, CORE)
    exported = TuningSource(kind=EXPORTED, machine="m", day="d", commit="c")
    for n in (64, 4096):
        spec = small(n=n)
        other = dataclasses.replace(FAMILY.choose(spec, TARGET), mr=1, mc=4)  # type: ignore[call-arg]
        file.add(NAME, sizes_of(spec), other, exported, gain=None)
    file.save()
    surveyed(path, FakeRace(lambda plan: 1.0))
    assert [row.sizes for row in read(path).rows(NAME)] == [(64, 4096, 64)]


def test_a_survey_of_a_full_file_measures_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exported rows without which the choice is as fast make room; no other row goes."""
    path = tmp_path / "core.toml"
    file = TuningFile.opened(path, CORE)
    exported = TuningSource(kind=EXPORTED, machine="m", day="d", commit="c")
    for n in (64, 4096):
        other = dataclasses.replace(FAMILY.choose(small(n=n), TARGET), mr=1, mc=4)  # type: ignore[call-arg]
        file.add(NAME, sizes_of(small(n=n)), other, exported, gain=None)
    file.add(NAME, (64, 640, 640), FAMILY.choose(small(n=64), TARGET), SOURCE, gain=1.5)
    file.save()
    monkeypatch.setattr(record, "MOST_ROWS", 3)
    first = surveyed(path, FakeRace(lambda plan: 1.0), minutes=3).tuner.results[0]
    assert sizes_of(first.spec) in {(64, 64, 64), (64, 4096, 64)}
    assert (64, 640, 640) in {row.sizes for row in read(path).rows(NAME)}


def test_uncertainty_falls_near_what_was_measured(tmp_path: Path) -> None:
    tuner = tuner_of(tmp_path / "core.toml", FakeRace())
    found = Survey(tuner)
    nothing_known = found.uncertainty(small())
    tuner.file.check(NAME, sizes_of(small()), SOURCE)
    at, near, far = (found.uncertainty(small(n=n)) for n in (64, 128, 512))
    assert 0 == at < near < far < nothing_known


def test_uncertainty_rises_where_the_model_erred(tmp_path: Path) -> None:
    tuner = tuner_of(tmp_path / "core.toml", FakeRace())
    found = Survey(tuner)
    schedule = FAMILY.choose(small(), TARGET)
    tuner.file.add(NAME, sizes_of(small()), schedule, SOURCE, gain=1.0)
    right = found.uncertainty(small(n=128))
    tuner.file.add(NAME, sizes_of(small()), schedule, SOURCE, gain=1.5)
    assert found.uncertainty(small(n=128)) > right


def test_uncertainty_rises_where_model_and_neighbours_disagree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuner = tuner_of(tmp_path / "core.toml", FakeRace())
    found = Survey(tuner)
    ranked = FAMILY.candidates(small(n=128), TARGET)
    assert len(ranked) > 1
    measured = {}
    for which in (ranked[0], ranked[-1]):
        tuner.file.add(NAME, sizes_of(small()), which.schedule, SOURCE, gain=1.0)
        monkeypatch.setattr(
            survey, "adapted", lambda spec, target, each, which=which: which.schedule
        )
        measured[which.seconds] = found.disagreement(small(n=128))
    best, worst = (measured[each.seconds] for each in (ranked[0], ranked[-1]))
    assert worst > best


def test_the_least_certain_kernel_is_measured_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Survey(tuner_of(tmp_path / "core.toml", FakeRace()))
    found.tuner.file.check(NAME, (1, 64, 64), SOURCE)
    drawn = list[Matmul]()
    draw = found.draw

    def recorded(classes: list[Matmul]) -> Matmul | None:
        one = draw(classes)
        drawn.extend([] if one is None else [one])
        return one

    monkeypatch.setattr(found, "draw", recorded)
    first = found.next([SPEC])
    assert first is not None
    uncertain = {found.uncertainty(each) for each in drawn if sizes_of(each) != (1, 64, 64)}
    assert found.uncertainty(first) == max(uncertain) and len(uncertain) > 1


def test_large_kernels_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "ROWS", (2048,))
    monkeypatch.setattr(survey, "COLUMNS", (8192,))
    found = Survey(tuner_of(tmp_path / "core.toml", FakeRace()))
    assert found.next([SPEC]) is None and found.run() == 0


def test_the_grid_has_all_classes_of_the_support_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name, types in (("x86-64-v3", {"f32", "f16", "bf16", "f64", "s8"}), ("sm_80", {"f16"})):
        target = targets.find(name)
        found = list(survey.classes_of(target))
        assert types <= {str(each.dtype) for each in found}
        assert len({class_of(each, target) for each in found}) == len(found)
        assert {str(each.layout) for each in found} == {"nn", "nt", "tn", "tt"}
    packed = {each.constant for each in survey.classes_of(TARGET)}
    assert packed == {(), ("b",)}
    assert survey.ROWS[0] == 1 and survey.ROWS[-1] == 2048 and len(survey.ROWS) == 22
    assert survey.COLUMNS[0] == 64 and survey.COLUMNS[-1] == 8192
