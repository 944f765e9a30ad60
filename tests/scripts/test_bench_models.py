"""Figures of whole models: kept in a file, judged against bars and against ceilings."""

from __future__ import annotations

from pathlib import Path

from scripts.bench_models import report
from scripts.bench_models.cost import Compiled, Start
from scripts.bench_models.results import Costs, Measured, Results, Row


def row(model: str, kgen: float, ceiling: float) -> Row:
    seconds = {"kgen": kgen, "onnxruntime": 0.030}
    return Row(
        model=model, threads=1, seconds=seconds, medians=seconds, load={"kgen": 0.01},
        errors={"onnxruntime": 1e-6}, missing={"openvino": "none"}, noise=0.01, others=0.0,
        ceiling=ceiling,
    )  # fmt: skip


def results() -> Results:
    compiled = Compiled(
        seconds=11.0, again=1.0, everywhere=20.0, steps=58, kernels=11, arena=10**6, least=10**6,
        weights=10**7, bundle=2 * 10**7, overhead=10**5,
    )  # fmt: skip
    start = Start(load=0.01, start=0.1, resident=10**8)
    models = {
        name: Measured(
            rows=(row(name, kgen, ceiling),),
            costs=Costs(model=name, compiled=compiled, kgen=start, checked=start),
            moment="2026-11-23 at commit 1234567",
        )
        for name, kgen, ceiling in (
            ("minilm", 0.020, 0.018), ("minilm-bf16", 0.034, 0.021), ("magika", 0.029, 0.010),
        )
    }  # fmt: skip
    return Results(machine="a CPU", kind="AVX2, Zen 3", models=models)


def test_results_are_kept_for_their_machine(tmp_path: Path) -> None:
    results().write(tmp_path / "r.json")
    assert Results.read("a CPU", "AVX2, Zen 3", tmp_path / "r.json") == results()
    assert not Results.read("another", "AVX2, Zen 3", tmp_path / "r.json").models


def test_a_bar_is_reached_missed_or_out_of_reach() -> None:
    lines = report.lines(results())
    assert lines[0].strip() == ("**AVX2, Zen 3**: a CPU. Measured on 2026-11-23 at commit 1234567.")
    assert "| minilm, 1 thread, against onnxruntime | 1.15x | 1.5x | 1.67x | reached |" in lines
    assert (
        "| minilm-bf16, 1 thread, against onnxruntime | 1.5x | 0.882x | 1.43x | out of reach |"
        in lines
    )
    assert "| magika, 1 thread, against onnxruntime | 1.15x | 1.03x | 3x | missed |" in lines
    assert "| minilm, 1 thread, against openvino | 1x | - | - | not measured |" in lines
    assert "| minilm, compile, native | at most 10 s | 11 s | - | missed |" in lines
