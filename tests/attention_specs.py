"""Specs of attention for tests of several families."""

from __future__ import annotations

from functools import partial
from typing import Any

from kgen.spec import Attention

#: Fields of causal attention whose last query is at the position of the last key.
BOTTOM: dict[str, Any] = {"causal": True, "diagonal": "bottom_right"}


def attention(
    queries: int, keys: int, size: int = 16, *, heads: int = 1, kv_heads: int = 1, **fields: Any
) -> Attention:
    """Return attention of `heads` with `size` elements; `out` is the number of a value's."""
    batch, out = fields.pop("batch", 1), fields.pop("out", size)
    return Attention(
        q=(batch, heads, queries, size),
        k=(batch, kv_heads, keys, size),
        v=(batch, kv_heads, keys, out),
        **fields,
    )


def options(dtype: str) -> dict[str, Attention]:
    """Return masks, lengths and sizes that the kernels of all GPU families compute, by name."""
    attend = partial(attention, dtype=dtype)
    return {
        "one query": attend(1, 127, 64, heads=2, kv_heads=2),
        "more queries than keys": attend(70, 7, 16, **BOTTOM, lse=True),
        "window": attend(33, 170, 16, window=9, lse=True),
        "window beyond the keys": attend(130, 20, 16, window=4, out_dtype="f32"),
        "mask": attend(17, 37, 16, heads=2, batch=2, kv_heads=2, mask=(2, 1, 17, 37)),
        "mask of keys": attend(9, 74, 8, batch=2, heads=2, mask=(2, 1, 1, 74), mask_dtype="f32"),
        "mask of queries": attend(20, 37, 8, mask=(20, 1), softcap=2.0),
        "hidden scores": attend(20, 37, 16, mask=(20, 37), mask_dtype="bool", mask_value=-2.0),
        "scores hidden for all": attend(
            20, 37, 16, mask=(20, 1), mask_dtype="bool", mask_value=-3.4028234663852886e38, lse=True
        ),
        "empty rows of NaN": attend(20, 37, 16, mask=(20, 37), empty_rows="nan", lse=True),
        "zeros for NaN": attend(20, 37, 16, mask=(20, 37), empty_rows="no_nan", lse=True),
        "lengths of 0 are NaN": attend(
            5, 40, 16, batch=3, kv_length=True, empty_rows="nan", causal=True, lse=True
        ),
        "lengths": attend(9, 150, 16, batch=3, kv_length=True, heads=2, lse=True),
        "cap and lengths": attend(9, 50, 16, batch=3, kv_length=True, softcap=30.0, **BOTTOM),
        "size of values": attend(9, 20, 24, out=41, out_dtype="bf16"),
        "negative scale": attend(9, 40, 32, scale=-0.3),
        "strides": attend(
            9,
            20,
            16,
            heads=2,
            kv_heads=2,
            layout="bshd",
            kv_layout="bhsd",
            q_strides=(864, 96, 48),
            v_strides=(1000, 400, 18),
            out_strides=(600, 64, 30),
        ),
    }


def decoding(dtype: str) -> dict[str, tuple[Attention, dict[str, int]]]:
    """Return few queries of many keys, with packed heads and divided keys, by name."""
    attend = partial(attention, dtype=dtype)
    groups: dict[str, Any] = {"heads": 4, "batch": 2}
    both, four = ({"packs_heads": 1, "split_k": parts} for parts in (3, 4))
    return {
        "one query": (
            attend(1, 127, 64, layout="bshd", kv_length=True, **groups),
            four,
        ),
        "5 queries": (
            attend(5, 127, 40, layout="bshd", lse=True, heads=8, kv_heads=2, batch=2, **BOTTOM),
            four,
        ),
        "16 queries": (
            attend(16, 1025, 16, heads=4, kv_length=True, **BOTTOM),
            {"packs_heads": 1, "split_k": 5},
        ),
        "a part for each block": (
            attend(3, 127, 16, heads=4, kv_length=True, lse=True, out_dtype="f32"),
            four,
        ),
        "heads one by one": (
            attend(5, 127, 24, window=40, layout="bshd", **groups, **BOTTOM),
            {"split_k": 2},
        ),
        "heads without parts": (
            attend(5, 70, 16, mask=(2, 4, 5, 70), lse=True, **groups),
            {"packs_heads": 1},
        ),
        "lengths without parts": (
            attend(3, 70, 16, kv_length=True, window=30, **groups),
            {"packs_heads": 1},
        ),
        "one query without parts": (
            attend(1, 100, 16, layout="bshd", causal=True, **groups),
            {"packs_heads": 1},
        ),
        "mask of heads": (
            attend(5, 71, 16, mask=(4, 5, 71), mask_dtype="bool", **groups, **BOTTOM),
            both,
        ),
        "mask of queries": (
            attend(5, 71, 16, mask=(2, 1, 5, 1), mask_dtype="f32", lse=True, **groups),
            both,
        ),
        "mask of keys": (attend(3, 71, 16, mask=(2, 1, 1, 71), softcap=3.0, **groups), both),
        "empty rows of NaN": (
            attend(3, 90, 16, empty_rows="nan", kv_length=True, lse=True, **groups, **BOTTOM),
            both,
        ),
        "zeros for NaN": (
            attend(2, 71, 16, mask=(71,), empty_rows="no_nan", lse=True, **groups),
            both,
        ),
        "pages": (attend(3, 256, 16, page_size=64, pages=9, lse=True, **groups, **BOTTOM), both),
        "hidden for all": (
            attend(2, 71, 16, mask=(2, 1), mask_dtype="bool", lse=True, **groups),
            both,
        ),
    }
