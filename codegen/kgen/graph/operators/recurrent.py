"""LSTM, GRU and RNN: one GEMM over all time steps, then a GEMM and formulas per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.memory import ALIGNMENT
from kgen.graph.operators.registry import Lower, Operator, check_shape, choice_of, one, optional
from kgen.graph.operators.views import joined
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression
from kgen_runtime.values import frozen

#: Most time steps, as each adds kernel calls to the program.
MOST_STEPS = 512
#: Activation functions of a layer, with the defaults of alpha and beta.
FUNCTIONS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "Affine": ("", (1.0, 0.0)), "Elu": ("elu", (1.0,)), "HardSigmoid": ("hard_sigmoid", (0.2, 0.5)),
    "LeakyRelu": ("leaky_relu", (0.01,)), "Relu": ("relu", ()), "ScaledTanh": ("tanh", (1.0, 1.0)),
    "Sigmoid": ("sigmoid", ()), "Softplus": ("softplus", ()), "Softsign": ("softsign", ()),
    "Tanh": ("tanh", ()), "ThresholdedRelu": ("", (1.0,)),
}  # fmt: skip


@frozen
class Activation:
    """Activation function of a gate; its argument is clipped to -clip to clip, if clip is not 0."""

    name: str
    numbers: tuple[float, ...]
    clip: float

    def __call__(self, b: Builder, x: GraphValue | Expression) -> Expression:
        term = b.term(x)
        if self.clip:
            term = b.call("clip", term, -self.clip, self.clip)
        name, _ = FUNCTIONS[self.name]
        if self.name == "Affine":
            return b.call("add", b.call("mul", term, self.numbers[0]), self.numbers[1])
        if self.name == "ScaledTanh":
            return b.call(
                "mul", b.call(name, b.call("mul", term, self.numbers[1])), self.numbers[0]
            )
        if self.name == "ThresholdedRelu":
            return b.call("where", b.call("less_equal", self.numbers[0], term), term, 0.0)
        return b.call(name, term, *self.numbers)


@frozen
class Direction:
    """Direction of a recurrent layer.

    Weights have a row per gate and unit. `first` are the initial states. If `is_coupled`, the
    forget gate of an LSTM is 1 - input gate.
    """

    inputs: GraphValue
    hidden: GraphValue
    bias: GraphValue | None
    hidden_bias: GraphValue | None
    first: tuple[GraphValue, ...]
    peepholes: tuple[GraphValue, ...]
    functions: tuple[Activation, ...]
    is_reverse: bool
    is_coupled: bool


#: Function that returns the states after a time step, given the gates' projected inputs and the
#: states before it. The first state is the layer's output.
Cell = Callable[[Builder, Direction, GraphValue, tuple[GraphValue, ...]], tuple[GraphValue, ...]]


def parts(b: Builder, value: GraphValue, count: int) -> list[GraphValue]:
    """Split the last axis into `count` gates."""
    size = value.shape[-1] // count
    return [b.slice(value, value.rank - 1, i * size, size) for i in range(count)]


def recurred(b: Builder, d: Direction, h: GraphValue) -> GraphValue:
    """Multiply the state by the recurrent weights of all gates."""
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
        return gate(b, term)

    taken = sigmoid("i", i, c)
    forgotten = b.call("sub", 1.0, taken) if d.is_coupled else sigmoid("f", f, c)
    kept = b.call("mul", forgotten, c)
    new = b.call("mul", taken, candidate(b, g))
    cell = b.formula(b.call("add", kept, new), c.shape, c.dtype)
    out = b.call("mul", sigmoid("o", o, cell), squash(b, cell))
    return b.formula(out, h.shape, h.dtype), cell


def gru_cell(before: bool) -> Cell:
    """Return the cell of a GRU.

    With `before`, the reset gate is applied to the state before the recurrent product, not after
    it.
    """

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
            reset = b.call("mul", gate(b, b.call("add", r, r_h)), h)
            n_h = b.product(b.formula(reset, h.shape, h.dtype), b.permute(last, (1, 0)))
            inner: Expression = b.term(n_h)
        else:
            z_h, r_h, n_h = parts(b, recurred(b, d, h), 3)
            inner = b.term(n_h)
            if d.hidden_bias is not None:
                inner = b.call("add", inner, parts(b, d.hidden_bias, 3)[2])
            inner = b.call("mul", gate(b, b.call("add", r, r_h)), inner)
        update = gate(b, b.call("add", z, z_h))
        new = candidate(b, b.call("add", n, inner))
        # This form of (1 - z) new + z h has one multiplication.
        found = b.call("add", new, b.call("mul", update, b.call("sub", h, new)))
        return (b.formula(found, h.shape, h.dtype),)

    return cell


def rnn_cell(
    b: Builder, d: Direction, given: GraphValue, states: tuple[GraphValue, ...]
) -> tuple[GraphValue, ...]:
    (h,) = states
    total = summed(b, recurred(b, d, h), given)
    return (b.formula(d.functions[0](b, total), h.shape, h.dtype),)


def layer(
    gates: int, states: int, defaults: Sequence[str], cell_of: Callable[[Node], Cell]
) -> Lower:

    def lower(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[GraphValue, ...]:
        x, w, r = one(given), one(given, 1), one(given, 2)
        if x.rank != 3:
            raise b.refusal(f"has an input of {x.rank} axes; it must have 3", CHANGE_MODEL)
        is_batch_first = bool(node.attribute("layout", 0))
        if is_batch_first:
            # With layout=1 the batch is the first axis of sequences and states.
            for number in (0, *range(5, 5 + states)):
                if (value := optional(given, number)) is not None and value.rank == 3:
                    given = [*given[:number], b.permute(value, (1, 0, 2)), *given[number + 1 :]]
            x = one(given)
        check(b, x)
        check_shapes(b, node, given, gates, states)
        time, batch, _ = x.shape
        lengths = optional(given, 4)
        numbers = None if lengths is None else numbers_of_steps(b, time, lengths)
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
                new = cell(b, d, part, now)
                now = within(b, lengths, numbers, at, new, now)
                made.append(now[0])
            outputs.append(list(reversed(made)) if d.is_reverse else made)
            finals.append(now)
        units = r.shape[-1]
        # Order the results by time step, then by direction, so that each is a slice of one tensor.
        shown_steps = [
            b.reshape(value, (1, batch, units))
            for step in zip(*outputs, strict=True)
            for value in step
        ]
        last = [
            joined(b, [b.reshape(final[i], (1, batch, units)) for final in finals], 0)
            for i in range(states)
        ]
        both = b.reshape(joined(b, shown_steps, 0), (time, len(outputs), batch, units))
        both = cut(b, lengths, numbers, both)
        if is_batch_first:
            return (b.permute(both, (2, 0, 1, 3)), *(b.permute(v, (1, 0, 2)) for v in last))
        return (both, *last)

    return lower


def within(
    b: Builder,
    lengths: GraphValue | None,
    numbers: GraphValue | None,
    at: int,
    new: tuple[GraphValue, ...],
    old: tuple[GraphValue, ...],
) -> tuple[GraphValue, ...]:
    """Return the states after a time step; sequences that have ended keep theirs."""
    if lengths is None or numbers is None or are_longer(b, lengths, at):
        return new
    number = b.tensor(b.slice(numbers, 0, at, 1))
    is_there = b.call("less", number, b.reshape(lengths, (lengths.shape[0], 1)))
    return tuple(
        b.formula(b.call("where", is_there, n, o), n.shape, n.dtype)
        for n, o in zip(new, old, strict=True)
    )


def cut(
    b: Builder, lengths: GraphValue | None, numbers: GraphValue | None, outputs: GraphValue
) -> GraphValue:
    """Return the outputs of all time steps, with zeros after the end of each sequence."""
    time, _, batch, _ = outputs.shape
    if lengths is None or numbers is None or are_longer(b, lengths, time - 1):
        return outputs
    steps = b.tensor(b.reshape(numbers, (time, 1, 1, 1)))
    is_there = b.call("less", steps, b.reshape(lengths, (batch, 1)))
    return b.formula(b.call("where", is_there, outputs, 0.0), outputs.shape, outputs.dtype)


def are_longer(b: Builder, lengths: GraphValue, at: int) -> bool:
    """Whether all sequences are known to include a time step."""
    known = b.array(lengths)
    return known is not None and bool((known > at).all())


def numbers_of_steps(b: Builder, time: int, lengths: GraphValue) -> GraphValue:
    """Return the numbers of all time steps as an aligned column of a constant.

    The time steps then differ only in an offset and share kernels.
    """
    row = ALIGNMENT // lengths.dtype.itemsize
    numbers = np.repeat(np.arange(time, dtype=lengths.dtype.storage), row).reshape(time, row)
    return b.slice(b.made("numbers", numbers, lengths.dtype), 1, 0, 1)


def check(b: Builder, x: GraphValue) -> None:
    """Raise GraphError for more time steps than the limit."""
    if x.shape[0] > MOST_STEPS:
        raise b.refusal(
            f"has {x.shape[0]} time steps; {MOST_STEPS} is the limit",
            "compile it for fewer steps, and carry the state with --state",
        )


def check_shapes(
    b: Builder, node: Node, given: list[GraphValue | None], gates: int, states: int
) -> None:
    """Raise GraphError for weights, biases or states in a shape that ONNX does not allow."""
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
    size = len(defaults)
    functions = activations(b, node, defaults)[number * size : (number + 1) * size]

    def of(index: int) -> GraphValue | None:
        """Return this direction's part of an input."""
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
            # Add both biases of each gate; those of the candidate stay separate.
            rest = gates - 1
            first_gates, hidden_gates = (
                b.slice(v, 0, 0, rest * units) for v in (bias, hidden_bias)
            )
            front = added(b, first_gates, hidden_gates, "gates")
            bias = beside(b, front, b.slice(bias, 0, rest * units, units), "bias")
    b.check_table(x.shape[1] * units)
    nothing = np.zeros((1, x.shape[1], units), x.dtype.storage)
    # A view of the constant stays a tensor in formulas, as the states of later steps are. The
    # constant itself would become a number.
    zeros = b.reshape(b.made("zeros", nothing, x.dtype), nothing.shape[1:])
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
        functions=functions,
        is_reverse=way == "reverse" or number == 1,
        is_coupled=bool(node.attribute("input_forget", 0)) if states > 1 else False,
    )


def activations(b: Builder, node: Node, defaults: Sequence[str]) -> tuple[Activation, ...]:
    """Return the activation functions of all directions.

    The lists activation_alpha and activation_beta hold a number for each function that has such a
    parameter.
    """
    names = list(node.attribute("activations", ()))
    both = 2 * len(defaults)
    count = both if node.attribute("direction", "") == "bidirectional" else len(defaults)
    # ONNX's default, which some tools write, is for two directions in any layer.
    own = names[:count] if len(names) == both else names or [*defaults, *defaults][:count]
    if len(own) != count or any(name not in FUNCTIONS for name in own):
        raise b.refusal(
            f"has activations={','.join(names)}; it must have {count} of {', '.join(FUNCTIONS)}",
            "export the layer with these",
        )
    given = [list(node.attribute(f"activation_{name}") or ()) for name in ("alpha", "beta")]
    clip = float(node.attribute("clip") or 0.0)
    return tuple(
        Activation(
            name=name,
            numbers=tuple(
                float(numbers.pop(0)) if numbers else default
                for numbers, default in zip(given, FUNCTIONS[name][1], strict=False)
            ),
            clip=clip,
        )
        for name in own
    )


def added(b: Builder, first: GraphValue, second: GraphValue, name: str) -> GraphValue:
    """Add two vectors; the sum of constants is a constant."""
    one_array, other = (b.elements(v) for v in (first, second))
    if one_array is None or other is None:
        return summed(b, first, second)
    return b.made(name, one_array + other, first.dtype)


def beside(b: Builder, first: GraphValue, second: GraphValue, name: str) -> GraphValue:
    """Concatenate two vectors; constants give a constant."""
    one_array, other = (b.elements(v) for v in (first, second))
    if one_array is None or other is None:
        return joined(b, [first, second], 0)
    return b.made(name, np.concatenate((one_array, other)), first.dtype)


def projected(b: Builder, x: GraphValue, d: Direction) -> GraphValue:
    """Multiply the inputs of all time steps by the weights of all gates."""
    found = b.product(x, b.permute(d.inputs, (1, 0)))
    return found if d.bias is None else summed(b, found, d.bias)


#: Unsupported uses of the three operators.
UNSUPPORTED = f"more than {MOST_STEPS} time steps"
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
