"""Sequences and optional values, replaced by the tensors in them.

Both must be known when the model is read: how many tensors there are, and which of them a node
takes. An optional value is a sequence of one tensor, or of none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

import numpy as np
import onnx
from onnx import helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.branches import renamed
from kgen.graph.reading.inference import dims_of
from kgen.graph.reading.model import Array
from kgen.graph.reading.written_out import attributes_of, constant_node
from kgen_runtime.values import frozen

#: First opset with the sizes of Split, and the axes of Squeeze and Unsqueeze, as inputs.
SIZES_AS_INPUT = 13
#: Name of each tensor of a sequence, by the sequence's name.
Lists = Mapping[str, tuple[str, ...]]


class Unlisted(Exception):
    """Reason why the tensors of a sequence are not known; part of a message."""


@frozen
class Listed:
    """Replacement of a node: nodes, and the tensors of the sequences that it makes."""

    nodes: tuple[onnx.NodeProto, ...] = ()
    lists: Lists = field(default_factory=dict)


@frozen
class Sequences:
    """Values that a node may read: sequences, types of tensors, and constants."""

    node: onnx.NodeProto
    name: str
    lists: Lists
    types: Mapping[str, onnx.TypeProto]
    constants: Mapping[str, Array]
    opset: int

    def parts(self, number: int) -> tuple[str, ...]:
        """Return the tensors of an input, which may be a single tensor."""
        value = self.node.input[number]
        return self.lists.get(value, (value,))

    def number(self, name: str, default: int | None = None) -> int:
        found = attributes_of(self.node).get(name, default)
        if not isinstance(found, int):
            raise self.refusal(f"lacks the attribute {name}", "export the model again")
        return found

    def refusal(self, why: str, remedy: str) -> GraphError:
        return GraphError(f"node {self.name} ({self.node.op_type}) {why}; {remedy}")

    def place(self, number: int, count: int, default: int, last: int = -1) -> int:
        """Return the position that an input gives among `count` tensors, from the front on.

        It is at most `count + last`; negative ones count from the back.
        """
        if number >= len(self.node.input) or not self.node.input[number]:
            found = default
        elif self.node.input[number] not in self.constants:
            raise Unlisted(f"its position {self.node.input[number]} depends on data")
        else:
            found = int(self.constants[self.node.input[number]].reshape(-1)[0])
        if not -count <= found <= count + last:
            raise self.refusal(
                f"takes position {found} of {count} in a sequence", "change it in the model"
            )
        return found + count if found < 0 else found

    def made(self, names: Iterable[str], nodes: Iterable[onnx.NodeProto] = ()) -> Listed:
        return Listed(nodes=tuple(nodes), lists={self.node.output[0]: tuple(names)})

    def copied(self, value: str) -> Listed:
        """Return the node's result as a copy of a tensor, or as the same sequence."""
        if value in self.lists:
            return self.made(self.lists[value])
        return Listed(nodes=(helper.make_node("Identity", [value], self.node.output[:1]),))

    def constant(self, value: Array) -> Listed:
        return Listed(nodes=(constant_node(self.node.output[0], value),))

    def sized(
        self, operator: str, value: str, results: Iterable[str], numbers: Iterable[int], **own: int
    ) -> list[onnx.NodeProto]:
        """Return a Split with these sizes, or a Squeeze or Unsqueeze of these axes."""
        given, results = list(numbers), list(results)
        if self.opset < SIZES_AS_INPUT:
            word = {"split" if operator == "Split" else "axes": given}
            return [helper.make_node(operator, [value], results, name=self.name, **word, **own)]
        name = f"{results[0]}/{operator.lower()}"
        node = helper.make_node(operator, [value, name], results, name=self.name, **own)
        return [constant_node(name, np.asarray(given, np.int64)), node]


def construct(s: Sequences) -> Listed:
    return s.made(s.node.input)


def empty(s: Sequences) -> Listed:
    return s.made(())


def insert(s: Sequences) -> Listed:
    found = list(s.parts(0))
    found.insert(s.place(2, len(found), len(found), last=0), s.node.input[1])
    return s.made(found)


def erase(s: Sequences) -> Listed:
    found = list(s.parts(0))
    del found[s.place(1, len(found), -1)]
    return s.made(found)


def at(s: Sequences) -> Listed:
    found = s.parts(0)
    return s.copied(found[s.place(1, len(found), 0)])


def length(s: Sequences) -> Listed:
    return s.constant(np.asarray(len(s.parts(0)), np.int64))


def identity(s: Sequences) -> Listed:
    return s.made(s.parts(0))


def split(s: Sequences) -> Listed:
    """Split a tensor into parts of given sizes, or along an axis into parts of one size."""
    x, axis = s.node.input[0], s.number("axis", 0)
    dims = dims_of(s.types[x])
    if not -len(dims) <= axis < len(dims):
        raise s.refusal(f"has axis={axis} for {len(dims)} axes", "change it in the model")
    total = dims[axis]
    given = s.node.input[1] if len(s.node.input) > 1 else ""
    if given and given not in s.constants:
        raise Unlisted(f"its sizes {given} depend on data")
    sizes = s.constants[given] if given else np.asarray(1)
    step = int(sizes.reshape(-1)[0]) if sizes.ndim == 0 else 0
    if sizes.ndim == 0 and step > 0:
        sizes = np.asarray([min(step, total - start) for start in range(0, total, step)])
    if sizes.ndim != 1 or sizes.sum() != total or (sizes < 0).any():
        raise s.refusal(f"splits {total} into sizes {sizes.tolist()}", "change them in the model")
    result = s.node.output[0]
    names = [f"{result}/{n}" for n in range(len(sizes))]
    if given or s.number("keepdims", 1):
        return s.made(names, s.sized("Split", x, names, sizes.tolist(), axis=axis))
    wide = [f"{name}/wide" for name in names]
    nodes = s.sized("Split", x, wide, sizes.tolist(), axis=axis)
    for before, after in zip(wide, names, strict=True):
        nodes += s.sized("Squeeze", before, [after], [axis])
    return s.made(names, nodes)


def concat(s: Sequences) -> Listed:
    """Concatenate the tensors along one of their axes, or stack them along a new one."""
    names, axis, nodes = list(s.parts(0)), s.number("axis"), list[onnx.NodeProto]()
    result = s.node.output[0]
    if not names:
        raise s.refusal("concatenates a sequence without tensors", "change it in the model")
    if s.number("new_axis", 0):
        for place, name in enumerate(names):
            names[place] = f"{result}/{place}"
            nodes += s.sized("Unsqueeze", name, [names[place]], [axis])
    nodes.append(helper.make_node("Concat", names, [result], name=s.name, axis=axis))
    return Listed(nodes=tuple(nodes))


def each(s: Sequences) -> Listed:
    """Apply the body of a SequenceMap to each tensor of the first input."""
    body = attributes_of(s.node)["body"]
    nodes, made = [], [list[str]() for _ in s.node.output]
    for place in range(len(s.parts(0))):
        prefix = f"{next(filter(None, s.node.output))}/{place}"
        inner = {value for node in body.node for value in node.output if value}
        names = {name: f"{prefix}/{name}" for name in inner}
        for value, given in zip(body.input, s.node.input, strict=True):
            names[value.name] = s.lists[given][place] if given in s.lists else given
        for tensor in body.initializer:
            names[tensor.name] = f"{prefix}/{tensor.name}"
            nodes.append(constant_node(names[tensor.name], numpy_helper.to_array(tensor)))
        nodes += [renamed(node, names) for node in body.node]
        for results, value in zip(made, body.output, strict=True):
            results.append(names.get(value.name, value.name))
    pairs = zip(s.node.output, made, strict=True)
    lists = {name: tuple(results) for name, results in pairs if name}
    return Listed(nodes=tuple(nodes), lists=lists)


def optional(s: Sequences) -> Listed:
    if any(value in s.lists for value in s.node.input):
        raise Unlisted("it holds a sequence")
    return s.made(filter(None, s.node.input))


def has_element(s: Sequences) -> Listed:
    return s.constant(np.asarray(any(s.node.input) and bool(s.parts(0))))


def get_element(s: Sequences) -> Listed:
    found = s.parts(0)
    if not found:
        raise s.refusal("reads an optional value that is empty", "give the value in the model")
    return s.copied(found[0])


#: Operators that make or read sequences and optional values.
SEQUENCES: Mapping[str, Callable[[Sequences], Listed]] = {
    "ConcatFromSequence": concat,
    "Identity": identity,
    "Optional": optional,
    "OptionalGetElement": get_element,
    "OptionalHasElement": has_element,
    "SequenceAt": at,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": length,
    "SequenceMap": each,
    "SplitToSequence": split,
}


def tensors_of(s: Sequences) -> Listed | None:
    """Return what replaces a node; None for a node of tensors.

    Raises Unlisted if that is not known, or if the node cannot read a sequence.
    """
    reads = any(value in s.lists for value in s.node.input)
    replace = SEQUENCES.get(s.node.op_type)
    if replace is None and reads:
        raise Unlisted("it reads a sequence")
    return replace(s) if replace and (reads or replace is not identity) else None
