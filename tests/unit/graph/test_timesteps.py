"""Recurrent layers, Loop and Scan: one kernel for all time steps, whose results are parts of one
tensor."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import kgen
from kgen.check.model.truth import evaluator, in_f64
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.joined import joined_in_place
from kgen.graph.layout import StridedLayout, span_of
from kgen.graph.lowering.calls import KernelCall, Lowered
from kgen.graph.lowering.lower import lower
from kgen.repeated_steps import with_repeats
from tests.onnx_models import Array, Maker, run

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
#: Bytes that tensors of CPU, GPU and Vulkan kernels start at multiples of.
ALIGNMENTS = (1, 16, 256)


def calls_of(model: onnx.ModelProto, alignment: int) -> Lowered:
    _, graph = graph_by_bodies(model, {})
    fused = fuse(dataclasses.replace(graph, alignment=alignment))
    return joined_in_place(lower(fused, alignment), alignment)


def recurrent(
    operator: str,
    time: int,
    *,
    batch: int = 2,
    units: int = 3,
    lengths: bool = False,
    states: bool = False,
    **attributes: Any,
) -> onnx.ModelProto:
    m = Maker(opset=17)
    count = 2 if attributes.get("direction") == "bidirectional" else 1
    is_batch_first = bool(attributes.get("layout"))
    gates = GATES[operator]
    x = m.input("x", (batch, time, 2) if is_batch_first else (time, batch, 2))
    given = [m.weight(count, gates * units, 2), m.weight(count, gates * units, units)]
    given += [
        m.weight(count, 2 * gates * units),
        m.input("n", (batch,), T.INT32) if lengths else "",
    ]
    if states:
        given += [m.input("h", (batch, count, units) if is_batch_first else (count, batch, units))]
    outputs = 3 if operator == "LSTM" else 2
    found = m.add(operator, x, *given, outputs=outputs, hidden_size=units, **attributes)
    return m.model(*found)


def inputs_of(model: onnx.ModelProto) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    found = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        found[value.name] = rng.standard_normal(shape).astype(np.float32)
        if value.name == "n":
            found["n"] = np.arange(1, shape[0] + 1, dtype=np.int32)
    return found


def check(model: onnx.ModelProto, found: Lowered) -> None:
    """Compare the outputs with the definitions in f64."""
    given = inputs_of(model)
    wide = {n: a if a.dtype == np.int32 else a.astype(np.float64) for n, a in given.items()}
    expected = evaluator(in_f64(model)).run(None, wide)
    got = run(found, given)
    for output, right in zip(model.graph.output, expected, strict=True):
        result = got[output.name].reshape(right.shape)
        np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-5)


LAYERS: dict[str, dict[str, Any]] = {
    "forward": {},
    "reverse": {"direction": "reverse", "states": True},
    "both": {"direction": "bidirectional"},
    "lengths": {"lengths": True, "states": True},
    "both, lengths": {"direction": "bidirectional", "lengths": True},
    "batch first": {"layout": 1, "lengths": True},
    "one sequence": {"batch": 1},
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("operator", GATES)
def test_a_recurrent_layer(operator: str, layer: str) -> None:
    """Each operator and each layer has every alignment once or more."""
    alignment = ALIGNMENTS[([*GATES].index(operator) + [*LAYERS].index(layer)) % len(ALIGNMENTS)]
    model = recurrent(operator, 4, **LAYERS[layer])
    check(model, calls_of(model, alignment))


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("operator", GATES)
def test_more_time_steps_have_no_more_kernels(operator: str, layer: str) -> None:
    """Only the product of all inputs (time steps are its rows) and copies of all steps depend on
    their number."""

    def kernels(time: int) -> int:
        found = calls_of(recurrent(operator, time, **LAYERS[layer]), 1)
        return len({call.spec for call in found.calls})

    assert kernels(7) == kernels(4)


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_offsets_are_aligned(alignment: int) -> None:
    """If starts must be aligned, there is a kernel for each remainder of an offset."""
    found = calls_of(recurrent("GRU", 40, batch=1, units=32), alignment)
    sizes = {buffer.id: buffer.dtype.itemsize for buffer in found.buffers.values()}
    offsets = {b.offset * sizes[b.buffer] for c in found.calls for b in c.bindings.values()}
    assert not any(offset % alignment for offset in offsets)
    assert len(offsets) > 40
    time_bytes = 3 * 32 * 4
    parts = alignment // math.gcd(alignment, time_bytes)
    assert len({call.spec for call in found.calls}) <= 4 + 3 * parts


def joins(call: KernelCall) -> bool:
    return "concat" in str(call.spec.to_json().get("expression", ""))


@pytest.mark.parametrize("operator", GATES)
def test_outputs_of_time_steps_are_parts_of_one_tensor(operator: str) -> None:
    found = calls_of(recurrent(operator, 20, direction="bidirectional", states=True), 1)
    # The last states of both directions are joined, of which one is an output's part already.
    assert sum(map(joins, found.calls)) <= 1
    (sequence, *_) = found.outputs.values()
    assert sum(sequence in call.writes for call in found.calls) == 40


def concatenated(m: Maker, *shapes: tuple[int, ...], axis: int = 0) -> onnx.ModelProto:
    parts = [
        m.add("MatMul", m.input(f"x{i}", shape), m.weight(shape[-1], shape[-1]))
        for i, shape in enumerate(shapes)
    ]
    return m.model(m.add("Concat", *parts, axis=axis))


@pytest.mark.parametrize(
    ("shapes", "axis", "alignment", "is_in_place"),
    [
        (((2, 3), (1, 3)), 0, 1, True),
        (((1, 2, 3), (1, 5, 3)), 1, 1, True),
        (((2, 3), (2, 1)), 1, 1, False),
        (((4, 4), (3, 4)), 0, 64, True),
        (((3, 4), (3, 4)), 0, 64, False),
    ],
)
def test_tensors_are_written_where_they_are_joined(
    shapes: Any, axis: int, alignment: int, is_in_place: bool
) -> None:
    """Tensors become parts of the joined one if they are adjacent and start at an aligned
    address."""
    model = concatenated(Maker(), *shapes, axis=axis)
    found = calls_of(model, alignment)
    check(model, found)
    assert any(map(joins, found.calls)) is not is_in_place


def test_one_tensor_that_must_stay_elsewhere_is_copied() -> None:
    m = Maker()
    one, other = (m.add("MatMul", m.input(name, (2, 3)), m.weight(3, 3)) for name in "xy")
    model = m.model(m.add("Concat", one, other, axis=0), other)
    found = calls_of(model, 1)
    check(model, found)
    assert not any(map(joins, found.calls)) and len(found.calls) == 3


def test_a_tensor_that_is_joined_twice_is_copied_once() -> None:
    m = Maker()
    one = m.add("Tanh", m.input("x", (2, 3)))
    both = m.add("Concat", one, one, axis=0)
    other = m.add("Concat", one, m.add("Exp", m.input("y", (1, 3))), axis=0)
    model = m.model(both, other)
    check(model, calls_of(model, 1))


def scan(time: int) -> onnx.ModelProto:
    m = Maker(opset=21)

    def value(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, T.FLOAT, [2, 3])

    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "row"], ["sum"]),
            helper.make_node("MatMul", ["sum", "weights"], ["product"]),
            helper.make_node("Tanh", ["product"], ["next"]),
            helper.make_node("Neg", ["next"], ["shown"]),
        ],
        "body",
        [value("state"), value("row")],
        [value("next"), value("shown")],
        [numpy_helper.from_array(np.eye(3, dtype=np.float32)[::-1].copy(), "weights")],
    )
    x, start = m.input("x", (time, 2, 3)), m.input("start", (2, 3))
    return m.model(*m.add("Scan", start, x, outputs=2, body=body, num_scan_inputs=1))


@pytest.mark.parametrize("time", [3, 20])
def test_a_scan_has_one_kernel_for_all_steps(time: int) -> None:
    model = scan(time)
    found = calls_of(model, 1)
    check(model, found)
    assert len({call.spec for call in found.calls}) <= 5


@pytest.mark.integration
def test_steps_of_a_scan_are_listed_once() -> None:
    def listed(time: int) -> int:
        (program,) = kgen.compile_model(scan(time), ["x86-64-v3"]).bundle.manifest.programs
        return len(with_repeats(program).steps)

    # One more kernel joins the outputs of nine more steps.
    assert listed(20) <= listed(10) + 1 < 15


@pytest.mark.parametrize("multiple", [1, 4, 64])
@pytest.mark.parametrize(
    "layout",
    [
        StridedLayout(shape=(5,), strides=(1,), offset=77),
        StridedLayout(shape=(3, 5), strides=(15, 1), offset=45 + 10),
        StridedLayout(shape=(3, 5), strides=(0, 1), offset=130),
        StridedLayout(shape=(4,), strides=(3,), offset=31),
        StridedLayout(shape=(), strides=(), offset=191),
        StridedLayout(shape=(5, 3), strides=(1, 15), offset=92),
        StridedLayout(shape=(2, 3), strides=(-3, 1), offset=9),
    ],
)
def test_a_span_has_the_elements_of_a_layout(layout: StridedLayout, multiple: int) -> None:
    memory = np.arange(195)

    def elements(of: StridedLayout, within: np.ndarray) -> np.ndarray:
        steps = [s * memory.itemsize for s in of.strides]
        return np.lib.stride_tricks.as_strided(within[of.offset :], of.shape, steps)

    found = span_of(layout, memory.size, multiple)
    assert found.start % multiple == 0
    part = memory[found.start : found.start + found.size]
    assert part.size == found.size
    np.testing.assert_array_equal(elements(found.layout, part), elements(layout, memory))


@pytest.mark.integration
def test_a_bundle_does_not_grow_with_time_steps() -> None:
    """Only the weights and the text of sizes grow."""

    def small(time: int) -> tuple[int, int]:
        model = recurrent("GRU", time, batch=1, units=32, linear_before_reset=1)
        bundle = kgen.compile_model(model, ["x86-64-v3"]).bundle
        weights = sum(array.nbytes for array in bundle.weights.values())
        return len(bundle.manifest.kernels), len(bundle.to_bytes()) - weights

    (kernels, nbytes), longer = small(40), small(80)
    assert kernels == longer[0] <= 6
    assert nbytes <= 60 << 10 and abs(longer[1] - nbytes) < 2 << 10
