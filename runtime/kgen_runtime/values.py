"""`frozen`: a frozen, keyword-only dataclass that is quick to define.

The standard library writes six methods of such a class as text and compiles them, half a
millisecond a class, and most commands import a hundred classes. Here one method is compiled, the
constructor; the others are the same functions for all classes, over the names of the fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,)
)
def frozen(cls: type[T]) -> type[T]:
    """As `dataclass(frozen=True, kw_only=True)`, for :mod:`dataclasses` as well."""
    # The standard library would write the signature there, and takes milliseconds to find it.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)
    fields = dataclasses.fields(made)  # type: ignore[arg-type]
    compared = _getter([f.name for f in fields if f.compare])
    shown = [f.name for f in fields if f.repr]

    def __repr__(self: object) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def __eq__(self: object, other: object) -> bool:
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: object) -> int:
        return hash(compared(self))

    methods: list[Callable[..., Any]] = [__repr__, __eq__, __hash__]
    for method in (*methods, _constructor(made, fields), __setattr__, __delattr__):
        # A class keeps its own; that of one with its own __eq__ but no __hash__ is None.
        if made.__dict__.get(method.__name__) is None:
            setattr(made, method.__name__, method)
    return made


def __setattr__(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getter(names: list[str]) -> Callable[[object], object]:
    """The values of these attributes, together."""
    return attrgetter(*names) if names else lambda _: ()


def _constructor(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """`__init__` with a parameter for each field, and the errors of one."""
    known: dict[str, Any] = {"put": object.__setattr__, "absent": dataclasses.MISSING}
    parameters, body = [], []
    for name, field in ((f.name, f) for f in fields):
        default, value = "", name
        if field.default_factory is not dataclasses.MISSING:
            known[f"make_{name}"] = field.default_factory
            default, value = "=absent", f"make_{name}() if {name} is absent else {name}"
        elif field.default is not dataclasses.MISSING:
            known[f"default_{name}"] = field.default
            default = f"=default_{name}"
        parameters.append(f"{name}{default}")
        body.append(f" put(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    star = ", *, " if parameters else ""
    text = "\n".join([f"def __init__(self{star}{', '.join(parameters)}):", *(body or [" pass"])])
    exec(text, known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {f.name: f.type for f in fields} | {"return": None}
    return made
