"""Frozen dataclasses from decoded JSON, by their type hints.

A reader is made of each hint, once. It says only what is wrong; where, those that it is a part of
add on the way out, so that what is right costs no text.
"""

from __future__ import annotations

import builtins
import dataclasses
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NoReturn

from kgen_runtime.dtypes import DType
from kgen_runtime.errors import BundleError
from kgen_runtime.schema.json_text import is_plain
from kgen_runtime.schema.limits import COUNTED, LIMITS
from kgen_runtime.values import fields_of, is_frozen

Reader = Callable[[Any], Any]

#: Whole numbers are those of 64 bits.
MAX_INT = 2**63
MAX_NESTING, MAX_SHOWN = LIMITS["nesting"].most, 60
_DTYPES = {dtype.value: dtype for dtype in DType}


def decode(hint: Any, data: Any, where: str) -> Any:
    """The value of type `hint` in `data`; BundleError, at the place `where`, if it is none."""
    try:
        return _reader(hint)(data)
    except _Misfit as error:
        raise BundleError(f"{where}{error.place}: {error.why}") from None


def shown(value: Any) -> str:
    """The start of a value, for messages."""
    text = ascii(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


class _Misfit(Exception):
    """What is wrong with a value, and its place in what was read so far."""

    def __init__(self, why: str) -> None:
        self.why, self.place = why, ""

    def within(self, step: str) -> _Misfit:
        self.place = step + self.place
        return self


@cache
def _reader(hint: Any) -> Reader:
    if hint is Any:
        return lambda data: data
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is None and isinstance(hint, type) and is_frozen(hint):
        return _object(hint)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _several(_reader(arguments[0]))
        return _each([_reader(argument) for argument in arguments])
    if origin in (types.UnionType, typing.Union):
        return _reader(next(a for a in arguments if a is not type(None)))
    if origin is Literal:
        return _literal(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _texts if arguments[1] is str else _mapping
    raise TypeError(f"no manifest has fields of {hint}")


def _object(cls: type) -> Reader:
    """Reader of a dataclass."""
    fields = fields_of(cls)
    readers = {name: _field(cls, name, str(f.type)) for name, f in fields.items()}
    absent = dataclasses.MISSING
    required = [
        name for name, f in fields.items() if f.default is absent and f.default_factory is absent
    ]

    def read(data: Any) -> Any:
        if type(data) is not dict:
            raise _Misfit(f"expected an object, got {shown(data)}")
        values: dict[str, Any] = {}
        try:
            for name, value in data.items():
                values[name] = readers[name](value)
            return cls(**values)
        except _Misfit as error:
            raise error.within(f".{name}") from None
        except (KeyError, TypeError):
            raise misfit(data) from None

    def misfit(data: dict[Any, Any]) -> _Misfit:
        if unknown := sorted(data.keys() - readers.keys()):
            return _Misfit(f"unknown field {shown(unknown[0])}")
        missing = [repr(name) for name in required if name not in data]
        fields = "field" if len(missing) == 1 else "fields"
        return _Misfit(f"{fields} {', '.join(missing)} missing; build the bundle again")

    return read


def _field(cls: type, name: str, hint: str) -> Reader:
    """Reader of a field, which counts the entries before it reads one of them."""
    read = _reader(_hint(cls.__module__, hint))
    limit = COUNTED.get(f"{cls.__name__}.{name}")
    if limit is None:
        return read

    most = LIMITS[limit].most

    def counted(data: Any) -> Any:
        if (type(data) is list or type(data) is dict) and len(data) > most:
            raise _Misfit(f"{len(data)} entries; the limit is {most} ({limit})")
        return read(data)

    return counted


@cache
def _hint(module: str, text: str) -> Any:
    """A type hint as `from __future__ import annotations` leaves it."""
    names = vars(sys.modules[module])
    if text in names:  # most are names, which eval would compile
        return names[text]
    return getattr(builtins, text, None) or eval(text, names)


def _several(element: Reader) -> Reader:
    def read(data: Any) -> tuple[Any, ...]:
        if type(data) is not list:
            raise _Misfit(f"expected a list, got {shown(data)}")
        values: list[Any] = []
        try:
            for value in data:
                values.append(element(value))
        except _Misfit as error:
            raise error.within(f"[{len(values)}]") from None
        return tuple(values)

    return read


def _each(elements: list[Reader]) -> Reader:
    def read(data: Any) -> tuple[Any, ...]:
        if type(data) is not list:
            raise _Misfit(f"expected a list, got {shown(data)}")
        if len(data) != len(elements):
            raise _Misfit(f"expected {len(elements)} entries, got {len(data)}")
        return tuple([element(value) for element, value in zip(elements, data, strict=True)])

    return read


def _literal(values: tuple[Any, ...]) -> Reader:
    kinds = {type(value) for value in values}

    def read(data: Any) -> Any:
        if type(data) not in kinds or data not in values:
            raise _Misfit(f"{shown(data)} is not one of {', '.join(map(str, values))}")
        return data

    return read


def _mapping(data: Any) -> Any:
    """An object of anything, as far as it can be printed and counted with."""
    if type(data) is not dict:
        raise _Misfit(f"expected an object, got {shown(data)}")
    _check_leaves(data, MAX_NESTING)
    return data


def _texts(data: Any) -> Any:
    """An object of texts."""
    if type(data) is not dict:
        raise _Misfit(f"expected an object, got {shown(data)}")
    for name, value in data.items():
        _text(name)
        try:
            _text(value)
        except _Misfit as error:
            raise error.within(f".{name}") from None
    return data


def _check_leaves(data: Any, depth: int) -> None:
    if depth == 0:
        raise _Misfit(f"more than {MAX_NESTING} levels of nesting")
    kind = type(data)
    if kind is str:
        _text(data)
    elif kind is int:
        _int(data)
    elif kind is float:
        _float(data)
    elif kind is dict:
        for name in data:
            _text(name)
        for value in data.values():
            _check_leaves(value, depth - 1)
    elif kind is list:
        for value in data:
            _check_leaves(value, depth - 1)


def _text(data: Any) -> Any:
    if type(data) is not str:
        _unexpected("str", data)
    if not is_plain(data):
        raise _out_of_range(data)
    return data


def _int(data: Any) -> Any:
    if type(data) is not int:
        _unexpected("int", data)
    if not -MAX_INT <= data < MAX_INT:
        raise _out_of_range(data)
    return data


def _float(data: Any) -> float:
    if type(data) is int:
        return float(_int(data))
    if type(data) is not float:
        _unexpected("float", data)
    if not math.isfinite(data):
        raise _out_of_range(data)
    return float(data)


def _bool(data: Any) -> Any:
    if type(data) is not bool:
        _unexpected("bool", data)
    return data


def _dtype(data: Any) -> DType:
    found = _DTYPES.get(data) if type(data) is str else None
    if found is None:
        raise _Misfit(f"unknown dtype {shown(data)}")
    return found


def _unexpected(kind: str, data: Any) -> NoReturn:
    raise _Misfit(f"expected {kind}, got {shown(data)}")


def _out_of_range(data: Any) -> _Misfit:
    return _Misfit(f"{shown(data)} is out of range")


_PLAIN: Mapping[Any, Reader] = {str: _text, int: _int, float: _float, bool: _bool, DType: _dtype}
