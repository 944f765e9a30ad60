"""Frozen dataclasses from decoded JSON, by their type hints."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from kgen_runtime.dtypes import DType
from kgen_runtime.errors import BundleError


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def _required(cls: type) -> tuple[str, ...]:
    """The fields of a dataclass that have no default."""
    absent = dataclasses.MISSING
    return tuple(
        field.name
        for field in dataclasses.fields(cls)
        if field.default is absent and field.default_factory is absent
    )


def decode(hint: Any, data: Any, where: str) -> Any:
    """The value of type `hint` in `data`; BundleError, at the place `where`, if it is none."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return data
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _dataclass(hint, data, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise BundleError(f"{where}: expected a list, got {data!r}")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(decode(arguments[0], v, f"{where}[{i}]") for i, v in enumerate(data))
        if len(data) != len(arguments):
            raise BundleError(f"{where}: expected {len(arguments)} entries, got {len(data)}")
        return tuple(decode(h, v, where) for h, v in zip(arguments, data, strict=True))
    if origin is types.UnionType:
        return decode(next(a for a in arguments if a is not type(None)), data, where)
    if origin is Literal:
        if data not in arguments:
            raise BundleError(f"{where}: {data!r} is none of {', '.join(map(str, arguments))}")
        return data
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise BundleError(f"{where}: expected an object, got {data!r}")
        return data
    if hint is DType:
        if data not in tuple(DType):  # DType itself takes names of other libraries
            raise BundleError(f"{where}: unknown dtype {data!r}")
        return DType(data)
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, hint) or (isinstance(data, bool) and hint is not bool):
        raise BundleError(f"{where}: expected {hint.__name__}, got {data!r}")
    return data


def _dataclass(cls: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise BundleError(f"{where}: expected an object, got {data!r}")
    hints = _hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise BundleError(f"{where}: unknown field {unknown[0]!r}")
    if missing := [repr(name) for name in _required(cls) if name not in data]:
        fields = "field" if len(missing) == 1 else "fields"
        raise BundleError(f"{where}: {fields} {', '.join(missing)} missing; build the bundle again")
    return cls(**{name: decode(hints[name], v, f"{where}.{name}") for name, v in data.items()})
