"""`kgen verify` in an emulator: several schedules, what they cost, and warnings."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgen import bundle, emulate, pipeline, targets
from kgen.cli.main import main
from kgen.emulate import EmulationFault, Fault, LaunchReport
from kgen.spec.text import parse

Launch = Callable[..., LaunchReport]


def saved(folder: Path, spec: str, target: str = "sm_80") -> str:
    file = folder / "k.kgen"
    bundle.pack([pipeline.kernel(parse(spec), targets.find(target))]).save(file)
    return str(file)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record the options of every launch in an emulator."""
    seen: list[dict[str, Any]] = []
    run: Launch = emulate.run

    def noted(*arguments: Any, **options: Any) -> LaunchReport:
        seen.append(options)
        return run(*arguments, **options)

    monkeypatch.setattr(emulate, "run", noted)
    return seen


def seeds(launches: list[dict[str, Any]]) -> list[int]:
    found = [launch["seed"] for launch in launches]
    launches.clear()
    return found


@pytest.mark.parametrize("target", ["sm_80", "gfx942"])
def test_the_data_sets_take_turns_with_the_schedules(
    tmp_path: Path, launches: list[dict[str, Any]], target: str
) -> None:
    verify = ["verify", saved(tmp_path, "matmul 16x16x16 f16", target), "--on=emulator"]
    assert main(verify) == 0 and seeds(launches) == [0, 1, 2]
    assert main([*verify, "--seeds=1"]) == 0 and seeds(launches) == [0, 0, 0]
    # Of more, each has a run of its own.
    assert main([*verify, "--seeds=5"]) == 0 and seeds(launches) == [0, 1, 2, 3, 4]
    assert main([*verify, "--seeds=none"]) == 2


def test_other_schedules_run_few_of_many_workgroups(
    tmp_path: Path, launches: list[dict[str, Any]]
) -> None:
    # All workgroups on both data sets, then two corners.
    assert main(["verify", saved(tmp_path, "matmul 512x512x32 f16"), "--on=emulator"]) == 0
    few = [launch["workgroups"] and len(launch["workgroups"]) for launch in launches]
    assert seeds(launches) == [0, 0, 1, 2]
    assert few == [None, None, 2, 2]


def test_more_schedules_than_data_sets(tmp_path: Path, launches: list[dict[str, Any]]) -> None:
    """Integers have no data set of special values."""
    assert main(["verify", saved(tmp_path, "matmul 16x16x32 s8"), "--on=emulator"]) == 0
    assert seeds(launches) == [0, 1, 2]


def test_a_fault_of_the_second_schedule_fails_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Launch = emulate.run

    def faulty(*arguments: Any, **options: Any) -> LaunchReport:
        if options["seed"] == 1:
            raise EmulationFault(WARNING)
        return run(*arguments, **options)

    monkeypatch.setattr(emulate, "run", faulty)
    verify = ["verify", saved(tmp_path, "relu 100 f16"), "--on=emulator"]
    assert main(verify) == 1
    assert ", seed 1)" in capsys.readouterr().out
    assert main([*verify, "--seeds=1"]) == 0


WARNING = Fault(
    kind="same-value-write", message="write of the value that another thread wrote", entry="k",
    instruction="st", line=7, workgroup=(0, 0, 0), lanes=(0,), seed=1,
)  # fmt: skip


def test_warnings_are_shown_and_fail_nothing_unless_strict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Launch = emulate.run

    def warns(*arguments: Any, strict: bool, **options: Any) -> LaunchReport:
        if strict:
            raise EmulationFault(replace(WARNING, kind="race"))
        return replace(run(*arguments, **options), warnings=(WARNING,))

    monkeypatch.setattr(emulate, "run", warns)
    verify = ["verify", saved(tmp_path, "relu 100 f16"), "--on=emulator"]
    assert main(verify) == 0
    # Once, though every data set had it.
    assert capsys.readouterr().out.count("warning: sm_80/relu_100_f16: same-value-write: ") == 1
    assert main([*verify, "--json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["passed"] and len(kernel["warnings"]) == 1 and kernel["schedules"] == 3
    assert main([*verify, "--strict"]) == 1
    assert "race: write of the value" in capsys.readouterr().out
