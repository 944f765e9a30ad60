"""Results shared by files belong to the same input."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.kept import Kept


def test_objects_of_equal_ir_for_equal_cpus(tmp_path: Path) -> None:
    calls: list[tuple[str, str, tuple[str, ...]]] = []

    def compiled(text: str, arch: str, features: Sequence[str]) -> bytes:
        calls.append((text, arch, tuple(features)))
        return repr(calls[-1]).encode()

    inputs: list[tuple[str, str, tuple[str, ...]]] = [
        ("a", "x86_64", ("avx",)),
        ("b", "x86_64", ("avx",)),
        ("a", "aarch64", ("avx",)),
        ("a", "x86_64", ("avx", "fma")),
        ("a", "x86_64", ()),
    ]
    for _ in range(2):
        kept = Kept(tmp_path / "kept").objects(compiled)
        assert [kept(*given) for given in inputs] == [repr(given).encode() for given in inputs]
    assert calls == inputs


SPEC, BUFFERS, POINTS = {"op": "sum"}, {"x": bytes(4), "y": bytes(4)}, [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    "other",
    [
        {"spec": {"op": "mean"}},
        {"buffers": {"x": bytes(3) + b"\1", "y": bytes(4)}},
        {"buffers": {"x": bytes(3), "y": bytes(5)}},
        {"buffers": {"y": bytes(4), "x": bytes(4)}},
        {"output": "i"},
        {"points": [(0, 1)]},
    ],
)
def test_values_of_equal_specs_and_inputs(other: Mapping[str, Any], tmp_path: Path) -> None:
    answers = [math.nan, -0.0, 2**60 + 1, 0.1]
    calls = []

    def computed(spec: Any, buffers: Any, output: str, points: Any) -> list[float]:
        calls.append(output)
        return answers[len(calls) - 1 :]

    given: dict[str, Any] = {"spec": SPEC, "buffers": BUFFERS, "output": "o", "points": POINTS}
    kept = Kept(tmp_path).values(computed)
    for number, arguments in enumerate((given, {**given, **other})):
        for _ in range(2):
            assert repr(kept(**arguments)) == repr(answers[number:])
    assert len(calls) == 2


def test_nothing_is_kept_without_a_folder() -> None:
    answers = iter([b"first", b"second"])
    kept = Kept().objects(lambda *_: next(answers))
    assert [kept("a", "x86_64", ()), kept("a", "x86_64", ())] == [b"first", b"second"]
