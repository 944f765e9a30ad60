"""Two versions of kgen side by side: pairs, equal machine code, bars."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgen
from benchmarks import side_by_side
from benchmarks.machine import Machine
from benchmarks.results import Peer, Results, Row, read
from benchmarks.side_by_side import SUITES, Pair, measure, report, timed, works
from kgen import targets
from kgen.check.bench import cold, timing
from kgen.spec import text

WORK = "matmul 32x32x64 f32"


def results(*ratios: float) -> Results:
    rows = [
        Row(
            table="gemm",
            work=f"kernel {i}",
            variant={"target": "x86-64-v3", "caches": "warm", "threads": 1},
            peers={"before": Peer(ratio=ratio)},
        )
        for i, ratio in enumerate(ratios)
    ]
    return Results(
        suite="side-by-side", machine=Machine(name="m"), date="2026-01-01", commit=None,
        command="x", rows=rows,
    )  # fmt: skip


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Kernel with two schedules."""
    paths = []
    for version, mr in (("before", 4), ("after", 6)):
        path = tmp_path_factory.mktemp(version) / "kernel.kgen"
        bundle = kgen.build(text.parse(WORK), ["x86-64-v3"], schedule={"mr": mr})
        paths.append(bundle.save(path))
    return Pair(suite="gemm", work=WORK, target="x86-64-v3", before=paths[0], after=paths[1])


def test_every_suite_has_kernels() -> None:
    found = works(tuple(SUITES))
    assert {suite for suite, _ in found} == set(SUITES)
    texts = [work for _, work in found]
    assert len(texts) == len(set(texts)) and all(text.parse(work) for work in texts)
    assert sum(suite == "gemm" for suite, _ in found) == 80


def test_kernels_of_a_suite_without_a_table_have_loops_of_their_own() -> None:
    """Depthwise kernels of three sizes and two types; blocks that are transposed in registers."""
    found = works(("depthwise", "turned"))
    assert len(found) == 3 * 5 * 2 + 3 * 2
    for suite, work in found:
        spec, target = text.parse(work), targets.find("x86-64-v3")
        mainloop = {"depthwise": "depthwise", "turned": "transposed"}[suite]
        assert targets.family("cpu").choose(spec, target).mainloop == mainloop


def test_kernels_of_two_schedules_are_timed(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "SAMPLE_SECONDS", 1e-4)
    monkeypatch.setattr(cold, "MOST", 3)
    assert not pair.has_equal_code
    same = Pair(suite="", work=WORK, target="", before=pair.before, after=pair.before)
    assert same.has_equal_code
    for caches in ("warm", "cold"):
        row = timed(pair, 2, caches, 0.0, 0)
        assert row.variant == {"target": "x86-64-v3", "caches": caches, "threads": 2}
        assert row.time is not None and (row.ratio("before") or 0) > 0
    found = results()
    path = tmp_path / "a.json"
    assert measure([pair], [1], 1, found, path) == 0 and len(read(path).rows) == 2
    assert measure([pair], [1], 0, found, path) == 2


@pytest.mark.parametrize(("ratios", "median"), [((0.5, 0.9, 0.8), 0.8), ((0.5, 1.2, 0.9), 0.9)])
def test_a_slow_pair_is_timed_twice_more(
    ratios: tuple[float, ...], median: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left = list(ratios)
    monkeypatch.setattr(side_by_side, "timed", lambda *_, **__: results(left.pop(0)).rows[0])
    found, pair = results(), Pair(suite="", work="", target="", before=tmp_path, after=tmp_path)
    monkeypatch.setattr(side_by_side, "CACHES", ("warm",))
    measure([pair], [1], 1, found, tmp_path / "a.json")
    assert [row.ratio("before") for row in found.rows] == [median] and not left


def test_the_bars(capsys: pytest.CaptureFixture[str]) -> None:
    assert not report(results(0.99, 0.99), {})
    assert report(results(0.97, 0.98), {})
    assert not report(results(0.97, 0.98), {("gemm", "x86-64-v3"): 9})
    capsys.readouterr()
    assert report(results(0.8, 2.0), {})
    out = capsys.readouterr().out
    assert "lost 0.80  kernel 0 [x86-64-v3, warm, threads 1]" in out and "1.265" in out
    assert not report(results(), {})


def test_a_commit_that_does_not_exist_is_refused() -> None:
    with (
        pytest.raises(SystemExit, match="--before no-such-commit: "),
        side_by_side.worktree("no-such-commit"),
    ):
        pass
