"""What the environment decides on the machine that builds, all of it: it is read here alone.

Nothing here changes what is built.
"""

from __future__ import annotations

import os
from pathlib import Path

#: The user's folder for what can be made again (XDG Base Directory Specification).
CACHE_HOME = "XDG_CACHE_HOME"


def cache_folder() -> Path | None:
    """Where kgen keeps what it can make again: $XDG_CACHE_HOME/kgen, or ~/.cache/kgen where that is
    unset or, which the specification says to ignore, relative. None for a user without a home."""
    named = Path(os.environ.get(CACHE_HOME, ""))
    if named.is_absolute():
        return named / "kgen"
    try:
        return Path.home() / ".cache" / "kgen"
    except RuntimeError:
        return None
