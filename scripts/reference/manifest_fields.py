"""Fields of the manifest: one table per object, by its place in the JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Manifest
from kgen_runtime.schema.limits import COUNTED, LIMITS
from kgen_runtime.values import is_frozen
from scripts.reference.comments import field_comments, summary
from scripts.reference.markdown import rows


def table() -> str:
    """Return a heading, a sentence and a table for each kind of object."""
    places: dict[type, list[str]] = {}
    for cls, place in objects(Manifest, ""):
        if place not in places.setdefault(cls, []):
            places[cls].append(place)
    parts = []
    for cls, found in places.items():
        title = ", ".join(f"`{place}`" for place in found if place) or "`manifest.json`"
        cells = [row(cls, field) for field in dataclasses.fields(cls)]
        header = ("field", "JSON", "default", "entries", "meaning")
        text = "\n\n".join([summary(cls), *examples(cls)])
        parts.append(f"### {title}\n\n{text}\n\n{rows(header, cells)}")
    return "\n" + "\n".join(parts) + "\n"


def examples(cls: type) -> list[str]:
    """Return the other paragraphs of the docstring of a class with examples."""
    _, *others = (" ".join(part.split()) for part in (cls.__doc__ or "").split("\n\n"))
    return others if any(part.startswith("Example of ") for part in others) else []


def objects(cls: type, place: str) -> Iterator[tuple[type, str]]:
    """Yield each class of the manifest and the path to its objects, outermost first."""
    yield cls, place
    for name, hint in get_type_hints(cls).items():
        inner, suffix = element(hint)
        if is_frozen(inner) and name in {field.name for field in dataclasses.fields(cls)}:
            yield from objects(inner, f"{place}.{name}{suffix}".removeprefix("."))


def element(hint: Any) -> tuple[Any, str]:
    """Return the type inside of a list or an option, and `[]` for a list."""
    arguments = [argument for argument in get_args(hint) if argument not in (type(None), ...)]
    if get_origin(hint) is tuple:
        return arguments[0], "[]"
    is_option = type(None) in get_args(hint)
    return (element(arguments[0])[0] if is_option else hint), ""


def row(cls: type, field: dataclasses.Field[Any]) -> tuple[str, ...]:
    """Return the cells of a field."""
    hint = get_type_hints(cls)[field.name]
    limit = COUNTED.get(f"{cls.__name__}.{field.name}")
    entries = "" if limit is None else f"at most {LIMITS[limit].most}"
    return (
        f"`{field.name}`",
        json_type(hint),
        default(field),
        entries,
        field_comments(cls)[field.name],
    )


def default(field: dataclasses.Field[Any]) -> str:
    """Return the JSON of a default; empty for a required field."""
    if field.default_factory is not dataclasses.MISSING:
        return "`{}`"
    value = field.default
    if value is dataclasses.MISSING:
        return ""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    shown = (
        f'"{value}"' if isinstance(value, str) else str(value).replace("(", "[").replace(")", "]")
    )
    return f"`{shown}`"


def json_type(hint: Any) -> str:
    """Return the words for a JSON type."""
    plain = {int: "integer", float: "number", str: "text", bool: "true, false", DType: "dtype"}
    if hint in plain:
        return plain[hint]
    arguments = get_args(hint)
    if type(None) in arguments:
        (some,) = (argument for argument in arguments if argument is not type(None))
        return json_type(some)
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(f'"{a}"' if isinstance(a, str) else str(a) for a in arguments)
    if origin is tuple and ... not in arguments:
        return f"{len(arguments)} integers"
    if origin is tuple:
        return {int: "integers", str: "texts"}.get(arguments[0], "list of objects")
    return "object" if is_frozen(hint) or issubclass(origin or hint, Mapping) else str(hint)
