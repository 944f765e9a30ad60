"""Imported model: typed tensors, folded constants, nodes in topological order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy.typing as npt

from kgen_runtime.dtypes import DType
from kgen_runtime.schema.program import Count
from kgen_runtime.values import frozen

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


@frozen
class TensorType:
    """Element type and shape of a value."""

    dtype: DType
    shape: Shape


@frozen
class Node:
    """Node of an imported model.

    A missing input has the name ''. `others` are names of nodes that were merged into this one.
    `unfolded` says why a node of constants was not folded.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    opset: int
    others: tuple[str, ...] = ()
    unfolded: str = ""

    #: Names of the attributes that a lowering has read.
    asked: set[str] = field(default_factory=set, compare=False, repr=False)

    def attribute(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return self.attributes.get(name, default)

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.operator})"


@frozen
class Dequantized:
    """Quantised constant (numbers - zero) * scale: s8 or u8 numbers, arrays of one shape."""

    numbers: Array
    scale: Array
    zero: Array


@frozen
class Model:
    """Imported model with nodes in topological order.

    `tensors` has the types of all values but unused constants. `counts` are the sizes of outputs
    that depend on data. `dequantized` has the stored numbers of quantised constants. `stored` are
    the types and shapes in memory of inputs and outputs that nodes compute in a wider type.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, TensorType]
    constants: Mapping[str, Array]
    nodes: tuple[Node, ...]
    counts: tuple[Count, ...] = ()
    dequantized: Mapping[str, Dequantized] = field(default_factory=dict)
    stored: Mapping[str, TensorType] = field(default_factory=dict)
