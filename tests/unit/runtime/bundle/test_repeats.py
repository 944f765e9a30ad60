"""Repetitions of a program's steps: found by the writer, written out and checked by readers."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import kgen
import kgen_runtime
from kgen.program import check_programs
from kgen.repeated_steps import LEAST_TURNS, with_repeats
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import BundleError
from kgen_runtime.schema.program import Place, Program, Step, Value
from kgen_runtime.schema.repeats import shown, written_out
from tests.manifests import from_json
from tests.programs import BATCH, SIZE, TIME, UNITS, gru_bundle, gru_model, repeating

# ---- the writer ----------------------------------------------------------------------------------


def program(*steps: tuple[str, tuple[int, ...]]) -> Program:
    """Return steps of kernels whose tensors `t0`, `t1`, ... are at these bytes of an arena."""
    values: dict[int, Value] = {}
    made = []
    for number, (kernel, offsets) in enumerate(steps):
        for offset in offsets:
            place = Place(kind="arena", offset=offset)
            values[offset] = Value(
                name=f"v{offset}", dtype=DType.F32, shape=(1,), strides=(1,), place=place
            )
        bindings = {f"t{i}": f"v{offset}" for i, offset in enumerate(offsets)}
        after = (number - 1,) if number else ()
        made.append(Step(kernel=kernel, bindings=bindings, after=after))
    return Program(
        name="main", target="x86-64-v3", inputs=(), outputs=(), arena_bytes=1 << 12,
        values=tuple(values.values()), steps=tuple(made),
    )  # fmt: skip


def plain(of: Program) -> list[object]:
    """Return a program's steps with the contents of values instead of their names."""
    values = of.by_name
    found: list[object] = []
    for step in of.steps:
        bound = [(name, shown(values[value])) for name, value in step.bindings.items()]
        found.append((step.kernel, step.nodes, step.after, bound))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_steps_that_are_written_out_are_those_of_the_program(seed: int) -> None:
    """Random repeated steps, with steps in between that may be equal by chance."""
    rng = random.Random(seed)

    def turn() -> list[tuple[str, tuple[int, ...]]]:
        return [(rng.choice("ab"), (4 * rng.randrange(9), 4 * rng.randrange(9)))
                for _ in range(rng.randint(1, 3))]  # fmt: skip

    steps: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(rng.randint(1, 4)):
        body = turn()
        apart = [(4 * rng.randrange(5), 4 * rng.randrange(5)) for _ in body]
        for number in range(rng.randint(1, 9)):
            steps += [
                (kernel, (a + number * x, b + number * y))
                for (kernel, (a, b)), (x, y) in zip(body, apart, strict=True)
            ]
        steps += turn() if rng.random() < 0.5 else []
    flat = program(*steps)
    folded = with_repeats(flat)
    assert plain(written_out(folded)) == plain(flat)
    assert with_repeats(written_out(folded)) == folded


@pytest.mark.parametrize("turns", range(1, 6))
def test_turns_that_move_are_one_repetition(turns: int) -> None:
    steps = [("a", (0, 4)), *(step for i in range(turns) for step in (
        ("a", (512, 256 + 8 * i)), ("b", (512, 264 + 8 * i, 1024 - 16 * i))))]  # fmt: skip
    found = with_repeats(program(*steps))
    if turns < LEAST_TURNS:
        assert not found.repeats
        return
    (repeat,) = found.repeats
    assert (repeat.first, repeat.count, repeat.turns) == (1, 2, turns)
    assert repeat.moves == {"v256": 8, "v264": 8, "v1024": -16}
    assert len(found.steps) == 3 and {value.name for value in found.values} >= set(repeat.moves)


def test_a_turn_of_other_places_is_none_of_a_repetition() -> None:
    steps = [("a", (4 * i, 400 + 8 * i)) for i in range(5)] + [("a", (20, 444))]
    (repeat,) = with_repeats(program(*steps)).repeats
    # The first step waits for none, so that it is no turn.
    assert (repeat.first, repeat.turns) == (1, 4)


@pytest.mark.parametrize("irregular", [0, 1])
def test_alike_steps_that_do_not_repeat_cost_linear_time(irregular: int) -> None:
    """Executed lines are counted. One step of each turn has irregular places."""

    def lines(steps: int) -> int:
        rng = random.Random(0)
        turns = [
            (f"k{step}", (4 * rng.randrange(99) if step == irregular * (steps - 1) else turn,))
            for turn in range(20)
            for step in range(steps)
        ]
        flat, count = program(*turns), 0

        def traced(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal count
            count += event == "line"
            return traced

        before = sys.gettrace()
        sys.settrace(traced)
        try:
            found = with_repeats(flat)
        finally:
            sys.settrace(before)
        assert found == flat
        return count

    assert lines(24) < 2.5 * lines(12)


# ---- readers -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def layer() -> kgen.Bundle:
    return gru_bundle("x86-64-v3")


@pytest.fixture
def data(layer: kgen.Bundle) -> Any:
    return repeating(layer.manifest)


@pytest.mark.integration
def test_a_layer_is_written_as_a_repetition_and_read_as_its_steps(
    layer: kgen.Bundle, tmp_path: Path
) -> None:
    """Results and states have the bits of a program without repetitions."""
    path, apart = layer.save(tmp_path / "short.kgen"), tmp_path / "long.kgen"
    with zipfile.ZipFile(path) as archive:
        text = json.loads(archive.read("manifest.json"))
    (listed,) = text["programs"]
    (repeat,) = listed["repeats"]
    assert repeat["turns"] >= TIME - 2 and len(listed["steps"]) < TIME
    (found,) = layer.manifest.programs
    assert from_json(text).programs == layer.manifest.programs
    # A name keeps turns apart from one another.
    names = [
        dataclasses.replace(step, nodes=(f"node {number}",))
        for number, step in enumerate(found.steps)
    ]
    long = dataclasses.replace(found, steps=tuple(names))
    manifest = dataclasses.replace(layer.manifest, programs=(long,))
    dataclasses.replace(layer, manifest=manifest).save(apart)
    with zipfile.ZipFile(apart) as archive:
        assert not json.loads(archive.read("manifest.json"))["programs"][0]["repeats"]
    x = np.random.default_rng(1).standard_normal((2, TIME, BATCH, SIZE)).astype("f")
    h = np.random.default_rng(2).standard_normal((1, BATCH, UNITS)).astype("f")
    results = []
    for file in (path, apart):
        with kgen_runtime.load(file, device="cpu") as kernels:
            kernels.program.set_states(h=h)
            results.append([kernels.program.run(x=part) for part in x])
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.array_equal(*results[0])


@pytest.mark.integration
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_turns_read_what_the_turn_before_wrote(layer: kgen.Bundle, data: Any, device: str) -> None:
    """Results are those of ONNX's definition of the layer; a stale state would give others."""
    x = np.random.default_rng(1).standard_normal((TIME, BATCH, SIZE)).astype("f")
    given = {"x": x, "h": np.zeros((1, BATCH, UNITS), np.float32)}
    right, _ = ReferenceEvaluator(gru_model()).run(None, given)
    np.testing.assert_allclose(_result(layer, data, x, device), right, rtol=1e-5, atol=1e-5)
    compared = 0
    (repeat,) = data["programs"][0]["repeats"]
    for name, nbytes in repeat["moves"].items():
        repeat["moves"][name] = 0
        try:
            found = _result(layer, data, x, device)
        except BundleError:
            continue
        finally:
            repeat["moves"][name] = nbytes
        compared += 1
        assert not np.allclose(found, right, rtol=1e-5, atol=1e-5), name
    assert compared


def _result(of: kgen.Bundle, data: Any, x: Any, device: str) -> Any:
    """Return the result of a manifest with a bundle's files."""
    manifest = from_json(json.loads(json.dumps(data)))
    check_programs(manifest.programs, manifest.kernels)
    made = dataclasses.replace(of, manifest=manifest)
    with kgen_runtime.load(made.to_bytes(), device=device) as kernels:
        return kernels.program.run(x=x)


def put(name: str, value: Any) -> Callable[[Any], None]:
    def change(listed: Any) -> None:
        listed["repeats"][0][name] = value

    change.__name__ = f"{name}={value}"
    return change


def moved(nbytes: int) -> Callable[[Any], None]:
    """Change the offset of the first value that moves from turn to turn."""

    def change(listed: Any) -> None:
        moves = listed["repeats"][0]["moves"]
        moves[next(iter(moves))] = nbytes

    change.__name__ = f"moves by {nbytes}"
    return change


def twice(listed: Any) -> None:
    listed["repeats"] *= 2


def waits_for_later_steps(listed: Any) -> None:
    repeat = listed["repeats"][0]
    listed["steps"][repeat["first"]]["after"] = [repeat["first"] + repeat["count"]]


def waits_for_nothing(listed: Any) -> None:
    repeat = listed["repeats"][0]
    listed["steps"][repeat["first"] + 1]["after"] = []


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("first", -1), "repetition 0 has first=-1, count=[0-9]+; the program has [0-9]+ steps"),
        (put("first", 1 << 40), "has first=1099511627776, count=[0-9]+; the program has"),
        (put("count", 0), "repetition 0 has first=[0-9]+, count=0; the program has [0-9]+ steps"),
        (put("count", 1 << 62), "count=4611686018427387904; the program has [0-9]+ steps"),
        (twice, "repetition 1 has first=[0-9]+; it must be at least [0-9]+, the end of the"),
        (put("turns", 1), "repetition 0 has 1 turns; the limits are 2 and 32768"),
        (put("turns", -(1 << 63)), "the limits are 2 and 32768"),
        (put("turns", 32768), r"steps in all turns; the limit is 32768 \(steps\)"),
        (put("turns", 20 * TIME), "and leaves its memory of [0-9]+ bytes"),
        (put("moves", {"nothing": 4}), "its repetition moves 'nothing', which is not a value"),
        (put("moves", {"x": "4"}), "moves.x: expected int"),
        (put("moves", [4]), "moves: expected object"),
        (put("often", 2), "unknown field 'often'"),
        (moved(2), "moves by 2 bytes, which is not a multiple of its element size"),
        (moved(1 << 62), "in each of [0-9]+ turns, and leaves its memory"),
        (moved(-(1 << 63)), "in each of [0-9]+ turns, and leaves its memory"),
        (waits_for_later_steps, "it depends on step [0-9]+, which is not earlier"),
        (waits_for_nothing, "`after` must name step"),
    ],
)
def test_a_repetition_that_lies_is_refused(
    data: Any, change: Callable[[Any], None], message: str
) -> None:
    change(data["programs"][0])
    with pytest.raises(BundleError, match=message) as refused:
        from_json(data)
    assert "\n" not in str(refused.value) and len(str(refused.value)) <= 500


@pytest.mark.integration
def test_a_step_of_many_tensors_is_not_repeated_without_bounds(data: Any) -> None:
    (listed,) = data["programs"]
    repeat = listed["repeats"][0]
    listed["steps"][repeat["first"]]["after"] = [0] * 200_000
    with pytest.raises(BundleError, match=r"the limit is 262144 \(turn_entries\)"):
        from_json(data)


def counted(listed: Any) -> None:
    del listed["repeats"]


def empty(listed: Any) -> None:
    del listed["repeats"], listed["counts"]
    listed["inputs"][0]["shape"][0] = 0


def of_16_bits(listed: Any) -> None:
    listed["inputs"][0]["dtype"] = "s16"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("version", "change", "message"),
    [
        (1, lambda listed: None, "unknown field 'programs' of schema 1"),
        (2, lambda listed: None, "unknown field 'repeats' of schema 2"),
        (2, counted, "unknown field 'counts' of schema 2"),
        (2, empty, "x has a size of 0; in schema 2 sizes are 1 or more"),
        (3, of_16_bits, "x is s16, a type that schema 3 lacks"),
    ],
)
def test_older_versions_have_no_newer_features(
    data: Any, version: int, change: Callable[[Any], None], message: str
) -> None:
    change(data["programs"][0])
    with pytest.raises(BundleError, match=message):
        from_json(data | {"schema_version": version})
