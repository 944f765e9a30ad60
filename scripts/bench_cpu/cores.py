"""What two cores do at once, half of the work each, against what one does alone.

They share the last cache, the memory and the clock's budget: no kernel that is shared between two
threads gains more than this.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import kgen
from kgen.check import peers
from kgen.check.peers.base import Peer
from kgen.spec import DType, Matmul
from kgen_runtime.backends.cpu import device_info
from scripts.bench_cpu import calm
from scripts.bench_cpu.results import Row

ONE = "one core"
#: Products whose multiply-adds take long, and products whose reading does.
WORK = (
    ("peak", Matmul(m=512, n=512, k=512, dtype=DType.F32)),
    ("peak", Matmul(m=512, n=512, k=512, dtype=DType.BF16)),
    ("read", Matmul(m=1, n=4096, k=4096, dtype=DType.F32)),
    ("read", Matmul(m=1, n=4096, k=4096, dtype=DType.BF16)),
)
#: Runs of a timing, so that handing work to a thread does not count.
REPEATS = 20
LIMIT = 4.0


def rows(rounds: int) -> list[Row]:
    """One for each kind of work; the ratio is how much sooner two cores are done."""
    with ThreadPoolExecutor(1) as other:
        return [_row(name, spec, other, rounds) for name, spec in WORK]


def _row(name: str, spec: Matmul, other: ThreadPoolExecutor, rounds: int) -> Row:
    half = dataclasses.replace(spec, n=spec.n // 2)
    whole, mine, theirs = (_often(_peer(name, part)) for part in (spec, half, half))

    def both() -> None:
        running = other.submit(theirs)
        mine()
        running.result()

    alone, together = map(statistics.median, calm.samples([whole, both], rounds, LIMIT))
    what = "multiply-adds" if name == "peak" else f"reading {spec.k}x{spec.n}"
    return Row(
        kernel=f"{what} of {spec.dtype}",
        seconds=together / REPEATS,
        ratios={ONE: alone / together},
    )


def _peer(name: str, spec: Matmul) -> Peer:
    entry = kgen.build(spec, targets=["native"]).manifest.kernels[0]
    return peers.make(name, entry, {}, device_info())


def _often(peer: Peer) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(REPEATS):
            peer.run()

    return repeated
