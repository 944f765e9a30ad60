"""Row-wise functions: expansions against definitions, the oracle against the scalar reference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from kgen.check.oracle import operations as oracle
from kgen.check.tensors import decode, strided_bits
from kgen.check.verify import inputs
from kgen.check.verify.compare import deviations
from kgen.errors import SpecError
from kgen.ops import functions
from kgen.spec import DType, Rowwise, from_json
from kgen.spec.text import form, parse
from kgen_runtime.expressions.definitions import REDUCTIONS, ROWS
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.reference.elements import elements
from kgen_runtime.schema.spec_tensors import tensors
from tests.unit.ops.ops_in_numpy import run

EntryFor = Callable[..., KernelEntry]
F32 = DType.F32

#: Every function, and how they are put together.
EXPRESSIONS = (
    *(f"{name}(x)" for name in [*REDUCTIONS, *ROWS]),
    "layer_norm(x, scale, shift)",
    "rms_norm(x + residual, scale)",
    "softmax(where(column <= row, x * 0.125 + mask, -inf))",
    "x / l2(x)",
    "(x - mean(x)) * rsqrt(var(x) + 1e-5)",
    "relu(amax(x) - amin(residual))",
    "argmin(x * residual)",
)
SHAPES = {"x": (6, 37), "residual": (6, 37), "scale": (37,), "shift": (37,), "mask": (6, 1)}


def spec_of(text: str, shapes: dict[str, tuple[int, ...]] = SHAPES, last: int = 1) -> Rowwise:
    names = Rowwise(expression=text, shapes=((1, 1),), dtype=F32).inputs
    return Rowwise(
        expression=text,
        shapes=tuple(shapes[n] for n in names),
        dtype=F32,
        axes=tuple(range(-last, 0)),
    )


def test_every_function_has_a_definition() -> None:
    names = {name for name, function in functions().items() if function.rowwise}
    assert names == {*REDUCTIONS, *ROWS}
    assert {name for name in names if functions()[name].reduces} == set(REDUCTIONS)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expansions_are_within_the_oracles_bounds(entry_for: EntryFor, text: str) -> None:
    """The oracle also agrees with the scalar reference on every element of every data set."""
    spec = spec_of(text)
    entry = entry_for(spec)
    shape = oracle.output_shape(entry)
    box = tuple(slice(0, n) for n in shape)
    for data in inputs.data_sets(entry, seed=1):
        found = oracle.estimate(entry, data.buffers, box, data.whole)
        element = elements(entry.spec, data.buffers)
        for at in itertools.product(*map(range, shape)):
            got, want = float(found.value[at]), element(at)
            same = math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-13)
            assert same or (math.isnan(got) and math.isnan(want)), (data.name, at, got, want)
        values = {
            p.name: decode(strided_bits(data.buffers[p.name], p), p.dtype) for p in entry.inputs
        }
        places = {"column": np.arange(spec.cols), "row": np.arange(spec.rows)[:, None]}
        kernel = np.broadcast_to(run(spec.primitives()[0], values | places), shape)
        with np.errstate(all="ignore"):
            error, bound = deviations(found, kernel, spec.out)
            wrong = error > bound
        assert not wrong.any(), (data.name, np.argwhere(wrong)[:3], error[wrong], bound[wrong])


KEPT = "m = mean(x); h = x - m; out = h * rsqrt(var(x) + 1e-5)"


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (1, 2), (-1, -3), (0, 1, 2)])
def test_outputs_over_any_axes(entry_for: EntryFor, axes: tuple[int, ...]) -> None:
    """The oracle and the scalar reference against numpy, which reduces in place."""
    spec = Rowwise(expression=KEPT, shapes=((3, 5, 4),), dtype=F32, axes=axes)
    entry = entry_for(spec)
    data = next(inputs.data_sets(entry, seed=1))
    x = decode(strided_bits(data.buffers["x"], entry.inputs[0]), F32)
    h = x - x.mean(axis=axes, keepdims=True)
    out = h / np.sqrt(x.var(axis=axes, keepdims=True) + 1e-5)
    wanted = {"m": x.mean(axis=axes), "h": h, "out": out}
    assert [p.shape or (1,) for p in entry.outputs] == [
        np.shape(w) or (1,) for w in wanted.values()
    ]
    for view in entry.by_output:
        name, shape = view.output.name, oracle.output_shape(view)
        box = tuple(slice(0, n) for n in shape)
        found = oracle.estimate(view, data.buffers, box, data.whole).value
        element = elements(spec.to_json(), data.buffers, name)
        for at in itertools.product(*map(range, shape)):
            place = oracle.own_coordinates(view, at)
            want = float(np.asarray(wanted[name]).reshape(view.output.shape)[place])
            assert math.isclose(found[at], want, rel_tol=1e-6, abs_tol=1e-6)
            assert math.isclose(element(at), want, rel_tol=1e-6, abs_tol=1e-6)


def test_a_name_stands_for_the_value_as_it_is_computed() -> None:
    """A name is the computed value, not the stored one, which is rounded: 1 + 2^-12 is 1 in f16."""
    spec = Rowwise(expression="h = x + y; sum(h - 1)", shapes=((1, 4),), dtype="f16")
    x = np.full(4, 1.0, np.float16).view(np.uint8)
    y = np.full(4, 2.0**-12, np.float16).view(np.uint8)
    assert elements(spec.to_json(), {"x": x, "y": y}, "out")((0, 0)) == 4 * 2.0**-12


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("h = x; h = y", "column 8: h is assigned twice"),
        ("relu = x + 1", "column 1: relu is not a valid output name"),
        ("row = x + 1", "row is not a valid output name"),
        ("x + 1; y", "column 1: only the last output may lack a name"),
        ("h = 1; out = x", "output h of .* depends on no input; use an input in it"),
        ("a, b = x, y", "not an expression; write name = expression"),
        ("; ".join(f"y{i} = x + {i}" for i in range(9)), "has 9 outputs; 8 is the limit"),
        ("h = x + hh + h", "input 'h' is not a valid input name"),
    ],
)
def test_outputs_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Rowwise(expression=text, shapes=((4, 5),), dtype="f32")


def test_a_large_mean_costs_the_variance_no_digits(entry_for: EntryFor) -> None:
    """The error of mean(x^2) - mean(x)^2 would be far outside the bound."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((4, 1000)) + 1000.0).astype(np.float32)
    spec = Rowwise(expression="var(x)", shapes=(x.shape,), dtype=F32)
    entry = entry_for(spec)
    found = oracle.estimate(entry, {"x": x.view(np.uint8).ravel()}, (slice(0, 4), slice(0, 1)))
    assert (found.error < 1e-2 * found.value).all()
    two_passes = run(spec.primitives()[0], {"x": x})
    error, bound = deviations(found, two_passes, F32)
    assert (error <= bound).all()
    one_pass = np.mean(x * x, axis=1, keepdims=True) - np.mean(x, axis=1, keepdims=True) ** 2
    error, bound = deviations(found, one_pass, F32)
    assert (error > bound).any()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_specs_name_themselves(text: str) -> None:
    spec = spec_of(text)
    assert from_json(spec.to_json()) == spec
    assert parse(form(spec)) == spec
    assert tensors(spec.to_json()) == spec.parameters
    assert spec.key.isidentifier()


def test_shapes() -> None:
    mean = spec_of("mean(x)", {"x": (2, 3, 5)}, last=2)
    assert (mean.rows, mean.cols, mean.output_shape("out")) == (2, 15, (2,))
    assert spec_of("mean(x)", {"x": (7,)}).output_shape("out") == (1,)
    assert spec_of("x - mean(x)", {"x": (2, 3, 5)}, last=3).output_shape("out") == (2, 3, 5)
    assert spec_of("argmax(x)").out is DType.S32


@pytest.mark.parametrize(
    ("text", "fields", "words"),
    [
        ("softmax(y)", {"axes": 3}, "axes=3 is out of range for inputs that broadcast to"),
        ("softmax(y)", {"axes": (0, -2)}, "axes=0,-2 names axis 0 twice; name each axis that is"),
        ("softmax(y)", {"axes": ()}, "axes= names no axis"),
        ("softmaxx(x)", {}, "column 1: there is no function softmaxx; did you mean softmax?"),
        ("mean(row)", {}, "reads no input"),
        ("mean(x)", {"dtype": "e4m3"}, "dtype=e4m3 is not supported by row-wise operations"),
        ("softmax(x > 0)", {}, "column 9: x of softmax is a truth value; give a number"),
        ("mean(x)", {"shapes": ((4, 2**24 + 1),)}, "16777217 columns are more than 16777216"),
    ],
)
def test_what_is_refused(text: str, fields: dict[str, object], words: str) -> None:
    given = {"shapes": ((4, 5),), "dtype": "f32"} | fields
    with pytest.raises(SpecError, match=words.replace("(", "\\(")):
        Rowwise(expression=text, **given)  # type: ignore[arg-type]
