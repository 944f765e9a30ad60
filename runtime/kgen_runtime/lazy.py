"""Public names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # typing is most of what `import kgen_runtime` would take
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def attributes(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names live in the modules `homes`.

    A name that lives in `package.name` is that module itself. `__dir__` leaves out submodules.
    `__getattr__` raises ModuleNotFoundError with a remedy if a module needs a missing package."""
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
