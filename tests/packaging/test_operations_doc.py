"""docs/operations.md lists every other name of functions and types."""

from __future__ import annotations

import re
from pathlib import Path

from kgen.ops.registry import ALIASES, function_name
from kgen_runtime.dtypes import OTHER_NAMES, DType

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def test_the_page_lists_every_other_name() -> None:
    """Each name stands once, beside the name that it is accepted for."""
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|$", PAGE.read_text(), re.MULTILINE)
    listed = {other: name for name, others in rows for other in re.findall(r"`(\w+)`", others)}
    types = {name: str(dtype) for name, dtype in OTHER_NAMES.items() if name != dtype}
    expected = types | ALIASES
    # Names of 8-bit floats are those of ml_dtypes.
    assert listed == {n: d for n, d in expected.items() if not d.startswith(("e4m3", "e5m2"))}
    for other, name in listed.items():
        assert function_name(other) == name or DType(other) == name
