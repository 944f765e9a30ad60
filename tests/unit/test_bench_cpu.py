"""`make bench-cpu`: bars with fixed thresholds, verdicts, tables that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.spec import DType, Matmul
from scripts.bench_cpu import bars, report
from scripts.bench_cpu.bars import BARS, LEAST, MEAN, MOST, Bar, judge
from scripts.bench_cpu.measure import measure
from scripts.bench_cpu.results import Results, Row
from scripts.bench_cpu.tables import Table, tables


def row(kernel: str, seconds: float = 1e-3, **ratios: float) -> Row:
    return Row(kernel=kernel, seconds=seconds, gflops=1.0, gbytes=1.0, ratios=ratios)


def bar(statistic: bars.Statistic, threshold: float, ceiling: str | None = "peak") -> Bar:
    return Bar(
        title="t",
        table="f32",
        statistic=statistic,
        threshold=threshold,
        value=lambda row: row.ratios.get("torch"),
        ceiling=ceiling,
    )


ROWS = [row("matmul_a_f32", torch=1.0, peak=0.5), row("matmul_b_f32", torch=4.0, peak=0.8)]


def test_a_mean_is_geometric_and_a_miss_says_what_the_ceiling_allows() -> None:
    found = judge(bar(MEAN, 2.5), ROWS)
    assert found.value == 2.0 and not found.reached
    assert found.at_ceiling == 3.16  # The root of 2 times 5.
    assert report.sentence(found) == "missed by 20%"
    assert judge(bar(MEAN, 2.0), ROWS).reached


def test_each_row_counts_and_the_worst_are_named() -> None:
    found = judge(bar(LEAST, 2.5), ROWS)
    assert (found.value, found.at_ceiling) == (1.0, 2.0)
    words = "missed by 60%; peak binds: out of reach here; 1 beyond it: a_f32 1.00"
    assert report.sentence(found) == words
    assert report.sentence(judge(bar(LEAST, 1.0), ROWS)) == "reached"


def test_a_cost_is_held_from_above() -> None:
    cost = Bar(
        title="call",
        table="calls",
        statistic=MOST,
        threshold=1.0,
        value=lambda row: row.seconds * 1e6,
        unit=" us",
    )
    assert judge(cost, [row("prepared", 0.4e-6)]).reached
    slow = judge(cost, [row("prepared", 0.4e-6), row("other", 2e-6)])
    assert not slow.reached and slow.value == 2.0 and [name for name, _ in slow.worst] == ["other"]


def test_a_cost_cannot_be_less_than_its_own_ceiling() -> None:
    cost = next(bar for bar in BARS if bar.ceiling == "DLPack")
    name = "ordinary call, f32, PyTorch, out given"
    found = judge(cost, [row(name, 10e-6, DLPack=0.6)])
    assert (found.value, found.at_ceiling) == (10.0, 6.0)
    words = f"missed by 100%; DLPack binds: out of reach here; 1 beyond it: {name} 10.00"
    assert report.sentence(found) == words


def test_a_bar_without_rows_is_not_reached() -> None:
    found = judge(bar(MEAN, 1.0), [row("matmul_a_f32", numpy=9.0)])
    assert not found.reached and report.sentence(found) == "not measured"


def test_bars_name_tables_and_peers_that_are_measured() -> None:
    known = {table.name: table for table in tables()}
    for found in BARS:
        if found.table not in known:
            # Products of types that this machine's target does not claim.
            assert found.table.startswith("s8")
            continue
        table = known[found.table]
        if not table.specs:
            continue
        assert found.ceiling in (None, table.ceiling), found.title
        names = [spec.key for spec in table.specs if found.rows(spec.key)]
        assert names, f"{found.title}: no kernel of {table.name} is selected"
        assert found.value(row(names[0], **dict.fromkeys(table.peers, 1.0))) == 1.0


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
    results = Results(machine="here", tables={"f32": ROWS})
    results.write(path)
    assert Results.read("here", path) == results
    assert Results.read("elsewhere", path).tables == {}
    assert "another machine" in capsys.readouterr().out
    assert Results.read("here", tmp_path / "none").tables == {}


def test_lines_go_between_markers(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("head\n<!-- t: begin -->\nold\n<!-- t: end -->\ntail\n")
    report.put(path, "t", ["new"])
    report.put(path, "t", ["new", "er"])
    assert path.read_text() == "head\n<!-- t: begin -->\nnew\ner\n<!-- t: end -->\ntail\n"
    with pytest.raises(SystemExit, match=r"x\.md has no markers"):
        report.put(path, "u", [])


@pytest.mark.parametrize(
    ("document", "name"),
    [("docs/performance.md", "make bench-cpu"), ("README.md", "bench-cpu summary")],
)
def test_the_documents_have_their_markers(document: str, name: str) -> None:
    text = (report.ROOT / document).read_text()
    assert text.count(f"<!-- {name}: begin -->") == text.count(f"<!-- {name}: end -->") == 1


def test_a_document_holds_bars_tables_and_why_a_peer_is_missing() -> None:
    missing = Row(
        kernel="matmul_c_f32", seconds=1e-3, gflops=1.0, gbytes=1.0, missing={"iree": "not here"}
    )
    table = next(t for t in tables() if t.name == "f32")
    results = Results(machine="a machine", tables={"f32": [*ROWS, missing]})
    lines = "\n".join(report.document_lines(results, [table]))
    assert "| matmul_a_f32 | 1000.0 | 1 | 1.0 | - | 1.00x | - | - | 50% |" in lines
    assert "Not timed, iree (1 of 3): not here." in lines
    assert "| geometric mean | | | | - | 2.00x | - | - | 63% |" in lines
    assert "| multiply-adds of f32, GFLOP/s | 2 |" in lines  # The median of 1 / 0.5 and 1 / 0.8.
    summary = "\n".join(report.summary_lines(results))
    assert "| matmul f32 | best of MKL, OpenBLAS, oneDNN | 2.00x | 1.00x | 4.00x |" in summary


def test_kernels_are_timed_on_one_thread_and_on_two() -> None:
    spec = Matmul(m=16, n=16, k=16, dtype=DType.F32)
    seen: list[Row] = []
    for name, peers in (("f32", ("numpy", "peak")), ("threads", ("one thread",))):
        table = Table(name=name, title="t", specs=[spec], peers=peers)
        (found,) = measure(table, 2, seen.append)
        assert found.kernel == spec.key and seen.pop() is found
        assert set(found.ratios) == set(peers) and min(found.ratios.values()) > 0


def test_calls_are_timed() -> None:
    table = next(t for t in tables() if t.name == "calls")
    found = measure(table, 2, lambda _: None)
    assert {row.kernel.partition(" ")[0] for row in found} == {"prepared", "ordinary"}
    kinds = [bar for bar in BARS if bar.table == "calls"]
    assert len({bar.title for bar in kinds}) == 4
    assert any(kinds[0].rows(row.kernel) for row in found)
    assert all(0 < row.seconds < 0.1 for row in found)
