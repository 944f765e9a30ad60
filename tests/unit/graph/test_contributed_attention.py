"""ONNX Runtime's attention operators, against their definition row by row in numpy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnx")

from kgen.check.model.truth import evaluator, in_f64
from kgen.errors import GraphError
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.formulas import Fused
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.calls import Lowered
from kgen.graph.lowering.lower import lower
from kgen.graph.reading.onnx_file import read
from kgen.spec import Attention, Spec
from tests.onnx_models import Array, run
from tests.unit.graph.test_attention import favoured
from tests.unit.graph.test_contributed import of as of_arrays
from tests.unit.graph.test_edges import Edge, normal, whole

S32, S64 = np.int32, np.int64
#: Batch, queries, heads, K/V heads, elements of a head, past rows.
B, S, N, KV, H, P = 2, 3, 4, 2, 8, 4
Added = Callable[[int, int, int, int], float]


def of(operator: str, expected: Any, *inputs: Any, **given: Any) -> Edge:
    """Return a case whose inputs are data; `known` are the numbers of the constant ones."""
    known = given.pop("known", ())
    arrays = (None if value is None else np.asarray(value) for value in inputs)
    edge = of_arrays(operator, expected, *arrays, **given)
    return Edge(**{**vars(edge), "constants": known})


# -- the definition ------------------------------------------------------------------------------


def attention(
    q: Array, k: Array, v: Array, added: Added, scale: float = 0.0, cap: float = 0.0,
    sink: Callable[[int], float] | None = None,
) -> Array:  # fmt: skip
    """Attend row by row: batch x heads x rows x elements in, batch x rows x hidden out."""
    (batch, heads, queries, size), group = q.shape, q.shape[1] // k.shape[1]
    found = np.zeros((batch, queries, heads, v.shape[3]))
    for b, h, i in np.ndindex(batch, heads, queries):
        scores = [sink(h)] if sink else []
        for j in range(k.shape[2]):
            score = float(q[b, h, i].astype(float) @ k[b, h // group, j].astype(float))
            score *= scale or 1 / math.sqrt(size)
            score = cap * math.tanh(score / cap) if cap else score
            scores.append(score + added(b, h, i, j))
        weights = [math.exp(score - max(scores)) for score in scores]
        for weight, row in zip(weights[-k.shape[2] :], v[b, h // group], strict=True):
            found[b, i, h] += weight * row / sum(weights)
    return found.reshape(batch, queries, -1).astype(np.float32)


def heads(x: Array, count: int) -> Array:
    return np.stack(np.split(x, count, axis=-1), axis=1)


def rotated(row: Array, cos: Array, sin: Array, interleaved: int) -> Array:
    """Rotate pairs of elements of one head, each as a complex number."""
    found, n = row.copy(), len(cos)
    for i in range(n):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + n)
        z = complex(row[a], row[b]) * complex(cos[i], sin[i])
        found[a], found[b] = z.real, z.imag
    return found


def multi_head(**given: Any) -> Any:
    """MultiHeadAttention of inputs in the order of the operator."""

    def expected(
        q: Array, k: Any = None, v: Any = None, bias: Any = None, mask: Any = None,
        more: Any = None, past_k: Any = None, past_v: Any = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        if k is None:
            q, k, v = (q[:, :, :, i].reshape(*q.shape[:2], -1) for i in range(3))
        elif k.ndim == 5:
            k, v = (k[:, :, :, i].reshape(*k.shape[:2], -1) for i in range(2))
        if bias is not None:
            width = q.shape[2]
            q = q + bias[:width]
            if k.ndim == 3:
                k, v = k + bias[width : 2 * width], v + bias[2 * width :]
        k, v = (x if x.ndim == 4 else heads(x, N) for x in (k, v))
        past = 0
        if past_k is not None:
            past = past_k.shape[2]
            k, v = np.concatenate((past_k, k), 2), np.concatenate((past_v, v), 2)

        def added(b: int, h: int, i: int, j: int) -> float:
            seen = True
            if mask is not None and mask.ndim == 1:
                seen = j < mask[b] and (len(mask) != 2 * B or j >= mask[B + b])
            elif mask is not None:
                place = {2: (b, j), 3: (b, i, j), 4: (b, 0, k.shape[2] - q.shape[1] + i, j)}
                seen = mask[place[mask.ndim]] > 0
            found = 0.0 if seen else given.get("hidden", -10000.0)
            if given.get("causal") and j > past + i:
                found = -math.inf
            if more is not None:
                found += more[b % len(more), h % more.shape[1], i, j]
            return found

        found = attention(heads(q, N), k, v, added, scale=given.get("scale", 0.0))
        return (found, k, v)[: given.get("outputs", 1)]

    return expected


def packed(sizes: tuple[int, int], **given: Any) -> Any:
    """Attention: a product with joined weights, and a past of both keys and values."""

    def expected(
        x: Array, weights: Array, bias: Any = None, mask: Any = None, past: Any = None,
        more: Any = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        joined = x @ weights + (0 if bias is None else bias)
        q, k, v = np.split(joined, [sizes[0], sum(sizes)], axis=2)
        pasts = (None, None) if past is None else (past[0], past[1])
        found, *states = multi_head(outputs=3, **given)(q, k, v, None, mask, more, *pasts)
        return (found, np.stack(states)) if past is not None else (found,)

    return expected


def grouped(**given: Any) -> Any:
    """GroupQueryAttention; elements that the operator does not define are NaN."""

    def expected(
        q: Array, k: Any, v: Any, past_k: Any, past_v: Any, last: Array, total: Array,
        cos: Any = None, sin: Any = None, ids: Any = None, more: Any = None, sinks: Any = None,
        _k_scale: Any = None, _v_scale: Any = None, q_norm: Any = None, k_norm: Any = None,
        chunks: Any = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        if k is None:
            q, k, v = np.split(q, [N * H, (N + KV) * H], axis=2)
        q, k, v = heads(q, N).copy(), heads(k, KV).copy(), heads(v, KV)
        last = last.reshape(-1)
        for x, norm in ((q, q_norm), (k, k_norm)):
            if norm is not None:
                x *= norm / np.sqrt((x**2).mean(-1, keepdims=True) + given["epsilon"])
        batch, _, queries, _ = q.shape
        chunk = chunks if chunks is not None else np.minimum(queries, last + 1)
        first = last + 1 - chunk
        for b, i in np.ndindex(batch, queries):
            place = ids[b, i] if ids is not None else first[b] + i
            for x in (q, k) if cos is not None and place < len(cos) else ():
                for h in range(x.shape[1]):
                    turned = rotated(x[b, h, i], cos[place], sin[place], given.get("turn", 0))
                    x[b, h, i] = turned
        rows = max(int(total), 0 if past_k is None else past_k.shape[2])
        presents = [np.full((batch, KV, rows, H), np.nan, np.float32) for _ in range(2)]
        for present, old, new in zip(presents, (past_k, past_v), (k, v), strict=True):
            for b in range(batch):
                if first[b]:
                    present[b, :, : first[b]] = old[b, :, : first[b]]
                present[b, :, first[b] : last[b] + 1] = new[b, :, : chunk[b]]
        keys, values = (np.nan_to_num(x) for x in presents)

        def added(b: int, h: int, i: int, j: int) -> float:
            place = first[b] + i
            is_seen = j <= (place if given.get("causal", True) else last[b])
            if not is_seen or j <= place - given.get("window", 99):
                return -math.inf
            wide = more is not None and j < more.shape[3]
            return float(more[b % len(more), h % more.shape[1], i, j]) if wide else 0.0

        sink = None if sinks is None else lambda h: float(sinks[h])
        sink = (lambda h: 0.0) if given.get("smooth") else sink
        found = attention(
            q, keys, values, added, given.get("scale", 0.0), given.get("cap", 0.0), sink
        )
        for b in range(batch):
            found[b, chunk[b] :] = np.nan
        return found, *presents

    return expected


def rotary(interleaved: int = 0) -> Any:
    def expected(x: Array, places: Array, cos: Array, sin: Array) -> Array:
        parts = x if x.ndim == 4 else heads(x, N)
        found = parts.copy()
        for b, h, i in np.ndindex(*parts.shape[:3]):
            place = places[b, i] if places.ndim == 2 else places.item() + i
            found[b, h, i] = rotated(parts[b, h, i], cos[place], sin[place], interleaved)
        return found if x.ndim == 4 else np.concatenate([*np.moveaxis(found, 1, 0)], axis=-1)

    return expected


# -- cases ---------------------------------------------------------------------------------------


def tables(half: int, rows: int = 12) -> tuple[Array, Array]:
    angles = np.arange(rows)[:, None] / 10.0 ** (np.arange(half) / half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def s32(*numbers: int) -> Array:
    return np.array(numbers, S32)


D, E, L = N * H, KV * H, 5
Q, K, V = normal(B, S, D), normal(B, L, D), normal(B, L, N * 4)
OWN = Q, normal(B, S, D), normal(B, S, D)
PAST = normal(B, N, P, H), normal(B, N, P, H)
X, W, BIAS = normal(B, S, 6), normal(6, 3 * D), normal(3 * D)
BOTH = normal(2, B, N, P, H)
NUMBERS = whole(0, 256, B, S, 6, dtype=np.uint8)
COS, SIN = tables(H // 2)
IDS = whole(0, 12, B, S)


def normal_numbers(*shape: int) -> Array:
    return whole(-127, 128, *shape, dtype=np.int8)


def quantised(
    x: Array, weights: Array, bias: Array, x_scale: Any, scale: Array, mask: Array, zero: Any,
    _zeros: Array, past: Array,
) -> tuple[Array, ...]:  # fmt: skip
    """QAttention with weights whose zero points are 0, of lengths that count the past too."""
    wide = (x.astype(np.float32) - np.float32(zero)) * x_scale
    return packed((D, D), causal=True)(wide, weights * scale, bias, mask + 0, past)  # type: ignore[no-any-return]


def many(expected: Any, *inputs: Any, **given: Any) -> Edge:
    return of("MultiHeadAttention", expected, *inputs, num_heads=N, **given)


def joined(expected: Any, *inputs: Any, **given: Any) -> Edge:
    given.setdefault("known", (1, 2))
    return of("Attention", expected, *inputs, num_heads=N, **given)


def group(
    expected: Any, lengths: tuple[int, ...], past: int | None, total: int, *, queries: int = 1,
    beside: dict[int, Array] | None = None, is_packed: bool = False, is_turned: bool = False,
    **given: Any,
) -> Edge:  # fmt: skip
    """A case of sequences of these lengths, with the inputs `beside` by number."""
    batch = len(lengths)
    inputs: list[Any] = [normal(batch, queries, n) for n in (D, E, E)]
    if is_packed:
        inputs = [normal(batch, queries, D + 2 * E), None, None]
    states = [None] * 2 if past is None else [normal(batch, KV, past, H) for _ in range(2)]
    inputs += [*states, s32(*lengths) - S32(1), np.array(total, S32), *[None] * 10]
    if is_turned:
        inputs[7:9] = COS, SIN
        given["do_rotary"] = 1
    for number, array in (beside or {}).items():
        inputs[number] = array
    while inputs[-1] is None:
        inputs.pop()
    return of(
        "GroupQueryAttention", expected, *inputs, outputs=3, known=(6,), num_heads=N,
        kv_num_heads=KV, **given,
    )  # fmt: skip


def turning(
    operator: str, interleaved: int, x: Array, places: Array, half: int, **more: Any
) -> Edge:
    return of(
        operator, rotary(interleaved), x, places, *tables(half), interleaved=interleaved, **more
    )


CASES: dict[str, Edge] = {
    "MHA of other keys": many(multi_head(), Q, K, V),
    "MHA, opset 11": many(multi_head(), Q, K, V, opset=11),
    "MHA, negative scale": many(multi_head(scale=-0.3), Q, K, V, scale=-0.3),
    "MHA, scale and bias": many(multi_head(scale=0.3), Q, K, V, normal(2 * D + N * 4), scale=0.3),
    "MHA, lengths": many(multi_head(), Q, K, V, None, s32(2, 5)),
    "MHA, lengths and sums": many(multi_head(), Q, K, V, None, s32(2, 5, 0, 3, 6, 0, 5, 10)),
    "MHA, flags of keys": many(
        multi_head(hidden=-3.0), Q, K, V, None, whole(0, 2, B, L, dtype=S32), mask_filter_value=-3.0
    ),
    "MHA, flags of queries": many(multi_head(), Q, K, V, None, whole(0, 2, B, S, L, dtype=S32)),
    "MHA, bias of scores": many(multi_head(), Q, K, V, None, s32(2, 5), normal(1, N, S, L)),
    "MHA, causal": many(
        multi_head(causal=True, outputs=3), *OWN, None, None, normal(1, 1, S, S), outputs=3,
        unidirectional=1,
    ),
    "MHA, past": many(
        multi_head(causal=True, outputs=3), *OWN, BIAS, whole(0, 2, B, P + S, dtype=S32), None,
        *PAST, outputs=3, unidirectional=1,
    ),
    "MHA, empty past": many(
        multi_head(outputs=3), *OWN, None, None, None, *(x[:, :, :0] for x in PAST), outputs=3
    ),
    "MHA, keys by heads": many(multi_head(), Q, *PAST),
    "MHA, keys by heads, bias": many(multi_head(), Q, *PAST, BIAS),
    "MHA, packed QKV": many(multi_head(), normal(B, S, N, 3, H), None, None, BIAS),
    "MHA, packed KV": many(multi_head(), Q, normal(B, L, N, 2, H)),
    "Attention": joined(packed((D, D)), X, W, BIAS),
    "Attention, opset 11": joined(packed((D, D)), X, W, BIAS, opset=11),
    "Attention, weights from data": joined(packed((D, D)), X, W, known=()),
    "Attention, sizes": joined(
        packed((D, D)), X, normal(6, 2 * D + 4 * N), None, qkv_hidden_sizes=[D, D, 4 * N],
        known=(1,),
    ),
    "Attention, ends and starts": joined(packed((D, D)), X, W, BIAS, s32(2, 3, 0, 1)),
    "Attention, square mask": joined(
        packed((D, D), causal=True), X, W, BIAS, whole(0, 2, B, 1, 9, 9, dtype=S32), BOTH,
        unidirectional=1, outputs=2,
    ),
    **{
        f"Attention, past, opset {opset}": joined(
            packed((D, D), causal=True, scale=0.4), X, W, BIAS, None, BOTH,
            normal(1, N, S, P + S), outputs=2, unidirectional=1, scale=0.4, opset=opset,
        )
        for opset in (11, 21)
    },
    **{
        f"QAttention, {'a scale for each column' if each else 'one scale'}": of(
            "QAttention", quantised, NUMBERS, normal_numbers(6, 3 * D), BIAS, np.float32(0.03),
            np.linspace(0.01, 0.03, 3 * D if each else 1, dtype=np.float32).reshape(
                3 * D if each else ()
            ),
            s32(2, 3), np.uint8(120), np.zeros(3 * D if each else (), np.int8), BOTH,
            known=(1, 2, 3, 4, 6, 7), outputs=2, num_heads=N, unidirectional=1,
        )
        for each in (False, True)
    },
    "GQA, prompt": group(grouped(), (S, S), 0, S, queries=S),
    "GQA, prompt without past": group(grouped(), (S,), None, S, queries=S),
    "GQA, padded prompt": group(grouped(), (2, S), 0, S, queries=S, is_turned=True),
    "GQA, packed and interleaved": group(
        grouped(turn=1), (S,), 0, S, queries=S, is_turned=True, is_packed=True, rotary_interleaved=1
    ),
    "GQA, prompt into a cache": group(grouped(), (S,), 6, S, queries=S, is_turned=True),
    "GQA, padded prompt into a cache": group(
        grouped(), (2,), 6, S, queries=S, is_turned=True
    ),
    "GQA, negative scale": group(
        grouped(scale=-0.2), (P + 1,), P, P + 1, is_turned=True, scale=-0.2
    ),
    "GQA, step": group(grouped(scale=0.2), (P + 1,), P, P + 1, is_turned=True, scale=0.2),
    "GQA, lengths in a column": group(
        grouped(), (3, 2), 6, 4, beside={5: np.array([[2], [1]], S32)}
    ),
    "GQA, step of two lengths": group(grouped(), (3, P + 1), P, P + 1, is_turned=True),
    "GQA, step in a cache": group(grouped(), (4, 2), 6, 4, is_turned=True),
    "GQA, chunk": group(
        grouped(cap=0.7, window=2), (P + S,), P, P + S, queries=S, is_turned=True, softcap=0.7,
        local_window_size=2,
    ),
    "GQA, window of a prompt": group(
        grouped(window=2), (S,), 0, S, queries=S, local_window_size=2
    ),
    "GQA, positions and bias": group(
        grouped(), (3, P + 1), P, P + 1, is_turned=True,
        beside={9: np.array([[7], [2]]), 10: normal(1, N, 1, P + 1)},
    ),
    "GQA, short bias": group(
        grouped(), (3, 4), 6, 4, beside={10: normal(2, 1, 1, 4)}
    ),
    "GQA, short bias and window": group(
        grouped(window=2), (3, 4), 6, 4, local_window_size=2, beside={10: normal(2, 1, 1, 4)}
    ),
    "GQA, short bias and sinks": group(
        grouped(), (3, 4), 6, 4, beside={10: normal(1, N, 1, 4), 11: normal(N)}
    ),
    "GQA, smooth softmax": group(
        grouped(smooth=True), (S,), 0, S, queries=S, smooth_softmax=1
    ),
    "GQA, sinks": group(
        grouped(window=2, cap=0.7), (3, P + 1), P, P + 1, local_window_size=2, softcap=0.7,
        beside={10: normal(2, 1, 1, P + 1), 11: normal(N)},
    ),
    "GQA, normalized heads": group(
        grouped(epsilon=1e-3), (S,), 0, S, queries=S, is_turned=True, qk_norm_epsilon=1e-3,
        beside={14: normal(H), 15: normal(H)},
    ),
    "GQA, all keys": group(grouped(causal=False), (4, 7), P, 7, queries=S, causal=0),
    "GQA, all keys of a padded prompt": group(
        grouped(causal=False), (2, S), 0, S, queries=S, causal=0
    ),
    "GQA, a part of heads is rotated": group(
        grouped(), (4, 2), 6, 4, is_turned=True, beside={7: COS[:, :2], 8: SIN[:, :2]}
    ),
    "GQA, all keys and sinks": group(
        grouped(causal=False), (2, S), 0, S, queries=S, causal=0, beside={11: normal(N)}
    ),
    "GQA, padded chunks": group(
        grouped(), (4, 6), 8, 8, queries=S, is_turned=True, beside={16: s32(1, S)}
    ),
    **{
        f"RotaryEmbedding, {interleaved}, {what}": turning(
            "RotaryEmbedding", interleaved, x, places, half, **more
        )
        for interleaved in (0, 1)
        for what, x, places, half, more in (
            ("rows", Q, IDS, H // 2, {}),
            ("an offset", Q, np.array([5]), H // 2, {}),
            ("heads", PAST[0], whole(0, 12, B, P), H // 2, {}),
            ("a part", Q, IDS, 2, {"num_heads": N, "rotary_embedding_dim": 4}),
            ("a part of heads", PAST[0], np.array([1]), 2,
             {"num_heads": N, "rotary_embedding_dim": 4}),
        )
    },
}  # fmt: skip


def inputs_of(edge: Edge) -> dict[str, Array]:
    names = {value.name for value in edge.model().graph.input}
    return {f"x{i}": a for i, a in enumerate(edge.inputs) if f"x{i}" in names}


@functools.cache
def fused(name: str) -> Fused:
    return fuse(graph_by_bodies(read(CASES[name].model()), {})[1])


def calls_of(model: onnx.ModelProto) -> Lowered:
    return lower(fuse(graph_by_bodies(read(model), {})[1]), predict=favoured)


def check(edge: Edge, found: list[Array]) -> None:
    for made, expected in zip(found, edge.values(), strict=True):
        assert made.size == expected.size
        known = ~np.isnan(expected)
        made = made.reshape(expected.shape)
        np.testing.assert_allclose(made[known], expected[known], rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name: str) -> None:
    """The results are numpy's, and every attention is one call, whatever its masks and caches."""
    edge = CASES[name]
    calls = lower(fused(name), predict=favoured)
    found = run(calls, inputs_of(edge))
    check(edge, [found[f"y{i}"] for i in range(edge.outputs)])
    attentions = sum(isinstance(call.spec, Attention) for call in calls.calls)
    assert attentions == (edge.operator != "RotaryEmbedding")


def behind_the_valid_rows(edge: Edge) -> dict[str, Array]:
    """Return inputs with NaN in the unused rows of the caches, as fresh memory may have."""
    given, last = inputs_of(edge), edge.inputs[5].reshape(-1)
    for number in (3, 4):
        given[f"x{number}"] = cache = given[f"x{number}"].copy()
        for b, at in enumerate(last):
            cache[b, :, at + 1 :] = np.nan
    return given


CACHED = [
    name
    for name, edge in CASES.items()
    if edge.operator == "GroupQueryAttention" and np.ndim(edge.inputs[3]) and edge.inputs[3].size
]


@pytest.mark.parametrize("is_one", [True, False])
@pytest.mark.parametrize("name", CACHED)
def test_rows_behind_the_valid_ones_do_not_reach_results(name: str, is_one: bool) -> None:
    """ONNX Runtime does not read unused cache rows; neither do one kernel and separate steps."""
    edge = CASES[name]

    def predict(spec: Spec) -> float:
        return favoured(spec) if is_one else 99.0 * isinstance(spec, Attention)

    calls = lower(fused(name), predict=predict)
    attentions = [call for call in calls.calls if isinstance(call.spec, Attention)]
    assert len(attentions) == is_one
    given = behind_the_valid_rows(edge)
    found = run(calls, given)
    check(edge, [found[f"y{i}"] for i in range(edge.outputs)])
    written = {w: str(getattr(c.spec, "expression", "")) for c in calls.calls for w in c.writes}
    for call in attentions:
        # Rows are copied only where the kernel is not told their number.
        copied = ["scatter" not in written[call.bindings[x].buffer] for x in "kv"]
        assert isinstance(call.spec, Attention) and copied == [not call.spec.kv_length] * 2


@pytest.mark.parametrize("name", CASES)
def test_definitions(name: str) -> None:
    """The definitions against which models are verified give the same results."""
    edge = CASES[name]
    defined = evaluator(in_f64(read(edge.model())))
    for given in (inputs_of(edge), *([behind_the_valid_rows(edge)] if name in CACHED else [])):
        wide = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in given.items()}
        found = defined.run(None, wide)
        assert {x.dtype for x in found} == {np.dtype(np.float64)}
        check(edge, found)


REFUSED: dict[str, tuple[Edge, str]] = {
    "past_sequence_length": (
        many(multi_head(), *OWN, None, None, None, *PAST, s32(4)), "has the input past_sequence_len"
    ),
    "one past": (many(multi_head(), *OWN, None, None, None, PAST[0]), "only one of past_key and"),
    "packed rows": (many(multi_head(), Q), "has a query of 3 axes without a key"),
    "mask": (many(multi_head(), Q, K, V, None, s32(1, 2, 3)), "has a mask of shape 3 for 2 sequen"),
    "attribute": (many(multi_head(), Q, K, V, swoosh=2), "has swoosh=2, an attribute"),
    "Attention's rotation": (joined(packed((D, D)), X, W, BIAS, do_rotary=1), "has do_rotary=1"),
    "heads": (
        of("GroupQueryAttention", grouped(), Q, OWN[1], OWN[2], None, None, s32(2, 2), s32(3),
           num_heads=3, kv_num_heads=2),
        "has num_heads=3 and kv_num_heads=2 for 32 elements",
    ),
    "keys": (
        of("GroupQueryAttention", grouped(), Q, K, V, None, None, s32(2, 2), s32(3), num_heads=N,
           kv_num_heads=KV),
        "has a key of shape 2x5x32 for 2 heads of 8 elements",
    ),
    "no lengths": (
        of("GroupQueryAttention", grouped(), Q, OWN[1], OWN[2], num_heads=N, kv_num_heads=N),
        "lacks the input seqlens_k",
    ),
    "no tables": (
        group(grouped(), (2,), 2, 2, do_rotary=1), "lacks the input cos_cache; give it cos_cache"
    ),
    "no heads": (of("MultiHeadAttention", multi_head(), Q, K, V), "has num_heads=, which must be"),
    "axes": (many(multi_head(), Q[0], K, V), "has a query of shape 3x32; give it 3 or 5 axes"),
    "ring": (group(grouped(), (2,), 2, 2, sliding_window_cache=1), "has sliding_window_cache=1"),
    "quantised": (group(grouped(), (2,), 2, 2, k_quant_type="PER_TENSOR"), "has a quantised cache"),
    "scale": (of("RotaryEmbedding", rotary(), Q, IDS, COS, SIN, scale=0.5), "has scale=0.5"),
    "positions": (of("RotaryEmbedding", rotary(), Q, IDS[:1], COS, SIN), "position_ids of shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    edge, why = REFUSED[name]
    node = onnx.helper.make_node(
        edge.operator, [f"x{i}" if a is not None else "" for i, a in enumerate(edge.inputs)],
        ["y0"], name="/node", domain=edge.domain, **edge.attributes,
    )  # fmt: skip
    given = [
        onnx.helper.make_tensor_value_info(
            f"x{i}", onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape
        )
        for i, a in enumerate(edge.inputs) if a is not None
    ]  # fmt: skip
    output = onnx.helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, None)
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid(edge.domain, 1)]
    graph = onnx.helper.make_graph([node], "main", given, [output])
    with pytest.raises(GraphError, match=why) as raised:
        calls_of(onnx.helper.make_model(graph, opset_imports=opsets))
    message = str(raised.value)
    assert "node /node (com.microsoft." in message and "; " in message
    assert "\n" not in message and len(message) <= 500
