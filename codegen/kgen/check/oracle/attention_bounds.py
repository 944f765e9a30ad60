"""Attention in float64, with the error bound of a correct kernel.

out = sum(w v) / sum(w) with w = exp(score - m); the maximum m cancels. The bound adds up as
follows:

- The error e of a score is that of a product of `head` terms (:func:`tolerance.product`), scaled,
  and one rounding per later step: scale, cap, mask, difference to the maximum, and the product with
  log2(e) for exp2.
- If all keys of a query are equal, so are their scores: e cancels out of `out`, whatever its size.
- The relative error of an exponential is exp(e) - 1 plus the function's own.
- A kernel may keep a maximum that is less than m by up to `GROWTH` powers of 2, so its weights and
  their sums may be larger by this factor, and overflow.
- Weights that are rounded for a matrix unit add `operand_error`, and half the smallest subnormal of
  the inputs' type, or of f16 for e4m3. A weight that is less than the smallest normal f32 may be
  flushed to zero, and so may the factor of earlier weights when the maximum grows.
- The scores of e4m3 may be sums of reduced precision, whose error relative to the products is
  `operand_error` too.
- Both sums have `keys` terms. When the maximum grows, sums are rescaled: this adds one rounding per
  term, and the exponential cancels out of `out`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kgen.check.oracle.tolerance import Estimate
from kgen.check.tensors import Mask, Values
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Tolerance

Spec = Mapping[str, Any]
T = TypeVar("T", bound=np.generic)
#: Roundings of a score after its product: scale (with or without log2(e)), cap (division, tanh,
#: product), mask, difference.
ROUNDINGS = 6
LOG2_E = 1.0 / math.log(2.0)
#: Powers of 2 by which a kernel's maximum may be less than the true one (FlashAttention-4).
GROWTH = 8
F32_MAX = float(np.finfo(np.float32).max)


def output_shape(spec: Spec, name: str) -> tuple[int, int, int]:
    """Return the shape (heads of all batch elements, queries, elements); `lse` has one element."""
    batch, heads, queries, _ = spec["q"]
    return batch * heads, queries, 1 if name == "lse" else spec["v"][3]


def by_head(spec: Spec, name: str, stored: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return a stored output, or indices of its elements, in the shape of `output_shape`."""
    if name != "lse":
        stored = heads_first(spec["layout"], stored)
    return stored.reshape(output_shape(spec, name))


def heads_first(layout: str, stored: npt.NDArray[T]) -> npt.NDArray[T]:
    return stored.swapaxes(1, 2) if layout == "bshd" else stored


def by_batch(spec: Spec, values: Mapping[str, Values], name: str) -> Values:
    """Return k or v as batch x heads x keys x elements; pages are put in the order of keys."""
    found = heads_first(spec["kv_layout"], values[name])
    if spec.get("page_size") is None:
        return found
    table = np.clip(values["page_table"], 0, spec["pages"] - 1).astype(np.int64)
    pages = found[table].swapaxes(1, 2)
    return pages.reshape(*pages.shape[:2], -1, pages.shape[-1])


def depth(spec: Spec) -> int:
    """Return the multiply-adds per output element; those of a score are shared by its row."""
    keys, size, out_size = spec["k"][2], spec["q"][3], spec["v"][3]
    return int(-(-keys * (size + out_size) // out_size))


def estimate(
    spec: Spec,
    values: Mapping[str, Values],
    name: str,
    box: tuple[slice, ...],
    target: Tolerance,
) -> Estimate:
    """Return the reference and error bound of one box of an output."""
    numbers = np.arange(box[0].start, box[0].stop)
    b, h = np.divmod(numbers, spec["q"][1])
    kv = h // (spec["q"][1] // spec["k"][1])
    q = heads_first(spec["layout"], values["q"])[b, h, box[1]]
    k = by_batch(spec, values, "k")[b, kv]
    v = by_batch(spec, values, "v")[b, kv][..., box[2]]
    lengths = key_counts(spec, values)[b][:, None, None]
    within = np.arange(k.shape[1]) < lengths
    v = np.where(within.swapaxes(1, 2), v, 0.0) * spec.get("v_scale", 1.0)
    scores, error = _scores(spec, q, k, target)
    kept = attended(spec, values, b, h, box[1])
    if spec.get("mask") is not None and spec["mask_dtype"] != "bool":
        scores = scores + _mask(spec, values, b, h, box[1])
        error = error + target.accumulate.unit_roundoff * np.abs(scores)
    elif spec.get("mask_value") is not None:
        is_seen = _mask(spec, values, b, h, box[1]) != 0.0
        scores, error = np.where(is_seen, scores, spec["mask_value"]), np.where(is_seen, error, 0.0)
    scores = np.where(kept, scores, -np.inf)
    error = np.where(kept & np.isfinite(scores), error, 0.0)

    unit = target.accumulate.unit_roundoff
    most = scores.max(axis=-1, keepdims=True)
    safe = np.where(np.isneginf(most), 0.0, most)
    error = error + np.where(np.isfinite(scores), 2 * LOG2_E * unit * np.abs(scores - safe), 0.0)
    weights = np.exp(scores - safe)
    apart = np.where(_is_even(k, scores), 0.0, error)
    spread = np.exp(np.minimum(scores - safe + apart, 700.0)) * (1.0 + target.function_error)
    off = spread - weights + target.operand_error * spread
    off = off + np.where(kept, _least(spec, target), 0.0)
    count = scores.shape[-1]
    sums = target.factor * math.sqrt(count) * unit
    total = weights.sum(axis=-1, keepdims=True)
    total_off = (off + sums * spread).sum(axis=-1, keepdims=True)
    has_keys = ~np.isneginf(most) | np.isnan(most)
    if name == "lse":
        value = np.where(has_keys, most + np.log(total), -np.inf)
        # Errors of log2, of its product with log(2), and of the sum with the maximum.
        log = np.abs(np.log(total)) + GROWTH / LOG2_E
        log_off = np.log1p(total_off / total) + (target.function_error + 2 * unit) * log
        off = log_off + error.max(axis=-1, keepdims=True) + 2 * unit * np.abs(value)
        return _finished(value, np.where(has_keys, off, 0.0), DType.F32)
    rows_of_none = spec.get("empty_rows")
    products = weights @ v
    products_off = off @ np.abs(v) + sums * (spread @ np.abs(v))
    value = np.where(has_keys, products / total, np.nan if rows_of_none == "nan" else 0.0)
    if rows_of_none == "no_nan":
        value = np.where(np.isnan(total), 0.0, value)
    # Error of the division and its operands. There is no bound if the sum may vanish.
    sure = total_off < total / 2
    bound = (products_off + np.abs(value) * total_off) / np.where(sure, total - total_off, np.nan)
    bound = bound + 2 * unit * np.abs(value) + target.accumulate.smallest_normal
    overflows = (spread @ np.abs(v)) * 2.0**GROWTH > F32_MAX
    bound = np.where(sure & ~overflows, bound, np.inf)
    # Infinity times a weight that is, or may be, zero.
    doubtful = np.where(within & ~(weights > off), 1.0, 0.0) @ np.where(np.isfinite(v), 0.0, 1.0)
    bound = np.where(doubtful > 0.0, np.inf, bound)
    bound = np.where(has_keys & ~np.isnan(total), bound, 0.0)
    return _finished(value, bound, target.accumulate)


def _finished(value: Values, error: Values, accumulate: DType) -> Estimate:
    error = np.where(np.isfinite(value) | np.isposinf(error), error, 0.0)
    return Estimate(value=value, error=error, accumulate=accumulate)


def _scores(spec: Spec, q: Values, k: Values, target: Tolerance) -> tuple[Values, Values]:
    """Return the scores before the mask, and their error."""
    unit = target.accumulate.unit_roundoff
    turned, scale = k.swapaxes(1, 2), spec["scale"]
    scores = scale * (q @ turned)
    products = target.factor * math.sqrt(q.shape[-1]) * unit
    if spec["dtype"] == DType.E4M3:
        products += target.operand_error
    error = products * abs(scale) * (np.abs(q) @ np.abs(turned))
    error = error + ROUNDINGS * unit * np.abs(scores)
    if cap := spec["softcap"]:
        # The slope of tanh is at most 1; the kernel computes it from an exponential.
        scores = cap * np.tanh(scores / cap)
        error = np.minimum(error, 2 * cap) + 2 * cap * (target.function_error + 2 * unit)
        error = error + ROUNDINGS * unit * np.abs(scores)
    return scores, error


def _least(spec: Spec, target: Tolerance) -> float:
    """Return the absolute error of a weight that is rounded or flushed to zero."""
    dtype = DType.F16 if spec["dtype"] == DType.E4M3 else DType(spec["dtype"])
    rounded = dtype.smallest_subnormal / 2.0 if target.operand_error else 0.0
    return max(rounded, target.accumulate.smallest_normal * 2.0**GROWTH)


def _is_even(k: Values, scores: Values) -> Mask:
    """Return whether all keys that a query attends to are equal, and what is added to them."""
    is_hidden = np.isneginf(scores)
    is_first = (k == k[:, :1]).all(axis=-1)[:, None]
    are_equal = (is_first | is_hidden).all(axis=-1) | ((~is_hidden).sum(axis=-1) == 1)
    most = scores.max(axis=-1, keepdims=True)
    found: Mask = are_equal[..., None] & ((scores == most) | is_hidden).all(axis=-1, keepdims=True)
    return found


def attended(spec: Spec, values: Mapping[str, Values], b: Any, h: Any, rows: slice) -> Mask:
    """Return the mask of keys that the queries of a box attend to: heads x queries x keys."""
    queries, keys = spec["q"][2], spec["k"][2]
    lengths = key_counts(spec, values)[b][:, None, None]
    query = np.arange(rows.start, rows.stop)[:, None]
    key = np.arange(keys)
    position = query + (lengths - queries if spec["diagonal"] == "bottom_right" else 0)
    kept = np.broadcast_to(key < lengths, (len(b), len(query), keys))
    if spec["causal"]:
        kept = kept & (key <= position)
    if spec.get("window") is not None:
        kept = kept & (np.abs(position - key) < spec["window"])
    hides = spec.get("mask") is not None and spec["mask_dtype"] == "bool"
    if hides and spec.get("mask_value") is None:
        kept = kept & (_mask(spec, values, b, h, rows) != 0.0)
    return kept


def key_counts(spec: Spec, values: Mapping[str, Values]) -> npt.NDArray[np.int64]:
    """Return the number of keys of each batch element."""
    batch, keys = spec["q"][0], spec["k"][2]
    if not spec["kv_length"]:
        return np.full(batch, keys, np.int64)
    return np.clip(values["kv_length"], 0, keys).astype(np.int64)


def _mask(spec: Spec, values: Mapping[str, Values], b: Any, h: Any, rows: slice) -> Values:
    whole = (*spec["q"][:3], spec["k"][2])
    return np.broadcast_to(values["mask"], whole)[b, h, rows]
