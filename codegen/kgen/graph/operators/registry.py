"""What an entry of the table of operators is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kgen.graph.ir import Builder, Value
from kgen.graph.reading.model import Node
from kgen_runtime.values import frozen

#: What an operator becomes: a formula of elements or rows, a view that costs nothing unless it must
#: be copied, a formula that moves elements, or products.
Family = Literal["element-wise", "row-wise", "view", "copy", "product"]
#: Makes the values of a node's results, given those of its inputs; None for one that is left out.
Lower = Callable[[Builder, Node, list[Value | None]], Value | tuple[Value, ...]]


@frozen
class Operator:
    """An ONNX operator; `limits` says which uses of it are not taken."""

    name: str
    family: Family
    becomes: str
    lower: Lower
    limits: str = ""


def one(inputs: list[Value | None], number: int = 0) -> Value:
    """An input that is there."""
    found = optional(inputs, number)
    assert found is not None, f"input {number} is left out, or has no elements"
    return found


def optional(inputs: list[Value | None], number: int) -> Value | None:
    return inputs[number] if number < len(inputs) else None


def integers(b: Builder, value: Value | None, what: str) -> tuple[int, ...]:
    """The numbers of an input that says how, and must be known."""
    array = b.array(value)
    if array is None:
        raise b.refusal(f"takes its {what} from data; kgen takes constant ones")
    return tuple(int(n) for n in array.reshape(-1))
