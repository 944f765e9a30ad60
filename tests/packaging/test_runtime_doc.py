"""docs/runtime.md: its table of errors."""

from __future__ import annotations

import re
from pathlib import Path

from kgen_runtime import errors

PAGE = (Path(__file__).parents[2] / "docs" / "runtime.md").read_text()


def test_the_errors_exist() -> None:
    table = PAGE[PAGE.index("| class | when |") :]
    named = re.findall(r"`([A-Z]\w+)`", table)
    assert named and all(issubclass(getattr(errors, name), errors.KgenError) for name in named)
