"""A model's own functions, put in the place of their uses, where that stays within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx
from onnx import defs, helper, inliner

from kgen.errors import GraphError
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.messages import shortened
from kgen.graph.reading.tensors import attributes, graphs_of

#: Bytes of nodes that functions may become: one that calls another twice, which calls another
#: twice, has no end in practice. And functions within functions.
MOST_BYTES, MOST_NESTED = 256 << 20, 64

#: Operators whose meaning changed while their inputs and attributes stayed.
SAME_IN_FORM_ONLY = frozenset({"GroupNormalization"})

Key = tuple[str, str, str]


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without functions. Raises GraphError."""
    if not model.functions:
        return model
    known = {(f.domain, f.name, f.overload): f for f in model.functions}
    sizes: dict[Key, int] = {}

    def size_of(nodes: Iterable[onnx.NodeProto], within: tuple[Key, ...]) -> int:
        """Bytes of what these nodes become."""
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

    imports = opsets_of(model)
    for function in model.functions:
        # The inliner leaves out functions of another opset.
        _check_opsets(function, imports)
        for domain, version in _opsets(function).items():
            if domain not in imports:
                model.opset_import.append(helper.make_opsetid(domain, version))
                imports[domain] = version
        del function.opset_import[:]
        function.opset_import.extend(model.opset_import)
    total = size_of(model.graph.node, ())
    if total > MOST_BYTES:
        raise GraphError(
            f"the model's functions become {total >> 20} MiB of nodes; {MOST_BYTES >> 20} MiB is "
            "the limit; export it without functions"
        )
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:
        raise GraphError(
            f"the model's functions cannot be inlined: {shortened(error)}; "
            "export it without functions"
        ) from None


def every(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """These nodes, and those of graphs within them."""
    left = [nodes]
    while left:
        for node in left.pop():
            yield node
            left += [g.node for a in attributes([node]) for g in graphs_of(a)]


def _opsets(function: onnx.FunctionProto) -> dict[str, int]:
    return {o.domain if o.domain not in DOMAINS else "": o.version for o in function.opset_import}


def _check_opsets(function: onnx.FunctionProto, imports: Mapping[str, int]) -> None:
    """Raises GraphError for a function whose operators mean something else in the model's opset."""
    own = _opsets(function)
    for node in every(function.node):
        domain = "" if node.domain in DOMAINS else node.domain
        before, after = own.get(domain), imports.get(domain)
        if before is None or after is None or before == after:
            continue
        if not _means_the_same(node.op_type, domain, before, after):
            raise GraphError(
                f"function {function.name} is of opset {before} and the model of opset {after}, "
                f"in which its {node.op_type} is another one; export the model without functions, "
                "or all of it for one opset"
            )


def _means_the_same(operator: str, domain: str, before: int, after: int) -> bool:
    """Whether a node of one opset may stand in a model of another: both have the operator with the
    same inputs, and the attributes that the one has mean the same in the other."""
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
