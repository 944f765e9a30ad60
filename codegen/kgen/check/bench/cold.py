"""Cold caches: each call of a kernel uses the next of several copies of its operands.

A loop that repeats one call finds B in the last-level cache if it fits. A model does not, because
the weights of all other layers pass through the caches between two calls of a layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.check.tensors import Bytes, empty_buffer
from kgen.targets import find

#: Least bytes of all copies: BYTES, or CACHES times a CPU's last-level cache if that is more. A
#: cache then holds at most a quarter of the data.
BYTES, CACHES = 2**28, 4
#: Most copies, because a call of each must be prepared.
MOST = 4096


def sets_of(nbytes: int) -> int:
    """Return the number of copies of operands of `nbytes` for cold caches, at most MOST."""
    return min(-(-_enough() // nbytes), MOST)


def kept(nbytes: int, sets: int) -> str | None:
    """Return why a cache may hold these copies; None if it cannot."""
    enough = _enough()
    if sets * nbytes >= enough:
        return None
    return (
        f"{sets} copies, the limit, of {nbytes} bytes are less than {enough} bytes, so a cache may "
        "hold them"
    )


def copies(data: Mapping[str, Bytes], sets: int) -> Sequence[dict[str, Bytes]]:
    """Return the data and copies of it; each copy starts at a cache line."""
    return [dict(data), *(_copy(data) for _ in range(sets - 1))]


def _copy(data: Mapping[str, Bytes]) -> dict[str, Bytes]:
    found = {name: empty_buffer(buffer.nbytes) for name, buffer in data.items()}
    for name, buffer in data.items():
        found[name][:] = buffer
    return found


def _enough() -> int:
    return max(BYTES, CACHES * find("native").limits["l3_bytes"])
