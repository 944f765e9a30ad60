"""Checks of K and V in pools of pages, for kernels whose blocks of keys lie in one page each."""

from __future__ import annotations

import math

from kgen.errors import ScheduleError, TargetError
from kgen.spec import Attention
from kgen.targets.base import Target


def check_page_size(spec: Attention, target: Target, least: int) -> None:
    """Check that a page has whole blocks of `least` keys, the smallest. Raises TargetError."""
    if spec.page_size is not None and spec.page_size % least:
        raise TargetError(
            f"page_size={spec.page_size} is not supported by {target.name}; give a multiple of "
            f"{least}, the keys of a matrix instruction, or build for a CPU or Vulkan target"
        )


def check_page_blocks(spec: Attention, block_n: int) -> None:
    """Check that a page has whole blocks of `block_n` keys. Raises ScheduleError."""
    if spec.page_size is not None and spec.page_size % block_n:
        raise ScheduleError(
            f"block_n={block_n} does not divide page_size={spec.page_size}, and a block of keys is "
            f"in one page; try block_n={math.gcd(spec.page_size, block_n)}"
        )
