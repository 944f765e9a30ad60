"""Kinds of CPU: the widest vectors or tiles that products take, and the microarchitecture of the
cores, as `AVX2, Zen 3`. Each has its own figures."""

from __future__ import annotations

from collections.abc import Collection

from kgen.targets.cpu.models import core_name
from kgen_runtime.cpu_features import cpu_features

AMX, AVX512, AVX2, OTHER = "AMX", "AVX-512", "AVX2", "other"
#: Those with sections in the documents.
INSTRUCTIONS = (AVX2, AVX512, AMX)


def kind_here() -> str:
    """The kind of this CPU, as the process sees it."""
    return f"{instructions_of(cpu_features())}, {core_name()}"


def instructions_of(features: Collection[str]) -> str:
    if "amx_tile" in features:
        return AMX
    if "avx512f" in features:
        return AVX512
    return AVX2 if "avx2" in features else OTHER


def instructions_in(kind: str) -> str:
    """Those of a kind."""
    return kind.partition(",")[0]
