"""kgen tune: kernels, bundles, surveys, its output, bad input, and builds that read its file."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import kgen
from kgen import targets
from kgen.cli.main import main
from kgen.schedule.schedule import ScheduleOrigin
from kgen.spec import Matmul
from kgen.targets import choose as choosing
from kgen.targets.base import Plan
from kgen.targets.tuning.file import read
from kgen.tune import former, local_cpu, survey, tuner
from kgen.tune.pairing import TimingCondition
from tests.unit.tune.fake_race import rows_of_a_tile

TARGET = ["--target", "x86-64-v3"]
SHAPE = ["--shape", "64x64x64", "--dtype", "f32"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed: register tiles with fewer rows count as faster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(choosing, "shipped", lambda core: None)
    monkeypatch.setattr(tuner, "DeviceRace", lambda device: timed)
    monkeypatch.setattr(local_cpu, "check_runs_here", lambda target, device: None)
    monkeypatch.setattr(local_cpu, "commit", lambda: "abc")


def timed(plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
    return [rows_of_a_tile(plan) for plan in plans]


def tune(*words: str) -> int:
    return main(["tune", *words])


@pytest.mark.integration
def test_kernels_are_tuned_and_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(*SHAPE, "relu 70 f32", *TARGET) == 0
    out = capsys.readouterr().out
    core = targets.family("cpu").core(targets.find("x86-64-v3"))
    assert f"wrote kgen-tuning.toml (rows for {core}: 2); use it: kgen build ... --tuning" in out
    (line,) = (line for line in out.splitlines() if line.startswith("matmul_64x64x64_f32_nn"))
    assert "faster" in line and "mr=1," in line and "x  " in line
    command = ["build", *SHAPE, *TARGET, "--tuning", "kgen-tuning.toml", "--json", "-o", "x.kgen"]
    assert main(command) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (kernel["schedule"]["mr"], kernel["schedule"]["origin"]) == (1, ScheduleOrigin.TUNED)


@pytest.mark.integration
def test_kernels_of_a_bundle_are_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    specs = [Matmul(m=8, n=64, k=64, dtype="f32"), Matmul(m=8, n=64, k=32)]
    kgen.build(specs, ["x86-64-v3", "sm_80"]).save("model.kgen")
    assert tune("model.kgen", *TARGET, "--json", "-o", "own.toml") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["kernel"] for each in found["kernels"]] == [spec.key for spec in specs]
    assert (found["tuning"], found["rows"], found["left"]) == ("own.toml", 2, 0)
    assert found["kernels"][0]["gains"].keys() == {
        f"{caches}, {threads}"
        for caches in ("warm", "cold")
        for threads in ("one thread", "all threads")
    }
    assert tune("model.kgen", *TARGET, "--json", "-o", "own.toml") == 0
    again = json.loads(capsys.readouterr().out)["kernels"]
    assert [each["result"] for each in again] == ["in the file"] * 2
    kgen.build(specs[1], ["sm_80"]).save("gpu.kgen")
    assert tune("gpu.kgen", *TARGET) == 2
    assert "gpu.kgen has no kernel for cpu targets such as x86-64-v3" in capsys.readouterr().err


def test_a_survey_writes_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "ROWS", (8,))
    monkeypatch.setattr(survey, "COLUMNS", (64,))
    monkeypatch.setattr(survey, "classes_of", lambda target: [Matmul(m=1, n=1, k=1, dtype="f32")])
    assert tune("--survey", *TARGET, "-o", "core.toml", "--json", "--minutes", "5") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["kernel"] for each in found["kernels"]] == ["matmul_8x64x64_f32_nn"]
    assert read(Path("core.toml")).core == found["core"]


def test_a_former_file_is_converted_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path(former.NAME).write_text("{}")
    assert tune("relu 70 f32", *TARGET) == 0
    message = f"converted 0 schedules of {former.NAME}; later runs ignore that file"
    assert message in capsys.readouterr().out
    assert tune("relu 70 f32", *TARGET) == 0
    assert "converted" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no kernel is given; pass --shape 1024x1024x1024, a quoted kernel, FILE.kgen or"),
        (["--survey", *SHAPE], "--survey chooses its own kernels; leave out kernels and bundles"),
        (["--survey", "a.kgen"], "--survey chooses its own kernels; leave out kernels and bundles"),
        (["a.kgen", "--stride", "2"], "--stride needs --shape; for a quoted kernel, write"),
        (["--survey", "--dtype", "f32"], "--dtype needs --shape; for a quoted kernel, write"),
        ([*SHAPE, "--minutes", "0"], "--minutes 0 is not a number above 0; give one such as 10"),
        ([*SHAPE, "--minutes", "x"], "--minutes x is not a number above 0; give one such as 10"),
        ([*SHAPE, "--minutes", "inf"], "--minutes inf is not a number above 0"),
        (["none.kgen"], "none.kgen: cannot read: No such file or directory"),
        ([*SHAPE, "--device", "tpu"], "device=tpu is unknown; known are cuda"),
        ([*SHAPE, "--target", "sm_8"], "target=sm_8 is unknown; try sm_80"),
        ([*SHAPE, "-o", "nowhere/x.toml", *TARGET], "nowhere is not a directory; make it first"),
        ([*SHAPE, "-o", ".", *TARGET], "is a device or folder, not a plain file"),
        (["--shape", "8x8x8", "--dtype", "e4m3", *TARGET], "dtype=e4m3 is not supported by x86"),
        (
            [*SHAPE, "--device", "vulkan", *TARGET, "--executor", "dask://x:1"],
            "--executor measures CPUs, not --device vulkan; leave one of them out",
        ),
    ],
)
def test_bad_input(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert tune(*words) == 2
    out, err = capsys.readouterr()
    assert not out and message in err and err.startswith("kgen tune: ") and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@functools.cache
def tuned() -> str:
    """Return a tuning file with one kernel, with the tests' times."""
    assert tune(*SHAPE, *TARGET, "-o", "tuned.toml") == 0
    return Path("tuned.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "own.toml has schema 2; this version of kgen reads schema 1"),
        ("schema = 1", "schema", "own.toml is not a tuning file"),
        ('core = "', 'core = "another ', "own.toml has schedules for 'another "),
        (",kc=", ",kc=x", "own.toml: row 1 of class 'matmul f32 nn"),
        (",kc=", ",kc=x", " is not an integer; repair the line, remove it, or"),
    ],
)
@pytest.mark.parametrize("command", ["build", "tune"])
def test_a_file_that_does_not_fit(
    command: str, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.toml").write_text(tuned().replace(old, new))
    capsys.readouterr()
    option = "--tuning" if command == "build" else "-o"
    assert main([command, *SHAPE, *TARGET, option, "own.toml"]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1 and len(err) < 520
    assert "kgen tune" in err or "name a" in err


def test_a_row_of_fields_that_exist_no_more_is_measured_again() -> None:
    path = Path("own.toml")
    path.write_text(tuned().replace(",kc=", ",gone="))
    assert tune(*SHAPE, *TARGET, "-o", "own.toml") == 0
    assert path.read_text() == tuned()


@pytest.mark.integration
def test_rows_that_cannot_be_used_are_left_out_on_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path("own.toml")
    assert tune(*SHAPE, *TARGET, "-o", "own.toml") == 0
    path.write_text(path.read_text().replace(",kc=", ",gone="))
    command = ["build", *SHAPE, *TARGET, "--tuning", "own.toml", "--tuning-lenient"]
    assert main([*command, "-o", "x.kgen"]) == 0
    capsys.readouterr()
    assert main(["build", *SHAPE, *TARGET, "--tuning-lenient"]) == 2
    assert "--tuning-lenient needs --tuning FILE; add it" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--tune", "--cold", "--tune-cache=x.json"])
def test_former_options_name_the_command(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["build", *SHAPE, *TARGET, option])
    assert capsys.readouterr().err == (
        f"kgen build: {option.partition('=')[0]} is not an option any more; run kgen tune with the "
        "same kernels, then kgen build --tuning kgen-tuning.toml; see kgen build --help\n"
    )
