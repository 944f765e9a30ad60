"""What this CPU can do, in the kernel's words (/proc/cpuinfo)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


@cache
def cpu_features() -> frozenset[str]:
    """The flags (x86) or features (Arm) of the first CPU; empty where the kernel does not say.

    Linux leaves out what it does not enable: a CPU with AVX-512 whose state the kernel does not
    save has no avx512f here, so a listed feature can be used.
    """
    for key, value in _first_cpu():
        if key in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


@cache
def cpu_name() -> str:
    """The model name, as far as the kernel tells."""
    for key, value in _first_cpu():
        if key in ("model name", "Model"):
            return value
    return "CPU"


def _first_cpu() -> list[tuple[str, str]]:
    try:
        text = CPUINFO.read_text()
    except OSError:
        return []
    lines = text.split("\n\n")[0].splitlines()
    pairs = (line.partition(":") for line in lines)
    return [(key.strip(), value.strip()) for key, _, value in pairs]
