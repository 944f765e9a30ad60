"""Attention: the scalar reference against ONNX, and the float64 oracle against the reference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.check.oracle import operations as oracle
from kgen.check.verify import inputs
from kgen.spec import Attention, DType
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.reference.attended import coordinates
from kgen_runtime.reference.elements import elements

EntryFor = Callable[..., KernelEntry]


@st.composite
def attentions(draw: st.DrawFn) -> Attention:
    batch, kv_heads, group = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
    )
    queries, keys = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    size, out_size = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    heads = kv_heads * group
    full = (batch, heads, queries, keys)
    mask = tuple(draw(st.sampled_from([1, n])) for n in full[draw(st.integers(0, 3)) :])
    causal, window = draw(st.booleans()), draw(st.sampled_from([None, None, 1, 3]))
    moves = causal or window is not None
    has_mask = draw(st.booleans())
    mask_dtype: Any = draw(st.sampled_from([None, "bool", "f32"])) if has_mask else None
    hides = mask_dtype == "bool"
    return Attention(
        q=(batch, heads, queries, size),
        k=(batch, kv_heads, keys, size),
        v=(batch, kv_heads, keys, out_size),
        dtype=draw(st.sampled_from([DType.F32, DType.F16, DType.BF16])),
        layout=draw(st.sampled_from(["bhsd", "bshd"])),
        kv_layout=draw(st.sampled_from(["bhsd", "bshd"])),
        causal=causal,
        window=window,
        diagonal=draw(st.sampled_from(["top_left", "bottom_right"])) if moves else "top_left",
        mask=mask if has_mask else None,
        mask_dtype=mask_dtype,
        mask_value=draw(st.sampled_from([None, -3.0, -3.4e38])) if hides else None,
        empty_rows=draw(st.sampled_from([None, "nan", "no_nan"])),
        softcap=draw(st.sampled_from([0.0, 0.0, 2.5])),
        kv_length=draw(st.booleans()),
        lse=draw(st.booleans()),
    )


def by_onnx(spec: Attention, tensors: dict[str, Any]) -> Any:
    """Return ONNX's own result of Attention, opset 24; our heads come first."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    names = ["q", "k", "v", "mask" if "mask" in tensors else ""]
    if spec.kv_length:
        names += ["", "", "kv_length"]
    node = onnx.helper.make_node(
        "Attention", names, ["y"], is_causal=int(spec.causal), softcap=spec.softcap,
        scale=spec.factor,
    )  # fmt: skip
    kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(a.dtype) for name, a in tensors.items()}
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "attention",
        [info(name, kinds[name], a.shape) for name, a in tensors.items()],
        [info("y", kinds["q"], None)],
    )
    opset = onnx.helper.make_opsetid("", 24)
    model = onnx.helper.make_model(graph, opset_imports=[opset])
    return ReferenceEvaluator(model).run(None, tensors)[0]


@pytest.mark.parametrize("kv_length", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [None, "bool", "f32"])
@pytest.mark.parametrize("softcap", [0.0, 1.5])
def test_reference_is_onnx_s(kv_length: bool, causal: bool, mask: Any, softcap: float) -> None:
    generator = np.random.default_rng(7)
    # With lengths, ONNX aligns the diagonal at the last key, and at the first without.
    spec = Attention(
        q=(3, 4, 5, 6), k=(3, 2, 7, 6), v=(3, 2, 7, 3), dtype="f32", causal=causal,
        diagonal="bottom_right" if causal and kv_length else "top_left", softcap=softcap,
        mask=(3, 1, 5, 7) if mask else None, mask_dtype=mask, kv_length=kv_length,
    )  # fmt: skip
    sizes = {"q": spec.q, "k": spec.k, "v": spec.v or spec.k}
    tensors: dict[str, Any] = {
        name: generator.standard_normal(shape).astype(np.float32) for name, shape in sizes.items()
    }
    if mask:
        hidden = generator.random((3, 1, 5, 7)) < 0.3
        hidden[0, 0, 2] = True  # a query without keys
        added = np.where(hidden, -np.inf, generator.standard_normal(hidden.shape))
        tensors["mask"] = ~hidden if mask == "bool" else added.astype(np.float32)
    if kv_length:
        tensors["kv_length"] = np.array([2, 7, 5], np.int64)
    expected = by_onnx(spec, tensors)
    buffers = {name: a.tobytes() for name, a in tensors.items()}
    if kv_length:
        buffers["kv_length"] = tensors["kv_length"].astype(np.int32).tobytes()
    element = elements(spec.to_json(), buffers)
    for place in np.ndindex(*expected.shape):
        found = element(coordinates(spec.to_json(), "out", place))
        assert math.isclose(found, expected[place], rel_tol=2e-5, abs_tol=2e-6), place


def test_window_and_lse_by_decimal_numbers() -> None:
    spec = Attention(
        q=(1, 1, 5, 2), k=(1, 1, 8, 2), dtype="f32", window=3, causal=True,
        diagonal="bottom_right", lse=True, softcap=2.0,
    )  # fmt: skip
    generator = np.random.default_rng(3)
    q, k, v = (generator.integers(-3, 4, (n, 2)).astype(np.float32) for n in (5, 8, 8))
    buffers = {"q": q.tobytes(), "k": k.tobytes(), "v": v.tobytes()}
    out, lse = (elements(spec.to_json(), buffers, name) for name in ("out", "lse"))

    def capped(score: Decimal) -> Decimal:
        """Return 2 tanh(score / 2)."""
        return 2 - 4 / (score.exp() + 1)

    for i in range(5):
        seen = [j for j in range(8) if i + 1 <= j <= i + 3]
        scores = [capped(Decimal(spec.factor) * int(q[i] @ k[j])) for j in seen]
        total = sum((score.exp() for score in scores), Decimal())
        assert math.isclose(lse((0, i, 0)), total.ln(), rel_tol=1e-14)
        for c in range(2):
            products = (s.exp() * int(v[j, c]) for s, j in zip(scores, seen, strict=True))
            expected = sum(products, Decimal()) / total
            assert math.isclose(out((0, i, c)), expected, rel_tol=1e-13, abs_tol=1e-15)


def test_query_without_keys_has_zeros() -> None:
    spec = Attention(
        q=(1, 1, 3, 1), k=(1, 1, 2, 1), dtype="f32", causal=True, diagonal="bottom_right", lse=True
    )
    ones = {name: np.ones(n, np.float32).tobytes() for name, n in (("q", 3), ("k", 2), ("v", 2))}
    out, lse = (elements(spec.to_json(), ones, name) for name in ("out", "lse"))
    assert [out((0, i, 0)) for i in range(3)] == [0.0, 1.0, 1.0]
    assert lse((0, 0, 0)) == -math.inf


@given(spec=attentions())
@settings(deadline=None, max_examples=60)
def test_oracle_is_the_reference(spec: Attention, entry_for: EntryFor) -> None:
    for entry in entry_for(spec).by_output:
        name, shape = entry.output.name, oracle.output_shape(entry)
        box = tuple(slice(0, n) for n in shape)
        for data in inputs.data_sets(entry, seed=1):
            element = elements(entry.spec, data.buffers, name)
            found = oracle.estimate(entry, data.buffers, box)
            for at in itertools.product(*map(range, shape)):
                got, want = float(found.value[at]), element(at)
                same = math.isclose(got, want, rel_tol=1e-11, abs_tol=1e-13)
                both = math.isnan(got) and math.isnan(want)
                assert same or both or np.isinf(found.error[at]), (data.name, name, at, got, want)


@given(spec=attentions())
@settings(deadline=None, max_examples=20)
def test_places_of_the_outputs(spec: Attention, entry_for: EntryFor) -> None:
    """Coordinates of tiles and offsets in the stored outputs convert into each other."""
    for entry in entry_for(spec).by_output:
        shape = entry.output.shape
        numbers = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
        by_head = oracle.in_coordinates(entry, numbers)
        for place in np.ndindex(*shape):
            at = coordinates(entry.spec, entry.output.name, place)
            assert by_head[at] == numbers[place]
            assert oracle.own_coordinates(entry, at) == place


@pytest.mark.parametrize("fields", [{}, {"mask": (40, 50)}, {"kv_length": True, "causal": True}])
def test_most_results_are_promised(fields: Any, entry_for: EntryFor) -> None:
    """The bound is small for random data, and special values leave finite results."""
    spec = Attention(q=(2, 2, 40, 16), k=(2, 1, 50, 16), dtype="f32", **fields)
    entry = entry_for(spec)
    box = tuple(slice(0, n) for n in oracle.output_shape(entry))
    for data in inputs.data_sets(entry, seed=1):
        found = oracle.estimate(entry, data.buffers, box)
        promised = np.isfinite(found.value) & np.isfinite(found.error)
        assert promised.mean() > (0.5 if data.name == "special-value" else 0.99), data.name
        if data.name == "random":
            assert found.error.max() < 2e-4


@pytest.mark.parametrize("field", ["q", "v", "layout", "kv_length", "q_strides"])
def test_manifest_that_contradicts_its_spec(field: str, entry_for: EntryFor) -> None:
    from dataclasses import replace

    from kgen_runtime.errors import BundleError
    from kgen_runtime.schema.spec_tensors import check_spec

    entry = entry_for(Attention(q=(1, 4, 6, 8), k=(1, 2, 5, 8)))
    check_spec(entry)
    wrong = {
        "q": [1, 4, 6, 7], "v": [1, 2, 4, 8], "layout": "bshd", "kv_length": True,
        "q_strides": [192, 48],
    }  # fmt: skip
    with pytest.raises(BundleError, match="build the bundle again"):
        check_spec(replace(entry, spec={**entry.spec, field: wrong[field]}))
