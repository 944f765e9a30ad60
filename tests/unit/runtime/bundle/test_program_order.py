"""Order of steps: kgen derives with numpy exactly the order that libkgen requires."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest

import kgen
from kgen.errors import BundleError
from kgen.program import finished
from kgen_runtime.schema.manifest_json import to_json
from kgen_runtime.schema.program import Place, PlaceKind, Program, Step, Value
from tests.manifests import from_json
from tests.specs import relu_of

pytestmark = pytest.mark.integration

TARGET, ROWS, STEPS = "x86-64-v3", 4, 12
#: Row strides of the kernels: without gaps, and with gaps that other rows may lie in.
STRIDES = (3, 6, 7, 9)


@pytest.fixture(scope="module")
def whole() -> Any:
    """Return a kernel of three columns for each pair of row strides."""
    bundle = kgen.build([relu_of((ROWS, 3), dtype="f32")], [TARGET])
    data = json.loads(json.dumps(to_json(bundle.manifest)))
    (kernel,) = data["kernels"]
    kernels = []
    for read in STRIDES:
        for written in STRIDES:
            kernels.append(copy.deepcopy(kernel) | {"key": f"relu_{read}_{written}", "op": "other"})
            kernels[-1]["spec"] = {"op": "other"}  # no operation that says its tensors
            kernels[-1]["parameters"][0]["strides"] = [read, 1]
            kernels[-1]["parameters"][1]["strides"] = [written, 1]
    return data | {"kernels": kernels}


def value(name: str, kind: PlaceKind, stride: int, offset: int = 0) -> Value:
    place = Place(kind=kind, name="" if kind == "arena" else name, offset=offset)
    return Value(name=name, dtype=kgen.DType.F32, shape=(ROWS, 3), strides=(stride, 1), place=place)


def program(random: Random) -> Program:
    """Return steps that read and write any rows of a small arena, after one that has written it."""
    x, y = value("x", "input", 3), value("y", "output", 3)
    values = [x, y]
    steps: list[Step] = []

    def add(read: Value, written: Value) -> None:
        values.extend({v.name: v for v in (read, written) if v not in values}.values())
        key = f"relu_{read.strides[0]}_{written.strides[0]}"
        steps.append(Step(kernel=key, bindings={"x": read.name, "out": written.name}))

    for number in range(8):  # so that nothing is read before it is written
        add(x, value(f"first{number}", "arena", 3, 48 * number))
    while len(steps) < STEPS + 8:
        read, written = (
            value(f"{kind}{len(steps)}", "arena", random.choice(STRIDES), 4 * random.randrange(66))
            for kind in "rw"
        )
        if read.end <= written.place.offset or written.end <= read.place.offset:
            add(read, written)
    add(values[-2], y)
    return Program(
        name="main",
        target=TARGET,
        inputs=(x,),
        outputs=(y,),
        values=tuple(values),
        arena_bytes=512,
        steps=tuple(steps),
    )


@pytest.mark.parametrize("seed", range(12))
def test_derived_orders_are_complete_and_minimal(whole: Any, seed: int) -> None:
    """libkgen accepts each derived order, and refuses it without any one of its entries."""
    random = Random(seed)
    kernels = from_json(whole).kernels
    (made,), _ = finished([program(random)], kernels, {})
    data = whole | {"programs": [json.loads(json.dumps(to_json(made)))]}
    assert from_json(data).programs == (made,)
    entries = [(step, one) for step in data["programs"][0]["steps"] for one in step["after"]]
    assert len(entries) > STEPS / 2
    for step, one in entries:
        after = step["after"]
        step["after"] = [other for other in after if other != one]
        with pytest.raises(BundleError, match="`after` must name step"):
            from_json(data)
        step["after"] = after
