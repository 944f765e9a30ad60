"""Reference definitions of ONNX Runtime's attention operators (`com.microsoft`).

They follow ONNX Runtime's ContribOperators.md, sequence by sequence. `Attention` is not among them:
the reader writes it as a product and a MultiHeadAttention.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]
DOMAIN = "com.microsoft"


def work_type(x: Array) -> Any:
    """Return the type of intermediate results."""
    return np.float64 if x.dtype == np.float64 else np.float32


def by_heads(x: Array, heads: int) -> Array:
    """Return batch x sequence x hidden as batch x heads x sequence x elements of a head."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def attended(
    q: Array, k: Array, v: Array, added: Array, *, scale: float, cap: float = 0.0,
    sinks: Array | None = None,
) -> Array:  # fmt: skip
    """Attend for one sequence, heads x rows x elements of a head; return rows x hidden.

    `added` is added to the scores after the soft cap. `sinks` has a score without a value for each
    head.
    """
    work, group = work_type(q), len(q) // len(k)
    q, k, v = (x.astype(work) for x in (q, k.repeat(group, axis=0), v.repeat(group, axis=0)))
    scores = (scale or 1 / np.sqrt(q.shape[-1])) * q @ k.transpose(0, 2, 1)
    if cap:
        scores = cap * np.tanh(scores / cap)
    scores = (scores + added).astype(work)
    most = scores.max(-1, keepdims=True, initial=np.finfo(work).min)
    extra: Any = 0.0
    if sinks is not None:
        last = np.broadcast_to(sinks, len(q)).astype(work).reshape(-1, 1, 1)
        most = np.maximum(most, last)
        extra = np.exp(last - most)
    weights = np.exp(scores - most)
    found = weights / (weights.sum(-1, keepdims=True) + extra) @ v
    return np.asarray(found.transpose(1, 0, 2).reshape(q.shape[1], -1))


def turned(x: Array, cos: Array, sin: Array, *, is_interleaved: bool) -> Array:
    """Rotate the first elements of rows by the rows of two tables."""
    half = cos.shape[-1]
    work = work_type(x)
    places = np.arange(2 * half)
    first, second = (
        (places[0::2], places[1::2]) if is_interleaved else (places[:half], places[half:])
    )
    a, b, found = x[..., first].astype(work), x[..., second].astype(work), x.astype(work)
    found[..., first] = a * cos - b * sin
    found[..., second] = a * sin + b * cos
    return found.astype(x.dtype)


def hidden_keys(mask: Array | None, batch: int, queries: int, keys: int) -> Array:
    """Return which keys of batch x queries x keys a padding mask hides."""
    places, shape = np.arange(keys), (batch, queries, keys)
    if mask is None:
        return np.zeros(shape, bool)
    if mask.ndim == 1:
        hidden = places >= mask[:batch, None]
        if len(mask) == 2 * batch:
            hidden |= places < mask[batch:, None]
        return np.broadcast_to(hidden[:, None], shape)
    if mask.ndim == 4:
        return np.asarray(mask[:, 0, keys - queries : keys, :keys] <= 0)
    return np.broadcast_to((mask if mask.ndim == 3 else mask[:, None]) <= 0, shape)


class MultiHeadAttention(OpRun):  # type: ignore[misc]
    op_domain = DOMAIN

    def _run(
        self, query: Array, key: Array | None = None, value: Array | None = None,
        bias: Array | None = None, mask: Array | None = None, added: Array | None = None,
        past_key: Array | None = None, past_value: Array | None = None, **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        heads = attributes["num_heads"]
        parts = [query, key, value]
        if key is None:
            parts = [query[:, :, :, i] for i in range(3)]
        elif key.ndim == 5:
            parts[1:] = [key[:, :, :, i] for i in range(2)]
        is_split = key is not None and key.ndim == 4
        q, *kv = (
            x if is_split and i else x.reshape(*x.shape[:2], -1)
            for i, x in enumerate(parts) if x is not None
        )  # fmt: skip
        if bias is not None:
            width = q.shape[-1]
            q = q + bias[:width]
            if not is_split:
                kv = [kv[0] + bias[width : 2 * width], kv[1] + bias[2 * width :]]
        q = by_heads(q, heads)
        k, v = kv if is_split else (by_heads(x, heads) for x in kv)
        past = 0
        if past_key is not None and past_value is not None:
            past = past_key.shape[2]
            k, v = np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)
        batch, queries, keys = len(q), q.shape[2], k.shape[2]
        hidden = hidden_keys(mask, batch, queries, keys)
        total = np.where(hidden, attributes.get("mask_filter_value", -10000.0), 0.0)[:, None]
        if attributes.get("unidirectional", 0):
            total = total + causal(past + np.arange(queries), keys)
        if added is not None:
            total = total + added
        total = np.broadcast_to(total, (batch, *total.shape[1:]))
        found = [
            attended(q[b], k[b], v[b], total[b], scale=attributes.get("scale", 0.0))
            for b in range(batch)
        ]
        return (np.stack(found).astype(query.dtype), k, v)[: len(self.onnx_node.output)]


def causal(places: Array, keys: int) -> Array:
    """Return a mask to add that hides keys behind the queries' places."""
    return np.where(np.arange(keys) <= places[:, None], 0.0, -np.inf)


class GroupQueryAttention(OpRun):  # type: ignore[misc]
    """Attention with a cache. The order of its inputs is that of the operator."""

    op_domain = DOMAIN

    def _run(self, *given: Array | None, **attributes: Any) -> tuple[Array, ...]:
        inputs = [*given, *[None] * 17]
        query, key, value, past_key, past_value, last, total, cos, sin, ids, added, sinks = inputs[
            :12
        ]
        few, heads = attributes["kv_num_heads"], attributes["num_heads"]
        assert query is not None and last is not None and total is not None
        if key is None:
            size = query.shape[-1] // (heads + 2 * few)
            query, key, value = np.split(query, [heads * size, (heads + few) * size], axis=2)
        assert value is not None
        q, k, v = by_heads(query, heads), by_heads(key, few), by_heads(value, few)
        if inputs[14] is not None and inputs[15] is not None:
            q, k = (
                self.normalized(x, weight, which, attributes)
                for x, weight, which in ((q, inputs[14], "q"), (k, inputs[15], "k"))
            )
        batch, queries = q.shape[0], q.shape[2]
        last = last.reshape(batch)  # Exporters also write batch x 1.
        past = past_key.shape[2] if past_key is not None else 0
        room = max(past, int(np.reshape(total, -1)[0]))
        presents = [np.zeros((batch, few, room, x.shape[-1]), x.dtype) for x in (k, v)]
        found = []
        sinks = np.zeros(1) if sinks is None and attributes.get("smooth_softmax") == 1 else sinks
        for b in range(batch):
            count = int(last[b]) + 1
            chunk = queries if inputs[16] is None else int(inputs[16][b])
            first = max(0, count - chunk)
            places = first + np.arange(queries)
            if attributes.get("do_rotary", 0):
                assert cos is not None and sin is not None
                at = places if ids is None else ids[b]
                at = np.minimum(at, len(cos) - 1)
                is_interleaved = bool(attributes.get("rotary_interleaved", 0))
                q[b], k[b] = (
                    turned(x[b], cos[at], sin[at], is_interleaved=is_interleaved) for x in (q, k)
                )
            for present, old, new in zip(presents, (past_key, past_value), (k, v), strict=True):
                if old is not None:
                    present[b, :, :past] = old[b]
                fits = new[b, :, : room - first]
                present[b, :, first : first + fits.shape[1]] = fits
            ends = places + 1 if attributes.get("causal", 1) else np.full(queries, count)
            at, window = np.arange(room), attributes.get("local_window_size", -1)
            seen = at < ends[:, None]
            if window > 0:
                seen &= at > places[:, None] - window
            mask: Any = np.where(seen, 0.0, -np.inf)
            if added is not None:
                # The mask has as many keys as the sequences, and the cache may have more.
                wide = np.zeros((*added.shape[1:3], room))
                wide[..., : added.shape[3]] = added[min(b, len(added) - 1)][..., :room]
                mask = mask + wide
            scale, cap = attributes.get("scale", 0.0), attributes.get("softcap", 0.0)
            # Rows behind the valid ones, and behind the new ones, are not read.
            read = max(count, int(ends.max()))
            k_read, v_read, mask = (x[..., :read, :] for x in (*presents, mask.swapaxes(-1, -2)))
            found.append(
                attended(
                    q[b],
                    k_read[b],
                    v_read[b],
                    mask.swapaxes(-1, -2),
                    scale=scale,
                    cap=cap,
                    sinks=sinks,
                )
            )
        return (np.stack(found).astype(query.dtype), *presents)[: len(self.onnx_node.output)]

    @staticmethod
    def normalized(x: Array, weight: Array, which: str, attributes: Any) -> Array:
        wide = x.astype(work_type(x))
        epsilon = attributes.get("qk_norm_epsilon", 1e-6)
        epsilon = attributes.get(f"{which}_norm_epsilon", epsilon)
        root = np.sqrt((wide**2).mean(-1, keepdims=True) + epsilon)
        return np.asarray(wide / root * weight).astype(x.dtype)


class RotaryEmbedding(OpRun):  # type: ignore[misc]
    op_domain = DOMAIN

    def _run(
        self, x: Array, places: Array, cos: Array, sin: Array, **attributes: Any
    ) -> tuple[Array]:
        is_joined = x.ndim == 3
        heads = attributes.get("num_heads") or x.shape[-1] // (2 * cos.shape[-1])
        parts = by_heads(x, heads) if is_joined else x
        batch, length = parts.shape[0], parts.shape[2]
        at = places if places.ndim == 2 else places.reshape(-1, 1) + np.arange(length)
        at = np.broadcast_to(at, (batch, length))[:, None]
        is_interleaved = bool(attributes.get("interleaved", 0))
        found = turned(parts, cos[at], sin[at], is_interleaved=is_interleaved)
        return (found.transpose(0, 2, 1, 3).reshape(x.shape) if is_joined else found,)
