"""The target `native`: the widest instruction set that we generate and this machine has, or the
target that the environment names ($KGEN_NATIVE)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kgen.errors import DeviceError, TargetError
from kgen.targets.base import Target
from kgen.targets.cpu.cores import core_name
from kgen.targets.cpu.limits import (
    AMX_FEATURES,
    AMX_FP16_FEATURES,
    AMX_LIMITS,
    AVX_VNNI_FEATURES,
    BASELINE_CORE,
    BASELINE_FEATURES,
    BASELINE_LIMITS,
    BF16_FEATURES,
    DOTPROD_FEATURES,
    NATIVE,
    V3_FEATURES,
    V3_LIMITS,
    V4_FEATURES,
    V4_LIMITS,
    VNNI_FEATURES,
    neon_target,
    with_suffixes,
    x86_target,
)
from kgen_runtime import settings
from kgen_runtime.this_cpu import this_cpu

CACHE = Path("/sys/devices/system/cpu/cpu0/cache")


def native() -> Target:
    """Return the target that `native` stands for: the one that $KGEN_NATIVE names, with that
    target's core and caches, else the CPU of this machine. Raises TargetError."""
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
    features = here.features
    if here.arch == "aarch64":
        return neon_target(NATIVE, _found(DOTPROD_FEATURES), **cache_sizes())
    if here.arch != "x86_64":
        raise TargetError(
            f"target=native: this machine is {here.arch}; kernels are made for x86_64 and aarch64"
        )
    if not V3_FEATURES.keys() <= features:
        return x86_target(
            NATIVE,
            BASELINE_FEATURES,
            limits=BASELINE_LIMITS,
            device=BASELINE_CORE,
            **cache_sizes(),
        )
    if not V4_FEATURES.keys() <= features:
        extra = _found(AVX_VNNI_FEATURES)
        return _here(V3_FEATURES, extra, limits=V3_LIMITS)
    if not AMX_FEATURES.keys() <= features:
        extra = _found(BF16_FEATURES, VNNI_FEATURES)
        return _here(V4_FEATURES, extra, limits=V4_LIMITS)
    return _here(V4_FEATURES, AMX_FEATURES, _found(AMX_FP16_FEATURES), limits=AMX_LIMITS)


def _here(*levels: Mapping[str, str], limits: Mapping[str, int]) -> Target:
    return x86_target(NATIVE, *levels, limits=limits, device=core_name(), **cache_sizes())


def missing_from_v3(target: Target) -> list[str]:
    """Features of x86-64-v3 that this CPU lacks, if `target` is the machine's and SSE2 alone for
    that reason."""
    if target.name != NATIVE or target.features != BASELINE_FEATURES.keys():
        return []
    return sorted(V3_FEATURES.keys() - this_cpu().features)


def _found(*suffixes: Mapping[str, str]) -> dict[str, str]:
    """Return the features beyond a level that this CPU has."""
    here = this_cpu().features
    return {word: llvm for names in suffixes for word, llvm in names.items() if word in here}


def cache_sizes() -> dict[str, int]:
    """`l1_bytes`, `l2_bytes` and `l3_bytes` of the first core, as far as the kernel tells."""
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
