"""Processor of a kernel, from its text."""

from __future__ import annotations

import re

from kgen.emulate.llvm.frontend.module import LlvmFunction
from kgen.emulate.numerics import Numerics
from kgen.errors import EmulationError

_TRIPLE = re.compile(r"amdgpu(\d+)\.(\w\w)(?:-|$)")


def named_in_triple(triple: str) -> str:
    """Return the processor of a target triple: ``amdgpu9.42-amd-amdhsa`` is for gfx942; "" for
    none."""
    found = _TRIPLE.match(triple)
    return f"gfx{found[1]}{found[2]}" if found else ""


def wave_size(function: LlvmFunction) -> int:
    """Return the lanes of a wave: by the features, else 64 for gfx9 and 32 for later processors."""
    features = function.attributes.get("target-features", "")
    for size in (32, 64):
        if f"+wavefrontsize{size}" in features:
            return size
    processor = function.attributes.get("target-cpu", "")
    if not processor.startswith("gfx"):
        raise EmulationError(
            f"{function.name} does not name its wave size; add the attribute "
            '"target-cpu"="gfx..." or "target-features"="+wavefrontsize32"'
        )
    return 64 if processor.startswith("gfx9") else 32


def allowed_numerics(numerics: Numerics, processor: str) -> Numerics:
    """Return the options if the processor has them. Raises EmulationError otherwise."""
    if numerics != Numerics(flush_subnormals=numerics.flush_subnormals):
        raise EmulationError("numerics: only flush_subnormals applies to AMDGPU IR")
    if numerics.flush_subnormals and processor != "gfx90a":
        raise EmulationError(
            f"numerics: flush_subnormals applies to gfx90a only, not to {processor or 'this text'}"
        )
    return numerics
