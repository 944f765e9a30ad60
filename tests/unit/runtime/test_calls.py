"""Check of expressions: formulas that cannot be computed are refused when a bundle is loaded."""

from __future__ import annotations

import re

import pytest

from kgen.ops import functions
from kgen.ops.views import VIEWS as BUILT
from kgen_runtime.errors import BundleError
from kgen_runtime.expressions import calls
from kgen_runtime.expressions.formulas import COORDINATES, formulas_in
from kgen_runtime.schema.spec_tensors import tensors


def spec(expression: str, *shapes: list[int], op: str = "elementwise") -> dict[str, object]:
    return {
        "op": op,
        "expression": expression,
        "shapes": [*shapes],
        "dtype": "f32",
        "out_dtype": "f32",
        "index_dtype": "s32",
        "axes": [1],
    }


X = [4, 8]


@pytest.mark.parametrize(
    "expression",
    [
        "gather(x)", "gather(x, x)", "gather(x, x, 0, 0)", "gather(x, x, 0.5)", "gather(x, x, 9)",
        "slice(x)", "slice(x, 0)", "slice(x, 0, 1, 2, 0)", "slice(x, 0, nan, 2, 1)",
        "slice(x, 0, 1, 2, inf)", "slice(x, 0, 3, 3, 1)", "slice(x, 0, 0.5, 2, 1)",
        "pad(x)", "pad(x, 0)", "pad(x, 0, 1, 1)", "pad(x, 0, -1, 1, 0)", "pad(x, 0, inf, 1, 0)",
        "pad(x, 0, 1e300, 1, 0)", "pad(x, nan, 1, 1, 0)",
        "expand(x)", "expand(x, inf)", "expand(x, nan)", "expand(x, 1e400)", "expand(x, 4.5, 8)",
        "expand(x, 0, 8)", "expand(x, x)", "expand(x, 1" + "0" * 4000 + ")",
        "permute(x)", "permute(x, 0)", "permute(x, 0, 0)", "permute(x, 0, 1e300)",
        "permute(x, 0, 1, 2)",
        "transpose()", "transpose(x, 1)", "concat()", "concat(0)", "concat(x)", "concat(x, x, inf)",
        "scatter(x)", "scatter(x, x)", "scatter(x, x, x)", "scatter(x, x, x, 7)",
        "add(x)", "add(x, x, x)", "exp()", "exp(x, x)", "where(x, x)", "elu(x, 1, 1)", "neg(*x)",
        "add(x, y=x)", "unknown(x)", "x.real", "x(x)", "(x)(x)", "exp(x)(x)", "[x]", "'x'", "x + x",
        "x if x else x", "lambda: x", "-x", "True", "None", "...", "1j", "9" * 4000, "b'x'",
        "sum(x)", "softmax(x)", "column", "row",
        "a = b; b = x", "inf = x", "column = x", "a = a", "x = x", "a, b = x", "a = b = x", "",
        "y1 = gather(x, x, 0); y2 = gather(y1, y1, 0); y3 = gather(y2, y2, 0); gather(y3, y3, 0)",
        ";".join(["y0 = x", *(f"y{i + 1} = concat(y{i}, y{i}, 0)" for i in range(400))]),
        "-" * 9000 + "1",
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_what_cannot_be_computed_is_refused(expression: str) -> None:
    with pytest.raises(BundleError, match="its spec is not a valid elementwise: ") as refused:
        tensors(spec(expression, X))
    assert len(str(refused.value)) <= 500 and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("expression", "op"),
    [
        ("gather(x, x, 0)", "elementwise"),
        ("slice(x, 1, -inf, inf, -2)", "elementwise"),
        ("pad(x, -1, 0, 2, -inf)", "elementwise"),
        ("pad(x, 0, 1, 1, nan)", "elementwise"),
        ("expand(x, 2, 4, 8)", "elementwise"),
        ("concat(x, x, x, -1)", "elementwise"),
        ("elu(x)", "elementwise"),
        ("elu(x, -0.5)", "elementwise"),
        ("a = neg(x); add(a, 1e-300)", "elementwise"),
        ("sum(mul(x, column))", "rowwise"),
        ("layer_norm(transpose(transpose(x)), 1, 0, 0.001)", "rowwise"),
    ],
)
def test_what_can_be_computed_is_not(expression: str, op: str) -> None:
    assert tensors(spec(expression, X, op=op))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("expand(x, 0, 8)", "expand: 0 is not an integer of 1 or more"),
        ("pad(x, 0, -1, 1, 0)", "pad: -1 is not an integer of 0 or more"),
        ("slice(x, 0, 1, 2, 0)", "slice: 0 is not an integer other than 0"),
        ("gather(x, x, 9e99)", "gather: 9e+99 is not an integer"),
        ("add(x, y=x)", "a call has a function's name and positional arguments only"),
        ("column", "column is read before it has a value"),
        ("neg(exp(x, x))", "exp: it has 2 arguments; it takes 1"),
        ("slice(unknown(x), 0, 1, 2, 1)", "function unknown is not known here"),
    ],
)
def test_the_check_itself_refuses_each_kind_of_fault(expression: str, message: str) -> None:
    """Later code would not refuse all of them, and would not name the function."""
    with pytest.raises(ValueError, match=re.escape(message)):
        calls.check(formulas_in(expression), calls.ELEMENTWISE)


def test_the_table_of_calls_is_that_of_the_build_machine() -> None:
    """Two tables exist: one for formulas that users write, with defaults and keywords, one for
    formulas in bundles."""
    for name, function in functions().items():
        signature = calls.ROWWISE[name]
        assert signature.most == len(function.parameters)
        assert signature.least in (function.fewest, len(function.parameters))
    assert set(calls.ROWWISE) == {*functions(), *BUILT}
    for name, view in BUILT.items():
        signature = calls.VIEWS[name]
        assert len(signature.numbers) == len(view.numbers)
        assert (signature.more is None) == (not view.more)
        assert (signature.most or 0) == view.tensors


def test_every_function_of_an_epilogue_takes_what_its_definition_does() -> None:
    for name, signature in calls.EPILOGUE.items():
        for count in range(5):
            text = f"{name}({', '.join(['x'] * count)})"
            fits = signature.least <= count <= (signature.most or 0)
            if fits:
                calls.check(formulas_in(text), calls.EPILOGUE, COORDINATES)
                continue
            with pytest.raises(ValueError, match=f"^{name}: it has {count} arguments; it takes"):
                calls.check(formulas_in(text), calls.EPILOGUE, COORDINATES)
