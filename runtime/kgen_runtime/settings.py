"""What the environment decides, all of it: it is read here and nowhere else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kgen_runtime.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

#: Features that the CPU is to be taken not to have: names of /proc/cpuinfo, `*` for any letters,
#: with commas or blanks between them.
DISABLED_CPU_FEATURES = "KGEN_DISABLE_CPU_FEATURES"


def enabled(features: frozenset[str]) -> frozenset[str]:
    """Those of a CPU's features that the environment does not disable."""
    disabled = os.environ.get(DISABLED_CPU_FEATURES, "").replace(",", " ").split()
    if not disabled:
        return features
    from fnmatch import fnmatchcase

    return frozenset(
        name for name in features if not any(fnmatchcase(name, each) for each in disabled)
    )


#: The target that `native` stands for instead of the CPU of this machine, such as x86-64-v3.
NATIVE = "KGEN_NATIVE"


def native_name() -> str | None:
    """Name of the target that `native` stands for; None for the CPU of this machine."""
    return os.environ.get(NATIVE) or None


#: The user's folder for what can be made again (XDG Base Directory Specification).
CACHE_HOME = "XDG_CACHE_HOME"
#: Kgen's own folder in its place, and whether anything is kept there.
CACHE_DIR, CACHE = "KGEN_CACHE_DIR", "KGEN_CACHE"
#: How long a Vulkan or WebGPU device may be without an answer.
VULKAN_SECONDS = "KGEN_VULKAN_SECONDS"
#: And how long a GPU may be where that says nothing; systems stop one kernel after 2 to 10 s. A
#: driver that computes on the CPU may take as long as it takes.
GPU_SECONDS = 60.0


def cache_folder() -> Path | None:
    """Where kgen keeps what it can make again: $KGEN_CACHE_DIR; else $XDG_CACHE_HOME/kgen, or
    ~/.cache/kgen where that is unset or, which the specification says to ignore, relative. None for
    a user without a home."""
    from pathlib import Path  # takes milliseconds, which loading a bundle does not

    if own := os.environ.get(CACHE_DIR):
        return Path(own).absolute()
    named = Path(os.environ.get(CACHE_HOME, ""))
    if named.is_absolute():
        return named / "kgen"
    try:
        return Path.home() / ".cache" / "kgen"
    except RuntimeError:
        return None


def keeps_what_is_compiled() -> bool:
    """Whether what drivers compile is kept and found again: not where $KGEN_CACHE is 0."""
    return os.environ.get(CACHE) != "0"


def vulkan_seconds(default: float | None) -> float | None:
    """$KGEN_VULKAN_SECONDS; 0 is for ever, None."""
    text = os.environ.get(VULKAN_SECONDS)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ArgumentError(
            f"{VULKAN_SECONDS}={text} is not a number of seconds; write 60, or 0 for no limit"
        )
    return seconds or None
