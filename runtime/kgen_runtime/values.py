"""`frozen`: a frozen, keyword-only dataclass that is cheap to define.

The standard library generates and compiles source text for six methods of each dataclass, which
would dominate the start of most commands. Here all classes share the same six methods. They look up
the fields in a record of the class, which their first call makes. :mod:`dataclasses` treats these
classes as dataclasses: they have the attribute with fields that it looks for.
"""

from __future__ import annotations

import dataclasses
import inspect
from _thread import RLock  # threading takes longer to import.
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from kgen_runtime.locks import Lock

T = TypeVar("T")
#: Attribute in which the standard library looks for the fields of a class.
FIELDS = "__dataclass_fields__"
#: The standard library modifies a class when it processes it; two threads must not do that at once.
_LOCK = Lock(RLock)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,)
)
def frozen(cls: type[T]) -> type[T]:
    """Make a class frozen like `dataclass(frozen=True, kw_only=True)`, also for
    :mod:`dataclasses`."""
    # Without a docstring, the standard library would compute the signature for it, which is slow.
    cls.__doc__ = cls.__doc__ or cls.__name__
    own = cls.__dict__
    for method in METHODS:
        # A class keeps its own methods. __hash__ is None in a class that defines __eq__ only.
        if own.get(method.__name__) is None:
            setattr(cls, method.__name__, method)
    setattr(cls, FIELDS, _Fields(cls))
    cls.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
    return cls


if TYPE_CHECKING:
    from functools import cached_property

    cached = cached_property
else:

    class cached:
        """Cache a property like functools.cached_property, without its lock in Python 3.11, which
        is slower than most values. Two threads may both compute a value."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __get__(self, instance: Any, cls: type) -> Any:
            if instance is None:
                return self
            found = instance.__dict__[self.function.__name__] = self.function(instance)
            return found


class _Record:
    """Facts about a class's fields that the shared methods need."""

    def __init__(self, cls: type) -> None:
        self.fields: dict[str, dataclasses.Field[Any]] = {}
        for base in reversed(cls.__mro__):
            self.fields |= _own_fields(base)
        fields = self.fields.values()
        self.count = len(fields)
        self.defaults = {f.name: f.default for f in fields if f.default is not MISSING}
        self.factories = {
            f.name: f.default_factory for f in fields if f.default_factory is not MISSING
        }
        self.shown = [f.name for f in fields if f.repr]
        compared = [f.name for f in fields if f.compare]
        #: Returns the values of all compared fields together.
        self.compared: Callable[[object], object] = (
            attrgetter(*compared) if compared else lambda _: ()
        )
        #: Descriptors of fields that convert the values that the constructor is given.
        self.converters = [
            (name, base.__dict__[name])
            for name in self.fields
            for base in cls.__mro__
            if hasattr(base.__dict__.get(name), "converted")
        ]
        self.is_checked = hasattr(cls, "__post_init__")

    def completed(self, cls: type, values: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a constructor call, completed with defaults. Raises TypeError for
        missing and unknown arguments, like a function with these parameters."""
        found = self.defaults | values
        for name, make in self.factories.items():
            if name not in values:
                found[name] = make()
        if found.keys() == self.fields.keys():
            return found
        where = f"{cls.__qualname__}.__init__()"
        for name in values.keys() - self.fields.keys():
            raise TypeError(f"{where} got an unexpected keyword argument {name!r}")
        missing = [repr(name) for name in self.fields if name not in found]
        arguments = "argument" if len(missing) == 1 else "arguments"
        raise TypeError(
            f"{where} missing {len(missing)} required keyword-only {arguments}: "
            f"{', '.join(missing)}"
        )


def fields_of(cls: type) -> Mapping[str, dataclasses.Field[Any]]:
    """Return the fields of a class with their types, names and defaults; faster than
    `dataclasses.fields`."""
    return _RECORDS[cls].fields


def is_frozen(cls: type) -> bool:
    """Return whether :func:`frozen` made the class."""
    return FIELDS in cls.__dict__


class _Records(dict[type, _Record]):
    """Record of each class, made before the standard library removes defaults from the class."""

    def __missing__(self, cls: type) -> _Record:
        self[cls] = made = _Record(cls)
        return made


_RECORDS = _Records()


def _own_fields(cls: type) -> Mapping[str, dataclasses.Field[Any]]:
    """Return the fields that a class adds to those of its bases."""
    known = cls.__dict__.get(FIELDS)
    if known is None:
        return {}
    if not isinstance(known, _Fields):  # The standard library has processed the class.
        return {field.name: field for field in dataclasses.fields(cls)}
    found = {}
    for name, hint in inspect.get_annotations(cls).items():
        if not str(hint).startswith(("ClassVar", "typing.ClassVar")):
            found[name] = field = _field(getattr(cls, name, MISSING))
            field.name, field.type = name, hint
    return found


def _field(default: Any) -> dataclasses.Field[Any]:
    """Return the field for a class attribute: a default, or a field of the standard library."""
    made: dataclasses.Field[Any] = dataclasses.field(default=default)
    if isinstance(default, dataclasses.Field):
        made.default, made.default_factory = default.default, default.default_factory
        made.repr, made.compare = default.repr, default.compare
    return made


class _Fields:
    """Fields of a class; replaced by the standard library's own on first access."""

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, instance: object, cls: type) -> Any:
        with _LOCK.lock:
            if self._cls.__dict__[FIELDS] is self:
                _ = _RECORDS[self._cls]
                dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(self._cls)
        return self._cls.__dict__[FIELDS]


class _Signature:
    """Signature of a class's constructor, for :mod:`inspect`."""

    def __get__(self, instance: object, cls: type) -> inspect.Signature:
        if instance is not None or cls.__init__ is not __init__:  # type: ignore[misc]
            raise AttributeError("__signature__")
        parameters = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_shown_default(field),
                annotation=field.type,
            )
            for field in dataclasses.fields(cls)
        ]
        return inspect.Signature(parameters)


def _shown_default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return inspect.Parameter.empty if field.default_factory is MISSING else field.default_factory


_SIGNATURE = _Signature()


def __init__(self: object, /, **values: object) -> None:
    record = _RECORDS[type(self)]
    if len(values) != record.count or values.keys() != record.fields.keys():
        values = record.completed(type(self), values)
    found = self.__dict__
    found.update(values)
    for name, field in record.converters:
        found[name] = field.converted(values[name])
    if record.is_checked:
        self.__post_init__()  # type: ignore[attr-defined]


def __repr__(self: object) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in _RECORDS[type(self)].shown)
    return f"{type(self).__qualname__}({values})"


def __eq__(self: object, other: object) -> bool:
    if type(other) is not type(self):
        return NotImplemented
    compared = _RECORDS[type(self)].compared
    return compared(self) == compared(other)


def __hash__(self: object) -> int:
    return hash(_RECORDS[type(self)].compared(self))


def __setattr__(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


METHODS: tuple[Callable[..., Any], ...] = (
    __init__, __repr__, __eq__, __hash__, __setattr__, __delattr__,
)  # fmt: skip
