"""Errors of kgen and its runtime."""

from __future__ import annotations

from collections.abc import Iterator

from kgen_runtime.errors import KgenError
from scripts.reference.comments import summary
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per class."""
    cells = (
        (f"`{e.__name__}`", f"`{e.__bases__[0].__name__}`", summary(e)) for e in tree(KgenError)
    )
    return rows(("class", "is a", "meaning"), cells)


def tree(cls: type[KgenError]) -> Iterator[type[KgenError]]:
    """Yield the classes of kgen_runtime.errors below a class, each before its own subclasses."""
    for kind in cls.__subclasses__():
        if kind.__module__ == KgenError.__module__:
            yield kind
            yield from tree(kind)
