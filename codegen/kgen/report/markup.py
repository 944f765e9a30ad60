"""Elements of HTML and SVG as text, with escaped content."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is markup and needs no escaping."""

    __slots__ = ()


Content = str | int | float | Iterable["Content"]


def tag(element: str, *content: Content, **attributes: object) -> Markup:
    """Return an element. In attributes' names `_` means `-`; a last `_` is dropped (`class_`)."""
    words = [element]
    for name, value in attributes.items():
        if value is not None:
            word = name.removesuffix("_").replace("_", "-")
            words.append(f'{word}="{escape(_plain(value))}"')
    return Markup(f"<{' '.join(words)}>{inside(content)}</{element}>")


def inside(content: Content) -> Markup:
    if isinstance(content, Markup):
        return content
    if isinstance(content, str | int | float):
        return Markup(escape(_plain(content)))
    return Markup("".join(inside(part) for part in content))


def _plain(value: object) -> str:
    """Return a value as text, with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters, with its middle left out if it is longer."""
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
