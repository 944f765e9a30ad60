"""Tensors that a concatenation puts behind one another are written where they lie in its result.

The kernels that compute them write parts of the result, and there is no kernel that copies. So the
outputs of a recurrent layer's time steps are parts of one tensor.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate

from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, ViewNode
from kgen.graph.lowering.calls import Binding, KernelCall, Lowered
from kgen.graph.reading.model import Shape
from kgen.graph.tables import copy_of
from kgen.ops.expression import Expression, Primitive
from kgen.spec import Elementwise
from kgen_runtime.values import frozen


def blocks_of(expression: Expression, shapes: Mapping[str, Shape]) -> tuple[str, ...] | None:
    """Inputs that an expression puts behind one another, whole and in this order; None if it does
    something else. `shapes` are those of its inputs."""
    found = _Blocks.of(expression, shapes)
    return None if found is None or len(found.names) < 2 else found.names


@frozen
class _Blocks:
    """Inputs that lie behind one another in memory, seen as a tensor of a shape."""

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


def computed_blocks(graph: Graph, order: list[GraphValue]) -> Iterator[str]:
    """Yield formulas whose results a concatenation puts behind one another, if all of its operands
    are computed: they are written as its parts, and are not formulas of the kernel that copies."""
    for value in order:
        operation = value.operation
        if not isinstance(operation, FormulaNode) or operation.axes:
            continue
        shapes = {name: graph.values[name].shape for name in operation.operands}
        names = blocks_of(operation.expression, shapes)
        sources = [_source(graph, name) for name in names or ()]
        if len(set(sources)) == len(sources) and all(
            isinstance(source.operation, FormulaNode | ProductNode) for source in sources
        ):
            yield from (source.id for source in sources)


def _source(graph: Graph, name: str) -> GraphValue:
    """The value that one is a reshape of; itself otherwise."""
    value = graph.values[name]
    while isinstance(value.operation, ViewNode) and value.operation.step.keeps_order:
        value = graph.values[value.operation.of]
    return value


def joined_in_place(lowered: Lowered, alignment: int) -> Lowered:
    """The calls without those that put buffers behind one another: these are parts of the result.

    Such a buffer is written and read by kernels alone, is part of one result, and starts at a
    multiple of `alignment` bytes there. One other, such as an output, is copied to its place.
    """
    kept = {*lowered.inputs.values(), *lowered.constants, *lowered.outputs.values()}
    kept |= {*lowered.within, *lowered.within.values()}
    writers = Counter(buffer for call in lowered.calls for buffer in call.writes)
    parts: dict[str, Binding] = {}
    calls: list[KernelCall] = []
    for call in reversed(lowered.calls):
        found = _parts(lowered, call, alignment)
        apart = [n for n in found if n in kept or n in parts or writers[n] > 1]
        if not found or len(apart) > 1:
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
    """Places in a call's result of the buffers that it puts behind one another; none if it does
    something else."""
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
    """A call on the places of parts."""

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
