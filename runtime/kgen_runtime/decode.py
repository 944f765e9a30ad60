"""Frozen dataclasses from decoded JSON, by their type hints."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

from kgen_runtime.dtypes import DType
from kgen_runtime.errors import BundleError

#: Whole numbers are those of 64 bits.
MAX_INT = 2**63
MAX_NESTING, MAX_SHOWN = 32, 60


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """The generic type of a hint, its arguments, and whether it is a dataclass."""
    is_dataclass = isinstance(hint, type) and dataclasses.is_dataclass(hint)
    return typing.get_origin(hint), typing.get_args(hint), is_dataclass


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
    if hint is Any:
        return data
    origin, arguments, is_dataclass = _parts(hint)
    if is_dataclass:
        return _dataclass(hint, data, where)
    if origin is None:
        return _plain(hint, data, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise BundleError(f"{where}: expected a list, got {shown(data)}")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(decode(arguments[0], v, f"{where}[{i}]") for i, v in enumerate(data))
        if len(data) != len(arguments):
            raise BundleError(f"{where}: expected {len(arguments)} entries, got {len(data)}")
        return tuple(decode(h, v, where) for h, v in zip(arguments, data, strict=True))
    if origin in (types.UnionType, typing.Union):
        return decode(next(a for a in arguments if a is not type(None)), data, where)
    if origin is Literal:
        if not any(data == value and type(data) is type(value) for value in arguments):
            raise BundleError(f"{where}: {shown(data)} is none of {', '.join(map(str, arguments))}")
        return data
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise BundleError(f"{where}: expected an object, got {shown(data)}")
        for value in _leaves(data):
            _check_plain(value, where)
        return data
    raise TypeError(f"no manifest has fields of {hint}")


def _plain(hint: Any, data: Any, where: str) -> Any:
    """A number, a text or a data type."""
    if hint is DType:
        if data not in tuple(DType):  # DType itself takes names of other libraries
            raise BundleError(f"{where}: unknown dtype {shown(data)}")
        return DType(data)
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        _check_plain(data, where)
        return float(data)
    if not isinstance(data, hint) or (isinstance(data, bool) and hint is not bool):
        raise BundleError(f"{where}: expected {hint.__name__}, got {shown(data)}")
    _check_plain(data, where)
    return data


def _check_plain(value: Any, where: str) -> None:
    """That it is a number that computers count with, or a text that can be printed."""
    if isinstance(value, str):
        fine = value.isprintable()
    elif isinstance(value, float):
        fine = math.isfinite(value)
    else:
        fine = not isinstance(value, int) or -MAX_INT <= value < MAX_INT
    if not fine:
        raise BundleError(f"{where}: {shown(value)} is out of range")


def _leaves(data: Any) -> Iterator[Any]:
    """All keys and values that hold no others; `check_nesting` says that this ends."""
    if isinstance(data, dict):
        yield from data
        data = data.values()
    elif not isinstance(data, list):
        yield data
        return
    for value in data:
        yield from _leaves(value)


def check_nesting(data: Any) -> None:
    """Raises BundleError for lists and objects that lie deeper in others than a manifest's do."""
    level = [data]
    for _ in range(MAX_NESTING):
        inner = [v.values() if isinstance(v, dict) else v for v in level]
        level = [v for values in inner for v in values if isinstance(v, dict | list)]
        if not level:
            return
    raise BundleError(f"manifest.json: it is nested more than {MAX_NESTING} deep")


def shown(value: Any) -> str:
    """The start of a value, for messages."""
    text = ascii(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _dataclass(cls: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise BundleError(f"{where}: expected an object, got {shown(data)}")
    hints = _hints(cls)
    if not data.keys() <= hints.keys():
        unknown = sorted(set(data) - set(hints))
        raise BundleError(f"{where}: unknown field {shown(unknown[0])}")
    if missing := [repr(name) for name in _required(cls) if name not in data]:
        fields = "field" if len(missing) == 1 else "fields"
        raise BundleError(f"{where}: {fields} {', '.join(missing)} missing; build the bundle again")
    return cls(**{name: decode(hints[name], v, f"{where}.{name}") for name, v in data.items()})
