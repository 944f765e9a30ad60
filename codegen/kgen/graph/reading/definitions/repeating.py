"""Reference definitions of operators that iterate: Loop, Scan, LinearAttention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_loop import Loop as OnnxLoop
from onnx.reference.ops.op_scan import Scan as OnnxScan

Array = npt.NDArray[Any]


def joined(values: Sequence[Array], axis: int, is_reversed: bool = False) -> Array:
    """Stack the results of all steps along a new axis; an empty array without steps."""
    if not values:
        return np.zeros(0, np.float32)
    return np.stack(values[::-1] if is_reversed else values, axis)


class LoopSteps(OnnxLoop):  # type: ignore[misc]
    def _run(
        self, most: Array | None, condition: Array | None, *given: Array, context: Any = None,
        bindings: Any = None, **attributes: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        names, states = self.body.input_names, list(given)
        goes_on = condition is None or bool(np.all(condition))
        results: list[list[Array]] = [[] for _ in self.body.output_names[1 + len(given) :]]
        step = 0
        while goes_on and (most is None or step < int(np.reshape(most, ()))):
            values = dict(zip(names, (np.asarray(step), np.asarray(True), *states), strict=True))
            still, *found = self._run_body({**(context or {}), **values}, bindings=bindings)
            goes_on, states = bool(np.all(still)), found[: len(states)]
            for one, value in zip(results, found[len(states) :], strict=True):
                one.append(value)
            step += 1
        return (*states, *(joined(one, 0) for one in results))


#: onnx finds a definition by the name of its class.
Loop: Any = type("Loop", (LoopSteps,), {})


class Scan(OnnxScan):  # type: ignore[misc]
    def __init__(self, node: Any, parameters: Any) -> None:
        OpRun.__init__(self, node, parameters)

    def _run(
        self, *given: Array, context: Any = None, bindings: Any = None, **attributes: Any
    ) -> tuple[Array, ...]:
        first = len(given) - attributes["num_scan_inputs"]
        states, sequences = list(given[:first]), given[first:]
        results: list[list[Array]] = [[] for _ in self.body.output_names[first:]]

        def of(name: str, count: int) -> list[int]:
            return list(attributes.get(name) or [0] * count)

        cuts = zip(
            sequences,
            of("scan_input_axes", len(sequences)),
            of("scan_input_directions", len(sequences)),
            strict=True,
        )
        rows = [np.moveaxis(x, axis, 0)[:: -1 if back else 1] for x, axis, back in cuts]
        for taken in zip(*rows, strict=True):
            values = dict(zip(self.body.input_names, (*states, *taken), strict=True))
            found = self._run_body({**(context or {}), **values}, bindings=bindings)
            states = found[:first]
            for one, value in zip(results, found[first:], strict=True):
                one.append(value)
        axes = of("scan_output_axes", len(results))
        directions = of("scan_output_directions", len(results))
        made = zip(results, axes, directions, strict=True)
        return (*states, *(joined(one, axis, bool(back)) for one, axis, back in made))


class LinearAttention(OpRun):  # type: ignore[misc]
    def _run(
        self, query: Array, key: Array, value: Array, past: Array | None = None,
        decay: Array | None = None, beta: Array | None = None, **attributes: Any,
    ) -> tuple[Array, Array]:  # fmt: skip
        heads, few = attributes["q_num_heads"], attributes["kv_num_heads"]
        work = np.float64 if query.dtype == np.float64 else np.float32

        def by_step(x: Array, count: int) -> Array:
            parts = x.reshape(*x.shape[:2], count, -1).astype(work)
            return np.moveaxis(parts, 1, 0)

        q, k, v = by_step(query, heads), by_step(key, few), by_step(value, few)
        batch, size, width = q.shape[1], q.shape[-1], v.shape[-1]
        state = np.zeros((batch, few, size, width)) if past is None else past
        state = state.astype(work)
        rule = attributes.get("update_rule") or "gated_delta"
        scale, outputs = attributes.get("scale") or 1 / np.sqrt(size), []
        for step in range(len(q)):
            row = v[step]
            if "gated" in rule and decay is not None:
                state = state * np.exp(by_step(decay, few)[step])[..., None]
            if "delta" in rule and beta is not None:
                seen = np.einsum("bhdm,bhd->bhm", state, k[step])
                row = by_step(beta, beta.shape[-1])[step] * (row - seen)
            state = state + k[step][..., None] * row[..., None, :]
            whole = np.repeat(state, heads // few, axis=1)
            outputs.append(scale * np.einsum("bhd,bhdm->bhm", q[step], whole))
        found = np.stack(outputs, 1).reshape(batch, len(q), -1)
        kept = query.dtype if past is None else past.dtype
        return found.astype(query.dtype), state.astype(kept)
