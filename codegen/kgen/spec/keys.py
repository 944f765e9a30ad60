"""Names of kernels: identifiers for numbers, expressions and specs."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kgen.ops.expression import Expression
from kgen.ops.views import STRIDED

if TYPE_CHECKING:
    from kgen.spec.spec import Spec

#: Limits of an expression's name: function names, and characters with separators.
WORDS, CHARACTERS = 4, 32
#: Hexadecimal digits of a digest in a name.
DIGITS = 8


def words_of(*expressions: Expression) -> str:
    """Return the names of the functions that expressions call, outermost first, as an identifier.

    Each name occurs once. Views that only move elements are left out if there is another function.
    """
    found = list(dict.fromkeys(name for one in expressions for name in _called(one)))
    shown = [name for name in found if name not in STRIDED] or found or ["copy"]
    words = shown[0]
    for name in shown[1:WORDS]:
        if len(words) + 1 + len(name) <= CHARACTERS:
            words += f"_{name}"
    return words


def _called(expression: Expression) -> Iterable[str]:
    """Yield the functions in order of their first use; nodes with several users occur once."""
    known: set[Expression] = set()
    ahead = [expression]
    while ahead:
        step = ahead.pop()
        if step.arguments and step not in known:
            known.add(step)
            yield step.name or step.primitive
            ahead += reversed(step.arguments)


def number_name(value: float) -> str:
    """Return a float as an identifier: 0.5 -> 0p5, -1e-05 -> m1em05."""
    return re.sub(r"[+]", "", repr(value)).replace(".", "p").replace("-", "m")


def digest(spec: Mapping[str, Any]) -> str:
    """Return a short digest of a spec's JSON object, for names."""
    text = json.dumps(spec, sort_keys=True, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def unique_keys(specs: Iterable[Spec]) -> dict[Spec, str]:
    """Return the name of each spec in a bundle: its key, with a digest where specs share a key."""
    alike: dict[str, list[Spec]] = defaultdict(list)
    for spec in dict.fromkeys(specs):
        alike[spec.key].append(spec)
    return {
        spec: key if len(found) == 1 else f"{key}_{digest(spec.to_json())}"
        for key, found in alike.items()
        for spec in found
    }
