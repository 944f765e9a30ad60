"""Schema of the manifest for libkgen, from Python's types: fields, words, limits, formats."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import SCHEMA_VERSIONS, Manifest
from kgen_runtime.schema.formats import FORMATS
from kgen_runtime.schema.limits import COUNTED, LIMITS
from kgen_runtime.values import is_frozen
from scripts.reference.manifest_fields import objects
from scripts.reference.markdown import rows

HEADER = Path(__file__).parents[2] / "runtime" / "c" / "manifest_schema.h"


def table() -> str:
    """Return the limits, one a row."""
    cells = [(f"`{name}`", str(limit.most), limit.what) for name, limit in LIMITS.items()]
    return rows(("limit", "at most", "what it counts"), cells)


def header() -> str:
    """Return the text of runtime/c/manifest_schema.h."""
    lines = [
        "/* Schema of a manifest, generated from kgen_runtime/manifest.py, schema/program.py,",
        " * schema/limits.py and schema/formats.py. Change those, then run make reference. */",
        "#ifndef KGEN_SCHEMA_H",
        "#define KGEN_SCHEMA_H",
        "",
    ]
    oldest, *_, newest = SCHEMA_VERSIONS
    lines += ["/* Versions that are read. */"]
    lines += [f"#define KGEN_OLDEST_SCHEMA {oldest}", f"#define KGEN_NEWEST_SCHEMA {newest}", ""]
    for name, limit in LIMITS.items():
        lines.append(f"/* {limit.what.replace('`', '')} */")
        suffix = "" if limit.most < 2**31 else "LL"
        lines.append(f"#define KGEN_MOST_{name.upper()} {limit.most}{suffix}")
    lines += [
        "",
        "/* Fields of objects: name, JSON, whether they may be left out, most entries. */",
    ]
    classes = list(dict.fromkeys(cls for cls, _ in objects(Manifest, "")))
    for cls in classes:
        lines += macro(f"FIELDS_{_upper(cls.__name__)}", map("{{{}}}".format, fields(cls)))
    lines += ["", "/* Words of fields. */"]
    for cls in classes:
        for name, words in literals(cls):
            lines += macro(f"WORDS_{_upper(cls.__name__)}_{name.upper()}", map(_quoted, words))
    lines += ["", "/* Element types and their bytes, in the order of kgen_dtype. */"]
    lines += macro("DTYPES", (f'{{"{dtype.value}", {dtype.itemsize}}}' for dtype in DType))
    lines += ["", "/* Formats of artifacts, and families that use them. */"]
    formats = (f"{{{_quoted(name)}, {{{_two(of)}}}}}" for name, (of, _) in FORMATS.items())
    lines += macro("FORMATS", formats)
    return "\n".join([*lines, "", "#endif", ""])


def macro(name: str, entries: Iterable[str]) -> list[str]:
    """Return the lines of an initialiser."""
    made = list(entries)
    return [
        f"#define KGEN_{name} {{ \\",
        *(f"    {entry}, \\" for entry in made[:-1]),
        f"    {made[-1]}}}",
    ]


def fields(cls: type) -> Iterator[str]:
    """Yield the name, kind and limit of each field of a class."""
    hints = get_type_hints(cls)
    absent = dataclasses.MISSING
    for field in dataclasses.fields(cls):
        optional = field.default is not absent or field.default_factory is not absent
        limit = COUNTED.get(f"{cls.__name__}.{field.name}")
        most = '0, ""' if limit is None else f'KGEN_MOST_{limit.upper()}, "{limit}"'
        yield f'"{field.name}", {kind(hints[field.name])}, {str(optional).lower()}, {most}'


def kind(hint: Any) -> str:
    """Return the JSON of a type."""
    plain = {int: "INT", float: "FLOAT", str: "TEXT", bool: "BOOL", DType: "TEXT"}
    if hint in plain:
        return f"JSON_{plain[hint]}"
    some = [argument for argument in get_args(hint) if argument is not type(None)]
    origin = get_origin(hint)
    if type(None) in get_args(hint):
        return kind(some[0])
    if origin is Literal:
        return kind(type(some[0]))
    if origin is tuple:
        return "JSON_LIST"
    assert is_frozen(hint) or issubclass(origin, Mapping), hint
    return "JSON_OBJECT"


def literals(cls: type) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the fields of a class that have one of several words."""
    for field in dataclasses.fields(cls):
        hint = get_type_hints(cls)[field.name]
        options = [hint, *get_args(hint)]
        for option in options:
            if get_origin(option) is Literal and isinstance(get_args(option)[0], str):
                yield field.name, get_args(option)


def _upper(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def _quoted(text: str) -> str:
    return f'"{text}"'


def _two(families: tuple[str, ...]) -> str:
    """Return the families of a format, of which there are two at most."""
    return ", ".join(map(_quoted, (*families, "")[:2]))
