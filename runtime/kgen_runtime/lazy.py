"""Lazy import of a package's public names: a module is loaded when one of its names is first
used."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # typing would be most of the import time of kgen_runtime.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def attributes(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names are defined in the modules
    `homes`.

    If the home of a name is `package.name`, the name is that module itself. `__dir__` leaves out
    submodules. `__getattr__` raises ModuleNotFoundError with a remedy if a module needs a missing
    package.
    """
    namespace = sys.modules[package].__dict__

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            home = import_module(homes[name])
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if missing.partition(".")[0] == package:
                raise
            raise ModuleNotFoundError(
                f"{package}.{name} needs the Python package {missing}; pip install {missing}",
                name=missing,
            ) from None
        value = home if home.__name__ == f"{package}.{name}" else getattr(home, name)
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({"__version__", *homes})

    return get, names
