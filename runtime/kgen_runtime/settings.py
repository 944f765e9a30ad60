"""Environment variables; no other Python module reads them. Their comments become a table of
docs/reference/python-runtime.md."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kgen_runtime.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

#: CPU features to treat as missing: names of `/proc/cpuinfo`, separated by commas or blanks, with
#: `*` for any letters: `avx512*,amx_*`
DISABLED_CPU_FEATURES = "KGEN_DISABLE_CPU_FEATURES"
#: Target that `native` stands for, such as `x86-64-v3`; default: the CPU of the machine
NATIVE = "KGEN_NATIVE"


def native_name() -> str | None:
    """Return the name of the target that `native` stands for; None for the CPU of this machine."""
    return os.environ.get(NATIVE) or None


#: Folder of all caches (XDG Base Directory Specification); default: `~/.cache`
CACHE_HOME = "XDG_CACHE_HOME"
#: Folder of kgen's cache; default: `$XDG_CACHE_HOME/kgen`
CACHE_DIR = "KGEN_CACHE_DIR"
#: 0: cache neither pipelines nor, on the machine that builds, kernels
CACHE = "KGEN_CACHE"
#: Seconds that a Vulkan or WebGPU device may give no answer; 0: no limit; default: 60 on a GPU, no
#: limit on a driver that computes on the CPU
VULKAN_SECONDS = "KGEN_VULKAN_SECONDS"
#: Default of `VULKAN_SECONDS` on a GPU. It exceeds the time after which systems stop a kernel.
GPU_SECONDS = 60.0


def cache_folder() -> Path | None:
    """Return the folder of kgen's caches; None for a user without a home.

    - $KGEN_CACHE_DIR, if set
    - $XDG_CACHE_HOME/kgen, if that path is absolute; the specification says to ignore a relative
      one
    - ~/.cache/kgen
    """
    from pathlib import Path  # pathlib is slow to import, and loading a bundle does not need it.

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
    """Return whether caches are used: $KGEN_CACHE is not 0."""
    return os.environ.get(CACHE) != "0"


def vulkan_seconds(default: float | None) -> float | None:
    """Return $KGEN_VULKAN_SECONDS; None, no limit, if it is 0, and `default` if it is unset."""
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
