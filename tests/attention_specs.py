"""Specs of attention for tests of several families."""

from __future__ import annotations

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
