"""What the environment decides on the machine that builds, all of it: it is read here alone.

Nothing here changes what is built.
"""

from __future__ import annotations

import os
from pathlib import Path

#: The user's folder for what can be made again (XDG Base Directory Specification).
CACHE_HOME = "XDG_CACHE_HOME"
#: Kgen's own folder in its place, and whether kernels are kept there.
CACHE_DIR, CACHE = "KGEN_CACHE_DIR", "KGEN_CACHE"


def cache_folder() -> Path | None:
    """Where kgen keeps what it can make again: $KGEN_CACHE_DIR; else $XDG_CACHE_HOME/kgen, or
    ~/.cache/kgen where that is unset or, which the specification says to ignore, relative. None for
    a user without a home."""
    if own := os.environ.get(CACHE_DIR):
        return Path(own).absolute()
    named = Path(os.environ.get(CACHE_HOME, ""))
    if named.is_absolute():
        return named / "kgen"
    try:
        return Path.home() / ".cache" / "kgen"
    except RuntimeError:
        return None


def keeps_kernels() -> bool:
    """Whether finished kernels are kept and found again: not where $KGEN_CACHE is 0."""
    return os.environ.get(CACHE) != "0"
