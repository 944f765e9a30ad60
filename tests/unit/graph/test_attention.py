"""Attention that models write out: which forms become one call, which stay three, and their
results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.calls import Lowered
from kgen.graph.lowering.lower import lower
from kgen.spec import Attention, DType, Elementwise, Matmul, Rowwise, Spec
from tests.onnx_models import Array, Maker, defined, run
from tests.unit.graph.test_fuse import attention as grouped

B, H, SQ, SK, D = 2, 3, 4, 5, 8
LOWEST = float(np.finfo(np.float32).min)
#: What a score becomes before the softmax.
Change = Callable[[Maker, str], str]


def favoured(spec: Spec) -> float:
    """Return predicted seconds with which attention is always one call."""
    return float(not isinstance(spec, Attention))


def calls_of(model: onnx.ModelProto, predict: Callable[[Spec], float | None] = favoured) -> Lowered:
    return lower(fuse(graph_by_bodies(model, {})[1]), predict=predict)


def written(
    change: Change = lambda m, x: x,
    *,
    sizes: tuple[int, int, int, int, int] = (B, H, SQ, SK, D),
    before: Mapping[str, Change] | None = None,
    after: Change = lambda m, x: x,
    axis: int = -1,
    outputs: tuple[str, ...] = (),
    behind: Change = lambda m, x: x,
) -> onnx.ModelProto:
    """Heads of projected rows, scores, a softmax, and sums of values."""
    m, (batch, heads, queries, keys, size) = Maker(), sizes
    names = {}
    for name, rows in (("q", queries), ("k", keys), ("v", keys)):
        x = m.input(name, (batch, rows, heads * size))
        x = m.add("Reshape", x, m.constant((batch, rows, heads, size), np.int64))
        x = m.add("Transpose", x, perm=[0, 2, 1, 3])
        names[name] = before[name](m, str(x)) if before and name in before else str(x)
    product = m.add("MatMul", names["q"], m.add("Transpose", names["k"], perm=[0, 1, 3, 2]))
    scores = change(m, product)
    weights = m.add("Softmax", scores, axis=axis)
    found = behind(m, m.add("MatMul", after(m, weights), names["v"]))
    y = m.add("Transpose", found, perm=[0, 2, 1, 3])
    y = m.add("Reshape", y, m.constant((batch, queries, heads * size), np.int64))
    every = {"scores": scores, "weights": weights, "product": product, "q": names["q"]}
    return m.model(y, *(every[name] for name in outputs))


def data(model: onnx.ModelProto, **given: Array) -> dict[str, Array]:
    generator = np.random.default_rng(1)
    found: dict[str, Array] = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        made: Array = generator.standard_normal(shape)
        if dtype == np.bool_ or dtype == np.int64:
            made = np.asarray(made > -0.4)
            if made.ndim:
                made[..., 0] = True
        found[value.name] = made.astype(dtype)
    return found | given


def check(model: onnx.ModelProto, found: Lowered, **given: Array) -> None:
    """Compare the results with ONNX's reference."""
    inputs = data(model, **given)
    expected = defined(model, inputs)
    for made, exact in zip(run(found, inputs).values(), expected, strict=True):
        loose = 2e-3 if exact.dtype == np.float16 else 2e-6
        np.testing.assert_allclose(made, exact.reshape(-1), rtol=10 * loose, atol=loose)


def one(model: onnx.ModelProto, *beside: type[Spec]) -> Attention:
    """Return the only attention of a model; calls of other operations may stand beside it."""
    found = calls_of(model)
    assert [type(call.spec) for call in found.calls] == [*beside, Attention]
    check(model, found)
    spec = found.calls[-1].spec
    assert isinstance(spec, Attention)
    used = {bound.buffer for call in found.calls for bound in call.bindings.values()}
    assert set(found.buffers) <= used | {*found.inputs.values()} | {*found.constants}
    return spec


def times(number: float, operator: str = "Mul") -> Change:
    return lambda m, x: str(m.add(operator, x, m.constant(number)))


def plus(shape: tuple[int, ...], operator: str = "Add", name: str = "mask") -> Change:
    return lambda m, x: str(m.add(operator, x, m.input(name, shape)))


def padding(m: Maker, x: str) -> str:
    """Return a mask of 1 and 0 as numbers that are added to scores."""
    mask = m.add("Cast", m.input("mask", (B, 1, 1, SK), T.INT64), to=T.FLOAT)
    hidden = m.add("Mul", m.add("Sub", m.constant(1.0), mask), m.constant(-1e4))
    return str(m.add("Add", x, hidden))


def chosen(hidden: float, *, inverted: bool = False, shape: Any = (B, 1, SQ, SK)) -> Change:
    def change(m: Maker, x: str) -> str:
        mask = m.input("mask", shape, T.BOOL)
        other = m.constant(hidden)
        values = (other, x) if inverted else (x, other)
        return str(m.add("Where", m.add("Not", mask) if inverted else mask, *values))

    return change


def triangle(hidden: float, moved: int = 0, rows: int = SQ, keys: int = SK) -> Array:
    seen = np.tri(rows, keys, moved, dtype=bool)
    return np.where(seen, 0.0, hidden).astype(np.float32)


def in_turn(*changes: Change) -> Change:
    def change(m: Maker, x: str) -> str:
        for each in changes:
            x = each(m, x)
        return x

    return change


def capped(m: Maker, x: str) -> str:
    return times(20.0)(m, str(m.add("Tanh", times(20.0, "Div")(m, x))))


@pytest.mark.parametrize(
    ("change", "scale"),
    [
        (lambda m, x: x, 1.0),
        (times(0.25), 0.25),
        (times(4.0, "Div"), 0.25),
        (in_turn(times(4.0), times(2.0, "Div")), 2.0),
    ],
)
def test_scores_have_a_factor(change: Change, scale: float) -> None:
    spec = one(written(change))
    assert (spec.q, spec.k, spec.v) == ((B, H, SQ, D), (B, H, SK, D), (B, H, SK, D))
    assert spec.scale == scale and spec.empty_rows == "nan"
    assert spec.q_strides == spec.out_strides == (SQ * H * D, D, H * D)


def test_a_factor_of_queries_and_keys_is_one_of_scores() -> None:
    spec = one(written(before={"q": times(0.5), "k": times(2.0, "Div")}))
    assert spec.scale == 0.25


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((B, 1, 1, SK), (B, 1, 1, SK)),
        ((SQ, SK), (1, 1, SQ, SK)),
        ((1, H, SQ, SK), (1, H, SQ, SK)),
        ((B, H, SQ, 1), (B, H, SQ, 1)),
        ((SK,), (1, 1, 1, SK)),
    ],
)
def test_masks_that_are_added(shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    spec = one(written(in_turn(times(0.5), plus(shape))))
    assert (spec.mask, spec.mask_dtype, spec.scale) == (sizes, DType.F32, 0.5)


def test_a_mask_is_scaled_with_the_scores() -> None:
    spec = one(written(in_turn(plus((SQ, SK)), times(0.5))), Elementwise)
    assert spec.mask == (1, 1, SQ, SK)


def test_a_mask_is_computed_once() -> None:
    spec = one(written(padding), Elementwise, Elementwise)
    assert spec.mask == (B, 1, 1, SK)


def test_two_masks_are_summed() -> None:
    def change(m: Maker, x: str) -> str:
        first = m.add("Sub", x, m.input("first", (1, H, SQ, SK)))
        return str(m.add("Add", m.input("second", (B, 1, 1, SK)), first))

    spec = one(written(change), Elementwise)
    assert spec.mask == (B, H, SQ, SK)


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("hidden", [-math.inf, LOWEST, -1e4, 0.0])
def test_masks_that_choose(hidden: float, inverted: bool) -> None:
    model = written(in_turn(times(0.5), chosen(hidden, inverted=inverted)))
    spec = one(model, *([Elementwise] if inverted else []))
    assert (spec.mask, spec.mask_dtype) == ((B, 1, SQ, SK), DType.BOOL)
    assert spec.mask_value == (None if hidden == -math.inf else hidden)


def test_a_mask_of_integers_is_made_boolean() -> None:
    def change(m: Maker, x: str) -> str:
        seen = m.add("Cast", m.input("mask", (B, 1, 1, SK), T.INT64), to=T.BOOL)
        return str(m.add("Where", seen, x, m.constant(-math.inf)))

    spec = one(written(change), Elementwise)
    assert (spec.mask, spec.mask_dtype) == ((B, 1, 1, SK), DType.BOOL)


@pytest.mark.parametrize(
    ("array", "diagonal"),
    [
        (triangle(-math.inf), "top_left"),
        (triangle(LOWEST)[None, None], "top_left"),
        (triangle(-math.inf, SK - SQ), "bottom_right"),
        (triangle(-1e4), None),
        (triangle(-math.inf, 2), None),
    ],
)
def test_constant_triangles_are_causal(array: Array, diagonal: str | None) -> None:
    spec = one(written(lambda m, x: str(m.add("Add", x, m.constant(array)))))
    assert spec.causal is (diagonal is not None)
    assert (spec.mask is None) is spec.causal
    assert spec.diagonal == (diagonal or "top_left")


@pytest.mark.parametrize("hidden", [-math.inf, LOWEST])
def test_constant_triangles_that_choose_are_causal(hidden: float) -> None:
    def change(m: Maker, x: str) -> str:
        seen = m.constant(np.tri(SQ, SK, dtype=bool), np.bool_)
        return str(m.add("Where", seen, x, m.constant(hidden)))

    assert one(written(change)).causal


def test_a_triangle_beside_another_mask() -> None:
    def change(m: Maker, x: str) -> str:
        return str(m.add("Add", x, m.constant(triangle(-math.inf))))

    spec = one(written(in_turn(change, plus((B, 1, 1, SK)))))
    assert spec.causal and spec.mask == (B, 1, 1, SK)


@pytest.mark.parametrize("hidden", [-math.inf, LOWEST])
def test_a_triangle_beside_padding(hidden: float) -> None:
    """A key above the diagonal (added: a finite number) still counts if padding hides the query's
    other keys."""

    def change(m: Maker, x: str) -> str:
        return str(m.add("Add", x, m.constant(triangle(hidden))))

    padding = np.zeros((B, 1, 1, SK), np.float32)
    padding[..., :2] = LOWEST
    model = written(in_turn(change, plus((B, 1, 1, SK))))
    found = calls_of(model)
    spec = found.calls[-1].spec
    assert isinstance(spec, Attention) and spec.causal is (hidden == -math.inf)
    check(model, found, mask=padding)


def test_scores_with_a_cap() -> None:
    spec = one(written(in_turn(times(0.5), capped, plus((SQ, SK)))))
    assert (spec.scale, spec.softcap) == (0.5, 20.0)


def test_weights_that_are_no_numbers_are_zeros() -> None:
    def after(m: Maker, x: str) -> str:
        return str(m.add("Where", m.add("IsNaN", x), m.constant(0.0), x))

    model = written(plus((SQ, SK)), after=after)
    spec = one(model)
    assert spec.empty_rows == "no_nan"
    inputs = data(model)
    inputs["mask"][1] = -np.inf
    inputs["mask"][2, 3] = np.nan
    (found,) = run(calls_of(model), inputs).values()
    (expected,) = defined(model, inputs)
    assert not expected[:, 1:3].any()
    np.testing.assert_allclose(found, expected.reshape(-1), rtol=2e-5, atol=2e-6)


def test_rows_of_minus_infinity_are_nan_as_in_the_model() -> None:
    model = written(plus((SQ, SK)))
    inputs = data(model)
    inputs["mask"][1] = -np.inf
    (found,) = run(calls_of(model), inputs).values()
    (expected,) = defined(model, inputs)
    assert np.isnan(expected[:, 1]).all()
    np.testing.assert_allclose(found, expected.reshape(-1), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("sizes", "shapes"),
    [
        ((1, 4, 1, 3), ((1, 4, 3, 64), (1, 4, 5, 64))),
        ((2, 4, 2, 3), ((2, 4, 3, 64), (2, 2, 5, 64))),
        ((1, 6, 3, 3), ((1, 6, 3, 64), (1, 2, 5, 64))),
        ((1, 6, 3, 1), ((1, 6, 1, 64), (1, 2, 5, 64))),
        ((2, 6, 6, 1), ((2, 6, 1, 64), (2, 1, 5, 64))),
    ],
)
def test_heads_share_keys(sizes: tuple[int, int, int, int], shapes: Any) -> None:
    """Expanding and reshaping keys and values copies nothing."""
    spec = one(grouped(*sizes))
    assert (spec.q, spec.k) == shapes


def test_one_axis_of_batch_and_heads() -> None:
    """Products are bmm over batch times heads."""
    m = Maker()
    q, k, v = (m.input(name, (B * H, n, D)) for name, n in (("q", SQ), ("k", SK), ("v", SK)))
    scores = m.add("MatMul", q, m.add("Transpose", k, perm=[0, 2, 1]))
    mask = m.input("mask", (B, 1, SQ, SK))
    whole = m.add("Reshape", scores, m.constant((B, H, SQ, SK), np.int64))
    masked = m.add("Reshape", m.add("Add", whole, mask), m.constant((B * H, SQ, SK), np.int64))
    spec = one(m.model(m.add("MatMul", m.add("Softmax", masked, axis=-1), v)))
    assert (spec.q, spec.mask) == ((B, H, SQ, D), (B, 1, SQ, SK))


def test_one_head() -> None:
    m = Maker()
    q, k, v = (m.input(name, (n, D)) for name, n in (("q", SQ), ("k", SK), ("v", SK)))
    scores = m.add("MatMul", q, m.add("Transpose", k, perm=[1, 0]))
    spec = one(m.model(m.add("MatMul", m.add("Softmax", scores, axis=-1), v)))
    assert spec.q == (1, 1, SQ, D)


def test_softmax_in_another_type() -> None:
    """The softmax of f16 scores is computed in f32."""
    m = Maker()
    q, k, v = (
        m.input(name, (1, H, n, D), T.FLOAT16) for name, n in (("q", SQ), ("k", SK), ("v", SK))
    )
    scores = m.add("MatMul", q, m.add("Transpose", k, perm=[0, 1, 3, 2]))
    wide = m.add("Softmax", m.add("Cast", scores, to=T.FLOAT), axis=-1)
    y = m.add("MatMul", m.add("Cast", wide, to=T.FLOAT16), v)
    spec = one(m.model(y, dtype=T.FLOAT16))
    assert spec.dtype == spec.out_dtype == "f16"


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize("options", [{}, {"is_causal": 1}, {"softcap": 2.0}, {"scale": 0.3}])
def test_the_operator_of_onnx(opset: int, options: dict[str, Any]) -> None:
    """Its body is written out; past and present are joined."""
    m = Maker(opset=opset)
    names = [
        m.input(name, (B, heads, n, D))
        for name, heads, n in (("q", 2 * H, SQ), ("k", H, SQ), ("v", H, SQ))
    ]
    past = [m.input(name, (B, H, 3, D)) for name in ("past_k", "past_v")]
    y, *present = m.add("Attention", *names, "", *past, outputs=3, **options)
    model = m.model(y, *present)
    found = calls_of(model)
    (spec,) = [call.spec for call in found.calls if isinstance(call.spec, Attention)]
    assert (spec.q, spec.k) == ((B, 2 * H, SQ, D), (B, H, SQ + 3, D))
    assert not any(isinstance(call.spec, Matmul | Rowwise) for call in found.calls)
    check(model, found)


@pytest.mark.parametrize("kind", [T.FLOAT, T.BOOL])
@pytest.mark.parametrize("shape", [(SQ, SK), (B, 1, SQ, SK), (B, H, SQ, SK)])
@pytest.mark.parametrize("is_causal", [0, 1])
def test_masks_of_the_operator(kind: int, shape: tuple[int, ...], is_causal: int) -> None:
    """A row whose keys are all masked gives zeros; the operator's body derives this from the
    mask."""
    m = Maker(opset=24)
    names = [m.input(name, (B, H, n, D)) for name, n in (("q", SQ), ("k", SK), ("v", SK))]
    model = m.model(m.add("Attention", *names, m.input("mask", shape, kind), is_causal=is_causal))
    found = calls_of(model)
    (spec,) = [call.spec for call in found.calls if isinstance(call.spec, Attention)]
    assert not any(isinstance(call.spec, Matmul | Rowwise) for call in found.calls)
    assert spec.empty_rows is None and spec.mask == (1,) * (4 - len(shape)) + shape
    inputs = data(model)
    hidden = False if kind == T.BOOL else -np.inf
    inputs["mask"][..., 2, :] = hidden
    (made,) = run(found, inputs).values()
    (expected,) = defined(model, inputs)
    assert not expected[:, :, 2].any()
    np.testing.assert_allclose(made, expected.reshape(-1), rtol=2e-5, atol=2e-6)


def test_rows_of_another_mask_are_not_zeros() -> None:
    """The mask that makes rows zeros is not the mask of the scores."""

    def after(m: Maker, x: str) -> str:
        most = m.add("ReduceMax", m.input("other", (SQ, SK)), axes=[1])
        hides = m.add("Equal", most, m.constant(-math.inf))
        return str(m.add("Where", hides, m.constant(0.0), x))

    found = calls_of(written(plus((SQ, SK)), after=after))
    assert not any(isinstance(call.spec, Attention) for call in found.calls)


def test_layers_share_a_mask() -> None:
    m = Maker()
    mask = m.add("Cast", m.input("mask", (B, 1, 1, SK), T.INT64), to=T.FLOAT)
    hidden = m.add("Mul", m.add("Sub", m.constant(1.0), mask), m.constant(-1e4))
    x = m.input("q", (B, H, SQ, D))
    k, v = (m.input(name, (B, H, SK, D)) for name in "kv")
    for _ in range(2):
        scores = m.add("MatMul", x, m.add("Transpose", k, perm=[0, 1, 3, 2]))
        x = m.add("MatMul", m.add("Softmax", m.add("Add", scores, hidden), axis=-1), v)
    found = calls_of(model := m.model(x))
    assert [type(call.spec) for call in found.calls] == [
        Elementwise,
        Elementwise,
        Attention,
        Attention,
    ]
    check(model, found)


def by_columns(m: Maker, x: str) -> str:
    return str(m.add("Transpose", x, perm=[0, 1, 3, 2]))


@pytest.mark.parametrize(
    "model",
    [
        written(axis=-2),
        written(outputs=("scores",)),
        written(outputs=("weights",)),
        written(times(0.5), outputs=("product",)),
        written(plus((1, H, 1, 1), "Mul")),
        written(plus((SQ, SK), "Max")),
        written(in_turn(plus((SQ, SK), name="added"), chosen(-math.inf))),
        written(in_turn(chosen(-math.inf), plus((SK,), name="added"))) ,
        written(chosen(math.inf)),
        written(times(-1.0)),
        written(after=plus((SQ, SK), "Mul")),
        written(behind=times(2.0)),
        written(in_turn(by_columns, by_columns, times(0.0))),
        written(axis=1),
        written(sizes=(1, 1, 3, 4, 300)),
        written(times(1e9, "Add")),
    ],
    ids=[
        "other axis", "scores are read", "weights are read", "product is read", "factor of heads",
        "maximum", "two masks", "mask behind a choice", "hidden is infinity", "negative factor",
        "weights times a mask", "factor of the result", "factor of zero", "axis of heads",
        "large heads", "added number",
    ],
)  # fmt: skip
def test_what_is_no_attention(model: onnx.ModelProto) -> None:
    found = calls_of(model)
    assert not any(isinstance(call.spec, Attention) for call in found.calls)
    assert not found.choices


def test_a_mask_that_has_more_axes_than_the_scores() -> None:
    """Scores of one sequence, with the masks of two."""
    m = Maker()
    q, k, v = (m.input(name, (1, H, n, D)) for name, n in (("q", SQ), ("k", SK), ("v", SK)))
    scores = m.add("MatMul", q, m.add("Transpose", k, perm=[0, 1, 3, 2]))
    masked = m.add("Add", scores, m.input("mask", (B, H, SQ, SK)))
    model = m.model(m.add("MatMul", m.add("Softmax", masked, axis=-1), v))
    found = calls_of(model)
    assert not any(isinstance(call.spec, Attention) for call in found.calls)


def test_the_model_decides() -> None:
    """Predicted times choose the form, and the choice is stored."""
    model = written(padding)

    def slow(spec: Spec) -> float:
        return 4.0 if isinstance(spec, Attention) else 1.0

    apart = calls_of(model, slow)
    kinds = [type(call.spec) for call in apart.calls]
    assert sorted(kinds, key=str) == sorted([Elementwise, Matmul, Rowwise, Matmul], key=str)
    (choice,) = apart.choices
    # The mask is computed for attention alone.
    assert (choice.seconds, choice.seconds_apart) == (5.0, 3.0)
    assert not choice.is_one_kernel
    check(model, apart)
    (choice,) = calls_of(model).choices
    assert (choice.seconds, choice.seconds_apart, choice.is_one_kernel) == (1.0, 3.0, True)
    assert len(choice.nodes) == len(set(choice.nodes)) > 3


@pytest.mark.parametrize(("outputs", "saved"), [((), 4.0), (("q",), 3.0)])
def test_calls_that_stay_are_not_counted(outputs: tuple[str, ...], saved: float) -> None:
    """Scaled queries that another node reads are computed in both forms."""
    model = written(before={"q": times(0.5)}, outputs=outputs)
    found = calls_of(model)
    (choice,) = found.choices
    assert choice.seconds_apart == saved
    check(model, found)


def test_targets_without_attention_have_its_steps() -> None:
    found = calls_of(written(times(0.5)), lambda spec: None)
    assert [type(call.spec) for call in found.calls] == [Matmul, Rowwise, Matmul]
