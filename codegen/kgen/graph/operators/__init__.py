"""The table of ONNX operators, and the graph that a model becomes by it."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.graph.importer import DTYPES as DTYPES
from kgen.graph.ir import Builder, Graph, Source, Value
from kgen.graph.model import Model
from kgen.graph.operators import elementwise, products, rows, views
from kgen.graph.operators.registry import Operator

OPERATORS: Mapping[str, Operator] = {
    operator.name: operator
    for operator in (
        *elementwise.OPERATORS,
        *rows.OPERATORS,
        *views.OPERATORS,
        *products.OPERATORS,
    )
}


def graph_of(model: Model) -> Graph:
    """The model in kgen's words. Raises GraphError for uses of operators that it does not take."""
    b = Builder(model.tensors)
    found: dict[str, Value] = {}
    for name in model.inputs:
        tensor = model.tensors[name]
        found[name] = b.input(name, tensor.shape, tensor.dtype)

    def value(name: str) -> Value | None:
        if name not in found and name in model.constants:
            array = model.constants[name]
            found[name] = b.constant(name, array, model.tensors[name].dtype)
        return found[name] if name else None

    for node in model.nodes:
        b.node = node
        made = OPERATORS[node.operator].lower(b, node, [value(name) for name in node.inputs])
        results = made if isinstance(made, tuple) else (made,)
        for name, result in zip(node.outputs, results, strict=False):
            found[name] = result
    outputs = {}
    for name in model.outputs:
        output = value(name)
        assert output is not None
        outputs[name] = output.id
    names: dict[str, str] = {}
    for name, result in found.items():
        names.setdefault(result.id, name)
    # Constants that operators make have names of their own.
    for made_here in b.values.values():
        if isinstance(made_here.operation, Source):
            names.setdefault(made_here.id, made_here.operation.name)
    return Graph(
        name=model.name,
        inputs=tuple(found[name].id for name in model.inputs),
        outputs=outputs,
        values=b.values,
        constants=b.constants,
        names=names,
    )
