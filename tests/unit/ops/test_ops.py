"""The scalar language: expansions against definitions, parsing, and what is refused."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from kgen.check.oracle import elementwise
from kgen.check.verify.compare import deviations
from kgen.errors import SpecError
from kgen.ops import Primitive, expand, functions, parse, register, steps
from kgen.ops.expression import constant, node, variable
from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.evaluators import Evaluator
from kgen_runtime.expressions.formulas import formulas_in
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.manifest import Tolerance
from tests.unit.ops.ops_in_numpy import call_of, run

#: numpy's exp2 and log2 are good to an ulp or two.
TARGET = Tolerance(accumulate=DType.F32, factor=1.0, function_error=2.0**-22, reason="numpy")
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 88.0]


def samples(count: int) -> list[np.ndarray]:
    """Return inputs over many magnitudes, and all pairs of special values."""
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((count, 4000)) * 2.0 ** rng.integers(-20, 8, (count, 4000))
    near = rng.standard_normal((count, 4000))
    grid = np.meshgrid(*[SPECIAL] * min(count, 2))
    special = [g.ravel() for g in grid] + [np.resize(SPECIAL, grid[0].size)] * (count - 2)
    return [
        np.concatenate([w, n, s]).astype(np.float32)
        for w, n, s in zip(wide, near, special, strict=True)
    ]


@pytest.mark.parametrize("name", sorted(n for n, f in functions().items() if not f.rowwise))
def test_expansions_are_as_good_as_they_say(name: str) -> None:
    check(call_of(name))


@pytest.mark.parametrize(
    "text",
    [
        "silu(gate) * up",
        "gelu(x + bias) * scale + residual",
        "x if x > y and not y < 0 else -y",
        "pow(x, -2) + x ** 0.5",
        "clip(x, -1, 1) - leaky_relu(x, slope=0.2)",
        "where(isnan(x) | isinf(x), 0, x)",
        "log(exp(x) + exp(y))",
        "floor(x * 3) + x % y",
    ],
)
def test_compositions(text: str) -> None:
    check(text)


def check(text: str) -> None:
    calls = parse(text)
    names = [s.name for s in steps(calls) if s.primitive is Primitive.INPUT]
    values = dict(zip(names, samples(len(names)), strict=True))
    got = run(expand(calls), values)
    tree = formulas_in(str(calls))["out"]
    wide = {name: value.astype(np.float64) for name, value in values.items()}
    with np.errstate(all="ignore"):
        expected = elementwise.estimate({"out": tree}, "out", wide, TARGET, got.shape)
        error, bound = deviations(expected, np.broadcast_to(got, expected.value.shape), DType.F32)
        wrong = error > bound
    assert not wrong.any(), [
        (
            {name: value[i] for name, value in values.items()},
            float(got[i]), float(expected.value[i]), float(error[i]), float(bound[i]),
        )
        for i in np.flatnonzero(wrong)[:5]
    ]  # fmt: skip
    # The scalar reference agrees with the oracle.
    for i in [*range(0, 8000, 97), *range(8000, len(error), 7)]:
        at = {name: float(value[i]) for name, value in values.items()}
        scalar = float(Evaluator(at, Scalars()).value(tree))
        value = float(expected.value[i])
        assert math.isclose(scalar, value, rel_tol=1e-12, abs_tol=1e-300) or (
            math.isnan(scalar) and math.isnan(value)
        ), (text, at, scalar, value)


def test_nodes_are_the_same_in_another_process() -> None:
    made = parse("silu(gate) * up")
    assert pickle.loads(pickle.dumps(made)) is made


def test_every_function_has_a_definition() -> None:
    assert {name for name, f in functions().items() if not f.rowwise} == set(DEFINITIONS)


def test_equal_parts_are_one_node() -> None:
    x = variable("x")
    assert parse("exp(x) + exp(x)").arguments[0] is parse("exp(x)")
    assert x + 1.0 is x + 1 and constant(0.0) is not constant(-0.0)
    assert (
        sum(s.primitive is Primitive.EXP2 for s in steps(expand(parse("silu(x) + silu(x)")))) == 1
    )


def test_no_identity_arithmetic() -> None:
    x = variable("x")
    assert x * 1 is x and 1 * x is x and x / 1 is x
    negative = -x
    assert -negative is x
    assert (x / 4).primitive is Primitive.MUL and (x / 3).primitive is Primitive.DIV
    # The reciprocal is out of the range of f32.
    assert (x / 2.0**-127).primitive is Primitive.MUL
    assert (x / 2.0**-128).primitive is Primitive.DIV
    assert node(Primitive.MUL, constant(2), constant(3)) is constant(6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gelo(x)", "column 1: there is no function gelo; did you mean gelu"),
        ("x + gelu(y", "column 9: not a formula"),
        ("x + (y > 1)", "column 6: y of add is a truth value; give a number"),
        ("where(x + 1, 1, 2)", "column 7: condition of where is a number; give a truth value"),
        ("1 + gelu", "column 5: gelu is a function"),
        ("x.T", "column 1: not supported; use numbers, names"),
        ("gelu(x, 1)", r"column 1: gelu takes 1 argument, not 2; write gelu\(x\)"),
        ("leaky_relu()", "takes 1 to 2 arguments, not 0"),
        ("leaky_relu(x, alpha=1)", "column 15: alpha= is not the next argument of leaky_relu"),
        ("x" * 10001, "expression has 10001 characters; 10000 is the limit"),
        ("", "not a formula"),
        ("x" + "+x" * 129, r"^expression='x\+x.*': it nests more than 128 calls"),
        ("x" + "+x" * 3900, "more than 128 calls, the limit; write a long sum as"),
        ("h = x" + "+x" * 100 + "; h" + "+x" * 29, "more than 128 calls"),
        ("where(x" + " and x" * 128 + ", x, y)", "more than 128 calls"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as error:
        parse(text)
    assert "\n" not in str(error.value)


def test_text_is_read_back() -> None:
    for text in ("gelu(x + bias) * 1e-05 + -2.5", "where(x < inf, x, nan)", "x ** 0.1"):
        assert parse(str(parse(text))) is parse(text)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(SpecError, match="function gelu exists"):
        register(functions()["gelu"])
