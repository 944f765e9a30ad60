"""A model as it is imported: typed tensors of fixed shapes, folded constants, nodes in order."""

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
    """Element type and shape of a model's value."""

    dtype: DType
    shape: Shape


@frozen
class Node:
    """An operator's use. Inputs that are left out have the name ''; `others` are nodes that it
    stands for too; `unfolded` says why a node of constants was not computed on reading."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    opset: int
    others: tuple[str, ...] = ()
    unfolded: str = ""

    #: Attributes that were asked for.
    asked: set[str] = field(default_factory=set, compare=False, repr=False)

    def attribute(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return self.attributes.get(name, default)

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.operator})"


@frozen
class Dequantized:
    """Constant (numbers - zero) * scale, whose numbers are s8 or u8; arrays of one shape."""

    numbers: Array
    scale: Array
    zero: Array


@frozen
class Model:
    """Nodes stand behind those whose results they take. `tensors` are of all values but constants
    that nothing takes; `counts` are the sizes of outputs that depend on data; `dequantized` has the
    stored numbers of some constants."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, TensorType]
    constants: Mapping[str, Array]
    nodes: tuple[Node, ...]
    counts: tuple[Count, ...] = ()
    dequantized: Mapping[str, Dequantized] = field(default_factory=dict)
