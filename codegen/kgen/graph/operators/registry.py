"""Entries of the operator table, and helpers that read and check a node's inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue, broadcasts_to
from kgen.graph.reading.model import Node, Shape
from kgen.ops.expression import Expression
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Kind of kernel that an operator becomes: element-wise or row-wise formula, view (strides, or a
#: copy if needed), formula that moves elements, or product.
Family = Literal["element-wise", "row-wise", "view", "copy", "product"]
#: Lowering: returns a node's results, given its inputs; None stands for a missing input.
Lower = Callable[[Builder, Node, list[GraphValue | None]], GraphValue | tuple[GraphValue, ...]]


@frozen
class Operator:
    """ONNX operator; `unsupported` lists the uses that are refused, separated by semicolons."""

    name: str
    family: Family
    becomes: str
    lower: Lower
    unsupported: str = ""


class MissingInputError(LookupError):
    """Required input that is missing or empty."""

    def __init__(self, number: int) -> None:
        super().__init__(f"input {number} is left out")
        self.number = number


def one(inputs: list[GraphValue | None], number: int = 0) -> GraphValue:
    """Return an input. Raises MissingInputError if it is missing."""
    found = optional(inputs, number)
    if found is None:
        raise MissingInputError(number)
    return found


def folded_terms(
    b: Builder, name: str, terms: Sequence[Expression], most: int, shape: Shape, dtype: DType
) -> GraphValue:
    """Fold terms by a function, at most `most` terms per formula."""
    found: GraphValue | None = None
    for i in range(0, len(terms), most):
        total, *others = terms[i : i + most]
        for term in others:
            total = b.call(name, total, term)
        found = b.formula(total if found is None else b.call(name, found, total), shape, dtype)
    assert found is not None
    return found


def optional(inputs: list[GraphValue | None], number: int) -> GraphValue | None:
    return inputs[number] if number < len(inputs) else None


def integers(b: Builder, value: GraphValue | None, what: str) -> tuple[int, ...]:
    """Return the integers of a constant input. Raises GraphError for any other input."""
    array = b.array(value)
    if array is None:
        raise b.refusal(
            f"reads its {what} from data; kgen supports constants only",
            f"make the {what} an initializer of the model",
        )
    check_list(b, value, what)
    return tuple(int(n) for n in array.reshape(-1))


def check_list(b: Builder, value: GraphValue | None, what: str) -> None:
    """Raise GraphError if an input that must be a list has more than one axis."""
    if value is not None and value.rank > 1:
        raise b.refusal(
            f"has {what} of shape {by_x(value.shape)}; ONNX requires a list of one axis",
            CHANGE_MODEL,
        )


def axis_of(b: Builder, number: int, rank: int, name: str = "axis") -> int:
    """Return an axis counted from 0. Raises GraphError unless it is one of `rank` axes."""
    if not -rank <= number < rank:
        limit = f"{-rank} to {rank - 1} are the limits" if rank else "a single number has no axis"
        raise b.refusal(f"has {name}={number} for {rank} axes; {limit}", "change it in the model")
    return number % rank


def axes_of(b: Builder, numbers: Iterable[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Return axes counted from 0, in the node's order. Raises GraphError for a repeated axis."""
    given = tuple(numbers)
    found = tuple(axis_of(b, number, rank, name) for number in given)
    if len(set(found)) < len(found):
        shown = ",".join(map(str, given))
        raise b.refusal(f"has {name}={shown}, which names an axis twice", "name each axis once")
    return found


def choice_of(b: Builder, node: Node, name: str, default: str, known: Iterable[str]) -> str:
    """Return a string attribute, or the default if it is empty.

    Raises GraphError for unknown values.
    """
    found = str(node.attribute(name) or default)
    if found not in known:
        raise b.refusal(
            f"has {name}={found}; only {', '.join(known)} are supported",
            "export it with one of them",
        )
    return found


def check_broadcasts(b: Builder, value: GraphValue | None, shape: Sequence[int], what: str) -> None:
    """Raise GraphError unless an input broadcasts to a shape, as ONNX requires."""
    if value is not None and not broadcasts_to(value.shape, shape):
        raise b.refusal(
            f"has {what} of shape {by_x(value.shape)}, which does not broadcast to "
            f"{by_x(tuple(shape))}",
            CHANGE_MODEL,
        )


def check_shape(b: Builder, value: GraphValue | None, shape: Sequence[int], what: str) -> None:
    """Raise GraphError unless an input has the shape that ONNX requires."""
    if value is not None and value.shape != tuple(shape):
        raise b.refusal(
            f"has {what} of shape {by_x(value.shape)}; ONNX requires {by_x(tuple(shape))} here",
            CHANGE_MODEL,
        )
