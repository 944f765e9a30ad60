"""Programs with states: a decoder token by token, against one pass over all tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest

import kgen
import kgen_runtime
from kgen.check.model.truth import truth
from kgen.errors import GraphError
from kgen_runtime.calls.program import LoadedProgram
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.kernels import Kernels
from tests.onnx_models import DECODER, DECODER_STATES, Maker

Array = np.ndarray[Any, Any]
#: Tokens of the prefill, and places of the caches.
TOKENS, CACHE = 7, 12


@pytest.fixture(scope="module", params=["native", "vulkan1.3"])
def loaded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Kernels]:
    made = kgen.compile_model(DECODER["step"], [request.param], states=DECODER_STATES).bundle
    path = made.save(tmp_path_factory.mktemp("decoder") / "step.kgen")
    device = "cpu" if request.param == "native" else "vulkan"
    return lambda: kgen_runtime.load(path, device=device)


@pytest.fixture(scope="module")
def program(loaded: Callable[[], Kernels]) -> LoadedProgram:
    return loaded().program


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the prefill's tokens, logits and caches, by onnx's reference in f64."""
    (entry,) = kgen.compile_model(DECODER["prefill"], ["native"]).bundle.manifest.programs
    found = truth(DECODER["prefill"], entry)
    return found.inputs["ids"], found.exact


def step(program: Any, token: int, pos: int) -> Array:
    found: Array = program.run(ids=np.array([[token]]), pos=np.array([pos]))
    return found


def test_steps_give_what_a_prefill_gives(program: Any, exact: Any) -> None:
    ids, expected = exact
    assert program.state_names == ("past.0.key", "past.0.value", "past.1.key", "past.1.value")
    for _ in range(2):
        program.reset()
        for pos, token in enumerate(ids[0]):
            found = step(program, token, pos)
        np.testing.assert_allclose(found, expected["logits"], rtol=1e-3, atol=1e-4)


def test_a_closed_bundle_is_named(loaded: Callable[[], Kernels]) -> None:
    """A program, its sessions and its calls give the same message on every device."""
    kernels = loaded()
    program, given = kernels.program, {"ids": np.array([[1]]), "pos": np.array([0])}
    arrays = {name: kernels.to_device(array) for name, array in given.items()}
    call, session = program.prepare(arrays), program.session()
    kernels.close()
    uses: list[Callable[[], Any]] = [call, partial(program.run, given), partial(session.run, given)]
    for user in (call, program, session):
        uses += [user.reset, user.set_states]
    for use in uses:
        with pytest.raises(DeviceError, match=r": the bundle was closed; load it again$"):
            use()


def test_states_of_a_prefill_go_on(program: Any, exact: Any) -> None:
    """The caches of six tokens and the seventh token give the result of all seven."""
    ids, expected = exact
    caches = {}
    for name in program.state_names:
        heads, _, head = expected[name.replace("past", "present")].shape
        caches[name] = np.zeros((heads, CACHE, head), np.float32)
        caches[name][:, : TOKENS - 1] = expected[name.replace("past", "present")][:, : TOKENS - 1]
    program.set_states(caches)
    found = step(program, ids[0, -1], TOKENS - 1)
    np.testing.assert_allclose(found, expected["logits"], rtol=1e-3, atol=1e-4)
    if program.backend.info.backend == "cpu":
        out = np.empty(found.shape, np.float32)
        call = program.prepare(ids=ids[:, -1:], pos=np.array([TOKENS - 1]), out=out)
        call.set_states(caches)
        assert call() is out
        np.testing.assert_array_equal(out, found)
    with pytest.raises(ArgumentError, match=r"'past\.9\.key' is not a state; states are past\.0"):
        program.set_states({"past.9.key": caches["past.0.key"]})
    with pytest.raises(
        ArgumentError, match=r"past\.0\.key .*expected 2x12x8|past\.0\.key has shape"
    ):
        program.set_states({"past.0.key": np.zeros((3, 2, 8), np.float32)})


def counter(order: str) -> onnx.ModelProto:
    """y = x + s, and s of the next run: s + x where nothing reads s behind it, or s as it is; else
    y * s, made before y is."""
    m = Maker()
    x, s = m.input("x", (4, 6)), m.input("s", (4, 6))
    if order == "as it was":
        return m.model(m.add("Add", x, s), m.add("Identity", s))
    if order == "in place":
        return m.model(m.add("Softmax", x), m.add("Add", m.add("Mul", s, m.constant(0.5)), x))
    new = m.add("Add", m.add("Softmax", m.add("Mul", s, x)), m.constant(1.0))
    return m.model(m.add("Mul", m.add("Softmax", m.add("Add", new, s)), new), new)


@pytest.mark.parametrize(("order", "steps"), [("in place", 2), ("copied", 3), ("as it was", 2)])
def test_a_state_that_is_read_later_is_copied_at_the_end(
    order: str, steps: int, tmp_path: Path
) -> None:
    model = counter(order)
    onnx.save(model, tmp_path / "m.onnx")
    y, new = (output.name for output in model.graph.output)
    made = kgen.compile_model(tmp_path / "m.onnx", ["native"], states={"s": new}).bundle
    (entry,) = made.manifest.programs
    assert len(entry.steps) == steps and [v.name for v in entry.outputs] == [y]
    program = kgen_runtime.load(made.save(tmp_path / "m.kgen"), device="cpu").program
    rng, state = np.random.default_rng(0), np.zeros((4, 6), np.float32)
    reference = onnx.reference.ReferenceEvaluator(model)
    for _ in range(3):
        x = rng.standard_normal((4, 6), np.float32)
        expected, state = reference.run(None, {"x": x, "s": state})
        np.testing.assert_allclose(program.run(x=x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"t": "y"}, "--state t=y: input t"),
        ({"past.0.key": "presents"}, "output presents .*present"),
        ({"past.*": "present"}, "has a different number of \\* on each side"),
        ({"past.0.key": "logits"}, "input past.0.key is 2x12x8 f32, and output logits 1x50 f32"),
        ({"past.*": "present.*", "past.0.key": "present.0.key"}, "a state twice"),
    ],
)
def test_states_that_are_none(states: dict[str, str], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        kgen.compile_model(DECODER["step"], ["native"], states=states)


def test_a_program_needs_an_output_that_is_no_state(tmp_path: Path) -> None:
    m = Maker()
    onnx.save(m.model(m.add("Add", m.input("x", (4,)), m.input("past", (4,)))), tmp_path / "m.onnx")
    (output,) = onnx.load(tmp_path / "m.onnx").graph.output
    with pytest.raises(GraphError, match=f"every output a state, the last one {output.name}; "):
        kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"], states={"past": output.name})


def test_a_state_has_elements() -> None:
    m = Maker()
    model = m.model(m.add("Relu", m.input("x", (4,))), m.add("Relu", m.input("past", (0, 4))))
    present = model.graph.output[1].name
    with pytest.raises(GraphError, match="input past is 0x4 f32, without elements to keep; leave"):
        kgen.compile_model(model, ["x86-64-v3"], states={"past": present})
