"""Small bundles that claim a lot: the work to judge one is in proportion to its bytes.
Instructions are counted instead of seconds, so that a busy machine gives the same result. Here
these are Python's, which judges specs; tests/device/cpu/c_runtime/test_hostile.py counts
libkgen's."""

from __future__ import annotations

import copy
import json
import re
import sys
import tracemalloc
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest

import kgen
import kgen_runtime
from kgen.order.accesses import Spans, StepAccess
from kgen.order.ancestors import Ancestors
from kgen_runtime.errors import BundleError
from kgen_runtime.schema import manifest_json
from kgen_runtime.schema.spec_tensors import check_spec
from tests.manifests import from_json
from tests.specs import relu_of
from tests.unit.runtime.bundle.zips import archive

TARGET = "x86-64-v3"


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    return kgen.build([relu_of((4, 8), dtype="f32")], [TARGET])


@pytest.fixture(scope="module")
def whole(bundle: kgen.Bundle) -> Any:
    return json.loads(json.dumps(manifest_json.to_json(bundle.manifest)))


def judged(data: Any) -> tuple[int, str]:
    """Return the Python instructions that judge a manifest's specs, and the reason for the
    refusal."""
    kernels = from_json(data).kernels
    count = 0
    why = ""

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for kernel in kernels:
            check_spec(kernel)
    except BundleError as error:
        why = str(error)
    finally:
        sys.settrace(before)
    return count, why


Change = Callable[[Any, int], None]


def long_tile(data: Any, n: int) -> None:
    tile = data["kernels"][0]["launches"][0]["tile"]
    tile |= {"shape": [1] * n, "extent": [1] * n, "axes": [-1] * n}


def huge_product(data: Any, n: int) -> None:
    data["kernels"][0]["spec"]["shapes"] = [[2**62] * n]


def large_batch(data: Any, n: int) -> None:
    kernel = data["kernels"][0]
    fields = {"m": 1, "n": 1, "k": 1, "batch": 1, "dtype": "f32", "out_dtype": "f32"}
    kernel["op"] = "matmul"
    kernel["spec"] = {**fields, "op": "matmul", "batch_dims": [2**62] * n}


def many_workspaces(data: Any, n: int) -> None:
    kernel = data["kernels"][0]
    kernel["workspaces"] = [{"name": f"w{i}", "nbytes": 64} for i in range(n)]
    kernel["launches"][0]["arguments"] += [f"w{i}" for i in range(n)]


def many_launches(data: Any, n: int) -> None:
    kernel = data["kernels"][0]
    kernel["launches"] = kernel["launches"] * n


def many_parameters(data: Any, n: int) -> None:
    kernel = data["kernels"][0]
    kernel["parameters"] = [kernel["parameters"][0] | {"name": f"x{i}"} for i in range(n)]


def many_constants(data: Any, n: int) -> None:
    one = {"parameter": "x", "file": "f", "sha256": "0" * 64, "nbytes": 128}
    data["kernels"][0]["constants"] = [one] * n


def many_artifacts(data: Any, n: int) -> None:
    kernel = data["kernels"][0]
    kernel["artifacts"] = kernel["artifacts"] * n


def many_runs(data: Any, n: int) -> None:
    packing = {"shape": [1, 1], "strides": [1, 1], "transposed": False, "width": 1, "depth": 1}
    data["kernels"][0]["parameters"][0]["packing"] = {**packing, "runs": [1] * n}


def twice_at_the_end(data: Any, n: int) -> None:
    kernel = data["kernels"][0]
    data["kernels"] = [kernel | {"key": f"k{i}"} for i in range(n // 8)]
    data["kernels"].append(data["kernels"][-1])


def deep(data: Any, n: int) -> None:
    schedule: Any = "a"
    for _ in range(n // 8):
        schedule = [schedule]
    data["kernels"][0]["schedule"]["deep"] = schedule


def many_steps_of_an_old_epilogue(data: Any, n: int) -> None:
    kernel = data["kernels"][0]
    kernel["op"] = "matmul"
    kernel["spec"] = {"op": "matmul", "epilogue": ["relu"] * n}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (huge_product, "its spec is not a valid elementwise: shape="),
        (large_batch, r"batch_dims has \d+ dimensions"),
        (many_steps_of_an_old_epilogue, "its spec is not a valid matmul"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_count_is_checked_before_what_it_counts(whole: Any, change: Change, message: str) -> None:
    """Twice the entries take at most twice the instructions."""
    found = []
    for n in (2000, 4000):
        data = copy.deepcopy(whole)
        change(data, n)
        count, why = judged(data)
        assert re.search(message, why), why
        assert len(why) <= 500
        found.append(count)
    small, large = found
    assert large <= 2.1 * small + 1000


def nested_calls(data: Any, n: int) -> None:
    data["kernels"][0]["spec"]["expression"] = nested("max({},mul(x,2.5))", n)


def nested_views(data: Any, n: int) -> None:
    data["kernels"][0]["spec"]["expression"] = nested("slice({},0,0,4,1)", n)


def nested(call: str, n: int) -> str:
    """Return nested calls; each is an argument of the next one."""
    found = "x"
    for _ in range(n):
        found = call.format(found)
    return found


@pytest.mark.integration
@pytest.mark.parametrize("change", [nested_calls, nested_views])
def test_nested_calls_are_linear_in_their_depth(whole: Any, change: Change) -> None:
    """Names are not passed up through all enclosing calls."""
    found = []
    for n in (8, 30, 60, 120):  # the first fills caches
        data = copy.deepcopy(whole)
        change(data, n)
        count, why = judged(data)
        assert why == ""
        found.append(count)
    _, small, middle, large = found
    assert large - middle <= 2.05 * (middle - small)
    assert (large - middle) / 60 < 2000


# -- programs -------------------------------------------------------------------------------------


def value(name: str, kind: str, memory: str, offset: int = 0) -> Any:
    place = {"kind": kind, "name": memory, "offset": offset}
    return {"name": name, "dtype": "f32", "shape": [4, 8], "strides": [8, 1], "place": place}


def program(
    whole: Any,
    n: int,
    place_of: Callable[[int], int],
    *,
    one_after: bool = True,
    target: str = TARGET,
) -> Any:
    """Return a program of n steps of one kernel; each reads what the previous one wrote."""
    data = copy.deepcopy(whole)
    middle = [value(f"v{i}", "arena", "", place_of(i)) for i in range(n - 1)]
    x, y = value("x", "input", "x"), value("y", "output", "y")
    names = ["x", *(v["name"] for v in middle), "y"]
    steps = [
        {
            "kernel": data["kernels"][0]["key"],
            "bindings": {"x": names[i], "out": names[i + 1]},
            "after": [i - 1] if i and one_after else [],
        }
        for i in range(n)
    ]
    data["programs"] = [
        {
            "name": "main",
            "target": target,
            "inputs": [x],
            "outputs": [y],
            "values": [x, y, *middle],
            "arena_bytes": max([place_of(i) + 128 for i in range(n - 1)]),
            "steps": steps,
        }
    ]
    return data


def many_readers(whole: Any, n: int, *, target: str = TARGET) -> Any:
    """Every step reads the input, so none conflicts with another."""
    data = program(whole, n, lambda i: 128 * i, one_after=False, target=target)
    for step in data["programs"][0]["steps"]:
        step["bindings"]["x"] = "x"
    return data


def meetings_without_end(whole: Any, n: int, *, target: str = TARGET) -> Any:
    """Writes with gaps, which no later one covers, overlap all earlier ones."""
    data = program(whole, n, lambda i: 0, target=target)
    kernel = data["kernels"][0]
    kernel |= {"op": "other", "spec": {"op": "other"}}  # no operation that says its tensors
    for parameter in kernel["parameters"]:
        parameter["strides"] = [16, 1]
    data["programs"][0] |= {
        "states": [{"name": "s", "nbytes": 8192, "input": "a", "output": "a"}],
        "values": [
            *data["programs"][0]["values"][:2],
            value("a", "state", "s") | {"strides": [16, 1]},
            value("b", "state", "s", 4096) | {"strides": [16, 1]},
        ],
    }
    for step in data["programs"][0]["steps"]:
        step["bindings"] = {"x": "b", "out": "a"}
    return data


def before(after: list[int], earlier: list[Ancestors]) -> Ancestors:
    """Return the ancestors of a step that waits for these."""
    found = Ancestors()
    for step in after:
        found.add(step, earlier[step])
    return found


def test_a_chain_s_ancestors_are_two_numbers() -> None:
    """Ancestors are ranges, because one bit for each earlier step would be quadratic."""
    earlier: list[Ancestors] = []
    for number in range(100):
        earlier.append(before([number - 1] if number else [], earlier))
    assert [(a.full, a.bits) for a in earlier] == [(n, 0) for n in range(100)]


@pytest.mark.parametrize("seed", range(20))
def test_ancestors_are_those_of_a_search(seed: int) -> None:
    random = Random(seed)
    after = [sorted(random.sample(range(n), min(n, random.randrange(4)))) for n in range(60)]
    earlier: list[Ancestors] = []
    for number in range(60):
        earlier.append(before(after[number], earlier))
        left, found = [*after[number]], set[int]()
        while left:
            step = left.pop()
            left += set(after[step]) - found
            found.add(step)
        assert {step for step in range(61) if step in earlier[number]} == found


@pytest.mark.parametrize("seed", range(20))
def test_spans_that_overlap_are_those_of_a_search(seed: int) -> None:
    random = Random(seed)
    starts = [random.randrange(50) for _ in range(40)]
    accesses = []
    for number, start in enumerate(starts):
        access = object.__new__(StepAccess)
        access.step, access.start, access.end = number, start, start + random.randrange(1, 20)
        accesses.append(access)
    spans = Spans((a.start, a.end) for a in accesses)
    held: list[StepAccess] = []
    for access in accesses:
        low, high = access.start, access.end
        if random.random() < 0.3:
            spans.drop_within(low, high, access.step)
            held = [a for a in held if a.start < low or high < a.end]
        spans.add(access)
        held.append(access)
        begin = random.randrange(60)
        found = {a.step for a in spans.overlapping(begin, begin + 10)}
        assert found == {a.step for a in held if a.start < begin + 10 and begin < a.end}


# -- memory ---------------------------------------------------------------------------------------


def balanced(leaf: str, levels: int) -> str:
    return (
        leaf if levels == 0 else f"max({balanced(leaf, levels - 1)},{balanced(leaf, levels - 1)})"
    )


@pytest.mark.integration
def test_refused_bundles_leave_nothing_behind(bundle: kgen.Bundle, whole: Any) -> None:
    """No cache keeps the formulas of long expressions."""
    first, last = whole["kernels"][0], copy.deepcopy(whole["kernels"][0])
    last |= {"launches": []}
    numbers = iter(range(1000))

    def refuse_one() -> None:
        kernels = [
            first
            | {"key": f"k{number}"}
            | {"spec": first["spec"] | {"expression": f"max({balanced('x', 10)},{number})"}}
            for number in (next(numbers) for _ in range(6))
        ]
        data = whole | {"kernels": [*kernels, last]}
        with pytest.raises(BundleError, match="it has no launches"):
            kgen_runtime.load(archive(data, bundle.files), device="cpu")

    refuse_one()
    tracemalloc.start()
    try:
        for _ in range(5):
            refuse_one()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 16 << 20


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[0" + b",0" * 2**21 + b"]"])
def test_a_text_is_counted_before_it_is_parsed(text: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BundleError, match=r"manifest\.json has more than"):
            kgen_runtime.load(archive(text.decode(), {}))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 * len(text) + (1 << 20)


def test_a_manifest_above_16_mb_is_not_read() -> None:
    with pytest.raises(BundleError, match=r"more than 16777216 bytes, the limit"):
        kgen_runtime.load(archive(" " * (16 * 2**20 + 1), {}))
