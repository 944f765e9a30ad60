"""`make bench-cpu`: bars with fixed thresholds, verdicts, tables that are kept."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from kgen.spec import DType, Layout, Matmul
from scripts import documents
from scripts.bench_cpu import bars, cores, explain, report, summary, survey, tune_gap
from scripts.bench_cpu.bars import BARS, LEAST, MEAN, MOST
from scripts.bench_cpu.judge import Bar, Statistic, judge
from scripts.bench_cpu.kinds import (
    AMX,
    AVX2,
    AVX512,
    INSTRUCTIONS,
    OTHER,
    instructions_in,
    instructions_of,
    kind_here,
)
from scripts.bench_cpu.measure import measure
from scripts.bench_cpu.models import PRODUCTS
from scripts.bench_cpu.results import Results, Row
from scripts.bench_cpu.tables import TWO_CORES, Table, tables


def row(kernel: str, seconds: float = 1e-3, noise: float = 0.0, **ratios: float) -> Row:
    noises = dict.fromkeys(ratios, noise)
    return Row(kernel=kernel, seconds=seconds, gflops=1.0, gbytes=1.0, ratios=ratios, noise=noises)


def bar(statistic: Statistic, threshold: float, *ceilings: str) -> Bar:
    return Bar(
        title="t",
        table="f32",
        statistic=statistic,
        threshold=threshold,
        value=lambda row: row.ratios.get("torch"),
        ceilings=ceilings or ("peak",),
    )


KIND = "AVX2, Zen 3"
ROWS = [row("matmul_a_f32", torch=1.0, peak=0.5), row("matmul_b_f32", torch=4.0, peak=0.8)]


def test_a_mean_is_geometric_and_a_miss_says_what_the_ceiling_allows() -> None:
    found = judge(bar(MEAN, 2.5), ROWS)
    assert found.value == 2.0 and not found.reached
    assert found.at_ceiling == 3.16  # The root of 2 times 5.
    assert explain.sentence(found) == "missed by 20%; not reached"
    (words,) = explain.lines([found])
    assert (
        "*Not reached*: 2.00x, at the ceilings 3.16x. Furthest from them: a 1.00x (2.00x)" in words
    )
    assert judge(bar(MEAN, 2.0), ROWS).reached
    beyond = judge(bar(MEAN, 4.0), ROWS)
    assert explain.sentence(beyond) == "missed by 50%; out of reach"
    assert "*Out of reach*: 2.00x, at the ceilings 3.16x." in explain.lines([beyond])[0]


def test_each_row_counts_and_is_named_with_what_binds_it() -> None:
    found = judge(bar(LEAST, 2.5), ROWS)
    assert (found.value, found.at_ceiling) == (1.0, 2.0)
    assert explain.sentence(found) == "missed by 60%; 1 of 2, out of reach"
    assert explain.lines([found]) == [
        "- **t**, each, at least 2.5x: *Out of reach*, by arithmetic at the measured peak: "
        "a 1.00x (2.00x)."
    ]
    assert explain.sentence(judge(bar(LEAST, 1.0), ROWS)) == "reached"
    assert explain.sentence(judge(bar(LEAST, 1.5), ROWS)) == "missed by 33%; 1 of 2 not reached"
    both = judge(bar(LEAST, 4.5), ROWS)
    assert explain.sentence(both) == "missed by 78%; 2 of 2, 1 of them out of reach"
    assert explain.lines([both])[0].endswith("*Not reached*: b 4.00x (5.00x).")


def test_kernels_are_named_by_what_they_differ_in() -> None:
    rows = [row("matmul_8x8x8_f32_nn", torch=1.0), row("matmul_8x8x8_f32_nt", torch=1.0)]
    words = "*Not reached*: 8x8x8 f32_nn 1.00x, 8x8x8 f32_nt 1.00x."
    assert explain.lines([judge(bar(LEAST, 2.0), rows)])[0].endswith(words)
    calls = [Row(kernel="a call, f32", seconds=1.0, ratios={"torch": 1.0})]
    assert explain.lines([judge(bar(LEAST, 2.0), calls)])[0].endswith("a call, f32 1.00x.")


def test_the_roof_is_the_ceiling_that_takes_longest() -> None:
    rows = [row("matmul_a_f32", torch=1.0, peak=0.2, read=0.8)]
    found = judge(bar(LEAST, 1.2, "peak", "read"), rows)
    assert found.at_ceiling == 1.25
    assert found.standings[0].binds == "read" and not found.out_of_reach


def test_what_a_kernel_is_faster_than_binds_only_where_nothing_else_does() -> None:
    rows = [row("matmul_a_f32", torch=0.9, peak=1.5, read=0.9)]
    found = judge(bar(LEAST, 0.95, "peak", "read"), rows)
    assert (found.at_ceiling, found.standings[0].binds) == (1.0, "read")
    found = judge(bar(LEAST, 0.95, "peak"), rows)
    assert (found.at_ceiling, found.standings[0].binds) == (0.6, "peak")


def test_a_kernel_a_little_faster_than_a_ceiling_is_at_it() -> None:
    rows = [row("matmul_a_f32", torch=1.1, peak=0.3, read=1.05)]
    found = judge(bar(LEAST, 1.2, "peak", "read"), rows)
    assert (found.at_ceiling, found.standings[0].binds) == (1.1, "read")
    assert found.out_of_reach


def test_a_miss_within_the_noise_is_said_to_be_one() -> None:
    found = judge(bar(LEAST, 1.0), [row("matmul_a_f32", torch=0.99, peak=0.9, noise=0.02)])
    assert not found.reached
    assert explain.sentence(found) == "missed by 1%, within the noise"
    assert "a 0.99x (1.10x, noise 2%)" in explain.lines([found])[0]
    loud = judge(bar(LEAST, 1.0), [row("matmul_a_f32", torch=0.9, peak=0.9, noise=0.02)])
    assert "noise" not in explain.sentence(loud)


def test_a_cost_is_held_from_above() -> None:
    cost = Bar(
        title="call",
        table="calls",
        statistic=MOST,
        threshold=1.0,
        value=lambda row: (row.seconds or 0.0) * 1e6,
        unit=" us",
    )
    assert judge(cost, [row("prepared", 0.4e-6)]).reached
    slow = judge(cost, [row("prepared", 0.4e-6), row("other", 2e-6)])
    assert (
        not slow.reached
        and slow.value == 2.0
        and [found.kernel for found in slow.missed] == ["other"]
    )


def test_a_bar_without_rows_is_not_reached() -> None:
    found = judge(bar(MEAN, 1.0), [row("matmul_a_f32", numpy=9.0)])
    assert not found.reached and explain.sentence(found) == "not measured"


def test_bars_name_tables_and_peers_that_are_measured() -> None:
    known = {table.name: table for table in tables()}
    here = instructions_in(kind_here())
    for found in (bar for bar in BARS if here in bar.instructions):
        if found.table not in known:
            # Products of types that this machine's target does not claim.
            assert found.table.startswith("s8")
            continue
        table = known[found.table]
        if not table.specs:
            continue
        # Tiles are a ceiling where the CPU has them.
        assert set(found.ceilings) - {"tiles"} <= set(table.ceilings), found.title
        names = [spec.key for spec in table.specs if found.rows(spec.key)]
        assert names, f"{found.title}: no kernel of {table.name} is selected"
        beside = (*table.peers, *table.ceilings)
        assert found.value(row(names[0], **dict.fromkeys(beside, 1.0))) == 1.0


@pytest.mark.parametrize(
    ("kernel", "large"),
    [
        ("matmul_512x512x512_f32_nn", True),
        ("matmul_512x4096x1024_f32_nn", True),
        ("matmul_8x4096x4096_f32_nn", False),
        ("matmul_256x256x256_f32_nn", False),
    ],
)
def test_threads_are_to_pay_from_512_cubed(kernel: str, large: bool) -> None:
    assert bars._large(kernel) is large


def test_results_are_kept_by_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    results = Results(machine="here", kind=KIND, tables={"f32": ROWS})
    results.write(path)
    assert Results.read("here", KIND, path) == results
    assert Results.read("elsewhere", KIND, path).tables == {}
    assert "another machine" in capsys.readouterr().out
    assert Results.read("here", KIND, tmp_path / "none").tables == {}


def test_a_document_holds_bars_tables_and_why_a_peer_is_missing() -> None:
    noisy = row("matmul_d_f32", noise=0.05, torch=1.0)
    missing = Row(
        kernel="matmul_c_f32", seconds=1e-3, gflops=1.0, gbytes=1.0, missing={"iree": "not here"}
    )
    table = next(t for t in tables() if t.name == "f32")
    results = Results(machine="a machine", kind=KIND, tables={"f32": [*ROWS, missing, noisy]})
    lines = "\n".join(report.document_lines(results, [table]))
    assert "| matmul_a_f32 | 1000.0 | 1 | 1.0 | - | 1.00x | - | - | 50% | - | 50% |" in lines
    assert "Not timed, iree (1 of 4): not here." in lines
    assert "| geometric mean | | | | - | 1.59x | - | - | 63% | - | 63% |" in lines
    assert "differed by more than 3%: matmul_d_f32 (5%)." in lines
    assert "| multiply-adds of f32, GFLOP/s | 2 |" in lines  # The median of 1 / 0.5 and 1 / 0.8.
    assert "a machine. Measured on an unknown day." in lines
    words = "\n".join(summary.lines(results, report.reached(results), "One day."))
    assert "| matmul f32 | best of MKL, OpenBLAS, oneDNN | 1.59x | 1.00x | 4.00x |" in words
    assert "**AVX2, Zen 3**: a machine;" in words
    assert "One day. [2 of 7 bars are reached](performance/avx2-zen-3.md)." in words
    assert [line.mean for line in summary.read(words)] == [1.59]


def test_each_kind_of_cpu_has_a_section_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run adds or replaces the figures of its own kind of CPU and of no other."""
    found = [instructions_of(f) for f in ({"avx2"}, {"avx512f"}, {"avx512f", "amx_tile"}, ())]
    assert found == [AVX2, AVX512, AMX, OTHER]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/performance.md").write_text(documents.PERFORMANCE.read_text())
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    monkeypatch.setattr(documents, "PERFORMANCE", tmp_path / "docs/performance.md")
    monkeypatch.setattr(documents, "moment", lambda: "a day")
    before = documents.kinds(documents.PERFORMANCE, "bench-cpu summary")
    kinds = [f"{instructions}, A core" for instructions in INSTRUCTIONS]
    for turn in (1, 2):
        for kind in kinds:
            assert instructions_in(kind) in INSTRUCTIONS
            rows = [row("matmul_8x8x8_f32_nn", numpy=2.0, peak=0.5)]
            machine = f"a machine with {kind}, {turn}"
            results = Results(machine=machine, kind=kind, tables={"f32": rows})
            report.write(results, tables())
            for page in (documents.PERFORMANCE, documents.page_of(kind)):
                assert machine in page.read_text()
    after = documents.kinds(documents.PERFORMANCE, "bench-cpu summary")
    pages = sorted(documents.PERFORMANCE.with_suffix("").glob("*.md"))
    assert pages == sorted(documents.page_of(kind) for kind in kinds)
    assert list(after) == [*before, *kinds]
    assert {kind: after[kind] for kind in before} == before
    with pytest.raises(SystemExit, match="no document"):
        report.write(Results(machine="m", kind="other, Zen 3", tables={"f32": ROWS}), tables())


def test_products_of_models() -> None:
    """Forty, each once, and few enough rows to be layers."""
    assert len(PRODUCTS) == len(set(PRODUCTS)) == 40
    assert all(1 <= m <= 512 and 256 <= min(n, k) <= max(n, k) <= 5120 for m, n, k in PRODUCTS)


def test_bars_of_one_kind_of_cpu_are_not_held_against_another() -> None:
    rows = [row("matmul_8x8x8_bf16_nn", numpy=2.0, torch=2.0, onednn=2.0, peak=0.5)]
    for kind, held in (("AVX2, A core", True), ("AVX-512, A core", False)):
        found = report.verdicts(Results(machine="m", kind=kind, tables={"bf16": rows}))
        assert any(v.bar.title == "bf16, best library" for v in found) is held


def test_figures_say_when_each_of_them_was_measured() -> None:
    """A run that was stopped goes on later, at another commit."""
    first, second = (f"2026-11-2{day} at commit 123456{day}" for day in (1, 2))
    rows = [replace(ROWS[0], measured=second), *(replace(row, measured=first) for row in ROWS)]
    results = Results(machine="a machine", tables={"f32": rows})
    words = f"Measured on {first}; {second}."
    assert f"a machine. {words}" in "\n".join(report.document_lines(results, tables()))
    assert words in summary.lines(results, "", report._moments(results))[0]


def test_kernels_are_timed_on_one_thread_and_on_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "CORES", 0.0)
    spec = Matmul(m=16, n=16, k=16, dtype=DType.F32)
    for name, peers in (("f32", ("numpy", "peak")), ("threads", ("one thread", *TWO_CORES))):
        table = Table(name=name, title="t", specs=[spec], peers=peers)
        (found,) = measure(table, 2)
        assert found.kernel == spec.key
        assert not list(measure(table, 2, known=[spec.key]))
        assert set(found.ratios) == set(peers) and set(found.noise) >= {peers[0]}
        assert min(found.ratios.values()) > 0


def test_reading_is_timed_beside_few_rows_only() -> None:
    table = next(table for table in tables() if table.name == "f32")
    beside = {spec.key: table.beside(spec) for spec in table.specs}
    assert "read" in beside["matmul_8x4096x4096_f32_nn"]
    assert "read" not in beside["matmul_128x384x384_f32_nn"]
    table = next(table for table in tables() if table.name == "threads")
    read = [spec.key for spec in table.specs if "two cores reading" in table.beside(spec)]
    assert "matmul_8x4096x4096_f32_nn" in read and "matmul_1x4096x4096_bf16_nn" in read
    assert "matmul_128x384x384_f32_nn" not in read


def test_two_cores_are_done_in_half_the_time_at_best(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Matmul(m=64, n=64, k=64, dtype=DType.F32)
    monkeypatch.setattr(cores, "ARITHMETIC", small)
    monkeypatch.setattr(cores, "READING", (small,))
    table = next(t for t in tables() if t.name == "cores")
    found = list(measure(table, 1))
    assert [row.kernel for row in found] == ["multiply-adds of f32", "reading 64x64 of f32"]
    assert all(0 < row.ratios["one core"] < 4 for row in found)


def test_gaps_that_were_timed_are_kept_and_not_timed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[int] = []

    def race(calls: list[object]) -> list[float]:
        timed.append(len(calls))
        if len(timed) == 3:
            raise KeyboardInterrupt
        return [3.0, 2.0]

    monkeypatch.setattr(tune_gap, "PRODUCTS", ((64, 64, 64), (64, 64, 32), (64, 32, 32)))
    monkeypatch.setattr(tune_gap, "Tuner", lambda path: lambda plan: plan)
    monkeypatch.setattr(tune_gap, "prepared", lambda plan, _: [plan])
    monkeypatch.setattr(tune_gap, "race", race)
    path = tmp_path / "tuned.json"
    with pytest.raises(KeyboardInterrupt):
        tune_gap.tune_gaps(path, quick=False)
    shapes = ["64x64x64", "64x64x32", "64x32x32"]
    for resume, again in ((True, 1), (False, 3)):
        timed[:] = [0] * 3
        assert tune_gap.tune_gaps(path, quick=False, resume=resume) == {
            DType.F32: dict.fromkeys(shapes, 1.5)
        }
        assert len(timed) == 3 + again
    monkeypatch.setattr(tune_gap, "kind_here", lambda: "a CPU of another kind")
    tune_gap.tune_gaps(path, quick=False, resume=True)
    assert len(timed) == 6 + 3


def test_the_gap_to_tuned_schedules_is_a_table_with_means() -> None:
    gaps = {DType.F32: {"1x2x3": 1.0, "4x5x6": 1.21}, DType.BF16: {"1x2x3": 1.05, "4x5x6": 1.05}}
    assert tune_gap.lines(gaps)[1:-1] == [
        "| product | f32 | bf16 |",
        "| --- | --- | --- |",
        "| 1x2x3 | 1.00 | 1.05 |",
        "| 4x5x6 | 1.21 | 1.05 |",
        "| geometric mean, at most 1.05 | 1.10 | 1.05 |",
        "| most, at most 1.15 | 1.21 | 1.05 |",
    ]


def test_two_threads_are_not_measured_while_two_cores_are_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cores, "CORES", 100.0)
    monkeypatch.setattr(cores, "PATIENCE", 0.0)
    spec = Matmul(m=16, n=16, k=16, dtype=DType.F32)
    table = Table(
        name="threads", title="t", specs=[spec], peers=("one thread",), ceilings=TWO_CORES
    )
    (found,) = measure(table, 1)
    assert not found.ratios and "not measured" in found.missing["one thread"]
    assert report.row_line(table, found).startswith(f"| {spec.key} | not measured | - | - | - |")
    results = Results(machine="m", tables={"threads": [found]})
    lines = "\n".join(report.document_lines(results, [table]))
    assert "Not timed, one thread (1 of 1): two cores" in lines


def test_rounds_in_which_two_cores_are_one_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what they gain beside the kernel, not by the kernel's times."""
    batches = [
        [[5.0, 9.0, 6.0], [1.9, 1.2, 1.9], [1.9, 1.9, 1.2]],
        [[8.0, 7.0, 7.5], [1.0, 1.9, 2.0], [1.0, 2.0, 1.9]],
    ]
    taken: list[int] = []

    def take() -> list[list[float]]:
        taken.append(1)
        return batches[len(taken) % 2 - 1]

    def while_two(rounds: int) -> list[list[float]] | None:
        taken.clear()
        return cores.while_two(take, rounds, lambda times: times[1:])

    assert while_two(1) == [[5.0], [1.9], [1.9]] and len(taken) == 1
    assert while_two(3) == [[5.0, 7.0, 7.5], [1.9, 1.9, 2.0], [1.9, 2.0, 1.9]]
    monkeypatch.setattr(cores, "PATIENCE", 0.0)
    assert while_two(3) is None and len(taken) == 1


def test_one_thread_has_either_core_in_turn() -> None:
    every, seen = os.sched_getaffinity(0), list[set[int]]()

    def note() -> None:
        seen.append(os.sched_getaffinity(0))

    with cores.places() as (first, second, either):
        for place in (first, second, either, first):
            place(note)()
    one, *others = ({core} for core in sorted(every))
    assert seen == [one, others[0] if others else one, every, one]
    assert os.sched_getaffinity(0) == every


def test_reading_from_memory_is_a_ceiling_of_its_own() -> None:
    """Of the same bytes, which the last-level cache gives three times as fast."""
    key = Matmul(m=4, n=768, k=768, dtype=DType.F32).key
    known = [t for t in tables() if t.name in ("models-f32", "models-f32-cold")]
    found = {
        "models-f32": [Row(kernel=key, seconds=1e-3, gbytes=60.0, ratios={"read": 0.5})],
        "models-f32-cold": [Row(kernel=key, seconds=1e-3, gbytes=30.0, ratios={"read": 0.75})],
    }
    lines = report.ceiling_lines(Results(machine="x", tables=found), known)
    words = "read bandwidth of a skinny GEMM, B of 768x768 f32, GB/s"
    assert lines[2:] == [f"| {words} | 120 |", f"| {words}, cold caches | 40 |"]


def test_random_products_are_the_same_by_the_same_seed() -> None:
    """Of every size, neither too small to be timed through Python nor too large to be many."""
    layouts = [Layout.NN, Layout.NT]
    found, again = (
        list(itertools.islice(survey.shapes(Random(3), DType.F32, layouts), 300)) for _ in range(2)
    )
    assert found == again
    assert {spec.layout for spec in found} == set(layouts)
    assert all(survey.LEAST <= spec.flops <= survey.MOST for spec in found)
    for sizes in ({s.m for s in found}, {s.n for s in found}, {s.k for s in found}):
        assert min(sizes) <= 4 and 1024 in sizes and max(sizes) <= survey.LARGEST
