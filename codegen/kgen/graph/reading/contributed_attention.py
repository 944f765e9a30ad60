"""ONNX Runtime's attention operators (`com.microsoft`), written with ONNX's own operators.

Each entry of `BODIES` follows ONNX Runtime's ContribOperators.md. A body depends on the ranks and
sizes of the node's inputs, so it is written when the importer knows them. The bodies contain ONNX's
`Attention`, which is fused as in any other model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from kgen.graph.reading.contributed_quantized import by_columns, linear
from kgen.graph.reading.function_bodies import FunctionBody
from kgen.graph.reading.inference import dims_of
from kgen.graph.reading.model import Array, Shape
from kgen.graph.reading.writer import DOMAIN, Writer
from kgen.spec.shapes import by_x

#: Opset of the bodies: the first with TensorScatter and the number of valid keys of `Attention`.
OPSET = 24
#: Score that is added to the keys that a padding mask hides, unless the node names another.
HIDDEN = -10000.0
#: Values of the attributes for a cache that is not quantised.
NOT_QUANTIZED = ("", "NONE")


class BodyWriter(Writer):
    """Writer that knows the shapes of the node's inputs."""

    def __init__(
        self,
        node: onnx.NodeProto,
        name: str,
        types: Mapping[str, onnx.TypeProto],
        constants: Mapping[str, Array],
    ) -> None:
        super().__init__(node, name, OPSET, {})
        self.types, self.values = types, constants

    def shape(self, number: int) -> Shape:
        return dims_of(self.types[self.input(number)])

    def flag(self, name: str) -> bool:
        return bool(self.attributes.get(name, 0))

    def count(self, name: str) -> int:
        """Return an attribute that is at least 1. Raises GraphError for any other value."""
        found = self.attributes.get(name, "")
        self.require(
            isinstance(found, int) and found > 0,
            f"has {name}={found}, which must be at least 1",
            f"give it the attribute {name}",
        )
        return int(found)

    def require(self, holds: bool, why: str, remedy: str) -> None:
        """Raise GraphError unless a condition holds."""
        if not holds:
            raise self.refusal(why, remedy)

    def forbid(self, *, inputs: Mapping[int, str], outputs: Mapping[int, str]) -> None:
        """Raise GraphError if the node has one of these inputs or outputs, given by name."""
        for number, what in inputs.items():
            self.require(
                not self.input(number),
                f"has the input {what}, which kgen does not support",
                f"export it without {what}",
            )
        for number, what in outputs.items():
            self.require(
                not "".join(self.node.output[number : number + 1]),
                f"gives {what}, which kgen does not support",
                f"export it without {what}",
            )

    def need(self, inputs: Mapping[int, str]) -> None:
        """Raise GraphError if one of these inputs, given by name, is missing."""
        for number, what in inputs.items():
            self.require(bool(self.input(number)), f"lacks the input {what}", f"give it {what}")

    def rank(self, number: int, what: str, ranks: tuple[int, ...]) -> None:
        """Raise GraphError unless an input has one of these numbers of axes."""
        shape = self.shape(number)
        self.require(
            len(shape) in ranks,
            f"has {what} of shape {by_x(shape)}",
            f"give it {' or '.join(map(str, ranks))} axes",
        )

    def check_attributes(self, known: Collection[str]) -> None:
        for name, value in self.attributes.items():
            self.require(
                name in known,
                f"has {name}={value}, an attribute that kgen does not support here",
                "export the model without it",
            )

    # -- nodes ---------------------------------------------------------------------------------

    def integers(self, *numbers: int) -> str:
        return self.constant(np.asarray(numbers, np.int64))

    def reshaped(self, x: str, *sizes: int) -> str:
        return self.add("Reshape", x, self.integers(*sizes))

    def by_heads(self, x: str, heads: int) -> str:
        """Return batch x sequence x hidden as batch x heads x sequence x elements of a head."""
        return self.add("Transpose", self.reshaped(x, 0, 0, heads, -1), perm=[0, 2, 1, 3])

    def joined(self, x: str) -> str:
        """Return batch x heads x sequence x elements of a head as batch x sequence x hidden."""
        return self.reshaped(self.add("Transpose", x, perm=[0, 2, 1, 3]), 0, 0, -1)

    def whole(self, number: int, *sizes: int) -> str:
        """Return an input as s64 numbers of some shape."""
        x = self.add("Cast", self.input(number), to=TensorProto.INT64)
        return self.reshaped(x, *sizes)

    def masked(self, seen: str, hidden: float, like: str) -> str:
        """Return a mask to add: 0 where `seen` is true, and `hidden` elsewhere."""
        return self.add("Where", seen, self.number(0.0, like), self.number(hidden, like))

    def total(self, *terms: str) -> str:
        """Add the terms that are given; return "" without any."""
        given = [term for term in terms if term]
        found = given[0] if given else ""
        for term in given[1:]:
            found = self.add("Add", found, term)
        return found

    def attention(self, *inputs: str, outputs: int = 1, is_causal: bool = False) -> str:
        """Append ONNX's Attention with the node's scale and softcap.

        ONNX's Attention takes the square root of the scale. For a negative scale, Q is negated.
        """
        while not inputs[-1]:
            inputs = inputs[:-1]
        given = {k: self.attributes[k] for k in ("scale", "softcap") if self.attributes.get(k)}
        if given.get("scale", 0.0) < 0.0:
            given["scale"] = -given["scale"]
            inputs = (self.add("Neg", inputs[0]), *inputs[1:])
        return self.add(
            "Attention", *inputs, outputs=outputs, is_causal=int(is_causal), **given
        )  # fmt: skip


# -- MultiHeadAttention --------------------------------------------------------------------------


def multi_head(w: BodyWriter) -> list[str]:
    w.forbid(
        inputs={8: "past_sequence_length", 9: "cache_indirection"}, outputs={3: "qk"}
    )  # fmt: skip
    w.need({0: "query"})
    heads = w.count("num_heads")
    w.rank(0, "a query", (3, 5))
    if w.input(1):
        w.rank(1, "a key", (3, 4, 5))
        w.need({} if len(w.shape(1)) == 5 else {2: "value"})
    if w.input(3):
        w.rank(3, "a bias", (1,))
    q, k, v = separated(w, heads)
    past = [w.input(6), w.input(7)]
    w.require(
        all(past) or not any(past),
        "has only one of past_key and past_value",
        "give both or none",
    )
    if past[0]:
        w.rank(6, "a past_key", (4,))
        past = past if all(w.shape(6)) else ["", ""]
    length = w.shape(6)[2] if past[0] else 0
    batch, queries = w.shape(0)[:2]
    keys = length + _keys(w)
    mask = w.total(padding(w, 4, batch, queries, keys), w.input(5))
    is_causal = w.flag("unidirectional")
    if past[0]:
        found = w.attention(q, k, v, mask, *past, outputs=3, is_causal=is_causal)
        k, v = f"{found}.1", f"{found}.2"
    else:
        found = w.attention(q, k, v, mask, is_causal=is_causal)
    return [w.joined(found), k, v]


def _keys(w: BodyWriter) -> int:
    """Return the number of new keys."""
    if not w.input(1):
        return w.shape(0)[1]
    shape = w.shape(1)
    return shape[2] if len(shape) == 4 else shape[1]


def separated(w: BodyWriter, heads: int) -> tuple[str, str, str]:
    """Return Q, K and V by heads, with the bias added, from any of the node's forms."""
    q, k, v = (w.input(i) for i in range(3))
    rank = len(w.shape(0))
    w.require(
        rank == (3 if k else 5),
        f"has a query of {rank} axes {'with' if k else 'without'} a key",
        "give a query of 3 axes with a key, or of 5 axes, packed, without a key",
    )
    width = w.shape(0)[2] if k else heads * w.shape(0)[4]
    is_by_heads = bool(k) and len(w.shape(1)) == 4
    if not k:
        q, k, v = (w.reshaped(part, 0, 0, -1) for part in w.split(q, (1, 1, 1), axis=3))
    elif len(w.shape(1)) == 5:
        k, v = (w.reshaped(part, 0, 0, -1) for part in w.split(k, (1, 1), axis=3))
    w.require(
        width % heads == 0,
        f"has num_heads={heads}, which does not divide the {width} elements of a query",
        "make num_heads a divisor",
    )
    if bias := w.input(3):
        own = w.shape(3)[0] - width
        q_bias, others = w.split(bias, (width, own), axis=0)
        q = w.add("Add", q, q_bias)
        if not is_by_heads:
            parts = zip((k, v), w.split(others, (width, own - width), axis=0), strict=True)
            k, v = (w.add("Add", x, part) for x, part in parts)
    q = w.by_heads(q, heads)
    return (q, k, v) if is_by_heads else (q, w.by_heads(k, heads), w.by_heads(v, heads))


def padding(w: BodyWriter, number: int, batch: int, queries: int, keys: int) -> str:
    """Return the mask to add for an input that says which keys are padding; "" without it.

    The input holds one of:

    - the number of keys of each sequence, with or without the cumulative numbers
    - the end of the keys of each sequence, then the start of each
    - a flag for each key, or for each pair of a query and a key
    """
    if not w.input(number):
        return ""
    shape = w.shape(number)
    flags = {(batch, keys): (batch, 1, 1, keys), (batch, queries, keys): (batch, 1, queries, keys)}
    x = w.input(number)
    if shape in ((batch,), (2 * batch,), (3 * batch + 2,)):
        places = w.add("CastLike", w.constant(np.arange(keys)), x)
        left = [shape[0] - batch] if shape[0] > batch else []
        ends, *others = w.split(w.reshaped(x, -1, 1, 1, 1), [batch, *left], axis=0)
        seen = w.add("Less", places, ends)
        if shape == (2 * batch,):
            seen = w.add("And", seen, w.add("GreaterOrEqual", places, others[0]))
    elif shape in flags:
        seen = w.add("Greater", w.reshaped(x, *flags[shape]), w.number(0.0, x))
    elif len(shape) == 4 and shape[:2] == (batch, 1) and min(shape[2:]) >= keys:
        bounds = w.integers(keys - queries, 0), w.integers(keys, keys), w.integers(2, 3)
        seen = w.add("Greater", w.add("Slice", x, *bounds), w.number(0.0, x))
    else:
        raise w.refusal(
            f"has a mask of shape {by_x(shape)} for {batch} sequences of {queries} queries and "
            f"{keys} keys",
            f"give it the shape {batch}x{keys} or {batch}x{queries}x{keys}",
        )
    return w.masked(seen, float(w.attributes.get("mask_filter_value", HIDDEN)), w.input(0))


# -- GroupQueryAttention -------------------------------------------------------------------------


class KeyValueCache:
    """KV cache of GroupQueryAttention: past rows, and the new rows behind the valid ones.

    `first` is the position of the first new row of each sequence; "" where that is 0 because there
    is no past. `size` is the number of rows of the present keys. Rows are written from `written`
    on, which is `first` unless they do not fit, so that the runtime can refuse the run.
    """

    def __init__(self, w: BodyWriter) -> None:
        self.w = w
        self.batch, self.queries = w.shape(0)[:2]
        w.require(
            bool(w.input(3)) == bool(w.input(4)),
            "has only one of past_key and past_value",
            "give both or none",
        )
        self.past = w.shape(3)[2] if w.input(3) else 0
        total = w.values.get(w.input(6))
        least = self.past or self.queries
        self.size = max(least, int(total.reshape(-1)[0])) if total is not None else least
        self.first = self.written = ""
        if self.past:
            chunk = w.whole(16, -1) if w.input(16) else w.integers(self.queries)
            self.written = w.add("Max", w.add("Sub", self.counts(), chunk), w.integers(0))
            last = w.integers(max(0, self.size - self.queries))
            self.first = w.add("Min", self.written, last)

    def counts(self) -> str:
        """Return the number of valid rows of each sequence, the new ones included."""
        return self.w.add("Add", self.w.whole(5, -1), self.w.integers(1))

    def rows(self) -> str:
        """Return the positions of the queries: batch x 1 x queries x 1, or without the batch."""
        steps = self.w.constant(np.arange(self.queries).reshape(-1, 1))
        if not self.first:
            return steps
        return self.w.add("Add", self.w.reshaped(self.first, -1, 1, 1, 1), steps)

    def present(self, number: int, new: str) -> str:
        """Return the rows of the past input `number` with the new rows written behind."""
        w = self.w
        known = w.input(number) if self.past else new
        if more := self.size - (self.past or self.queries):
            known = w.add("Pad", known, w.integers(0, more), "", w.integers(2))
        return w.add("TensorScatter", known, new, self.written, axis=2) if self.past else known


def group_query(w: BodyWriter) -> list[str]:
    """Write GroupQueryAttention: rotation of Q and K, an update of the cache, and Attention."""
    w.need({0: "query", 5: "seqlens_k", 6: "total_sequence_length"})
    w.rank(0, "a query", (3,))
    for number, what in ((3, "a past_key"), (4, "a past_value")):
        if w.input(number):
            w.rank(number, what, (4,))
    if w.flag("do_rotary"):
        w.need({7: "cos_cache", 8: "sin_cache"})
        w.rank(7, "a cos_cache", (2,))
    if w.input(1):
        w.need({2: "value"})
    w.forbid(inputs={12: "k_scale", 13: "v_scale"}, outputs={3: "output_qk"})
    for name in ("k_quant_type", "v_quant_type"):
        w.require(
            w.text(name) in NOT_QUANTIZED,
            f"has a quantised cache, {name}={w.text(name)}",
            "export it with a cache of floats",
        )
    w.require(
        not w.flag("sliding_window_cache"),
        "has sliding_window_cache=1, a cache of the size of the window",
        "export it with a cache of all positions",
    )
    q, k, v = grouped(w)
    cache = KeyValueCache(w)
    if w.flag("do_rotary"):
        places = positions(w, cache)
        q, k = (rotated(w, x, places) for x in (q, k))
    presents = cache.present(3, k), cache.present(4, v)
    if cache.past:
        k, v = presents
    return [w.joined(scored(w, cache, q, k, v)), *presents]


def grouped(w: BodyWriter) -> tuple[str, str, str]:
    """Return Q, K and V by heads; heads of Q and K are normalized if the node has weights."""
    heads, few = w.count("num_heads"), w.count("kv_num_heads")
    batch, queries, width = w.shape(0)
    parts = [w.input(i) for i in range(3)]
    packed = 0 if parts[1] else 2 * few
    w.require(
        few > 0 and heads % few == 0 and width % (heads + packed) == 0,
        f"has num_heads={heads} and kv_num_heads={few} for {width} elements of a query",
        "make num_heads a multiple of kv_num_heads, and all heads of one size",
    )
    size = width // (heads + packed)
    if packed:
        parts = w.split(parts[0], (heads * size, few * size, few * size), axis=2)
    elif (shape := w.shape(1)) != (batch, queries, few * size):
        raise w.refusal(
            f"has a key of shape {by_x(shape)} for {few} heads of {size} elements",
            f"give it the shape {by_x((batch, queries, few * size))}",
        )
    q, k, v = (w.by_heads(x, n) for x, n in zip(parts, (heads, few, few), strict=True))
    if w.input(14):
        q, k = (normalized(w, x, name, 14 + i) for i, (x, name) in enumerate(((q, "q"), (k, "k"))))
    return q, k, v


def normalized(w: BodyWriter, x: str, name: str, weight: int) -> str:
    epsilon = w.attributes.get("qk_norm_epsilon", 1e-6)
    epsilon = w.attributes.get(f"{name}_norm_epsilon", epsilon)
    return w.add("RMSNormalization", x, w.input(weight), axis=-1, epsilon=epsilon)


def positions(w: BodyWriter, cache: KeyValueCache) -> str:
    """Return the positions of the queries and of the new keys: batch x queries."""
    shape = (cache.batch, cache.queries)
    if w.input(9):
        return w.whole(9, *shape)
    return w.add("Expand", w.reshaped(cache.rows(), -1, cache.queries), w.integers(*shape))


def rotated(w: BodyWriter, x: str, places: str) -> str:
    """Rotate x, batch x heads x sequence x elements of a head, by the tables of the node."""
    return w.add(
        "RotaryEmbedding",
        x,
        w.input(7),
        w.input(8),
        places,
        interleaved=int(w.flag("rotary_interleaved")),
        rotary_embedding_dim=2 * w.shape(7)[1],
    )


def scored(w: BodyWriter, cache: KeyValueCache, q: str, k: str, v: str) -> str:
    """Attend to the keys up to each query's position, or to all valid ones."""
    keys = cache.size if cache.past else cache.queries
    is_causal = bool(w.attributes.get("causal", 1))
    window = int(w.attributes.get("local_window_size", -1))
    places, seen = w.constant(np.arange(keys)), ""
    if window > 0:
        seen = w.add("Greater", places, w.add("Sub", cache.rows(), w.integers(window)))
    # Rows of padding behind the last valid query may attend to any key.
    behind = w.add("Add", cache.first, w.integers(cache.queries)) if cache.past else ""
    count = behind if is_causal else cache.counts()
    if count:
        k, v = (first_rows(w, x, count, keys) for x in (k, v))
    if not w.input(11) and w.attributes.get("smooth_softmax", 0) != 1:
        mask = w.total(w.masked(seen, -np.inf, q) if seen else "", bias_of(w, keys))
        return w.attention(q, k, v, mask, "", "", count, is_causal=is_causal)
    if is_causal:
        valid = w.add("LessOrEqual", places, cache.rows())
    else:
        valid = w.add("Less", places, w.reshaped(cache.counts(), -1, 1, 1, 1))
    mask = w.masked(w.add("And", valid, seen) if seen else valid, -np.inf, q)
    bias = w.shape(10) if w.input(10) else (1, 1)
    own = cache.batch if cache.past or not is_causal else 1
    sizes = (max(own, bias[0]), max(w.count("num_heads") if w.input(11) else 1, bias[1]))
    mask = w.add("Expand", w.total(mask, bias_of(w, keys)), w.integers(*sizes, cache.queries, keys))
    sink = w.input(11) or w.constant(np.zeros(1, np.float32))
    sink = w.reshaped(w.add("CastLike", sink, q), 1, -1, 1, 1)
    sink = w.add("Expand", sink, w.integers(*sizes, cache.queries, 1))
    k, v = (with_row_of_zeros(w, cache, x) for x in (k, v))
    return w.attention(q, k, v, w.add("Concat", mask, sink, axis=3))


def first_rows(w: BodyWriter, x: str, count: str, keys: int) -> str:
    """Return keys or values with zeros in the rows from `count` on, whatever the cache has there.

    A mask alone lets NaN through: 0 times NaN is NaN.
    """
    places = w.constant(np.arange(keys).reshape(-1, 1))
    is_valid = w.add("Less", places, w.reshaped(count, -1, 1, 1, 1))
    return w.add("Where", is_valid, x, w.number(0.0, x))


def bias_of(w: BodyWriter, keys: int) -> str:
    """Return the bias, extended by zeros to all rows of the cache; "" without a bias."""
    if not w.input(10):
        return ""
    w.rank(10, "an attention_bias", (4,))
    more = keys - w.shape(10)[3]
    if more <= 0:
        return w.input(10)
    return w.add("Pad", w.input(10), w.integers(0, more), "", w.integers(3))


def with_row_of_zeros(w: BodyWriter, cache: KeyValueCache, x: str) -> str:
    """Append a row of zeros to keys or values.

    The key's score is its element of the mask. It adds to the softmax's denominator only.
    """
    heads, few = w.count("num_heads"), w.count("kv_num_heads")
    size = w.shape(0)[2] // (heads + (0 if w.input(1) else 2 * few))
    row = w.constant(np.zeros((cache.batch, few, 1, size), np.float32))
    return w.add("Concat", x, w.add("CastLike", row, x), axis=2)


# -- RotaryEmbedding -----------------------------------------------------------------------------


def rotary(w: BodyWriter) -> list[str]:
    """Write RotaryEmbedding. A single position is that of the first row of each sequence."""
    w.need({0: "input", 1: "position_ids", 2: "cos_cache", 3: "sin_cache"})
    w.rank(0, "an input", (3, 4))
    w.rank(2, "a cos_cache", (2,))
    x, shape, size = w.input(0), w.shape(0), 2 * w.shape(2)[1]
    scale = w.attributes.get("scale", 1.0)
    w.require(scale == 1.0, f"has scale={scale}", "multiply by it in a node of its own")
    batch, length = shape[0], shape[1] if len(shape) == 3 else shape[2]
    given = {"interleaved": int(w.flag("interleaved")), "rotary_embedding_dim": size}
    if len(shape) == 3:
        given["num_heads"] = int(w.attributes.get("num_heads", 0)) or shape[2] // size
    if w.shape(1) == (batch, length):
        places = w.whole(1, batch, length)
    else:
        w.require(
            w.shape(1) in ((1,), ()),
            f"has position_ids of shape {by_x(w.shape(1))}",
            f"give it the shape 1 or {batch}x{length}",
        )
        places = w.add("Add", w.whole(1, 1, 1), w.constant(np.arange(length).reshape(1, -1)))
        places = w.add("Expand", places, w.integers(batch, length))
    return [w.add("RotaryEmbedding", x, w.input(2), w.input(3), places, **given)]


# -- Attention -----------------------------------------------------------------------------------


def packed_attention(w: Writer) -> list[str]:
    """Write Attention as MultiHeadAttention of a product with the joined weights."""
    check_packed(w)
    if w.input(6):
        raise w.refusal(
            "has the input past_sequence_length, which kgen does not support",
            "export it without past_sequence_length",
        )
    joined = w.add("MatMul", w.input(0), w.input(1))
    if w.input(2):
        joined = w.add("Add", joined, w.input(2))
    return from_joined(w, joined, mask=w.input(3), past=w.input(4), bias=w.input(5))


def quantized_attention(w: Writer) -> list[str]:
    """Write QAttention, an Attention with quantised inputs and weights."""
    check_packed(w)
    x = w.add("DequantizeLinear", *filter(None, (w.input(0), w.input(3), w.input(6))))
    weights = (w.input(1), w.input(4), w.input(7))
    (joined,) = by_columns(w, x, weights, w.input(2))
    return from_joined(w, joined, mask=w.input(5), past=w.input(8), bias="")


def check_packed(w: Writer) -> None:
    for name in ("do_rotary", "past_present_share_buffer"):
        if w.attributes.get(name, 0):
            raise w.refusal(
                f"has {name}=1, which kgen does not support", f"export it without {name}"
            )


def from_joined(w: Writer, joined: str, *, mask: str, past: str, bias: str) -> list[str]:
    """Write MultiHeadAttention of Q, K and V beside one another in one value."""
    sizes = list(w.attributes.get("qkv_hidden_sizes", ()))
    if not sizes and w.input(1) in w.known:
        shape = tuple(w.known[w.input(1)].dims)
        if len(shape) != 2:
            raise w.refusal(
                f"has weights of shape {by_x(shape)}", "give them 2 axes: inputs, and Q, K and V"
            )
        sizes = [shape[1] // 3] * 3
    parts = w.split(joined, sizes, axis=2, count=3)
    pasts = ["", ""]
    if past:
        pasts = [w.add("Gather", past, w.constant(np.asarray(i)), axis=0) for i in range(2)]
    own = ("mask_filter_value", "num_heads", "scale", "unidirectional")
    found = w.add(
        "MultiHeadAttention",
        *(*parts, "", mask, bias, *pasts),
        outputs=3,
        domain=DOMAIN,
        **{name: w.attributes[name] for name in own if name in w.attributes},
    )
    if not "".join(w.node.output[1:]):
        w.nodes[-1].output[1:] = []
        return [found]
    return [found, w.add("Concat", *(w.unsqueezed(f"{found}.{i}", 0) for i in (1, 2)), axis=0)]


# -- views --------------------------------------------------------------------------------------


def trilu(w: BodyWriter) -> list[str]:
    return [w.add("Trilu", *w.node.input, upper=int(w.attributes.get("upper", 1)))]


def expand_dims(w: BodyWriter) -> list[str]:
    """Write ExpandDims: an axis of one element at a place that is a scalar or a list of one."""
    first = w.constant(np.asarray([1], np.int64))
    axis = w.add("Cast", w.add("Reshape", w.input(1), first), to=TensorProto.INT64)
    return [w.add("Unsqueeze", w.input(0), axis)]


# -- the tables ----------------------------------------------------------------------------------

WRITERS: Mapping[str, Callable[[Writer], list[str]]] = {
    "Attention": packed_attention,
    "QAttention": quantized_attention,
}
#: Attributes of ONNX Runtime's QuantizeLinear and DequantizeLinear. As bodies they may use types
#: and scales of later opsets than the model's.
LINEAR = ("axis", "block_size", "output_dtype", "saturate")
BODIES: Mapping[str, tuple[Callable[[BodyWriter], list[str]], tuple[str, ...]]] = {
    "DequantizeLinear": (linear, LINEAR),
    "ExpandDims": (expand_dims, ()),
    "QuantizeLinear": (linear, LINEAR),
    "GroupQueryAttention": (
        group_query,
        (
            *("causal", "do_rotary", "k_norm_epsilon", "k_quant_type", "kv_cache_bit_width"),
            *("kv_num_heads", "local_window_size", "num_heads", "q_norm_epsilon"),
            *("qk_norm_epsilon", "qk_output", "rotary_interleaved", "scale", "smooth_softmax"),
            *("sliding_window_cache", "softcap", "v_quant_type"),
        ),
    ),
    "MultiHeadAttention": (
        multi_head,
        ("mask_filter_value", "num_heads", "scale", "unidirectional"),
    ),
    "RotaryEmbedding": (
        rotary,
        ("interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale"),
    ),
    "Trilu": (trilu, ("upper",)),
}


def contributed_body(
    node: onnx.NodeProto,
    name: str,
    types: Mapping[str, onnx.TypeProto],
    constants: Mapping[str, Array],
) -> FunctionBody | None:
    """Return the body of a contributed node for inputs of these types; None for other operators.

    Raises GraphError for an unsupported use.
    """
    if not is_contributed(node):
        return None
    write, attributes = BODIES[node.op_type]
    w = BodyWriter(node, name, types, constants)
    w.check_attributes(attributes)
    results = write(w)
    made = [helper.make_node("Constant", [], [t.name], name=name, value=t) for t in w.constants]
    copies = [
        helper.make_node("Identity", [result], [output], name=name)
        for output, result in zip(node.output, results, strict=False)
        if output
    ]
    return FunctionBody(nodes=[*made, *w.nodes, *copies], opsets={"": OPSET})


def is_contributed(node: onnx.NodeProto) -> bool:
    return node.domain == DOMAIN and node.op_type in BODIES
