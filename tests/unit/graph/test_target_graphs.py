"""A model's graphs for several targets: each keeps only the convolutions that its target
supports."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

pytest.importorskip("onnx")
import onnx

from kgen import targets
from kgen.graph.compile import convolutions, graphs_for, load
from kgen.graph.fusing.formulas import Fused
from tests.onnx_models import Maker, mlp
from tests.quantized_models import Quantizer

NAMES = ("sm_80", "x86-64-v3", "gfx942", "vulkan1.3", "x86-64-v4")


def depthwise() -> onnx.ModelProto:
    m = Maker()
    return m.model(m.add("Conv", m.input("y", (1, 4, 5, 6)), m.weight(4, 1, 3, 3), group=4))


def padded_bytes() -> onnx.ModelProto:
    m = Quantizer()
    y = m.conv(m.qdq(m.input("y", (1, 4, 5, 6)), 0.03, 125), 4, 4, 3, 3, pads=[1, 1, 1, 1])
    return m.finished(y)


def padded() -> onnx.ModelProto:
    m = Maker()
    x = m.input("y", (1, 4, 5, 6))
    return m.model(m.add("Conv", x, m.weight(4, 4, 3, 3), pads=[1, 1, 1, 1]))


@pytest.mark.parametrize(
    ("model", "shapes", "count"),
    [
        (depthwise(), {}, 2),
        (padded_bytes(), {}, 2),
        (padded(), {}, 1),
        (mlp("batch"), {"batch": (2,)}, 1),
    ],
    ids=["depthwise", "padded bytes", "padded", "no convolution"],
)
def test_targets_share_a_graph_of_kernels_that_all_have(
    model: onnx.ModelProto, shapes: dict[str, tuple[int, ...]], count: int
) -> None:
    found = [targets.find(name) for name in NAMES]
    loads: list[Any] = []

    def loaded(**fields: Any) -> Fused:
        loads.append(fields["convolves"])
        return load(model, shapes, **fields)

    graphs = graphs_for(found, loaded)
    assert len(loads) == count
    for target in found:
        alone = graphs_for([target], partial(load, model, shapes))[target.name]
        expected = list(convolutions(alone))
        assert list(convolutions(graphs[target.name])) == expected, target.name
