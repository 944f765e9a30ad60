"""Decoder from JSON to frozen dataclasses by their type hints. libkgen has checked the JSON."""

from __future__ import annotations

import builtins
import sys
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.values import fields_of, is_frozen

Reader = Callable[[Any], Any]

_DTYPES = {dtype.value: dtype for dtype in DType}


@cache
def reader(hint: Any) -> Reader | None:
    """Return the function from JSON to a value of this type; None if the JSON is the value."""
    if hint is DType:
        return _DTYPES.__getitem__
    if hint is float:
        return float
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is None and isinstance(hint, type) and is_frozen(hint):
        return _object(hint)
    if origin is tuple:
        element = reader(arguments[0])
        return tuple if element is None else lambda data: tuple(map(element, data))
    if origin in (types.UnionType, typing.Union):
        return reader(next(a for a in arguments if a is not type(None)))
    return None


def _object(cls: type) -> Reader:
    """Return the function from JSON to a dataclass. It modifies the JSON."""
    found = (
        (name, reader(_hint(cls.__module__, str(f.type)))) for name, f in fields_of(cls).items()
    )
    converted = [(name, convert) for name, convert in found if convert is not None]

    def read(data: dict[str, Any]) -> Any:
        for name, convert in converted:
            if name in data:
                data[name] = convert(data[name])
        return cls(**data)

    return read


@cache
def _hint(module: str, text: str) -> Any:
    """Evaluate a type hint that `from __future__ import annotations` leaves as text."""
    names = vars(sys.modules[module])
    if text in names:  # Most hints are names, for which a lookup is faster than eval.
        return names[text]
    return getattr(builtins, text, None) or eval(text, names)
