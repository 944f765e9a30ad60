"""Cold caches: each call takes the next of several copies of a kernel's operands.

A loop that repeats one call finds B in the last-level cache if B fits there. A model does not:
between two calls of a layer, all other layers' weights pass through the caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.check.tensors import Bytes, empty_buffer
from kgen.targets import find

#: Bytes of all copies at least, and last-level caches of a CPU: a cache that keeps some of what
#: passes has a quarter of it at most; that of an H100 (50 MB) has a fifth.
BYTES, CACHES = 2**28, 4
#: Copies at most: a call of each has to be prepared.
MOST = 4096


def sets_of(nbytes: int) -> int:
    """Return the copies of operands of `nbytes` for cold caches, limited to MOST."""
    return min(-(-_enough() // nbytes), MOST)


def kept(nbytes: int, sets: int) -> str | None:
    """Why a cache may keep so many sets, in words; None if it does not."""
    enough = _enough()
    if sets * nbytes >= enough:
        return None
    return (
        f"{sets} copies, the limit, of {nbytes} bytes are less than {enough} bytes, so a cache may "
        "hold them"
    )


def copies(data: Mapping[str, Bytes], sets: int) -> Sequence[dict[str, Bytes]]:
    """The data, and copies of it that start at a cache line."""
    return [dict(data), *(_copy(data) for _ in range(sets - 1))]


def _copy(data: Mapping[str, Bytes]) -> dict[str, Bytes]:
    found = {name: empty_buffer(buffer.nbytes) for name, buffer in data.items()}
    for name, buffer in data.items():
        found[name][:] = buffer
    return found


def _enough() -> int:
    return max(BYTES, CACHES * find("native").limits["l3_bytes"])
