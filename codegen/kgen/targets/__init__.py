"""The registry of target families, and the look-up of a target by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from kgen import suggest
from kgen.errors import TargetError
from kgen.targets.base import Family, Target

#: Package of every family, and how the names of its targets begin. A package is imported when the
#: family or one of its targets is first needed.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "cuda": ("sm_",),
    "amdgpu": ("gfx",),
    "vulkan": ("vulkan", "metal"),
    "cpu": ("x86-64", "aarch64", "native"),
}


@cache
def family(name: str) -> Family:
    """Return the family of this name. Raises TargetError if this kgen has none."""
    if name not in FAMILIES:
        raise TargetError(suggest.unknown(f"family={name}", name, FAMILIES))
    found = import_module(f"kgen.targets.{name}").FAMILY
    assert isinstance(found, Family)
    return found


def families() -> tuple[Family, ...]:
    return tuple(family(name) for name in FAMILIES)


def find(name: str) -> Target:
    """Return the target of this name. Raises TargetError, with the nearest names, for others."""
    asked = [package for package, prefixes in FAMILIES.items() if name.startswith(prefixes)]
    for package in asked:
        if (target := family(package).find(name)) is not None:
            return target
    known = [t.name for package in asked or FAMILIES for t in family(package).targets]
    near = [t.name for t in family(name).targets] if name in FAMILIES else []
    near = near or suggest.near(name, known, count=3) or ["native", *known]
    raise TargetError(f"target={name} is unknown; try {', '.join(near)}, or see kgen targets")
