"""Kinds of CPU, by the widest vectors or tiles that products take: each has its own figures."""

from __future__ import annotations

from collections.abc import Collection

AMX, AVX512, AVX2, OTHER = "AMX", "AVX-512", "AVX2", "other"
#: Those with a section in the documents.
KINDS = (AVX2, AVX512, AMX)


def kind_of(features: Collection[str]) -> str:
    """The kind of a CPU with these features, as the process sees them."""
    if "amx_tile" in features:
        return AMX
    if "avx512f" in features:
        return AVX512
    return AVX2 if "avx2" in features else OTHER
