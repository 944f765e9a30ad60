"""Reference definitions of recurrent layers: LSTM, GRU, RNN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]


Function = Callable[..., Array]
#: Activation functions of recurrent layers, with the defaults of alpha and beta.
ACTIVATIONS: Mapping[str, tuple[Function, tuple[float, ...]]] = {
    "Affine": (lambda x, a, b: a * x + b, (1.0, 0.0)),
    "Elu": (lambda x, a: np.where(x >= 0, x, a * np.expm1(x)), (1.0,)),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), (0.2, 0.5)),
    "LeakyRelu": (lambda x, a: np.where(x >= 0, x, a * x), (0.01,)),
    "Relu": (lambda x: np.maximum(x, 0), ()),
    "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), (1.0, 1.0)),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), ()),
    "Softplus": (lambda x: np.logaddexp(x, 0), ()),
    "Softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "Tanh": (np.tanh, ()),
    "ThresholdedRelu": (lambda x, a: np.where(x >= a, x, 0), (1.0,)),
}


def activations_of(
    attributes: Mapping[str, Any], way: int, defaults: Sequence[str]
) -> list[Callable[[Array], Array]]:
    """Return the activation functions of a direction, which clip their arguments.

    A function with alpha or beta takes the next one from the lists of the layer.
    """
    names = attributes.get("activations") or [*defaults, *defaults]
    given = [list(attributes.get(f"activation_{name}") or ()) for name in ("alpha", "beta")]
    clip = attributes.get("clip") or np.inf

    def limited(name: str) -> Callable[[Array], Array]:
        function, usual = ACTIVATIONS[name]
        own = [left.pop(0) if left else n for left, n in zip(given, usual, strict=False)]
        return lambda x: function(np.clip(x, -clip, clip), *own).astype(x.dtype)

    return [limited(name) for name in names][way * len(defaults) :][: len(defaults)]


#: Step of one direction: returns the next states, given the inputs of the step and the states.
Step = Callable[..., tuple[Array, ...]]


def over_time(
    x: Array,
    r: Array,
    lengths: Array | None,
    first: Sequence[Array | None],
    attributes: Mapping[str, Any],
    step_of: Callable[[int], Step],
) -> tuple[Array, ...]:
    """Return the outputs of a recurrent layer: its first state at each time, and its last states.

    States begin with `first`, or zeros. `step_of` returns the step of a direction. After the end of
    a sequence outputs are zeros and states stay. With layout=1 the batch is the first axis of
    sequences and states.
    """
    is_batch_first = bool(attributes.get("layout"))
    if is_batch_first:
        x = x.swapaxes(0, 1)
        first = [None if s is None else s.swapaxes(0, 1) for s in first]
    time, batch, _ = x.shape
    count, _, units = r.shape
    out = np.empty((time, count, batch, units), x.dtype)
    last = np.empty((len(first), count, batch, units), x.dtype)
    ends = np.full(batch, time) if lengths is None else lengths
    for way in range(count):
        step = step_of(way)
        states = tuple(np.zeros((batch, units), x.dtype) if s is None else s[way] for s in first)
        reverse = attributes.get("direction") == "reverse" or way == 1
        for t in range(time - 1, -1, -1) if reverse else range(time):
            is_there = (t < ends)[:, None]
            new = step(x[t], *states)
            out[t, way] = np.where(is_there, new[0], 0)
            states = tuple(np.where(is_there, n, s) for n, s in zip(new, states, strict=True))
        last[:, way] = states
    if is_batch_first:
        return out.transpose(2, 0, 1, 3), *(s.swapaxes(0, 1) for s in last)
    return out, *last


class LSTM(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, r: Array, bias: Array | None = None, lengths: Array | None = None,
        h0: Array | None = None, c0: Array | None = None, peep: Array | None = None,
        **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        units = r.shape[-1]

        def step_of(way: int) -> Step:
            p = np.zeros(3 * units, x.dtype) if peep is None else peep[way]
            pi, po, pf = np.split(p, 3)
            sums = np.zeros(8 * units, x.dtype) if bias is None else bias[way]
            gate, candidate, squash = activations_of(attributes, way, ("Sigmoid", "Tanh", "Tanh"))

            def step(x: Array, h: Array, c: Array) -> tuple[Array, Array]:
                gates = x @ w[way].T + h @ r[way].T + sums[: 4 * units] + sums[4 * units :]
                i, o, f, g = np.split(gates, 4, axis=-1)
                i = gate(i + pi * c)
                f = 1 - i if attributes.get("input_forget") else gate(f + pf * c)
                c = f * c + i * candidate(g)
                return gate(o + po * c) * squash(c), c

            return step

        return over_time(x, r, lengths, (h0, c0), attributes, step_of)


class GRU(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, r: Array, bias: Array | None = None, lengths: Array | None = None,
        h0: Array | None = None, **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        units = r.shape[-1]

        def step_of(way: int) -> Step:
            sums = np.zeros(6 * units, x.dtype) if bias is None else bias[way]
            bz, br, bn, cz, cr, cn = np.split(sums, 6)
            wz, wr, wn = np.split(w[way], 3)
            rz, rr, rn = np.split(r[way], 3)
            gate, candidate = activations_of(attributes, way, ("Sigmoid", "Tanh"))

            def step(x: Array, h: Array) -> tuple[Array]:
                z = gate(x @ wz.T + h @ rz.T + bz + cz)
                reset = gate(x @ wr.T + h @ rr.T + br + cr)
                if attributes.get("linear_before_reset"):
                    inner = reset * (h @ rn.T + cn)
                else:
                    inner = (reset * h) @ rn.T + cn
                return ((1 - z) * candidate(x @ wn.T + bn + inner) + z * h,)

            return step

        return over_time(x, r, lengths, (h0,), attributes, step_of)


class RNN(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, w: Array, r: Array, bias: Array | None = None, lengths: Array | None = None,
        h0: Array | None = None, **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        units = r.shape[-1]

        def step_of(way: int) -> Step:
            sums = np.zeros(2 * units, x.dtype) if bias is None else bias[way]
            (function,) = activations_of(attributes, way, ("Tanh",))

            def step(x: Array, h: Array) -> tuple[Array]:
                return (function(x @ w[way].T + h @ r[way].T + sums[:units] + sums[units:]),)

            return step

        return over_time(x, r, lengths, (h0,), attributes, step_of)
