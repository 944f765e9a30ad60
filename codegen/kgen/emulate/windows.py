"""Addresses of the buffers of global memory.

Each buffer has a window of the address space, far from the next one, so that an address past either
end of a buffer is in no other buffer. Windows are numbered from 1: no buffer is at address 0.
"""

from __future__ import annotations

WINDOW_BITS = 40


def window_start(number: int) -> int:
    """Return the address of the first byte of a buffer, given its number from 0."""
    return (number + 1) << WINDOW_BITS
