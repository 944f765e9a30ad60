"""Attention specs: sizes, storage, keys, forms, and one line for each bad input."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kgen.errors import SpecError
from kgen.spec import Attention, DType, from_json
from kgen.spec.text import form, parse

SMALL: dict[str, Any] = {"q": (2, 6, 5, 16), "k": (2, 3, 9, 16)}


def test_tensors_and_their_strides() -> None:
    spec = Attention(
        **SMALL, v=(2, 3, 9, 24), layout="bshd", kv_layout="bhsd", mask=(5, 9), mask_dtype="bool",
        kv_length=True, lse=True, q_strides=(900, 180, 24), out_dtype="f32",
    )  # fmt: skip
    found = {p.name: (p.shape, p.strides, p.dtype) for p in spec.parameters}
    assert found == {
        "q": ((2, 5, 6, 16), (900, 180, 24, 1), DType.F16),
        "k": ((2, 3, 9, 16), (432, 144, 16, 1), DType.F16),
        "v": ((2, 3, 9, 24), (648, 216, 24, 1), DType.F16),
        "mask": ((5, 9), (9, 1), DType.BOOL),
        "kv_length": ((2,), (1,), DType.S32),
        "out": ((2, 5, 6, 24), (720, 144, 24, 1), DType.F32),
        "lse": ((2, 6, 5), (30, 5, 1), DType.F32),
    }
    assert spec.strides("q") == (900, 24, 180)
    assert spec.group == 2
    assert spec.factor == 0.25
    assert spec.mask_strides == (0, 0, 9, 1)


def test_pools_of_pages() -> None:
    spec = Attention(**SMALL, v=(2, 3, 9, 24), page_size=3, pages=4, k_strides=(200, 60, 20))
    found = {p.name: (p.shape, p.strides) for p in spec.parameters}
    assert found == {
        "q": ((2, 6, 5, 16), (480, 80, 16, 1)),
        "k": ((4, 3, 3, 16), (200, 60, 20, 1)),
        "v": ((4, 3, 3, 24), (216, 72, 24, 1)),
        "kv_length": ((2,), (1,)),
        "page_table": ((2, 3), (3, 1)),
        "out": ((2, 6, 5, 24), (720, 120, 24, 1)),
    }
    assert spec.strides("v") == (216, 24, 72)
    assert spec.kv_length and spec.kv_layout == "bshd" and spec.last_page == 3
    by_heads = Attention(**SMALL, page_size=3, kv_layout="bhsd")
    assert by_heads.parameter("k").shape == (6, 3, 3, 16)
    # Every valid key is read once: those of large pools are not all, those of small ones shared.
    assert Attention(**SMALL, page_size=3, pages=99).bytes_moved == by_heads.bytes_moved
    assert spec.bytes_moved < Attention(**SMALL, v=(2, 3, 9, 24), page_size=3).bytes_moved


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [(0, 9)] * 5),
        ({"causal": True}, [(0, i + 1) for i in range(5)]),
        ({"causal": True, "diagonal": "bottom_right"}, [(0, i + 5) for i in range(5)]),
        ({"window": 2}, [(0, 2), (0, 3), (1, 4), (2, 5), (3, 6)]),
        (
            {"window": 3, "causal": True, "diagonal": "bottom_right"},
            [(2, 5), (3, 6), (4, 7), (5, 8), (6, 9)],
        ),
    ],
)
def test_pairs(fields: Any, expected: Any) -> None:
    spec = Attention(**SMALL, **fields)
    assert spec.pairs == sum(stop - start for start, stop in expected)
    assert spec.flops == 2 * 12 * spec.pairs * 32


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [None, 1, 3, 20])
@pytest.mark.parametrize("diagonal", ["top_left", "bottom_right"])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (7, 3), (3, 7), (1, 9), (12, 12)])
def test_pairs_are_those_of_the_definition(
    causal: bool, window: int | None, diagonal: str, queries: int, keys: int
) -> None:
    if not causal and window is None:
        diagonal = "top_left"
    fields: dict[str, Any] = {"causal": causal, "window": window, "diagonal": diagonal}
    spec = Attention(q=(1, 1, queries, 16), k=(1, 1, keys, 16), **fields)
    moved = keys - queries if diagonal == "bottom_right" else 0
    assert spec.pairs == sum(
        (not causal or key <= query + moved)
        and (window is None or abs(key - query - moved) < window)
        for query in range(queries)
        for key in range(keys)
    )


@pytest.mark.parametrize(
    "text",
    [
        "attention q=1x12x512x64,k=1x12x512x64 f32",
        "attention q=2x6x5x16,k=2x3x9x16,v=2x3x9x24 bf16 out=f32 layout=bshd kv_layout=bhsd "
        "causal diagonal=bottom_right window=3 mask=5x9 mask_dtype=bool softcap=30.0 scale=0.5 "
        "kv_length lse",
        "attention q=2x6x5x16,k=2x3x9x16 f16 q_strides=700x112x20 mask=2x1x5x9",
        "attention q=2x6x5x16,k=2x3x9x16 f16 mask=9 mask_dtype=bool mask_value=-1000000000.0 "
        "empty_rows=nan",
        "attention q=2x6x5x16,k=2x3x9x16 f16 kv_length page_size=3 pages=4",
    ],
)
def test_forms_of_a_spec(text: str) -> None:
    spec = parse(text)
    assert form(spec) == text
    assert from_json(spec.to_json()) == spec
    assert spec.key.isidentifier()


def test_keys_tell_specs_apart() -> None:
    others: list[dict[str, Any]] = [
        {"causal": True}, {"causal": True, "diagonal": "bottom_right"}, {"window": 2},
        {"mask": (5, 9)}, {"mask": (5, 9), "mask_dtype": "bool"}, {"softcap": 2.0},
        {"scale": 2.0}, {"kv_length": True}, {"lse": True}, {"layout": "bshd"},
        {"kv_layout": "bshd"}, {"out_dtype": "f32"}, {"v": (2, 3, 9, 8)}, {"dtype": "f32"},
        {"k_strides": (600, 160, 16)}, {"v_strides": (600, 160, 16)}, {"empty_rows": "nan"},
        {"empty_rows": "no_nan"}, {"mask": (5, 9), "mask_dtype": "bool", "mask_value": -1e4},
        {"page_size": 3}, {"page_size": 9}, {"page_size": 3, "pages": 7},
    ]  # fmt: skip
    keys = {Attention(**SMALL, **fields).key for fields in [{}, *others]}
    assert len(keys) == len(others) + 1


def test_formula_names_what_a_query_attends_to() -> None:
    spec = Attention(**SMALL, causal=True, kv_length=True, mask=(5, 9), softcap=30.0)
    assert spec.formula == (
        "out = softmax(30 * tanh(0.25 * Q @ K^T / 30) + mask of keys within causal top_left, "
        "kv_length) @ V, accumulated in f32"
    )


def test_hidden_keys_have_a_score() -> None:
    spec = Attention(**SMALL, mask=(9,), mask_dtype="bool", mask_value=-1e4, empty_rows="zeros")
    assert spec.formula == (
        "out = softmax(where(mask, 0.25 * Q @ K^T, -10000)) @ V, accumulated in f32"
    )
    assert "empty_rows" not in spec.to_json()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mask_value": -1e4}, "mask_value=-10000.0 needs a boolean mask; give mask_dtype=bool"),
        ({"mask": (9,), "mask_value": 0.0}, "mask_value=0.0 needs a boolean mask"),
        (
            {"mask": (9,), "mask_dtype": "bool", "mask_value": -math.inf},
            "mask_value=-inf is not finite; give a finite number",
        ),
        (
            {"empty_rows": "none"},
            "empty_rows=none is unknown; did you mean no_nan? known are zeros, nan",
        ),
        ({"dtype": "s8"}, "dtype=s8 is not supported by attention; take f16, bf16, f32"),
        ({"out_dtype": "f64"}, "out_dtype=f64 is not supported by attention"),
        ({"q": (2, 6, 16)}, "q=2x6x16 has 3 sizes; give batch, heads, sequence and elements"),
        ({"q": (2, 6, 5, 257)}, "q[3]=257 is out of range; give 1 to 256"),
        (
            {"k": (1, 3, 9, 16)},
            "k=1x3x9x16 has the batch size 1, and q=2x6x5x16 has 2; give k the batch size 2",
        ),
        (
            {"k": (2, 3, 9, 8)},
            "k=2x3x9x8 has the head size 8, and q=2x6x5x16 has 16; give k the head size 16",
        ),
        ({"k": (2, 4, 9, 16)}, "q=2x6x5x16 has 6 heads, which is not a multiple of the 4 heads"),
        ({"v": (2, 3, 8, 16)}, "v=2x3x8x16 differs from k=2x3x9x16 before its last size; take "),
        ({"q_strides": (1, 2)}, "q_strides=(1, 2) is not one number for each of the first three"),
        ({"out_strides": (480, 80, 8)}, "out_strides=480x80x8 makes elements of the output over"),
        ({"causal": 1}, "causal=1 is not a bool; give True or False"),
        ({"window": 0}, "window=0 is out of range; give 1 to"),
        ({"diagonal": "bottom_right"}, "diagonal=bottom_right has no effect without causal or win"),
        (
            {"mask": (4, 9)},
            "mask=4x9 does not broadcast to the scores 2x6x5x9; make each size that",
        ),
        ({"mask": ()}, "mask=() does not broadcast to the scores"),
        ({"mask_dtype": "bool"}, "mask_dtype=bool needs a mask; give its shape"),
        ({"mask": (9,), "mask_dtype": "bf16"}, "mask_dtype=bf16 is not supported with dtype=f16"),
        ({"scale": math.inf}, "scale=inf is not finite"),
        ({"softcap": -1.0}, "softcap=-1.0 is below 0; give a positive number, or 0 for none"),
        ({"kv_length": 3}, "kv_length=3 is not a bool"),
        ({"pages": 3}, "pages=3 needs page_size; give the number of keys of a page"),
        ({"page_size": 0}, "page_size=0 is out of range; give 1 to"),
        ({"page_size": 3, "pages": 0}, "pages=0 is out of range; give 1 to"),
        (
            {"page_size": 4},
            "page_size=4 does not divide the 9 keys of k=2x3x9x16, the most that a batch element "
            "has; give k 12 keys",
        ),
    ],
)
def test_bad_inputs(fields: Any, message: str) -> None:
    with pytest.raises(SpecError) as error:
        Attention(**(SMALL | fields))
    assert message in str(error.value)
    assert len(str(error.value)) <= 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attention 1x12x512x64 f32", "shape=1x12x512x64 does not have attention's form q=SHAPE"),
        ("attention q=1x1x1x8 f32", "shape=q=1x1x1x8 lacks k; give q=SHAPE,k=SHAPE[,v=SHAPE]"),
        ("attention q=1x1x1x8,k=1x1x1x8 f32 v=8", "v is not an option of attention"),
        ("attention q=1x1x1x8,k=1x1x1x8 f32 causal=1", "causal=1 has a value; write causal alone"),
    ],
)
def test_bad_forms(text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        parse(text)
    assert message in str(error.value)
