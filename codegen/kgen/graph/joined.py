"""Concat without copies: the kernels of its operands write slices of its output directly.

The outputs of a recurrent layer's time steps are joined this way.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import accumulate

from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, ViewNode
from kgen.graph.lowering.calls import Binding, KernelCall, Lowered
from kgen.graph.reading.model import Shape
from kgen.graph.tables import copy_of
from kgen.ops.expression import Expression, Primitive
from kgen.spec import Elementwise
from kgen.spec.inference import is_scatter
from kgen_runtime.values import frozen


def blocks_of(expression: Expression, shapes: Mapping[str, Shape]) -> tuple[str, ...] | None:
    """Return the inputs that an expression concatenates whole, in memory order.

    Returns None for any other expression. `shapes` maps each input to its shape.
    """
    found = _Blocks.of(expression, shapes)
    return None if found is None or len(found.names) < 2 else found.names


@frozen
class _Blocks:
    """Inputs that are adjacent in memory and read as one tensor of `shape`."""

    names: tuple[str, ...]
    shape: Shape

    @classmethod
    def of(cls, expression: Expression, shapes: Mapping[str, Shape]) -> _Blocks | None:
        if expression.primitive is Primitive.INPUT:
            return cls(names=(expression.name,), shape=shapes[expression.name])
        if expression.primitive is not Primitive.VIEW or expression.name not in (
            "concat",
            "expand",
        ):
            return None
        tensors = [a for a in expression.arguments if a.primitive is not Primitive.CONSTANT]
        numbers = [int(a.number) for a in expression.arguments[len(tensors) :]]
        parts = [cls.of(tensor, shapes) for tensor in tensors]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        if expression.name == "expand":
            same = math.prod(known[0].shape) == math.prod(numbers)
            return dataclasses.replace(known[0], shape=tuple(numbers)) if same else None
        (axis,) = numbers
        shape = list(known[0].shape)
        axis %= len(shape)
        if any(len(part.shape) != len(shape) for part in known) or math.prod(shape[:axis]) > 1:
            return None
        shape[axis] = sum(part.shape[axis] for part in known)
        return cls(names=tuple(n for part in known for n in part.names), shape=tuple(shape))


def roots_to_join(graph: Graph, order: Sequence[GraphValue], roots: Set[str]) -> set[str]:
    """Return the formulas to materialize so that concatenations need no kernel of their own.

    A concatenation qualifies if it costs at most one extra kernel: for an operand that must now be
    materialized, or for the copy of an operand that must stay in a buffer of its own.
    """
    outputs = {_source(graph, name).id for name in graph.outputs.values()}
    tables = {
        _source(graph, value.operation.expression.arguments[0].name).id
        for value in order
        if isinstance(value.operation, FormulaNode) and is_scatter(value.operation.expression)
    }
    elsewhere = outputs | tables
    found: set[str] = set()
    for value in reversed(order):
        if value.id not in roots or value.id in tables:
            continue
        sources = {source.id for source in _joined(graph, value)}
        new = sources - roots
        if sources and len(new) + len(sources & elsewhere) <= 1:
            found |= new
            elsewhere |= sources
    return found


def _joined(graph: Graph, value: GraphValue) -> list[GraphValue]:
    """Return a concatenation's operands, or [] unless all can be slices of its output."""
    operation = value.operation
    if not isinstance(operation, FormulaNode) or operation.axes:
        return []
    shapes = {name: graph.values[name].shape for name in operation.operands}
    sources = [_source(graph, name) for name in blocks_of(operation.expression, shapes) or ()]
    starts = accumulate((math.prod(source.shape) for source in sources), initial=0)
    are_parts = all(
        isinstance(source.operation, FormulaNode | ProductNode)
        and source.dtype is value.dtype
        and start * value.dtype.itemsize % graph.alignment == 0
        for source, start in zip(sources, starts, strict=False)
    )
    return sources if are_parts and len(set(sources)) == len(sources) else []


def _source(graph: Graph, name: str) -> GraphValue:
    """Return the value whose memory a chain of reshapes reads: `name` itself without a reshape."""
    value = graph.values[name]
    while isinstance(value.operation, ViewNode) and value.operation.step.keeps_order:
        value = graph.values[value.operation.of]
    return value


def joined_in_place(lowered: Lowered, alignment: int) -> Lowered:
    """Return the calls without concatenations: their operands become slices of the output buffer.

    An operand becomes a slice if one call only writes its buffer, and if the buffer is no input,
    constant, output or table of a scatter. One operand of each concatenation may break these rules,
    and is copied into its slice. A concatenation is kept if more operands break them, if a slice
    would not start at a multiple of `alignment` bytes, or if a scatter overwrites its output.
    """
    overwritten = {*lowered.within.values()}
    kept = {*lowered.inputs.values(), *lowered.constants, *lowered.outputs.values()}
    kept |= {*lowered.within, *lowered.within.values()}
    writers = Counter(buffer for call in lowered.calls for buffer in call.writes)
    parts: dict[str, Binding] = {}
    calls: list[KernelCall] = []
    for call in reversed(lowered.calls):
        found = _parts(lowered, call, alignment)
        apart = [n for n in found if n in kept or n in parts or writers[n] > 1]
        if not found or len(apart) > 1 or call.writes[0] in overwritten:
            calls.append(call)
            continue
        for name in apart:
            copy = copy_of(lowered.buffers[name], call.writes[0], call.nodes)
            place = {"out": found.pop(name)}
            calls.append(dataclasses.replace(copy, bindings={**copy.bindings, **place}))
        parts |= found
    return dataclasses.replace(
        lowered, calls=tuple(_moved(call, parts) for call in reversed(calls))
    )


def _parts(lowered: Lowered, call: KernelCall, alignment: int) -> dict[str, Binding]:
    """Return the slice of the output for each buffer that a call concatenates.

    Returns {} for a call that does anything else, and if a slice would be misaligned.
    """
    spec = call.spec
    if not isinstance(spec, Elementwise) or len(spec.outputs) > 1 or spec.table:
        return {}
    names = blocks_of(spec.formula_calls[0], spec.shapes_of)
    (out,) = call.writes
    if names is None or len(set(names)) < len(names):
        return {}
    bound = [call.bindings[name] for name in names]
    sizes = [math.prod(spec.shapes_of[name]) for name in names]
    of = lowered.buffers[out]
    found = {
        binding.buffer: Binding(buffer=out, offset=start)
        for binding, start in zip(bound, accumulate([0, *sizes]), strict=False)
    }
    is_whole = all(
        not b.offset and lowered.buffers[b.buffer].elements == n
        for b, n in zip(bound, sizes, strict=True)
    )
    are_alike = all(lowered.buffers[b.buffer].dtype is of.dtype for b in bound)
    are_aligned = all(b.offset * of.dtype.itemsize % alignment == 0 for b in found.values())
    return found if is_whole and are_alike and are_aligned and len(found) == len(names) else {}


def _moved(call: KernelCall, parts: Mapping[str, Binding]) -> KernelCall:
    """Return the call with the buffers in `parts` replaced by slices of the outputs."""

    def moved(binding: Binding) -> Binding:
        while (part := parts.get(binding.buffer)) is not None:
            binding = Binding(buffer=part.buffer, offset=part.offset + binding.offset)
        return binding

    if not any(binding.buffer in parts for binding in call.bindings.values()):
        return call
    return dataclasses.replace(
        call,
        bindings={name: moved(binding) for name, binding in call.bindings.items()},
        writes=tuple(moved(Binding(buffer=buffer)).buffer for buffer in call.writes),
    )
