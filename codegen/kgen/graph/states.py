"""States: pairs of a model's input and output that stay in the program from one run to the next.

The output of a run is the input of the next one. It is written where the input lies, if the step
that writes it may (:mod:`kgen.graph.in_place`) and nothing reads the input after it; else
it is copied there at the end.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kgen import suggest
from kgen.errors import GraphError
from kgen.graph.ir import Graph, SourceNode
from kgen.graph.lowering.calls import KernelCall, Lowered
from kgen.graph.memory_reuse import may_lie_upon
from kgen.graph.tables import copy_of

if TYPE_CHECKING:
    from kgen.targets.base import Plan


def states_of(graph: Graph, pairs: Mapping[str, str]) -> dict[str, str]:
    """Outputs by the inputs that they are in the next run. A `*` in a pair stands for any text,
    the same in both names. Raises GraphError."""
    sources = [graph.values[name] for name in graph.inputs]
    inputs = {v.operation.name: v for v in sources if isinstance(v.operation, SourceNode)}
    found: dict[str, str] = {}
    for past, present in pairs.items():
        shown = f"--state {past}={present}"
        pattern = "(.*)".join(map(re.escape, past.split("*")))
        matches = [(name, m) for name in inputs if (m := re.fullmatch(pattern, name))]
        if not matches or past.count("*") != present.count("*"):
            raise GraphError(
                suggest.unknown(f"{shown}: input {past}", past, [*inputs])
                if not matches
                else f"{shown} has a different number of * on each side; give each side as many"
            )
        for name, match in matches:
            parts = present.split("*")
            of = "".join(p + g for p, g in zip(parts, (*match.groups(), ""), strict=True))
            if of not in graph.outputs:
                raise GraphError(suggest.unknown(f"{shown}: output {of}", of, [*graph.outputs]))
            one, other = inputs[name], graph.values[graph.outputs[of]]
            if (one.dtype, one.shape) != (other.dtype, other.shape):
                raise GraphError(
                    f"{shown}: input {name} is {'x'.join(map(str, one.shape))} {one.dtype}, and "
                    f"output {of} {'x'.join(map(str, other.shape))} {other.dtype}; both must be "
                    "equal"
                )
            if name in found or of in found.values():
                raise GraphError(f"{shown} makes {name} or {of} a state twice; give it once")
            found[name] = of
    if found and len(found) == len(graph.outputs):
        raise GraphError(
            f"--state makes every output a state, the last one {[*found.values()][-1]}; a program "
            "needs an output: leave one --state out, or add an output to the model"
        )
    return found


def with_states(lowered: Lowered, states: Mapping[str, str], plans: Mapping[int, Plan]) -> Lowered:
    """The calls with each state's output in its input's place."""
    calls = list(lowered.calls)
    buffers = dict(lowered.buffers)
    outputs = dict(lowered.outputs)
    for past, present in states.items():
        before, after = lowered.inputs[past], outputs[present]
        if not _is_in_place(lowered, before, after, plans):
            apart = f"{after}.next"
            buffers[apart] = dataclasses.replace(buffers[after], id=apart)
            calls.append(copy_of(buffers[after], apart, calls[_writer(calls, after)].nodes))
            outputs[present] = apart
    return dataclasses.replace(
        lowered, calls=tuple(calls), buffers=buffers, outputs=outputs, states=dict(states)
    )


def _writer(calls: Sequence[KernelCall], buffer: str) -> int:
    return next(n for n, call in enumerate(calls) if buffer in call.writes)


def _is_in_place(lowered: Lowered, before: str, after: str, plans: Mapping[int, Plan]) -> bool:
    """Whether the first call that writes the memory of `after` may write it where `before` lies:
    nothing reads that behind it, and itself only element upon element."""
    calls = lowered.calls
    number = next(n for n, c in enumerate(calls) if after in map(lowered.memory_of, c.writes))
    reads = [n for n, c in enumerate(calls) if any(b.buffer == before for b in c.bindings.values())]
    call = calls[number]
    if any(n > number for n in reads) or call.writes_behind_start:
        return False
    alike = may_lie_upon(plans[number])
    return all(
        name in alike and not binding.offset
        for name, binding in call.bindings.items()
        if binding.buffer == before
    )
