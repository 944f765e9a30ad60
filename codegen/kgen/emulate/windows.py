"""Addresses of the buffers of global memory: each has a window of the address space, far
from the next, so that an address beyond either end of a buffer belongs to no other one.

Windows count from 1: no buffer is at address 0.
"""

from __future__ import annotations

WINDOW_BITS = 40


def window_start(number: int) -> int:
    """The address of the first byte of a buffer, given its number from 0 on."""
    return (number + 1) << WINDOW_BITS
