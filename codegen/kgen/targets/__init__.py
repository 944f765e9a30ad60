"""The registry of target families, and the look-up of a target by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from kgen import suggest
from kgen.errors import TargetError
from kgen.targets.base import Family, Target

#: Every family, by the package that holds it; imported when first asked for.
FAMILIES: tuple[str, ...] = ("cuda", "amdgpu", "vulkan", "cpu")


@cache
def family(name: str) -> Family:
    """The family of this name; TargetError if there is none, as in a bundle of a newer kgen."""
    if name not in FAMILIES:
        raise TargetError(suggest.unknown(f"family={name}", name, FAMILIES))
    found = import_module(f"kgen.targets.{name}").FAMILY
    assert isinstance(found, Family)
    return found


def families() -> tuple[Family, ...]:
    return tuple(family(name) for name in FAMILIES)


def find(name: str) -> Target:
    """The target of this name; TargetError, with the nearest names, if there is none."""
    for f in families():
        if (target := f.find(name)) is not None:
            return target
    known = [t.name for f in families() for t in f.targets]
    near = [t.name for t in family(name).targets] if name in FAMILIES else []
    near = near or suggest.near(name, known, count=3) or ["native", *known]
    raise TargetError(f"target={name} is unknown; try {', '.join(near)}, or see kgen targets")
