"""Outputs whose size depends on data, against ONNX's own reference."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto as T
from onnx import helper
from onnx.reference import ReferenceEvaluator

import kgen
import kgen_runtime
from kgen.check.model.programs import verify_programs
from kgen.check.model.truth import truth
from kgen.check.verify.run import MemoryReader
from kgen.cli.commands.compile import capacities_of
from kgen.errors import GraphError
from kgen_runtime.calls.program import LoadedProgram
from kgen_runtime.errors import ArgumentError, BundleError
from kgen_runtime.schema.manifest_json import to_json
from tests.manifests import from_json
from tests.onnx_models import Array, Maker

#: Numbers of few kinds, so that some are 0 and some are equal.
FEW = st.integers(-1, 1)
N = 7


def loaded(
    model: onnx.ModelProto, device: str = "cpu", capacities: Mapping[str, int] | None = None
) -> LoadedProgram:
    made = kgen.compile_model(model, ["x86-64-v3"], capacities=capacities)
    return kgen_runtime.load(made.to_bytes(), device=device).program


def check(program: LoadedProgram, model: onnx.ModelProto, inputs: Mapping[str, Array]) -> None:
    """Compare a run with ONNX's reference: shapes, types and elements."""
    found = program.run_dict(inputs, check_indices=True)
    names = [o.name for o in model.graph.output]
    assert list(found) == names == list(program.output_names)
    for name, wanted in zip(names, ReferenceEvaluator(model).run(None, dict(inputs)), strict=True):
        np.testing.assert_array_equal(found[name], wanted, name)
        assert found[name].dtype == wanted.dtype


def non_zero() -> onnx.ModelProto:
    m = Maker()
    return m.model(m.add("NonZero", m.input("x", (N, 1))), dtype=T.INT64)


def compress() -> onnx.ModelProto:
    m = Maker()
    x = m.input("x", (N, 1))
    taken = m.add("Cast", m.add("Reshape", x, m.constant([N], np.int64)), to=T.BOOL)
    return m.model(m.add("Compress", x, taken, axis=0))


def unique(**attributes: int) -> onnx.ModelProto:
    m = Maker()
    x = m.input("x", (N, 1))
    if "sorted" in attributes:  # ONNX's reference compares rows
        x = m.add("Reshape", x, m.constant([N], np.int64))
    names = m.add("Unique", x, outputs=4, **attributes)
    proto = m.model(*names, dtype=T.INT64)
    proto.graph.output[0].type.tensor_type.elem_type = T.FLOAT
    return proto


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "NonZero": non_zero,
    "Compress": compress,
    "Unique": unique,
    "Unique, unsorted": lambda: unique(sorted=0),
    "Unique, of slices": lambda: unique(axis=-2),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_elements_is_returned_at_its_size(name: str) -> None:
    model = MODELS[name]()
    program = loaded(model)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(FEW, min_size=N, max_size=N))
    def holds(numbers: list[int]) -> None:
        check(program, model, {"x": np.reshape(numbers, (N, 1)).astype(np.float32)})

    holds()


@pytest.mark.integration
def test_the_first_k_elements() -> None:
    m = Maker()
    names = m.add("TopK", m.input("x", (2, N)), m.input("k", (1,), T.INT64), outputs=2, axis=1)
    model = m.model(*names)
    model.graph.output[1].type.tensor_type.elem_type = T.INT64
    program = loaded(model)
    x = np.random.default_rng(0).standard_normal((2, N)).astype(np.float32)
    for k in range(1, N + 1):
        check(program, model, {"x": x, "k": np.array([k])})
    assert program.run(x=x, k=[0])[names[0]].shape == (2, 0)
    for k in (-1, N + 1):
        why = f"output {names[0]} has {k} elements along axis 1, and room for {N}; compile the mo"
        with pytest.raises(ArgumentError, match=why):
            program.run(x=x, k=[k])


def suppression(most: int | None, *thresholds: float, **attributes: int) -> onnx.ModelProto:
    m = Maker()
    boxes, scores = m.input("boxes", (2, N, 4)), m.input("scores", (2, 2, N))
    limit = m.input("most", (1,), T.INT64) if most is None else m.constant([most], np.int64)
    further = [m.constant([number]) for number in thresholds]
    selected = m.add("NonMaxSuppression", boxes, scores, limit, *further, **attributes)
    return m.model(selected, dtype=T.INT64)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("most", "thresholds", "attributes"),
    [
        (3, (0.3, 0.4), {}),
        (N + 5, (0.6,), {"center_point_box": 1}),
        (None, (0.2, 0.1), {}),
        (0, (0.2, 0.1), {}),
    ],
)
def test_boxes_that_are_selected(
    most: int | None, thresholds: tuple[float, ...], attributes: dict[str, int]
) -> None:
    model = suppression(most, *thresholds, **attributes)
    program = loaded(model)
    rng = np.random.default_rng(1)
    for seed in range(8):
        low = rng.uniform(0, 1, (2, N, 2))
        boxes = np.concatenate([low, low + rng.uniform(0.1, 0.9, (2, N, 2))], axis=2)
        inputs = {
            "boxes": boxes.astype(np.float32),
            "scores": np.round(rng.uniform(0, 1, (2, 2, N)), 1 + seed).astype(np.float32),
        }
        if most is None:
            inputs["most"] = np.array([seed % 4])
        check(program, model, inputs)


@pytest.mark.integration
def test_boxes_without_thresholds() -> None:
    """ONNX's text says that any overlap and any score counts; its reference implementation
    fails."""
    rng = np.random.default_rng(2)
    boxes = rng.uniform(0, 1, (2, N, 4)).astype(np.float32)
    inputs = {"boxes": boxes, "scores": rng.uniform(-1, 1, (2, 2, N)).astype(np.float32)}
    found = loaded(suppression(2)).run(inputs)
    np.testing.assert_array_equal(found, loaded(suppression(2, 0.0, -2.0)).run(inputs))
    assert len(found) > 4


@pytest.mark.integration
def test_boxes_that_there_is_no_room_for() -> None:
    """A class with exactly as many boxes as the capacity selects one more, which is too many."""
    model = suppression(N, 0.5, 0.5)
    name = model.graph.output[0].name
    program = loaded(model, capacities={name: 2})
    corners = np.arange(2 * N, dtype=np.float32).reshape(N, 2)
    boxes = np.stack([np.concatenate([corners, corners + 1], axis=1)] * 2)
    scores = np.zeros((2, 2, N), np.float32)
    scores[1, 0, :2] = 1
    found = program.run(boxes=boxes, scores=scores)
    np.testing.assert_array_equal(found, [[1, 0, 0], [1, 0, 1]])
    scores[1, 0, 2] = 1
    with pytest.raises(ArgumentError, match="has 3 elements along axis 0, and room for 2"):
        program.run(boxes=boxes, scores=scores)


@pytest.mark.integration
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_no_room_is_an_error_that_names_the_option(device: str) -> None:
    """A run with too many elements writes as many as fit, and nothing past them."""
    m = Maker()
    name = m.input("x", (N,))
    places, after = m.add("NonZero", name), m.add("Cast", name, to=T.INT64)
    program = loaded(m.model(places, after, dtype=T.INT64), device, {places: 3})
    assert [info.shape for info in program.outputs] == [(1, 3), (N,)]
    x = np.zeros(N, np.float32)
    for count in range(N + 1):
        x[:count] = 5
        if count <= 3:
            np.testing.assert_array_equal(program.run(x=x)[places], [np.arange(count)])
            continue
        with pytest.raises(
            ArgumentError,
            match=f"main: output {places} has {count} elements along axis 1, and room for 3; "
            f"compile the model with --capacity {places}={count}",
        ):
            program.run(x=x)


@pytest.mark.integration
def test_the_model_may_use_any_names() -> None:
    """The compiler's names of sizes do not clash with names of the model."""
    x = helper.make_tensor_value_info("x", T.FLOAT, (N,))
    z = helper.make_tensor_value_info("z", T.INT64, (1, None))
    others = ["z.count", "z.count#2", *(f"z/{i}" for i in range(30))]
    outputs = [helper.make_tensor_value_info(name, T.FLOAT, (N,)) for name in others]
    nodes = [helper.make_node("NonZero", ["x"], ["z"])]
    nodes += [helper.make_node("Neg", ["x"], [name]) for name in others]
    graph = helper.make_graph(nodes, "m", [x], [z, *outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    check(loaded(model), model, {"x": np.array([0, 1, 0, 2, 0, 0, 3], np.float32)})


@pytest.mark.integration
@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("several", [True, False])
def test_prepared_calls_return_the_part_that_is_written(device: str, several: bool) -> None:
    """A prepared call fails like `run` if the output is too small; outputs for sizes are hidden."""
    m = Maker()
    places, after = m.add("NonZero", m.input("x", (N,))), m.add("Neg", "x")
    proto = m.model(places, *[after] * several, dtype=T.INT64)
    proto.graph.output[-1].type.tensor_type.elem_type = T.FLOAT if several else T.INT64
    made = kgen.compile_model(proto, ["x86-64-v3"], capacities={places: 3})
    with kgen_runtime.load(made.to_bytes(), device=device) as kernels:
        program = kernels.program
        names = (places, after) if several else (places,)
        assert program.output_names == names
        for count in (0, 2, 3, 4, N, 1):
            x = np.arange(N, 0, -1).astype(np.float32) * (np.arange(N) < count)
            call = program.prepare(x=kernels.to_device(x))
            out = call.out[places] if several else call.out
            assert out.shape == (1, 3) and (not several or tuple(call.out) == names)
            if count > 3:
                why = f"main: output {places} has {count} elements along axis 1, and room for 3; co"
                with pytest.raises(ArgumentError, match=why):
                    call()
                with pytest.raises(ArgumentError, match=why):
                    program.profile(x=x)
                with pytest.raises(ArgumentError, match=why):
                    program.run(x=x, check_indices=True)
                continue
            found = call()
            part = found[places] if several else found
            np.testing.assert_array_equal(numbers(part), [np.arange(count)])
            np.testing.assert_array_equal(numbers(out)[:, :count], [np.arange(count)])
            if several:
                assert found[after] is call.out[after]
        if device == "cpu":
            own = np.full((1, 3), 9)
            part = program.prepare(x=x, out={places: own} if several else own)()
            assert np.shares_memory(part[places] if several else part, own)
        with pytest.raises(ArgumentError, match="which is not an output"):
            program.prepare(x=kernels.to_device(x), out={f"{places}.count": np.zeros((), np.int64)})


def numbers(array: Any) -> Array:
    return array if isinstance(array, np.ndarray) else np.asarray(array.numpy())


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda p: p["counts"].append(p["counts"][0]), "output places has two sizes along axis 1"),
        (
            lambda p: p["counts"].append({"output": "one", "axis": 0, "size": "one"}),
            "output one is a size, and its own size one depends on data",
        ),
        (
            lambda p: p["counts"].append({"output": "one", "axis": 0, "size": "places.count"}),
            "",
        ),
        (
            lambda p: p["counts"][0].update(size="one"),
            "the size one comes before output places.count; sizes come behind all other outputs",
        ),
        (
            lambda p: p["counts"].append({"output": "places.count", "axis": 0, "size": "one"}),
            "output places.count has no axis 0; its rank is 0",
        ),
    ],
)
def test_sizes_that_lie_are_refused(change: Callable[[Any], object], why: str) -> None:
    m = Maker()
    x = m.input("x", (1,))
    places, one = m.add("NonZero", x), m.add("Cast", x, to=T.INT64)
    made = kgen.compile_model(m.model(places, one, dtype=T.INT64), ["x86-64-v3"]).bundle
    text = json.dumps(to_json(made.manifest)).replace(places, "places").replace(one, "one")
    data = json.loads(text)
    change(data["programs"][0])
    if not why:
        from_json(data)
        return
    with pytest.raises(BundleError) as refused:
        from_json(data)
    assert why in str(refused.value)


@pytest.mark.integration
def test_sizes_are_verified() -> None:
    """`kgen compile --verify` compares sizes, and all elements up to them."""
    model = unique()
    made = kgen.compile_model(model, ["x86-64-v3"]).bundle
    reader = MemoryReader(manifest=made.manifest, files=made.files, weights=made.weights)
    (program,) = made.manifest.programs
    (result,) = verify_programs(reader, [program], truth(model, program))
    assert result.passed and len(result.outputs) == 4 + 3
    known = truth(model, program)
    name = model.graph.output[3].name
    other = {f"{name}.count": np.array(1)}
    wrong = dataclasses.replace(
        known, exact={**known.exact, **other}, rounded={**known.rounded, **other}
    )
    (result,) = verify_programs(reader, [program], wrong)
    assert not result.passed
    made = kgen.compile_model(model, ["x86-64-v3"], capacities={name: 1}).bundle
    reader = MemoryReader(manifest=made.manifest, files=made.files, weights=made.weights)
    (result,) = verify_programs(reader, made.manifest.programs, known)
    assert result.first_wrong is not None and "has 1 elements, 7 in" in result.first_wrong.reason


def refusal(model: onnx.ModelProto, **more: Any) -> str:
    with pytest.raises(GraphError) as raised:
        kgen.compile_model(model, ["x86-64-v3"], **more)
    return str(raised.value)


@pytest.mark.parametrize(
    ("operator", "more", "why"),
    [
        (
            "NonZero",
            (),
            r"the values of x, which .* compute what follows outside of the model, or ch",
        ),
        ("Compress", ("c",), r"the values of c, which .* outside of the model, or make c an init"),
        (
            "Unique",
            (),
            r"the values of x, which kgen supports in outputs of the model that no node",
        ),
    ],
)
def test_in_the_middle_the_node_that_is_the_cause_is_named(
    operator: str, more: tuple[str, ...], why: str
) -> None:
    m = Maker()
    made = m.add(operator, m.input("x", (N,)), *(m.input(name, (N,), T.BOOL) for name in more))
    found = refusal(m.model(m.add("Neg", m.add("Abs", made))))
    assert found.startswith(f"node /{operator}0 ({operator}): the shape of {made} depends on")
    assert re.search(why, found) and len(found) <= 500
    assert f"node /{operator}0" in refusal(m.model(made, m.nodes[-1].output[0]))


def test_capacities_that_do_not_fit() -> None:
    m = Maker()
    x = m.input("x", (N,))
    places, other = m.add("NonZero", x), m.add("Neg", x)
    model = m.model(places, other, dtype=T.INT64)
    assert refusal(model, capacities={other: 3}) == (
        f"--capacity {other}=3: {other} is not an output whose size depends on data; name one of "
        f"{places}, or leave the option out"
    )
    assert "on data; leave the option out" in refusal(m.model(other), capacities={other: 3})
    for size in (0, -1, 1 << 50, 2.5):
        assert "it must be 1 to" in refusal(model, capacities={places: size})


def test_a_model_of_too_many_boxes_names_the_option() -> None:
    m = Maker()
    boxes, scores = m.input("boxes", (1, 5000, 4)), m.input("scores", (1, 1, 5000))
    selected = m.add("NonMaxSuppression", boxes, scores, m.input("most", (1,), T.INT64))
    found = refusal(m.model(selected, dtype=T.INT64))
    assert "selects up to 5000 boxes of a class; 1024 is the limit; make max_output" in found
    assert found.endswith(f"or give --capacity {selected}=300")


def test_the_command_line() -> None:
    assert capacities_of(["a=b=3", "c=4"]) == {"a=b": 3, "c": 4}
    for texts, why in ((["a"], "does not have the form NAME=SIZE"), (["a=1", "a=2"], "a twice")):
        with pytest.raises(GraphError, match=why):
            capacities_of(texts)
