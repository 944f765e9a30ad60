"""Fields of schedules: meaning, unit, range and default."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence

from kgen.schedule import Schedule
from scripts.reference.comments import field_comments
from scripts.reference.main_loops import TYPES, field_names
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per name and meaning of a field, sorted by name."""
    users: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for family, types in TYPES.items():
        for kind in types:
            for name in field_names(kind):
                families = users.setdefault(described(name, declaring(kind, name)), {})
                families.setdefault(family, []).append(f"`{kind.mainloop}`")
    header = ("field", "unit", "range", "default", "meaning", "main loops")
    return rows(header, [(*found, main_loops(users[found])) for found in sorted(users)])


def main_loops(families: Mapping[str, Sequence[str]]) -> str:
    """Return the main loops of a field, by family."""
    found = (f"{family} {' '.join(dict.fromkeys(loops))}" for family, loops in families.items())
    return "; ".join(found)


def declaring(kind: type[Schedule], name: str) -> type[Schedule]:
    """Return the class that declares a field, or declares it last."""
    return next(cls for cls in kind.__mro__ if name in inspect.get_annotations(cls))


def described(name: str, cls: type[Schedule]) -> tuple[str, ...]:
    """Return name, unit, range, default and meaning of a field."""
    (field,) = (f for f in dataclasses.fields(cls) if f.name == name)
    found = re.fullmatch(r"(?:\[(.+?)\] )?(.+)", field_comments(cls)[name])
    assert found is not None
    unit, meaning = found.groups()
    is_switch = str(field.type) == "bool" or values(cls, name) == "0 or 1"
    assert is_switch == (unit is None), f"{cls.__name__}.{name} has no unit"
    default = "" if field.default is dataclasses.MISSING else str(int(field.default))
    return f"`{name}`", unit or "", "0 or 1" if is_switch else values(cls, name), default, meaning


def values(cls: type[Schedule], name: str) -> str:
    """Return the range of a number."""
    least, most = 0 if name in cls.may_be_zero else 1, cls.most.get(name)
    between = "or" if most == least + 1 else "to"
    text = f"at least {least}" if most is None else f"{least} {between} {most}"
    whole = cls.divides.get(name)
    return f"{text}; divides `{whole}`" if whole else text
