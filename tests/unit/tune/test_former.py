"""Tuning files of an older kgen are converted once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgen import targets
from kgen.schedule import Schedule
from kgen.spec import DType, Matmul
from kgen.targets.choose import How, choose, schedule_fields
from kgen.targets.tuning.file import read
from kgen.tune import former
from kgen.tune.record import TuningFile
from tests.unit.tune.fake_race import CORE, TARGET, hide_shipped

SPEC = Matmul(m=512, n=512, k=2048, dtype=DType.F32)


def chosen() -> Schedule:
    return targets.family(TARGET.family).choose(SPEC, TARGET)


def key(cpu: str = "this CPU", caches: str = "") -> str:
    spec = json.dumps(SPEC.to_json(), sort_keys=True)
    return f'{cpu}; avx2 fma l1_bytes=32768; {spec}; {{"mr": 1}}; templates abc{caches}'


def record(gain: float = 1.5, **fields: Any) -> dict[str, Any]:
    known = {name: getattr(chosen(), name) for name in chosen().names}
    schedule = {"mainloop": chosen().mainloop, **known, **fields}
    return {"schedule": schedule, "steps": 2, "gain": gain, "done": True}


def convert(path: Path, records: object) -> former.Converted:
    (path / former.NAME).write_text(json.dumps(records))
    file = TuningFile.opened(path / "own.toml", CORE)
    return former.convert(path / former.NAME, file, TARGET)


@pytest.fixture(autouse=True)
def _this_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_shipped(monkeypatch)
    monkeypatch.setattr(former, "this_cpu", lambda: SimpleNamespace(name="this CPU"))


def test_schedules_of_this_cpu_are_taken_over(tmp_path: Path) -> None:
    """The better schedule of warm and cold caches is converted; those of other CPUs are not."""
    mr = schedule_fields(chosen())["mr"]
    assert isinstance(mr, int) and mr > 1
    records = {
        key(): record(gain=1.1),
        key(caches="; cold"): record(gain=1.2, mr=1),
        key("another CPU"): record(gain=1.9),
        "damaged": {},
    }
    found = convert(tmp_path, records)
    assert (found.rows, found.left_out) == (2, 2)
    assert found.message == (
        f"converted 2 schedules of {tmp_path / former.NAME}, left out 2 of other CPUs or versions; "
        "later runs ignore that file"
    )
    own = read(tmp_path / "own.toml")
    choice = choose(SPEC, TARGET, own)
    assert choice.how is How.MEASURED and choice.schedule.to_json()["mr"] == 1
    assert choice.taken is not None and choice.taken.source.conditions == "cold, one thread"


def test_fields_that_are_newer_than_the_file_are_chosen(tmp_path: Path) -> None:
    blocks = {"mr": 6, "nr": 16, "mc": 6, "kc": 2048, "nc": 64, "pack_a": False, "pack_b": False}
    old = record() | {"schedule": {"mainloop": "blis", **blocks}}
    assert convert(tmp_path, {key(): old}).rows == 1
    found = choose(SPEC, TARGET, read(tmp_path / "own.toml")).schedule.to_json()
    assert (found["kc"], found["sums_in_out"]) == (2048, False)


@pytest.mark.parametrize("fields", [{"gone": 1}, {"mr": 0}, {"mr": "x"}, {"mainloop": "gone"}])
def test_records_that_do_not_fit_are_left_out(tmp_path: Path, fields: dict[str, Any]) -> None:
    found = convert(tmp_path, {key(): record(**fields)})
    assert (found.rows, found.left_out) == (0, 1)


@pytest.mark.parametrize("text", ["", "[]", "3"])
def test_a_damaged_file_is_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / former.NAME).write_text(text)
    file = TuningFile.opened(tmp_path / "own.toml", CORE)
    assert former.convert(tmp_path / former.NAME, file, TARGET).rows == 0
