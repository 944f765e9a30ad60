"""The strict form of JSON that a manifest is written in, which runtime/c/json.c reads as well.

RFC 8259 in UTF-8 without a byte order mark. Beyond it: no name is twice in an object; a number has
at most 32 characters, a whole one fits 64 bits, and any other one is finite in f64; texts have no
control characters. docs/reference/bundle-format.md has the rules.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from kgen_runtime.errors import BundleError

MAX_NUMBER = 32
#: Characters that no text has: control characters, and those that end a line or turn its direction
#: on a terminal. Python calls none of them printable.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def parse(text: bytes) -> Any:
    """The value of a text. Raises BundleError."""
    try:
        return _DECODER.decode(text.decode())
    except (ValueError, RecursionError) as error:
        why = f": {error}" if isinstance(error, _InvalidJson) else ""
        raise BundleError(f"manifest.json is not JSON{why}; build the bundle again") from None


def is_plain(text: str) -> bool:
    """Whether a text has no control characters."""
    return text.isprintable() or _CONTROL.search(text) is None


class _InvalidJson(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _InvalidJson(f"{name[:60]!a} occurs twice in one object")
            seen.add(name)
    return found


def _float(digits: str) -> float:
    value = float(digits) if len(digits) <= MAX_NUMBER else math.inf
    if not math.isfinite(value):
        raise _InvalidJson(
            f"{digits[:MAX_NUMBER]} is outside of f64 or longer than {MAX_NUMBER} characters"
        )
    return value


def _constant(name: str) -> NoReturn:
    raise _InvalidJson(f"{name} is not a JSON number")


#: Whole numbers are held against 64 bits where a field is read, which each of them is (decode).
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
