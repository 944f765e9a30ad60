"""Kinds of CPU, such as `AVX2, Zen 3`: the widest vectors or tiles that products use, and the
microarchitecture of the cores. Each kind has its own figures."""

from __future__ import annotations

from collections.abc import Collection

from kgen.targets.cpu.host import native

AMX, AVX512, AVX2, OTHER = "AMX", "AVX-512", "AVX2", "other"
#: Those with sections in the documents.
INSTRUCTIONS = (AVX2, AVX512, AMX)


def kind_here() -> str:
    """Kind of the CPU that the target `native` stands for."""
    target = native()
    return f"{instructions_of(target.features)}, {target.device}"


def instructions_of(features: Collection[str]) -> str:
    if "amx_tile" in features:
        return AMX
    if "avx512f" in features:
        return AVX512
    return AVX2 if "avx2" in features else OTHER


def instructions_in(kind: str) -> str:
    """Those of a kind."""
    return kind.partition(",")[0]
