"""Core and caches that a named CPU target stands for."""

from __future__ import annotations

from kgen.targets.base import Target
from kgen.targets.cpu.limits import TARGETS
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per target without suffixes."""
    header = ("target", "core", "L1, per core", "L2, per core", "L3, of all cores")
    return rows(header, [cells(target) for target in TARGETS if "+" not in target.name])


def cells(target: Target) -> tuple[str, ...]:
    """Return name, core and cache sizes of a target."""
    sizes = [target.limits[f"l{level}_bytes"] for level in (1, 2, 3)]
    words = [f"{n >> 20} MiB" if n >= 1 << 20 else f"{n >> 10} KiB" for n in sizes]
    return target.name, str(target.device), *words
