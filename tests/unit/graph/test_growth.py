"""Cost of compiling a model: linear in its nodes, in calls of Python functions."""

from __future__ import annotations

import cProfile
import gc
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from kgen import building
from kgen.graph.assemble import Assembly
from kgen.graph.compile import load, lowered_for, planned
from kgen.graph.fusing.limits import MOST_TEXT, characters, is_too_long
from kgen.graph.memory import Life, plan
from kgen.ops.expression import Expression, call, shown, variable, view
from kgen.ops.parse import DEEPEST, LONGEST, formulas
from kgen.spec import Elementwise
from kgen.spec.keys import unique_keys
from tests.onnx_models import Maker, lowered, run

#: Calls of one function for twice as many nodes, by those for half of them, beside a few that come
#: with each kernel, of which there is a whole number.
MOST_GROWTH, FEW = 2.5, 400
#: Files whose functions are counted; methods of dataclasses are in none.
COUNTED = re.compile(r"/kgen|/numpy/|^<string>$")


def chain(m: Maker, x: str, n: int) -> str:
    for i in range(n):
        x = m.add("Relu" if i % 2 else "Tanh", x)
    return x


def doubling(m: Maker, x: str, n: int) -> str:
    for _ in range(n):
        x = m.add("Add", x, x)
    return x


def layers(m: Maker, x: str, n: int) -> str:
    weight, bias = m.weight(8, 8), m.weight(8)
    for _ in range(n // 4):
        x = m.add("Add", x, m.add("Relu", m.add("Add", m.add("MatMul", x, weight), bias)))
    return x


def views(m: Maker, x: str, n: int) -> str:
    """Add views; every second one is a copy."""
    shapes = [m.constant(shape, np.int64) for shape in ([8, 4], [2, 16])]
    for i in range(n // 2):
        x = m.add("Transpose", m.add("Reshape", x, shapes[i % 2]), perm=[1, 0])
    return x


def wide(m: Maker, x: str, n: int) -> str:
    parts = m.add(
        "Split", m.add("Expand", x, m.constant([n, 4, 8], np.int64)), outputs=n, num_outputs=n
    )
    return str(m.add("Sum", *[m.add("Tanh", part) for part in parts]))


def far_apart(m: Maker, x: str, n: int) -> str:
    """Add products that are read in the reverse order, after all of them are made."""
    weight, made = m.weight(8, 8), []
    for i in range(n // 4):
        made.append(m.add("MatMul", m.add("Mul", x, m.constant(i + 2.0)), weight))
    for product in reversed(made):
        x = m.add("Add", m.add("Tanh", x), product)
    return x


def constants(m: Maker, x: str, n: int) -> str:
    folded = m.weight(8)
    for _ in range(n):
        folded = m.add("Neg", folded)
    return str(m.add("Add", x, folded))


def scatters(m: Maker, x: str, n: int) -> str:
    index, row = m.input("i", (1, 1), T.INT64), m.input("row", (1, 8))
    for _ in range(n // 2):
        x = m.add("ScatterND", x, index, row)
    return x


def slices(m: Maker, x: str, n: int) -> str:
    """Add slices, each of the previous one and each with another consumer."""
    one, last, axis = (m.constant([i], np.int64) for i in (1, 1 << 40, 0))
    x, found = m.add("Expand", x, m.constant([2 * n, 4, 8], np.int64)), m.constant(0.0)
    for _ in range(n // 2):
        x = m.add("Slice", x, one, last, axis)
        found = m.add("Add", found, m.add("ReduceMax", m.add("Tanh", x), keepdims=0))
    return found


def views_of_views(m: Maker, x: str, n: int) -> str:
    """Add reshapes of the first view, each with another consumer."""
    one, last, zero = (m.constant([i], np.int64) for i in (1, 1 << 40, 0))
    x, found = m.add("Expand", x, m.constant([2 * n, 4, 8], np.int64)), m.constant(0.0)
    for i in range(n // 2):
        x = m.add("Slice", x, one, last, one if i % 2 else zero)
        x = m.add("Squeeze" if i % 2 else "Unsqueeze", x, zero)
        found = m.add("Add", found, m.add("ReduceMax", m.add("Tanh", x), keepdims=0))
    return found


def namesakes(m: Maker, x: str, n: int) -> str:
    """Add nodes of one name; each needs a constant besides the model's."""
    for _ in range(n):
        scale, shift, mean, variance = (m.weight(8) for _ in range(4))
        x = m.add("BatchNormalization", x, scale, shift, mean, m.add("Abs", variance))
        m.nodes[-1].name = "norm"
    return x


SHAPES = (
    *(chain, doubling, layers, views, wide, far_apart, constants, scatters),
    *(slices, views_of_views, namesakes),
)


def counted(work: Callable[[], object]) -> Counter[str]:
    """Return the number of calls of each function of kgen and numpy; each resumption of a generator
    counts. Garbage is collected first, because live expressions are reused; what remains is not
    searched again."""
    gc.collect()
    gc.freeze()
    gc.disable()
    profile = cProfile.Profile(builtins=False)
    try:
        profile.runcall(work)
    finally:
        gc.enable()
    found: Counter[str] = Counter()
    for entry in profile.getstats():
        code = entry.code
        if isinstance(code, CodeType) and COUNTED.search(code.co_filename):
            found[f"{code.co_filename}:{code.co_qualname}"] += entry.callcount
    return found


def calls_of(tmp_path: Path, make: Callable[[Maker, str, int], str], n: int) -> Counter[str]:
    """Return the calls that compiling a model of so many nodes takes, without generating code."""
    m = Maker(opset=18)
    model = m.model(make(m, m.input("x", (4, 8)), n))
    file = tmp_path / f"{n}.onnx"
    onnx.save(model, file)
    (chip,) = building.targets_of("x86-64-v3")

    def compiled() -> None:
        fused = load(file, {})
        calls = lowered_for(fused, chip)
        plans = planned(calls, chip)
        keys = unique_keys(plan.spec for plan in plans.values())
        Assembly("main", chip.name, fused.graph, calls, plans, keys).assembled()

    return counted(compiled)


def faster_than_linear(once: Counter[str], twice: Counter[str]) -> dict[str, tuple[int, int]]:
    """Return the functions whose calls grow faster than the number of nodes."""
    return {
        name: (once[name], count)
        for name, count in twice.items()
        if count > MOST_GROWTH * once[name] + FEW
    }


@pytest.mark.parametrize("make", SHAPES)
def test_calls_are_linear_in_nodes(tmp_path: Path, make: Callable[[Maker, str, int], str]) -> None:
    calls_of(tmp_path, make, 8)  # imports and tables
    once, twice = (calls_of(tmp_path, make, n) for n in (40, 80))
    assert not faster_than_linear(once, twice)


def test_calls_of_a_node_in_a_chain(tmp_path: Path) -> None:
    """Cost of one more element-wise node."""
    calls_of(tmp_path, chain, 8)
    once, twice = (sum(calls_of(tmp_path, chain, n).values()) for n in (120, 240))
    assert (twice - once) / 120 < 1600


@pytest.mark.parametrize("operator", ["Sum", "Max"])
def test_many_operands_that_repeat(operator: str) -> None:
    """A formula with many repeated operands is not as deep as one with different operands."""
    m = Maker()
    x, y = m.input("x", (3,)), m.input("y", (3,))
    calls, _ = lowered(m, m.add(operator, *[x, y] * 300))
    given = {"x": np.array([1, 2, 3], np.float32), "y": np.array([4, 0, -8], np.float32)}
    (found,) = run(calls, given).values()
    one, other = given.values()
    expected = 300 * (one + other) if operator == "Sum" else np.maximum(one, other)
    np.testing.assert_array_equal(found, expected)


def test_a_long_run_of_views_has_its_elements() -> None:
    """Slices of slices become one slice; a long chain of views is cut."""
    m = Maker()
    x = m.input("x", (80, 2))
    one, last, zero = (m.constant([i], np.int64) for i in (1, 1 << 40, 0))
    for i in range(70):
        x = m.add("Slice", m.add("Slice", x, one, last, one if i % 2 else zero), zero, last, one)
        x = m.add("Squeeze" if i % 2 else "Unsqueeze", x, zero)
    calls, _ = lowered(m, m.add("Neg", x))
    given = np.arange(160, dtype=np.float32).reshape(80, 2)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_array_equal(found.reshape(10, 2), -given[70:])


def test_a_memory_plan_looks_at_those_that_live_at_once() -> None:
    """Many short-lived buffers overlap one that lives throughout."""

    def planned_for(n: int) -> None:
        lives = {f"b{i}": Life(nbytes=256, first=i, last=i + 1) for i in range(n)}
        lives["all"] = Life(nbytes=512, first=0, last=n)
        found = plan(lives)
        assert found.nbytes == found.least == 512 + 2 * 256

    once, twice = (counted(partial(planned_for, n)) for n in (1000, 2000))
    assert not faster_than_linear(once, twice)


def test_a_memory_plan_of_buffers_that_all_live_at_once() -> None:
    """The memory plan looks at occupied ranges, not at each buffer."""

    def planned_for(n: int) -> None:
        lives = {f"b{i}": Life(nbytes=256, first=i, last=2 * n - i) for i in range(n)}
        assert plan(lives).nbytes == 256 * n

    once, twice = (counted(partial(planned_for, n)) for n in (1000, 2000))
    assert not faster_than_linear(once, twice)


def test_chains_longer_than_one_formula() -> None:
    """Chains of more calls than a formula may have, against numpy."""
    m = Maker()
    x = m.input("x", (3,))
    out = x
    for i in range(2 * DEEPEST + 45):
        out = m.add("Neg" if i % 3 else "Abs", out)
    calls, _ = lowered(m, out)
    assert 2 < len(calls.calls) < 6
    given = np.array([-1.5, 0.25, 3.0], np.float32)
    expected = given
    for i in range(2 * DEEPEST + 45):
        expected = -expected if i % 3 else np.abs(expected)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_array_equal(found, expected)


def test_a_chain_behind_a_view() -> None:
    """A formula with views may be longer; its depth counts the text around the views."""
    m = Maker()
    flipped = m.constant([-1], np.int64), m.constant([-9], np.int64), m.constant([0], np.int64)
    out = m.add("Slice", m.input("x", (3, 2)), *flipped, m.constant([-1], np.int64))
    for _ in range(250):
        out = m.add("Neg", out)
    calls, _ = lowered(m, m.add("Expand", out, m.constant([2, 3, 2], np.int64)))
    given = np.arange(6, dtype=np.float32).reshape(3, 2)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_array_equal(found.reshape(2, 3, 2), np.stack([given[::-1]] * 2))


@pytest.mark.parametrize("count", [250, 500])
def test_a_sum_of_many_reductions(count: int) -> None:
    """The sum is split over several kernels."""
    m = Maker(13)
    x = m.input("x", (2, 3))
    kinds = ("ReduceMax", "ReduceMin")
    out = m.add("Sum", *(m.add(kinds[i % 2], x, axes=[1]) for i in range(count)))
    calls, _ = lowered(m, out)
    assert len(calls.calls) > 1
    given = np.array([[-1.0, 2.0, 4.0], [3.0, 0.5, -8.0]], np.float32)
    (found,) = run(calls, {"x": given}).values()
    expected = count // 2 * (given.max(1) + given.min(1))
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-6)


def test_200_nodes_of_truths_and_numbers() -> None:
    """Comparisons of comparisons, converted to numbers, take two calls for each node."""
    m = Maker()
    out = x = m.input("x", (3,))
    zero = m.add("Cast", m.add("Greater", x, m.constant(0.0)), to=T.BOOL)
    out = zero
    for _ in range(200):
        out = m.add("Equal", out, zero)
    calls, _ = lowered(m, m.add("Cast", out, to=T.FLOAT))
    given = np.array([-1.5, 0.25, 3.0], np.float32)
    truth = first = given > 0
    for _ in range(200):
        truth = truth == first
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_array_equal(found, truth)


def test_the_longest_formula_is_one_that_the_parser_accepts() -> None:
    """A sum of many slices with long numbers, whose text is about as long as its estimate."""

    def total(first: int, stop: int) -> Expression:
        if stop - first == 1:
            return view(
                "slice", (variable("x"), 0, 10**15 + first, 8 * 10**15 + first, 10**15 + first)
            )
        middle = (first + stop) // 2
        return call("add", (total(first, middle), total(middle, stop)))

    longest = next(found for n in range(200, 0, -1) if not is_too_long(found := total(0, n)))
    assert LONGEST * 0.8 < len(str(longest)) <= LONGEST
    assert formulas(str(longest)) == {"out": longest}


def test_a_formula_that_doubles_is_cut_and_shown_in_bounds() -> None:
    """60 sums of a value and itself: 2^60 characters, which no text and no message may have."""
    x = variable("x")
    for _ in range(60):
        x = call("add", (x, x))
    assert characters(x) > 2**60 and is_too_long(x)
    assert len(shown(x)) < 200
    m = Maker()
    out = m.input("x", (3,))
    for _ in range(60):
        out = m.add("Add", out, out)
    calls, _ = lowered(m, out)
    specs = [call.spec for call in calls.calls]
    assert all(len(s.expression) < MOST_TEXT for s in specs if isinstance(s, Elementwise))
    (found,) = run(calls, {"x": np.ones(3, np.float32)}).values()
    np.testing.assert_array_equal(found, np.full(3, 2.0**60, np.float32))
