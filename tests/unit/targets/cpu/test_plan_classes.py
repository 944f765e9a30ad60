"""CPU plans are composed of values: inheritance is shallow, and properties are few."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cached_property

import kgen.targets.cpu.plan
from kgen.targets.cpu.plan.cpu_plan import CpuPlan

MOST_PROPERTIES = 60
#: Classes between CpuPlan and a kernel's plan, that plan included.
MOST_DEPTH = 3


def classes() -> list[type]:
    """Return every class that a module under targets/cpu/plan defines."""
    package = kgen.targets.cpu.plan
    names = [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    modules = map(importlib.import_module, names)
    found = (c for module in modules for _, c in inspect.getmembers(module, inspect.isclass))
    return sorted({c for c in found if c.__module__ in names}, key=lambda c: c.__qualname__)


def depth(kind: type) -> int:
    """Return the longest chain of bases below CpuPlan."""
    bases = [base for base in kind.__bases__ if issubclass(base, CpuPlan)]
    return 1 + max(map(depth, bases)) if bases else 0


def properties(kind: type) -> int:
    """Return the properties of a class, inherited ones included."""
    members = [item for base in kind.__mro__ for item in vars(base).items()]
    return len({name for name, value in members if isinstance(value, property | cached_property)})


def test_plans_inherit_from_one_class_each_and_no_deeper_than_three() -> None:
    plans = [kind for kind in classes() if issubclass(kind, CpuPlan)]
    deep = {kind.__name__: depth(kind) for kind in plans if depth(kind) > MOST_DEPTH}
    several = [kind.__name__ for kind in plans if len(kind.__bases__) > 1]
    assert len(plans) > 10 and max(map(depth, plans)) == MOST_DEPTH
    assert deep == {} and several == []


def test_no_class_has_too_many_properties() -> None:
    counts = {kind.__name__: properties(kind) for kind in classes()}
    assert {name: n for name, n in counts.items() if n > MOST_PROPERTIES} == {}
    assert max(counts.values()) > MOST_PROPERTIES // 2


def test_no_two_classes_share_a_name() -> None:
    names = [kind.__name__ for kind in classes()]
    assert sorted({name for name in names if names.count(name) > 1}) == []
