"""Base class of all specs, and checks that they share."""

from __future__ import annotations

import dataclasses
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import StrEnum
from numbers import Real
from typing import Any, ClassVar

from kgen.errors import SpecError
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

MAX_BYTES = 2**63 - 1
#: The largest finite f32.
F32_MAX = 2.0**128 - 2.0**104


@frozen
class Spec(ABC):
    """Base of all operations."""

    op: ClassVar[str]

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """Dtype of the inputs; every operation has this field."""

    @property
    def needed_dtypes(self) -> tuple[DType, ...]:
        """Dtypes that a target must support."""
        return (self.dtype,)

    @property
    def call_name(self) -> str:
        """Name of the operation in a loaded bundle."""
        return self.op

    @property
    @abstractmethod
    def key(self) -> str:
        """Stable short name, an identifier in every target's language.

        Several specs may share a key. In a bundle, :func:`kgen.spec.keys.unique_keys` gives them
        different names.
        """

    @property
    @abstractmethod
    def parameters(self) -> tuple[TensorParam, ...]:
        """The tensors in calling order, outputs last."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """Formula in one line, for readers of a kernel."""

    @property
    @abstractmethod
    def flops(self) -> int:
        """Arithmetic operations that the result needs; a multiply-add counts as two."""

    @property
    def bytes_moved(self) -> int:
        """Bytes of all tensors, each counted once: the least memory traffic of any kernel."""
        return sum(math.prod(p.shape) * p.dtype.itemsize for p in self.parameters)

    @property
    def constants(self) -> tuple[str, ...]:
        """Names of the inputs that are constant over many calls."""
        return ()

    def parameter(self, name: str) -> TensorParam:
        return next(p for p in self.parameters if p.name == name)

    def to_json(self) -> dict[str, Any]:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {"op": self.op} | {k: plain(v) for k, v in fields.items() if v is not None}

    def _check_int(self, name: str, low: int, high: int) -> int:
        """Return a field as an int, and store it as one. Raises SpecError if it is out of range."""
        value = whole(name, getattr(self, name), low, high)
        object.__setattr__(self, name, value)
        return value

    def _check_sizes(self) -> None:
        for p in self.parameters:
            if p.nbytes > MAX_BYTES:
                raise SpecError(
                    f"tensor {p.name} of shape {'x'.join(map(str, p.shape))} {p.dtype} needs "
                    f"{p.nbytes} bytes; the limit is {MAX_BYTES}; use a smaller shape"
                )


def plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return [plain(v) for v in value] if isinstance(value, tuple) else value


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return an integer of any library as an int. Raises SpecError for other values.

    An integer below `low` or above `high` raises SpecError too.
    """
    try:
        found = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        found = None
    # The largest size in bytes is named only in the message for a number above it.
    at_most = high < MAX_BYTES or (found is not None and found > high)
    limits = f"{low} to {high}" if at_most else f"{low} or more"
    if found is None:
        raise SpecError(f"{name}={value!r} is not an integer; give {limits}")
    if not low <= found <= high:
        raise SpecError(f"{name}={found} is out of range; give {limits}")
    return found


def whole_each(
    name: str, values: Iterable[object], low: int, high: int | tuple[int, ...]
) -> tuple[int, ...]:
    """Return integers as ints, as `whole` does; messages name the index.

    `high` is one limit, or one for each integer.
    """
    given = tuple(values)
    limits = (high,) * len(given) if isinstance(high, int) else high
    return tuple(
        whole(f"{name}[{index}]", value, low, most)
        for index, (value, most) in enumerate(zip(given, limits, strict=True))
    )


def finite(name: str, value: float, applied_in: DType) -> float:
    """Return a number that kernels contain as a constant of a dtype.

    Raises SpecError if it is not finite, or out of the dtype's range of normal numbers.
    """
    if not isinstance(value, Real):
        raise SpecError(f"{name}={value!r} is not a number; give one such as 0.5")
    if not math.isfinite(value):
        raise SpecError(f"{name}={value} is not finite; give a finite number")
    if applied_in is DType.F32 and abs(value) > F32_MAX:
        raise SpecError(
            f"{name}={value} is out of the range of f32, in which it is applied; give a "
            f"magnitude of at most {F32_MAX}"
        )
    # A subnormal constant has fewer significant bits, and some devices read it as zero.
    if 0.0 < abs(value) < applied_in.smallest_normal:
        raise SpecError(
            f"{name}={value} is too small for {applied_in}, in which it is applied; "
            f"the smallest is {applied_in.smallest_normal}; give that or 0"
        )
    return float(value)
