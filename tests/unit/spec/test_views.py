"""Views: their shapes, the address maps that plans make of them, and refusals."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import kgen
from kgen.check.oracle.views import viewed
from kgen.errors import SpecError
from kgen.ops import parse
from kgen.ops.expression import inputs
from kgen.spec import DType, Elementwise, formula_class, from_json, text
from kgen.spec.views import KERNEL_WORDS
from kgen.targets.stream import StreamPlan, widest_vector
from kgen_runtime.expressions import views
from kgen_runtime.expressions.formulas import formulas_in

Ints = npt.NDArray[np.int64]
SIZES = (1, 2, 3, 4, 5, 8)


def numbered(shape: tuple[int, ...]) -> Ints:
    return np.arange(math.prod(shape)).reshape(shape) + 1


def a_view(dice: random.Random, of: str, array: Ints, others: dict[str, Ints]) -> tuple[str, Ints]:
    """Draw a view of an expression with these elements; return it and its elements."""
    rank, axis = array.ndim, dice.randrange(-array.ndim, array.ndim)
    size = array.shape[axis]
    kind = dice.choice(["permute", "transpose", "slice", "pad", "concat", "expand"])
    if kind == "permute":
        order = [dice.choice([a, a - rank]) for a in dice.sample(range(rank), rank)]
        return f"permute({of}, {', '.join(map(str, order))})", np.transpose(array, order)
    if kind == "transpose" and rank > 1:
        return f"transpose({of})", np.swapaxes(array, -1, -2)
    if kind == "pad":
        before, after, value = dice.randrange(4), dice.randrange(4), dice.randrange(-3, 1)
        widths = [(before, after) if a == axis % rank else (0, 0) for a in range(rank)]
        found = np.pad(array, widths, constant_values=value)
        return f"pad({of}, {axis}, {before}, {after}, {value})", found
    if kind == "concat":
        shape = list(array.shape)
        shape[axis] = dice.choice(SIZES)
        name = f"y{len(others)}"
        others[name] = numbered(tuple(shape)) + 1000 * (1 + len(others))
        pair = [(of, array), (name, others[name])]
        (x, first), (y, second) = dice.sample(pair, 2)
        return f"concat({x}, {y}, {axis})", np.concatenate([first, second], axis)
    if kind == "expand" and rank < 8:
        sizes = tuple(dice.choice(SIZES) if n == 1 else n for n in array.shape)
        sizes = (dice.choice((1, 2)), *sizes)
        return f"expand({of}, {', '.join(map(str, sizes))})", np.broadcast_to(array, sizes)
    start, stop = sorted(dice.randrange(size + 1) for _ in range(2))
    stop += start == stop
    step = dice.choice((1, 1, 2, 3))
    ends: tuple[float, float] = (start, stop)
    up_to = slice(start, stop, step)
    if dice.random() < 0.4:
        ends = (stop - 1, start - 1 if start else -math.inf)
        up_to = slice(stop - 1, start - 1 if start else None, -step)
        step = -step
    found = array[(slice(None),) * (axis % rank) + (up_to,)]
    if not found.size:
        return of, array
    return f"slice({of}, {axis}, {ends[0]}, {ends[1]}, {step})", found


def compositions(count: int, seed: int) -> Iterator[tuple[Elementwise, dict[str, Ints], Ints]]:
    """Draw specs of nested views, with inputs and expected results."""
    dice = random.Random(seed)
    while count:
        arrays = {"x": numbered(tuple(dice.choices(SIZES, k=dice.randrange(1, 5))))}
        expression, found = "x", arrays["x"]
        for _ in range(dice.randrange(1, 6)):
            expression, found = a_view(dice, expression, found, arrays)
        if dice.random() < 0.3 and found.ndim > 1:
            expression, found = f"{expression} * transpose({expression})", None  # type: ignore[assignment]
        if "(" not in expression:
            continue
        names = inputs(parse(expression))
        try:
            spec = Elementwise(
                expression=expression, shapes=tuple(arrays[n].shape for n in names), dtype="f32"
            )
        except SpecError as error:
            # Views may leave nothing of an input, and a transpose that is multiplied may not fit.
            assert "reaches the output" in str(error) or "broadcast" in str(error)
            continue
        if found is None:
            inner = Elementwise(
                expression=expression.partition(" * ")[0], shapes=spec.shapes, dtype="f32"
            )
            (one,) = planned(inner, arrays, 1)
            found = one * np.swapaxes(one, -1, -2)
        count -= 1
        yield spec, arrays, found


def planned(spec: Elementwise, arrays: dict[str, Ints], most: int) -> list[Ints]:
    """Return the outputs by the plan: each vector's coordinates, conditions and addresses. Every
    address is inside its tensor, whether a guard holds or not."""
    stream = StreamPlan(spec=spec, vector=widest_vector(spec, most))
    out = np.zeros((len(spec.outputs), spec.elements), np.int64)
    for vector in range(stream.vectors):
        at = {
            d.number: vector // d.divisor % (math.inf if d.outermost else d.size)
            for d in stream.dimensions
        }
        values: dict[str, Any] = {}
        places: dict[str, int] = {}
        truths: dict[str, bool] = {}

        def lanes(of: Any, vector: int = vector, at: Any = at) -> Ints:
            flat = arrays[of.tensor].reshape(-1)
            if of.linear:
                first = vector * stream.vector
            else:
                first = of.offset + sum(at[d] * stride for d, stride in of.terms)
                first += sum(places[name] * stride for name, stride in of.indices)  # noqa: B023
            if not all(truths[guard] for guard in of.guards):  # noqa: B023
                first = of.spare
            taken = [int(first) + e * of.lane for e in range(stream.vector)]
            assert all(0 <= i < len(flat) for i in taken)
            assert not of.whole or of.lane == 0 or taken[0] % stream.vector == 0
            return flat[taken]

        for c in stream.conditions:
            for load in c.loads:
                values[load.name] = int(lanes(load)[0])
            if c.index:
                index = values[c.index]
                places[c.name] = index + c.count if index < 0 else index
                truths[c.name] = 0 <= places[c.name] < c.count
            else:
                truths[c.name] = c.low <= at[c.dimension] < c.high
        for of in stream.inputs:
            if not of.is_index:
                values[of.name] = lanes(of)
        piece = slice(vector * stream.vector, (vector + 1) * stream.vector)
        for result, calls in zip(out, spec.calls, strict=True):
            result[piece] = evaluated(calls, values | truths)
    assert not stream.rest or all(i.linear or i.is_constant for i in stream.inputs)
    if stream.rest:
        piece = slice(stream.vectors * stream.vector, spec.elements)
        flat = {
            i.name: arrays[i.tensor].reshape(-1)[piece if i.linear else i.offset]
            for i in stream.inputs
        }
        for result, calls in zip(out, spec.calls, strict=True):
            result[piece] = evaluated(calls, flat)
    return [result.reshape(spec.domain) for result in out]


def evaluated(node: Any, values: dict[str, Any]) -> Any:
    if node.primitive == "input":
        return values[node.name]
    if node.primitive == "constant":
        return int(node.number)
    arguments = [evaluated(argument, values) for argument in node.arguments]
    if node.primitive == "select":
        return arguments[1] if arguments[0] else arguments[2]
    assert node.name == "mul"
    return arguments[0] * arguments[1]


def referred(spec: Elementwise, arrays: dict[str, Ints]) -> list[Ints]:
    """Return the outputs by the scalar reference."""
    found = formulas_in(spec.expression)
    shapes = {name: array.shape for name, array in arrays.items() if name in spec.inputs}
    assert views.domain(found, shapes) == spec.domain
    elements = views.Elements(
        found, shapes, lambda name, index: arrays[name][index], lambda _, pair: pair[0] * pair[1]
    )
    places = list(itertools.product(*map(range, spec.domain)))
    return [
        np.array([elements.output(name, at) for at in places]).reshape(spec.domain)
        for name in found
    ]


def test_plans_and_the_reference_do_what_numpy_does() -> None:
    """Nested views of up to eight axes, in the widest legal vectors."""
    ranks = set()
    for spec, arrays, expected in compositions(100, seed=1):
        ranks.add(len(spec.domain))
        assert spec.domain == expected.shape, spec.expression
        if spec.elements > 4000:
            continue
        np.testing.assert_array_equal(planned(spec, arrays, 8), [expected], spec.expression)
        np.testing.assert_array_equal(referred(spec, arrays), [expected], spec.expression)
        assert from_json(spec.to_json()) == spec
        assert text.parse(text.form(spec)) == spec
    assert max(ranks) >= 5


INDICES = np.array([[0, -1, 6], [-7, 5, 7], [-8, 2**31 - 1, -(2**31)]])


@pytest.mark.parametrize(
    ("expression", "index"),
    [
        ("gather(t, i)", INDICES),
        ("gather(t, i, axis=1)", INDICES),
        ("gather(transpose(t), i, -1)", INDICES),
        ("gather(slice(t, 0, inf, -inf, -1), permute(i, 1, 0))", INDICES),
        ("gather(t, slice(i, 1, 0, 3, 2))", INDICES),
        ("concat(gather(t, i), expand(t, 2, 7, 8), axis=0)", np.resize(INDICES, (3, 7))),
        ("gather(gather(t, i), i, axis=-1)", INDICES[0]),
        ("pad(gather(t, i), 0, 1, 2, 5)", INDICES),
    ],
)
def test_gathers(expression: str, index: Ints) -> None:
    t = numbered((7, 8))
    arrays = {"t": t, "i": index}
    spec = Elementwise(expression=expression, shapes=((7, 8), index.shape), dtype="f32")
    (expected,) = referred(spec, arrays)
    np.testing.assert_array_equal(planned(spec, arrays, 4), [expected])
    if expression == "gather(t, i)":
        np.testing.assert_array_equal(viewed("gather", [t, index], [0]), expected)
        held = (index >= -7) & (index < 7)
        np.testing.assert_array_equal(expected[held], t[index[held]])
        assert not expected[~held].any()


#: Outputs of x 4x6, y 6x4 and the index i of 6, what numpy gives for each, and the reads and
#: conditions of all.
SEVERAL: tuple[tuple[str, Callable[[Ints, Ints, Ints], list[Ints]], int, int], ...] = (
    ("h = transpose(x); out = h * y", lambda x, y, i: [x.T, x.T * y], 2, 0),
    # Views of an output, and one that broadcasts to the other's shape.
    (
        "h = x * transpose(y); out = slice(h, 0, inf, -inf, -1)",
        lambda x, y, i: [x * y.T, (x * y.T)[::-1]],
        4,
        0,
    ),
    (
        "h = slice(x, 0, 1, 2); out = pad(x, 0, 1, 0) * h",
        lambda x, y, i: [np.tile(x[1:2], (5, 1)), np.pad(x, ((1, 0), (0, 0))) * x[1:2]],
        2,
        1,
    ),
    # The same elements, behind a condition and without.
    (
        "h = pad(slice(x, 0, 0, 2), 0, 0, 2); k = x * transpose(y)",
        lambda x, y, i: [np.pad(x[:2], ((0, 2), (0, 0))), x * y.T],
        3,
        1,
    ),
    (
        "h = gather(y, i); k = h * transpose(x); out = gather(y, i) * h",
        lambda x, y, i: [y[i], y[i] * x.T, y[i] * y[i]],
        3,
        1,
    ),
    (
        "h = concat(x, x, 0); out = h * concat(x, transpose(y), 0)",
        lambda x, y, i: [np.concatenate([x, x]), np.concatenate([x * x, x * y.T])],
        3,
        2,
    ),
)


@pytest.mark.parametrize(("expression", "of", "reads", "conditions"), SEVERAL)
def test_several_outputs_share_their_reads(
    expression: str, of: Callable[[Ints, Ints, Ints], list[Ints]], reads: int, conditions: int
) -> None:
    arrays = {
        "x": numbered((4, 6)),
        "y": numbered((6, 4)) + 1000,
        "i": np.array([5, 0, 3, -1, -6, 3]),
    }
    names = inputs(*kgen.ops.formulas(expression).values())
    shapes = tuple(arrays[name].shape for name in names)
    spec = Elementwise(expression=expression, shapes=shapes, dtype="f32")
    expected = of(*arrays.values())
    np.testing.assert_array_equal(planned(spec, arrays, 4), expected)
    np.testing.assert_array_equal(referred(spec, arrays), expected)
    assert (len(spec.reads.reads), len(spec.reads.conditions)) == (reads, conditions)
    assert from_json(spec.to_json()) == spec
    assert text.parse(text.form(spec)) == spec


def test_outputs_are_no_indices_and_have_one_shape() -> None:
    with pytest.raises(SpecError, match=r"column 5: input i is used as an index and as a number"):
        Elementwise(expression="k = i; gather(t, k)", shapes=((4, 4), (4,)))
    with pytest.raises(SpecError, match=r"column 5: x of shape 4 does not broadcast to 6;"):
        Elementwise(expression="h = x; pad(x, 0, 1, 1)", shapes=((4,),))
    # No operand is called as an output is.
    spec = Elementwise(expression="x_2 = x; x + slice(x, 0, inf, -inf, -1)", shapes=((4,),))
    assert not {read.name for read in spec.reads.reads} & set(spec.outputs)


@pytest.mark.parametrize(
    ("line", "sizes", "vector"),
    [
        # What lies along one axis stays one dimension, wherever it begins.
        ("slice(x,0,2,10) 64x512 f16", (4096,), 8),
        ("slice(x,1,8,72) 64x512 f16", (64, 64), 8),
        # Its own axis is cut where a condition changes; others are merged.
        ("pad(x,0,1,1) 4x5x16 f16", (6, 80), 8),
        ("pad(x,2,4,4) 4x5x16 f16", (20, 24), 4),
        ("concat(x,y,0) 4x16,3x16 f16", (7, 16), 8),
        ("concat(x,y,-1) 4x16,4x3 f16", (4, 19), 1),
        ("permute(x,0,2,1) 3x16x8 f16", (3, 8, 16), 8),
        ("permute(x,1,2,0) 3x16x8 f16", (128, 3), 1),
        ("gather(t,i) 10x64,3x5 f16", (15, 64), 8),
        # Elements that are gathered one by one.
        ("gather(t,i) 10,3x5 f16", (15, 1), 1),
    ],
)
def test_dimensions_and_vectors(line: str, sizes: tuple[int, ...], vector: int) -> None:
    spec = text.parse(line)
    assert isinstance(spec, Elementwise)
    assert StreamPlan(spec=spec, vector=1).sizes == sizes
    assert widest_vector(spec, 8) == vector


def test_indices_are_inputs_of_a_type_of_their_own() -> None:
    spec = text.parse("gather(t,i) 10x8,3 bf16 index_dtype=s64")
    assert isinstance(spec, Elementwise)
    assert [p.dtype for p in spec.parameters] == [DType.BF16, DType.S64, DType.BF16]
    assert spec.key == "gather_3x8_bf16"
    assert text.form(spec) == "gather(t,i,0) 10x8,3 bf16,s64"
    # Three rows of the table at most, and what is written.
    assert spec.bytes_moved == 3 * 8 * 2 + 3 * 8 + 3 * 8 * 2


@pytest.mark.parametrize(
    ("expression", "shapes", "message"),
    [
        ("permute(x, y)", "4", "column 12: axes of permute must be an integer"),
        ("permute(x, 0.5)", "4", "column 12: axes of permute must be an integer"),
        ("permut(x, 1, 0)", "4x4", "no function permut; did you mean permute?"),
        ("permute", "4", "column 1: permute is a function; call it"),
        (
            "permute(x, 1, 1)",
            "4x4",
            "permute(x, 1, 1) does not name each axis of shape 4x4 once; order 0, 1",
        ),
        ("permute(x > 0, 0)", "4", "permute needs a tensor of numbers here, not a truth"),
        ("transpose(x)", "7", "transpose(x) swaps the last two axes, but shape 7 has one"),
        ("slice(x, 2, 0, 1)", "4x4", "has axis 2 for shape 4x4; give -2 to 1"),
        (
            "slice(x, 0)",
            "4",
            "slice does not take 2 arguments; write slice(x, axis, start, stop, step)",
        ),
        (
            "slice(x, 0, 3, 3)",
            "4",
            "slice(x, 0, 3, 3, 1) selects none of the 4 elements along axis 0; give a start",
        ),
        ("slice(x, 0, 3, 1, 0)", "4", "has step 0; give another step"),
        ("slice(x, 0, 0, 2, stop=1)", "4", "column 19: stop= is not the next argument of slice"),
        ("pad(x, 0, -1, 1)", "4", "pads by less than 0; remove elements with slice"),
        ("pad(x, 0, inf, 1)", "4", "column 11: before of pad must be an integer"),
        ("concat(x, y)", "4", "concat does not take 2 arguments; write concat(x, y, ..., axis)"),
        ("concat(x, 1, 0)", "4", "concat needs a tensor of numbers here, not a number"),
        ("concat(x, y, 0)", "4x4,4x5", "joins shapes 4x4 and 4x5; they may differ along axis 0"),
        ("expand(x, 2)", "4", "expand(x, 2) cannot make 2 of shape 4; only sizes of 1 can grow"),
        ("permute(x, 1, 0) + y", "4x5,5", "permute(x, 1, 0) of shape 5x4 does not broadcast to"),
        ("slice(concat(x, y, 0), 0, 0, 4)", "4,5", "no element of input y reaches the output"),
        ("gather(t, i + 1)", "4,3", "has the index i + 1; use an input, or a permuted"),
        ("gather(t, i) + i", "4,4", "column 11: input i is used as an index and as a number"),
        ("gather(gather(t, i), j)", "4,4,2", "has an index that is itself gathered"),
        ("gather(pad(t, 0, 1, 1), i)", "4,3", "pad(t, 0, 1, 1, 0) is gathered along its own axis"),
        ("gather(t, i)", "2x2x2x2x2,1x1x1x1x1", "the output has 9 dimensions; 8 is the limit"),
        ("sum(pad(x, 0, 1, 1))", "4", "pad(x, 0, 1, 1, 0) is a pad, and row-wise operations take"),
        ("sum(transpose(x + 1))", "4x4", "transpose(x + 1) is a view of an expression, and row-"),
        ("transpose(sum(x))", "4x4", "transpose(sum(x)) is a view of an expression, and row-wise"),
        ("sum(slice(x, 0, inf, -inf, -1))", "4", "goes backwards, and row-wise operations take"),
    ],
)
def test_what_is_refused(expression: str, shapes: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        formula_class(expression)(
            expression=expression,
            shapes=tuple(tuple(map(int, s.split("x"))) for s in shapes.split(",")),
        )
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("expression", "index_dtype", "message"),
    [
        (
            "gather(t, i)",
            "f32",
            "index_dtype=f32 is not a dtype of indices; give s32 or s64",
        ),
        ("t + i", "s64", "has no effect without gather; leave it out"),
    ],
)
def test_index_types_that_are_refused(expression: str, index_dtype: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Elementwise(expression=expression, shapes=((4,), (4,)), index_dtype=index_dtype)


def test_a_view_alone_is_no_operation() -> None:
    with pytest.raises(SpecError, match=r"op=pad is a view and .* such as 'pad\(x, 0, 1, 1\)'"):
        text.parse("pad 4 f32")


@pytest.mark.integration
@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3", "x86-64"])
def test_inputs_may_have_the_names_that_kernels_use_themselves(target: str) -> None:
    words = sorted(KERNEL_WORDS)
    shapes = tuple((3, 16) if i % 2 else (16,) for i in range(len(words)))
    spec = Elementwise(expression=" + ".join(words), shapes=shapes)
    assert kgen.build([spec], [target]).manifest.kernels[0].inputs[0].name == words[0]
