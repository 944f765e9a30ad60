"""Recurrent layers: the products of all inputs at once, then a product and formulas a time step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.operators.registry import Lower, Operator, check_shape, choice_of, one, optional
from kgen.graph.operators.views import joined
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression
from kgen_runtime.values import frozen

#: Time steps, of which each has kernels of its own.
MOST_STEPS = 512
#: Functions that a layer may name, without numbers of their own.
FUNCTIONS = {"Sigmoid": "sigmoid", "Tanh": "tanh", "Relu": "relu", "Softsign": "softsign"}


@frozen
class Direction:
    """Direction of a recurrent layer: weights with a row per gate and unit, biases, initial states,
    activation functions, and whether it runs backwards."""

    inputs: GraphValue
    hidden: GraphValue
    bias: GraphValue | None
    hidden_bias: GraphValue | None
    first: tuple[GraphValue, ...]
    peepholes: tuple[GraphValue, ...]
    functions: tuple[str, ...]
    is_reverse: bool


#: Makes a time step's states of its gates' inputs and the states before it; the first one is the
#: layer's output.
Cell = Callable[[Builder, Direction, GraphValue, tuple[GraphValue, ...]], tuple[GraphValue, ...]]


def parts(b: Builder, value: GraphValue, count: int) -> list[GraphValue]:
    """Gates side by side, one by one."""
    size = value.shape[-1] // count
    return [b.slice(value, value.rank - 1, i * size, size) for i in range(count)]


def recurred(b: Builder, d: Direction, h: GraphValue) -> GraphValue:
    """The product of all gates with the state."""
    return b.product(h, b.permute(d.hidden, (1, 0)))


def summed(b: Builder, *terms: GraphValue) -> GraphValue:
    total = b.term(terms[0])
    for term in terms[1:]:
        total = b.call("add", total, term)
    return b.formula(total, np.broadcast_shapes(*(t.shape for t in terms)), terms[0].dtype)


def lstm_cell(
    b: Builder, d: Direction, given: GraphValue, states: tuple[GraphValue, ...]
) -> tuple[GraphValue, ...]:
    h, c = states
    gate, candidate, squash = d.functions
    i, o, f, g = parts(b, summed(b, recurred(b, d, h), given), 4)
    seen = dict(zip("iof", d.peepholes, strict=False))

    def sigmoid(name: str, value: GraphValue, state: GraphValue) -> Expression:
        term = b.term(value)
        if name in seen:
            term = b.call("add", term, b.call("mul", seen[name], state))
        return b.call(gate, term)

    kept = b.call("mul", sigmoid("f", f, c), c)
    new = b.call("mul", sigmoid("i", i, c), b.call(candidate, g))
    cell = b.formula(b.call("add", kept, new), c.shape, c.dtype)
    out = b.call("mul", sigmoid("o", o, cell), b.call(squash, cell))
    return b.formula(out, h.shape, h.dtype), cell


def gru_cell(before: bool) -> Cell:
    """`before`: the state is reset before its product with the candidate's matrix."""

    def cell(
        b: Builder, d: Direction, given: GraphValue, states: tuple[GraphValue, ...]
    ) -> tuple[GraphValue, ...]:
        (h,) = states
        gate, candidate = d.functions
        z, r, n = parts(b, given, 3)
        if before:
            units = h.shape[-1]
            gates = b.slice(d.hidden, 0, 0, 2 * units)
            last = b.slice(d.hidden, 0, 2 * units, units)
            both = b.product(h, b.permute(gates, (1, 0)))
            z_h, r_h = parts(b, both, 2)
            reset = b.call("mul", b.call(gate, b.call("add", r, r_h)), h)
            n_h = b.product(b.formula(reset, h.shape, h.dtype), b.permute(last, (1, 0)))
            inner: Expression = b.term(n_h)
        else:
            z_h, r_h, n_h = parts(b, recurred(b, d, h), 3)
            inner = b.term(n_h)
            if d.hidden_bias is not None:
                inner = b.call("add", inner, parts(b, d.hidden_bias, 3)[2])
            inner = b.call("mul", b.call(gate, b.call("add", r, r_h)), inner)
        update = b.call(gate, b.call("add", z, z_h))
        new = b.call(candidate, b.call("add", n, inner))
        # (1 - z) new + z h
        found = b.call("add", new, b.call("mul", update, b.call("sub", h, new)))
        return (b.formula(found, h.shape, h.dtype),)

    return cell


def rnn_cell(
    b: Builder, d: Direction, given: GraphValue, states: tuple[GraphValue, ...]
) -> tuple[GraphValue, ...]:
    (h,) = states
    total = summed(b, recurred(b, d, h), given)
    return (b.formula(b.call(d.functions[0], total), h.shape, h.dtype),)


def layer(
    gates: int, states: int, defaults: Sequence[str], cell_of: Callable[[Node], Cell]
) -> Lower:
    """The lowering of a layer with so many gates and states."""

    def lower(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[GraphValue, ...]:
        x, w, r = one(given), one(given, 1), one(given, 2)
        check(b, node, given, x)
        check_shapes(b, node, given, gates, states)
        time, batch, _ = x.shape
        cell, is_linear = cell_of(node), bool(node.attribute("linear_before_reset", 0))
        outputs: list[list[GraphValue]] = []
        finals: list[tuple[GraphValue, ...]] = []
        for number in range(w.shape[0]):
            d = direction(b, node, given, number, gates, states, defaults, is_linear)
            found = projected(b, x, d)
            now = d.first
            made: list[GraphValue] = []
            for step in range(time):
                at = time - 1 - step if d.is_reverse else step
                part = b.reshape(b.slice(found, 0, at, 1), (batch, found.shape[-1]))
                now = cell(b, d, part, now)
                made.append(now[0])
            outputs.append(list(reversed(made)) if d.is_reverse else made)
            finals.append(now)
        units = r.shape[-1]
        shown = [
            joined(b, [b.reshape(v, (1, 1, batch, units)) for v in made], 0) for made in outputs
        ]
        last = [
            joined(b, [b.reshape(final[i], (1, batch, units)) for final in finals], 0)
            for i in range(states)
        ]
        return (joined(b, shown, 1), *last)

    return lower


def check(b: Builder, node: Node, given: list[GraphValue | None], x: GraphValue) -> None:
    """Raises GraphError for what is not taken."""
    if x.rank != 3:
        raise b.refusal(f"has an input of {x.rank} axes; it must have 3", CHANGE_MODEL)
    time = x.shape[0]
    if node.attribute("layout", 0):
        raise b.refusal(
            "has layout=1; only 0 is supported, with time in front",
            "export it with layout=0 and a Transpose",
        )
    if node.attribute("clip") or node.attribute("input_forget", 0):
        raise b.refusal(
            "has clip or input_forget; neither is supported", "export the layer without them"
        )
    if node.attribute("activation_alpha") or node.attribute("activation_beta"):
        raise b.refusal(
            "has activation_alpha or activation_beta, which are not supported",
            f"use one of {', '.join(FUNCTIONS)}",
        )
    if time > MOST_STEPS:
        raise b.refusal(
            f"has {time} time steps; {MOST_STEPS} is the limit",
            "compile it for fewer steps, and carry the state with --state",
        )
    lengths = b.array(optional(given, 4))
    if optional(given, 4) is not None and (lengths is None or (lengths != time).any()):
        raise b.refusal(
            "has sequences of several lengths; only full ones are supported",
            "leave sequence_lens out, and compile for one length",
        )


def check_shapes(
    b: Builder, node: Node, given: list[GraphValue | None], gates: int, states: int
) -> None:
    """Raise GraphError for weights, biases or states of other shapes than ONNX demands."""
    x, w, r = one(given), one(given, 1), one(given, 2)
    way = choice_of(b, node, "direction", "forward", ("forward", "reverse", "bidirectional"))
    count, units = 2 if way == "bidirectional" else 1, r.shape[-1] if r.rank else 0
    units = node.attribute("hidden_size", units)
    _, batch, size = x.shape
    check_shape(b, w, (count, gates * units, size), "W")
    check_shape(b, r, (count, gates * units, units), "R")
    check_shape(b, optional(given, 3), (count, 2 * gates * units), "B")
    check_shape(b, optional(given, 4), (batch,), "sequence_lens")
    for number, what in zip(range(states), ("initial_h", "initial_c"), strict=False):
        check_shape(b, optional(given, 5 + number), (count, batch, units), what)
    if states > 1:
        check_shape(b, optional(given, 7), (count, 3 * units), "P")


def direction(
    b: Builder,
    node: Node,
    given: list[GraphValue | None],
    number: int,
    gates: int,
    states: int,
    defaults: Sequence[str],
    is_linear: bool,
) -> Direction:
    x, w, r = one(given), one(given, 1), one(given, 2)
    units = r.shape[-1]
    names = list(node.attribute("activations", ()))
    own = names[number * len(defaults) : (number + 1) * len(defaults)] or list(defaults)
    unknown = [name for name in own if name not in FUNCTIONS]
    if unknown or len(own) != len(defaults):
        raise b.refusal(
            f"has activations={','.join(names)}; supported are {', '.join(FUNCTIONS)}",
            "export the layer with these",
        )

    def of(index: int) -> GraphValue | None:
        """This direction's part of an input."""
        value = optional(given, index)
        if value is None:
            return None
        return b.reshape(b.slice(value, 0, number, 1), value.shape[1:])

    biases = of(3)
    bias = hidden_bias = None
    if biases is not None:
        bias, hidden_bias = (b.slice(biases, 0, i * gates * units, gates * units) for i in (0, 1))
        if not is_linear:
            bias = added(b, bias, hidden_bias, "bias")
            hidden_bias = None
        else:
            # Of the gates all are summed, of the candidate each by itself.
            rest = gates - 1
            first_gates, hidden_gates = (
                b.slice(v, 0, 0, rest * units) for v in (bias, hidden_bias)
            )
            front = added(b, first_gates, hidden_gates, "gates")
            bias = beside(b, front, b.slice(bias, 0, rest * units, units), "bias")
    b.check_table(x.shape[1] * units)
    nothing = np.zeros((x.shape[1], units), x.dtype.storage)
    zeros = b.made("zeros", nothing, x.dtype)
    first = tuple(of(5 + i) or zeros for i in range(states))
    peepholes = of(7) if states > 1 else None
    way = node.attribute("direction", "forward")
    return Direction(
        inputs=b.folded(of(1) or w),
        hidden=b.folded(of(2) or r),
        bias=None if bias is None else b.folded(bias),
        hidden_bias=None if hidden_bias is None else b.folded(hidden_bias),
        first=first,
        peepholes=()
        if peepholes is None
        else tuple(b.slice(peepholes, 0, i * units, units) for i in range(3)),
        functions=tuple(FUNCTIONS[name] for name in own),
        is_reverse=way == "reverse" or number == 1,
    )


def added(b: Builder, first: GraphValue, second: GraphValue, name: str) -> GraphValue:
    """The sum of two vectors, a constant if both are."""
    one_array, other = (b.elements(v) for v in (first, second))
    if one_array is None or other is None:
        return summed(b, first, second)
    return b.made(name, one_array + other, first.dtype)


def beside(b: Builder, first: GraphValue, second: GraphValue, name: str) -> GraphValue:
    """Two vectors behind one another, a constant if both are."""
    one_array, other = (b.elements(v) for v in (first, second))
    if one_array is None or other is None:
        return joined(b, [first, second], 0)
    return b.made(name, np.concatenate((one_array, other)), first.dtype)


def projected(b: Builder, x: GraphValue, d: Direction) -> GraphValue:
    """Product of the inputs of all time steps with the weights of all gates."""
    found = b.product(x, b.permute(d.inputs, (1, 0)))
    return found if d.bias is None else summed(b, found, d.bias)


#: Uses of all three operators that are refused.
UNSUPPORTED = (
    f"more than {MOST_STEPS} time steps; shorter sequences (sequence_lens); layout=1; clip; "
    f"activations other than {', '.join(FUNCTIONS)}"
)
OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="LSTM", family="product", becomes="matmul and formulas per time step",
        lower=layer(4, 2, ("Sigmoid", "Tanh", "Tanh"), lambda node: lstm_cell),
        unsupported=UNSUPPORTED,
    ),
    Operator(
        name="GRU", family="product", becomes="matmul and formulas per time step",
        lower=layer(
            3, 1, ("Sigmoid", "Tanh"),
            lambda node: gru_cell(not node.attribute("linear_before_reset", 0)),
        ),
        unsupported=UNSUPPORTED,
    ),
    Operator(
        name="RNN", family="product", becomes="matmul and formulas per time step",
        lower=layer(1, 1, ("Tanh",), lambda node: rnn_cell),
        unsupported=UNSUPPORTED,
    ),
)  # fmt: skip
