"""Target `native`: the widest instruction set that both kgen and this machine support.

The environment variable KGEN_NATIVE may name another target.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kgen.errors import DeviceError, TargetError
from kgen.targets.base import Target
from kgen.targets.cpu.cores import core_name
from kgen.targets.cpu.limits import LEVELS, NATIVE, with_suffixes
from kgen_runtime import settings
from kgen_runtime.this_cpu import this_cpu

CACHE = Path("/sys/devices/system/cpu/cpu0/cache")


def native() -> Target:
    """Return the target of this machine, or the one that $KGEN_NATIVE names. A named target has the
    core and the caches of its level. Raises TargetError."""
    if (name := settings.native_name()) is None:
        return this_machine()
    if (named := with_suffixes(name)) is None:
        raise TargetError(
            f"{settings.NATIVE}={name} is not a CPU target; write a name of kgen targets such as "
            "x86-64-v3, or unset it for the CPU of this machine"
        )
    return replace(named, name=NATIVE)


def this_machine() -> Target:
    """Return the target of this machine's CPU. Raises TargetError if it is not supported."""
    try:
        here = this_cpu()
    except DeviceError as error:
        raise TargetError(f"target=native: {error}") from None
    levels = [level for level in LEVELS.values() if level.arch == here.arch]
    if not levels:
        raise TargetError(
            f"target=native: this machine is {here.arch}; kernels are made for x86_64 "
            "and aarch64; name a target"
        )
    least, *others = levels
    level = next((x for x in others[::-1] if here.features >= {*x.features}), least)
    found = [name for name, words in level.suffixes.items() if here.features >= {*words}]
    core = core_name() if level in others else None
    return level.target(NATIVE, found, core, **cache_sizes())


def missing_from_v3(target: Target) -> list[str]:
    """Return the x86-64-v3 features that this CPU lacks if `target` is native with only SSE2."""
    if target.name != NATIVE or target.features != {*LEVELS["x86-64"].features}:
        return []
    return sorted({*LEVELS["x86-64-v3"].features} - this_cpu().features)


def cache_sizes() -> dict[str, int]:
    """Return `l1_bytes`, `l2_bytes` and `l3_bytes` of the first core; only those Linux reports."""
    found = {}
    for index in sorted(CACHE.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = (index / "level").read_text().strip()
            size = (index / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and level in ("1", "2", "3") and size.endswith("K"):
            found[f"l{level}_bytes"] = int(size[:-1]) * 1024
    return found
