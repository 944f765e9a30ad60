"""Two neighbouring elements of bf16 in one word of 32 bits: a shift makes an f32 of the lower half,
a mask of the upper one, half the loads and shuffles of widening each element by itself."""

from __future__ import annotations

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.tiles.dots import dot_for

#: Elements of a word.
WORD = 2


def takes_words(spec: Matmul, target: Target) -> bool:
    """Operands of bf16 for which the target has no products."""
    return has_words(spec) and dot_for(spec.dtype, target) is None


def has_words(spec: Matmul) -> bool:
    """Both operands are made of such words."""
    return spec.dtype is spec.b_type is DType.BF16
