"""Model states (such as a KV cache): an input and an output that share memory between runs.

The value of the output after one run is the value of the input in the next run. The kernel that
computes the output writes it into the input's memory if the input is dead by then and
:mod:`kgen.graph.in_place` allows computing in place. Otherwise the output has a buffer of its own,
and a copy at the end of the program moves it.
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
from kgen.graph.memory_reuse import reusable_parameters
from kgen.graph.tables import copy_of

if TYPE_CHECKING:
    from kgen.targets.base import Plan


def states_of(graph: Graph, pairs: Mapping[str, str]) -> dict[str, str]:
    """Return the state pairs {input: output} of a graph, with each `*` in `pairs` expanded.

    A `*` matches any text, which must be equal in the input's and the output's name. Raises
    GraphError for unknown names, for unequal types or shapes, for a name in two pairs, and if no
    output is left that is not a state.
    """
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
                else f"{shown} has a different number of * on each side; give both the same"
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
            if 0 in one.shape:
                raise GraphError(
                    f"{shown}: input {name} is {'x'.join(map(str, one.shape))} {one.dtype}, "
                    "without elements to keep; leave this --state out"
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
    """Return the calls with every state updated: in place, or by a copy that is appended.

    `plans` maps the number of each call to its plan.
    """
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
    """Whether the first call that writes `after` may write it into the memory of `before`.

    No later call may read `before`, and this call may read it only element by element, in place.
    """
    calls = lowered.calls
    number = next(n for n, c in enumerate(calls) if after in map(lowered.memory_of, c.writes))
    reads = [n for n, c in enumerate(calls) if any(b.buffer == before for b in c.bindings.values())]
    call = calls[number]
    if any(n > number for n in reads) or call.writes_behind_start:
        return False
    alike = reusable_parameters(plans[number])
    return all(
        name in alike and not binding.offset
        for name, binding in call.bindings.items()
        if binding.buffer == before
    )
