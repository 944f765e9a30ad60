"""Memory for scatters: each scatter writes into its table's memory, or into a copy of the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kgen.graph.lowering.calls import Binding, CallBuffer, KernelCall, Lowered
from kgen.graph.lowering.lower import elementwise
from kgen.ops.expression import variable
from kgen.ops.registry import call_of
from kgen.spec import Elementwise


def with_tables(lowered: Lowered, states: Mapping[str, str]) -> Lowered:
    """Return the calls with each scatter's output placed in its table's memory.

    A table is copied first if it is read by a later call or by the scatter's other operands, or if
    it or the result is an input, a constant or an output. If they are the input and output of one
    state, no copy is needed.
    """
    calls: list[KernelCall] = []
    buffers, within = dict(lowered.buffers), dict(lowered.within)
    last = {b.buffer: n for n, c in enumerate(lowered.calls) for b in c.bindings.values()}
    named = {*lowered.inputs.values(), *lowered.constants, *lowered.outputs.values()}
    pairs = {(lowered.inputs[past], lowered.outputs[present]) for past, present in states.items()}
    for number, call in enumerate(lowered.calls):
        if not isinstance(call.spec, Elementwise) or not call.spec.table:
            calls.append(call)
            continue
        table, (made,) = call.bindings[call.spec.table].buffer, call.writes
        uses = sum(binding.buffer == table for binding in call.bindings.values())
        is_free = last[table] == number and uses == 1
        if is_free and (table, made) in pairs:
            calls.append(call)
        elif is_free and not {table, made} & named:
            within[made] = within.get(table, table)
            calls.append(call)
        else:
            apart = f"{made}.before"
            buffers[apart] = dataclasses.replace(buffers[made], id=apart)
            within[apart] = made
            calls.append(copy_of(buffers[table], apart, call.nodes))
            bindings = {**call.bindings, call.spec.table: Binding(buffer=apart)}
            calls.append(dataclasses.replace(call, bindings=bindings))
    return dataclasses.replace(lowered, calls=tuple(calls), buffers=buffers, within=within)


def copy_of(of: CallBuffer, into: str, nodes: tuple[str, ...]) -> KernelCall:
    """Return a call that copies the buffer `of` into the buffer `into`."""
    return KernelCall(
        spec=elementwise(call_of("cast", variable("x0")), ((of.elements,),), (of.dtype,), of.dtype),
        bindings={"x0": Binding(buffer=of.id), "out": Binding(buffer=into)},
        writes=(into,),
        nodes=nodes,
    )
