"""Attention as one kernel beside its steps: the shapes, both forms, and the bars."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random

import numpy as np
import pytest

import kgen
import kgen_runtime
from benchmarks import fused_attention
from benchmarks.fused_attention import SCORES, Written
from benchmarks.models.vision_transformers import Transformer
from benchmarks.results import Peer, Row
from kgen.check.bench import timing

V3 = "x86-64-v3"
SMALL = Written(batch=1, heads=4, group=2, queries=5, keys=9, size=8, is_masked=True)


def test_shapes_are_those_of_the_seed() -> None:
    first, again, other = (
        list(itertools.islice(fused_attention.drawn(Random(seed)), 20)) for seed in (0, 0, 1)
    )
    assert first == again != other and len({str(each) for each in first}) == 20
    for each in first:
        assert each.batch * each.heads * each.queries * each.keys <= SCORES
        assert each.heads % each.group == 0
    assert sum(each.queries == 1 for each in first) == 5


@pytest.mark.parametrize("one_kernel", [True, False])
def test_both_forms_compute_attention(one_kernel: bool, tmp_path: Path) -> None:
    """Each form is the requested one, and its results are those of float64."""
    with fused_attention.attention_is(one_kernel):
        compiled = kgen.compile_model(fused_attention.model(SMALL), [V3])
    (lowered,) = compiled.lowered.values()
    assert [choice.is_one_kernel for choice in lowered.choices] == [one_kernel]
    assert any(call.spec.op == "attention" for call in lowered.calls) is one_kernel
    x = fused_attention.tensors(SMALL)
    q = x["q"].astype(float).reshape(5, 4, 8).swapaxes(0, 1)
    k, v = (x[n].astype(float).reshape(9, 2, 8).swapaxes(0, 1).repeat(2, axis=0) for n in "kv")
    weights = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(8) + x["mask"][0])
    expected = (weights @ v / weights.sum(axis=2, keepdims=True)).swapaxes(0, 1)
    program = kgen_runtime.load(compiled.save(tmp_path / "attention.kgen")).program
    found = np.asarray(program.prepare(x)())
    np.testing.assert_allclose(found.reshape(5, 4, 8), expected, atol=1e-5)


def test_a_choice_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SAMPLE_SECONDS", 1e-4)
    row = fused_attention.choice(SMALL, V3, 2, 0.0)
    assert row.work == "attention 1x4x5x8 keys=9 kv_heads=2 mask"
    assert 0 < float(row.values["share"]) <= 1 and float(row.values["furthest_apart"]) < 1e-5
    ratio = row.ratio("steps") or 0.0
    chosen = 1.0 if row.values["chosen"] == "one kernel" else ratio
    assert float(row.values["share"]) == pytest.approx(min(1.0, ratio) / chosen)


@pytest.mark.parametrize(
    ("work", "ratio", "is_missed"),
    [("minilm", 1.06, False), ("minilm", 1.04, True), ("smollm2-prefill-1024", 1.2, True)],
)
def test_bars_of_models(work: str, ratio: float, is_missed: bool) -> None:
    row = Row(table="models", work=work, peers={"steps": Peer(ratio=ratio)})
    assert fused_attention.missed(row) is is_missed


def test_bar_of_a_choice() -> None:
    rows = [Row(table="choice", work="a", values={"share": share}) for share in (0.98, 0.96)]
    assert [fused_attention.missed(row) for row in rows] == [False, True]


@pytest.mark.parametrize("count", [0, 2])
def test_attention_of_transformers_is_found(count: int, tmp_path: Path) -> None:
    """Scores with and without added tensors, such as the masks of shifted windows."""
    net = Transformer("one", size=8)
    x = net.reshaped(net.conv("image", 8, 2, 2, padding=0, act=None), 1, 8, 16)
    x = net.node("Transpose", x, perm=[0, 2, 1], channels=8)
    added = [net.numbers(1, 2, 16, 16) for _ in range(count)]
    net.save(tmp_path / "one.onnx", net.attention(x, 1, 16, 2, *added))
    compiled = kgen.compile_model(tmp_path / "one.onnx", [V3])
    (lowered,) = compiled.lowered.values()
    assert [choice.spec.mask is not None for choice in lowered.choices] == [count > 0]
