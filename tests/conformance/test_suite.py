"""ONNX's own backend suite: kgen gives no wrong value, and every case that was right stays
right."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
from onnx import TensorProto as T

import kgen
import kgen_runtime
from kgen.errors import BundleError
from tests.conformance import judge, record
from tests.conformance.__main__ import report
from tests.conformance.cases import Case
from tests.conformance.judge import Outcome
from tests.onnx_models import Maker

ROOT = Path(__file__).parents[2]
#: How the last part of a refusal begins: with what the user can do.
REMEDY = re.compile(
    "; (add|carry|cast|change|choose|compare|compile|compute|cut|export|gather|give|leave|make"
    "|name|pool|put|replace|set|take|turn|use|write) "
)


@pytest.mark.slow
def test_what_was_right_is_right_and_nothing_is_wrong() -> None:
    """The whole suite runs in separate processes."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.conformance", "--list"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    lines = done.stdout.splitlines()
    refusals = [why for line in lines for _, found, why in [line.partition(": refused ")] if found]
    assert len(refusals) > 100
    assert [why for why in refusals if len(why) > 500 or not REMEDY.search(why)] == []


def case_of(name: str = "test_made_here", **outputs: Any) -> Case:
    """Return the case Relu of [-1, 2], with its expected outputs or the given ones."""
    m = Maker()
    model = m.model(m.add("Relu", m.input("x", (2,))))
    inputs = [np.array([-1, 2], np.float32)]
    expected = outputs.get("expected", np.array([0, 2], np.float32))
    return Case(
        name=name, kind="node", model=model, inputs=inputs, outputs=[expected], rtol=1e-3,
        atol=1e-7,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        (np.array([0, 2.01], np.float32), "1 / 2"),
        (np.array([0, 2], np.float64), "dtype float32 instead of float64"),
        (np.array([[0, 2]], np.float32), r"shape \(2,\) instead of \(1, 2\)"),
        (np.array([np.nan, 2], np.float32), "nan location mismatch"),
    ],
)
def test_a_wrong_value_is_found(
    expected: Any, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report([case_of()], jobs=0) == 0
    assert report([case_of(), case_of(expected=expected)], jobs=0) == 1
    out = capsys.readouterr().out
    assert "    1 wrong" in out
    assert re.search(why, out)


def test_refusals_are_grouped_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    m = Maker()
    model = m.model(m.add("Bernoulli", m.input("x", (2,))))
    cases = [dataclasses.replace(case_of(), model=model)] * 2
    assert report(cases, jobs=0) == 0
    assert (
        "refused    2  nodes have operators that kgen does not support: Bernoulli"
        in capsys.readouterr().out
    )


def test_inputs_become_constants_where_only_that_compiles() -> None:
    m = Maker()
    model = m.model(m.add("Reshape", m.input("x", (2,)), m.input("shape", (2,), T.INT64)))
    case = dataclasses.replace(
        case_of(expected=np.array([[-1], [2]], np.float32)),
        model=model,
        inputs=[np.array([-1, 2], np.float32), np.array([2, 1])],
    )
    assert judge.judged(case).outcome == "right with constants"


def test_an_exception_that_is_right_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "EXCEPTIONS", {"listed": "reason"})
    wrong = np.array([0, 3], np.float32)
    assert judge.judged(case_of("listed", expected=wrong)).outcome == "exception"
    assert judge.judged(case_of("listed")).outcome == "wrong"


@pytest.mark.parametrize(
    ("before", "now", "is_worse", "is_better"),
    [
        ("right", "right", False, False),
        ("right", "right with constants", True, False),
        ("right", "refused", True, False),
        ("right", "wrong", True, False),
        ("constants", "right", False, True),
        ("constants", "exception", True, False),
        ("refused", "refused", False, False),
        ("refused", "right with constants", False, True),
        ("refused", "wrong", False, False),
    ],
)
def test_what_a_record_says(
    before: str, now: Outcome, is_worse: bool, is_better: bool, tmp_path: Path
) -> None:
    row = record.Row(group="core", outcome=before, name="test_a", operator="several operators")
    record.write([row], tmp_path / "outcomes.txt")
    rows = record.read(tmp_path / "outcomes.txt")
    assert rows == [row]
    verdict = judge.Verdict(name="test_a", outcome=now, why="for a reason")
    found = record.worse([verdict], rows)
    assert bool(found) == is_worse and all("for a reason" in line for line in found)
    assert record.better([verdict], rows) == (["test_a"] if is_better else [])
    assert record.worse([dataclasses.replace(verdict, name="test_b")], rows) == []


def test_a_case_that_was_right_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = record.Row(group="core", outcome="right", name="test_made_here", operator="Relu")
    record.write([row], tmp_path / "outcomes.txt")
    monkeypatch.setattr(record, "FILE", tmp_path / "outcomes.txt")
    assert report([case_of()], jobs=0) == 0
    assert "core group: 1 of 1 are right" in capsys.readouterr().out
    m = Maker()
    model = m.model(m.add("Bernoulli", m.input("x", (2,))))
    assert report([dataclasses.replace(case_of(), model=model)], jobs=0) == 1
    assert (
        "no longer right:\n  test_made_here: right before, now refused" in capsys.readouterr().out
    )
    assert report([case_of()], jobs=0, writes=True) == 0
    assert record.read(tmp_path / "outcomes.txt") == [row]


@pytest.mark.parametrize(
    ("nodes", "kind", "name", "operator", "is_core"),
    [
        (["Abs"], T.FLOAT, "test_abs", "Abs", True),
        (["Constant", "Abs"], T.INT8, "test_abs", "Abs", True),
        (["Abs", "Neg"], T.FLOAT, "test_both", "several operators", True),
        (["Abs"], T.UINT16, "test_abs_u16", "Abs", False),
        (["SequenceAt"], T.FLOAT, "test_at", "SequenceAt", False),
        (["RandomUniform"], T.FLOAT, "test_random", "RandomUniform", False),
        (["Dropout"], T.FLOAT, "test_training_dropout", "Dropout", False),
    ],
)
def test_the_group_and_the_operator_of_a_case(
    nodes: list[str], kind: int, name: str, operator: str, is_core: bool
) -> None:
    m = Maker()
    x = m.input("x", (2,), kind)
    for node in nodes:
        x = m.add(node, x)
    case = dataclasses.replace(case_of(name), model=m.model(x, dtype=kind))
    assert (case.operator, case.is_core) == (operator, is_core)


def test_a_program_that_cannot_run_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the runtime counts as wrong, not as a refusal of the compiler."""

    def broken(*_: Any, **__: Any) -> None:
        raise BundleError("a library that is missing")

    monkeypatch.setattr(kgen_runtime, "load", broken)
    found = judge.judged(case_of())
    assert found.outcome == "wrong" and "BundleError: a library that is missing" in found.why


def test_a_crash_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise IndexError("a bug")

    monkeypatch.setattr(kgen, "compile_model", broken)
    found = judge.judged(case_of())
    assert found.outcome == "wrong" and "IndexError: a bug" in found.why


@pytest.mark.parametrize(
    ("name", "outcome"), [("Range", "right with constants"), ("Add", "refused")]
)
def test_of_numbers_that_say_a_shape_all_become_constants(name: str, outcome: str) -> None:
    """For any other operator, the first input stays an input."""
    m = Maker()
    start = m.input("start", (), T.INT64)
    ends = [m.input(n, (), T.INT64) for n in ("limit", "delta")]
    made = m.add("Range", start, *ends)
    if name == "Add":
        made = m.add("Add", made, made)
    case = dataclasses.replace(
        case_of(expected=np.array([1, 3]) * (2 if name == "Add" else 1)),
        model=m.model(made, dtype=T.INT64),
        inputs=[np.array(n) for n in (1, 4, 2)],
    )
    assert judge.judged(case).outcome == outcome
