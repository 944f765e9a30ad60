"""Inlining of a model's local functions.

Functions whose opset gives an operator another meaning are not inlined here, nor are functions that
call them: the importer reads each node of their bodies in the function's own opset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx
from onnx import defs, helper, inliner

from kgen.errors import GraphError
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.messages import shortened
from kgen.graph.reading.tensors import attributes, graphs_of

#: Limits of inlining: total bytes of nodes, and nesting. The bytes grow exponentially with the
#: nesting of functions that call one another twice.
MOST_BYTES, MOST_NESTED = 256 << 20, 64

#: Operators whose meaning changed while their inputs and attributes stayed.
SAME_IN_FORM_ONLY = frozenset({"GroupNormalization"})

Key = tuple[str, str, str]


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with its functions inlined, except those of another opset.

    The remaining functions are ordered so that callees come first. Raises GraphError.
    """
    if not model.functions:
        return model
    known = {(f.domain, f.name, f.overload): f for f in model.functions}
    sizes: dict[Key, int] = {}

    def size_of(nodes: Iterable[onnx.NodeProto], within: tuple[Key, ...]) -> int:
        """Return the bytes of these nodes after inlining."""
        total = 0
        for node in every(nodes):
            key = (node.domain, node.op_type, node.overload)
            total += function_size(key, within) if key in known else node.ByteSize()
        return total

    def function_size(key: Key, within: tuple[Key, ...]) -> int:
        if key in within or len(within) == MOST_NESTED:
            how = "calls itself" if key in within else f"is nested more than {MOST_NESTED} deep"
            raise GraphError(f"function {key[1]} {how}; export the model without it")
        if key not in sizes:
            sizes[key] = size_of(known[key].node, (*within, key))
        return sizes[key]

    total = size_of(model.graph.node, ())
    if total > MOST_BYTES:
        raise GraphError(
            f"the model's functions become {total >> 20} MiB of nodes; {MOST_BYTES >> 20} MiB is "
            "the limit; export it without functions"
        )
    known = {key: known[key] for key in sizes}  # Only the functions that the model calls.
    kept = _of_another_opset(model, known)
    imports = opsets_of(model)
    for key, function in known.items():
        if key in kept:
            continue
        # onnx's inliner skips functions of another opset, so give them the model's.
        for domain, version in opsets_of(function).items():
            if domain not in imports:
                model.opset_import.append(helper.make_opsetid(domain, version))
                imports[domain] = version
        del function.opset_import[:]
        function.opset_import.extend(model.opset_import)
    # The inliner refuses a model that contains the other functions.
    left = [key for key in known if key not in kept]
    del model.functions[:]
    model.functions.extend(known[key] for key in left)
    try:
        found = inliner.inline_local_functions(model)
    except Exception as error:
        raise GraphError(
            f"the model's functions cannot be inlined: {shortened(error)}; "
            "export it without functions"
        ) from None
    del found.functions[:]
    found.functions.extend(kept.values())
    return found


def every(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield these nodes and the nodes of their subgraphs."""
    left = [nodes]
    while left:
        for node in left.pop():
            yield node
            left += [g.node for a in attributes([node]) for g in graphs_of(a)]


def _of_another_opset(
    model: onnx.ModelProto, known: Mapping[Key, onnx.FunctionProto]
) -> dict[Key, onnx.FunctionProto]:
    """Return the functions in which an operator has another meaning than in the model's opset.

    Functions that they call are included, callees first.
    """
    imports = opsets_of(model)
    found: dict[Key, onnx.FunctionProto] = {}

    def keep(key: Key) -> None:
        for node in every(known[key].node):
            called = (node.domain, node.op_type, node.overload)
            if called in known and called not in found:
                keep(called)
        found[key] = known[key]

    for key, function in known.items():
        if key not in found and _differs(function, imports):
            keep(key)
    for domain, name, overload in found:
        if overload:
            raise GraphError(
                f"function {name} of {domain} has the overload {overload}, and an operator that "
                "means something else in the model's opset; export all of the model for one opset"
            )
    return found


def _differs(function: onnx.FunctionProto, imports: Mapping[str, int]) -> bool:
    """Whether an operator of a function has another meaning in the model's opsets."""
    own = opsets_of(function)
    for node in every(function.node):
        domain = "" if node.domain in DOMAINS else node.domain
        before, after = own.get(domain), imports.get(domain)
        if before is None or after is None or before == after:
            continue
        if not _means_the_same(node.op_type, domain, before, after):
            return True
    return False


def _means_the_same(operator: str, domain: str, before: int, after: int) -> bool:
    """Whether a node of one opset means the same in another.

    Both opsets must have the operator with the same inputs, and the attributes of the first must
    have the same defaults in the second.
    """
    try:
        one, other = (defs.get_schema(operator, v, domain) for v in (before, after))
    except defs.SchemaError:
        return False
    if one.since_version == other.since_version:
        return True
    names = [[value.name for value in schema.inputs] for schema in (one, other)]
    defaults = [
        {name: a.default_value.SerializeToString() for name, a in schema.attributes.items()}
        for schema in (one, other)
    ]
    return (
        operator not in SAME_IN_FORM_ONLY
        and names[0] == names[1]
        and all(name in defaults[1] and defaults[1][name] == d for name, d in defaults[0].items())
    )
