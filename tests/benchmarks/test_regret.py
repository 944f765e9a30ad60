"""Regret of chosen schedules: random shapes, and the ratio to a tuned kernel."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random

import pytest

from benchmarks import regret
from benchmarks.results import Row, read
from kgen import targets
from kgen.check.bench import cold, timing
from kgen.spec import DType, Matmul

SMALL = Matmul(m=32, n=32, k=64, dtype=DType.F32)
TUNING = "a tuning file"


def drawn(seed: int) -> list[Matmul]:
    found = regret.shapes(Random(seed), DType.F32, targets.find("x86-64-v3"))
    return list(itertools.islice(found, 10))


def test_shapes_are_those_of_the_seed() -> None:
    assert drawn(1) == drawn(1) != drawn(2)
    for spec in drawn(1):
        assert 1 <= spec.m <= 2048 and 64 <= min(spec.n, spec.k) <= max(spec.n, spec.k) <= 8192


@pytest.mark.parametrize("mr", [4, None])
def test_a_chosen_kernel_is_timed_beside_a_tuned_one(
    mr: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kernel has a row for warm and one for cold caches; kernels with equal code are not
    timed."""
    command = regret.command

    def fake(*words: str | Path) -> None:
        if words[0] == "tune":
            (tmp_path / "tuning.toml").write_text(TUNING)
        elif "--tuning" in words:
            at = words.index("--tuning")
            own = ("--schedule", f"mr={mr}") if mr else ()
            command(*words[:at], *own, *words[at + 2 :])
        else:
            command(*words)

    monkeypatch.setattr(regret, "command", fake)
    monkeypatch.setattr(timing, "SAMPLE_SECONDS", 1e-4)
    monkeypatch.setattr(cold, "MOST", 3)
    found = list(regret.measured(SMALL, "x86-64-v3", tmp_path))
    assert [row.variant["caches"] for row in found] == ["warm", "cold"]
    assert all(float(row.values["regret"]) >= 1 for row in found)
    assert [row.time is not None for row in found] == [mr is not None] * 2


@pytest.mark.parametrize(("values", "status"), [((1.0, 1.1), 0), ((1.1, 1.2), 1)])
def test_the_bar(
    values: tuple[float, ...], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = list(values)

    def measured(spec: Matmul, *_: object) -> list[Row]:
        return [Row(table="regret", work=spec.key, values={"regret": left.pop(0)})]

    monkeypatch.setattr(regret, "measured", measured)
    path = tmp_path / "a.json"
    words = ["regret", "--count", "2", "--target", "x86-64-v3", "-o", str(path)]
    monkeypatch.setattr("sys.argv", words)
    assert regret.main() == status and len(read(path).rows) == 2


def test_a_refused_command_is_one_line() -> None:
    with pytest.raises(SystemExit, match=r"kgen build: .*no-target"):
        regret.command("build", "matmul 8x8x8 f32", "--target", "no-target")
