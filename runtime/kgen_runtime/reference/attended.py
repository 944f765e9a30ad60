"""Scalar reference of attention: softmax of a query's scores, times the values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.reference.numbers import Buffers, Element, at, read, values
from kgen_runtime.reference.sums import dot, total

#: Queries whose weights are cached: output elements of a row share them.
SHARED_QUERIES = 64
#: Heads whose keys are located once, of k and of v.
SHARED_HEADS = 64


def attention(spec: Mapping[str, Any], buffers: Buffers, output: str | None) -> Element:
    """Return the function that computes an element of an output.

    Its index is (batch * heads + head, query, element); for `lse` the element is 0.
    """
    dtype = DType(spec["dtype"])
    heads, kv_heads, size = spec["q"][1], spec["k"][1], spec["q"][3]

    @lru_cache(maxsize=SHARED_HEADS)
    def starts(name: str, batch: int, head: int) -> list[int]:
        """Return the offset of each key's first element in k or v."""
        return [_key(spec, buffers, name, batch, head, key) for key in range(spec["k"][2])]

    @lru_cache(maxsize=SHARED_QUERIES)
    def weights(number: int, query: int) -> tuple[list[int], list[float], float]:
        """Return the keys that a query attends to, exp(score - maximum) of each, and the
        maximum."""
        b, h = divmod(number, heads)
        kv = h // (heads // kv_heads)
        row = values(buffers["q"], _start(spec, "q", b, h, query), size, 1, dtype)
        found, scores = [], []
        for key in attended(spec, buffers, b, h, query):
            column = values(buffers["k"], starts("k", b, kv)[key], size, 1, dtype)
            score = spec["scale"] * dot(row, column, exact_products=True)
            if spec["softcap"]:
                score = spec["softcap"] * math.tanh(score / spec["softcap"])
            if spec.get("mask") is not None and spec["mask_dtype"] != "bool":
                score += _mask(spec, buffers, b, h, query, key)
            elif spec.get("mask_value") is not None and not _mask(spec, buffers, b, h, query, key):
                score = spec["mask_value"]
            found.append(key)
            scores.append(score)
        if any(map(math.isnan, scores)):
            return found, [math.nan] * len(found), math.nan
        most = max(scores, default=-math.inf)
        if most == -math.inf:
            return [], [], most
        # inf - inf is NaN.
        return found, [_exp(score - most) for score in scores], most

    def element(index: tuple[int, ...]) -> float:
        number, query, place = index
        found, exponentials, most = weights(number, query)
        if output == "lse":
            return most + math.log(total(exponentials)) if found else -math.inf
        if not found:
            return math.nan if spec.get("empty_rows") == "nan" else 0.0
        if spec.get("empty_rows") == "no_nan" and math.isnan(total(exponentials)):
            return 0.0
        b, h = divmod(number, heads)
        kv = h // (heads // kv_heads)
        first = starts("v", b, kv)
        column = at(buffers["v"], place, [first[key] for key in found], dtype)
        products = dot(exponentials, column, exact_products=False)
        return products / total(exponentials) * float(spec.get("v_scale", 1.0))

    return element


def attended(
    spec: Mapping[str, Any], buffers: Buffers, batch: int, head: int, query: int
) -> list[int]:
    """Return the keys that a query attends to, after kv_length, causal, window and boolean mask."""
    queries, keys = spec["q"][2], spec["k"][2]
    if spec["kv_length"]:
        keys = max(0, min(keys, int(read(buffers["kv_length"], batch, DType.S32))))
    position = query + (keys - queries if spec["diagonal"] == "bottom_right" else 0)
    found = []
    for key in range(keys):
        if spec["causal"] and key > position:
            continue
        if spec.get("window") is not None and abs(position - key) >= spec["window"]:
            continue
        is_boolean = spec.get("mask") is not None and spec["mask_dtype"] == "bool"
        hides = is_boolean and spec.get("mask_value") is None
        if hides and not _mask(spec, buffers, batch, head, query, key):
            continue
        found.append(key)
    return found


def coordinates(spec: Mapping[str, Any], name: str, place: Sequence[int]) -> tuple[int, int, int]:
    """Return the index that :func:`attention` expects for a position in the stored output."""
    if name == "lse":
        batch, head, query = place
        return batch * spec["q"][1] + head, query, 0
    batch, head, query, element = place
    if spec["layout"] == "bshd":
        head, query = query, head
    return batch * spec["q"][1] + head, query, element


def _exp(x: float) -> float:
    return math.exp(x) if x == x else math.nan


def _key(
    spec: Mapping[str, Any], buffers: Buffers, name: str, batch: int, head: int, key: int
) -> int:
    """Return the offset of a key's first element in k or v, which may be a pool of pages.

    A page that is no page of the pool is read as the nearest one.
    """
    size = spec.get("page_size")
    if size is None:
        return _start(spec, name, batch, head, key)
    column, row = divmod(key, size)
    entry = read(buffers["page_table"], batch * (spec["k"][2] // size) + column, DType.S32)
    return _start(spec, name, min(max(int(entry), 0), spec["pages"] - 1), head, row)


def _start(spec: Mapping[str, Any], name: str, batch: int, head: int, row: int) -> int:
    """Return the offset of a row's first element in q, k or v, in elements."""
    steps: Sequence[int] = spec[f"{name}_strides"]
    layout = spec["layout"] if name == "q" else spec["kv_layout"]
    place = (batch, row, head) if layout == "bshd" else (batch, head, row)
    return sum(index * step for index, step in zip(place, steps, strict=True))


def _mask(
    spec: Mapping[str, Any], buffers: Buffers, batch: int, head: int, query: int, key: int
) -> float:
    """Return the mask element of a score; mask axes of size 1 broadcast."""
    number = 0
    shape: Sequence[int] = spec["mask"]
    for size, index in zip(shape, (batch, head, query, key)[4 - len(shape) :], strict=True):
        number = number * size + (index if size > 1 else 0)
    return read(buffers["mask"], number, DType(spec["mask_dtype"]))
