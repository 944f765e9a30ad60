"""The memory plan: nothing that lives at once overlaps, and no byte below the bound."""

from __future__ import annotations

import random

from kgen.graph.memory import ALIGNMENT, Life, least, plan


def test_no_two_that_live_at_once_overlap() -> None:
    rng = random.Random(0)
    for _ in range(50):
        lives = {}
        for i in range(rng.randint(0, 30)):
            first = rng.randrange(40)
            lives[f"b{i}"] = Life(
                nbytes=rng.choice((1, 255, 256, 257, 4000)),
                first=first,
                last=first + rng.randrange(9),
            )
        found = plan(lives)
        assert found.least == least(lives) <= found.nbytes
        for a, life in lives.items():
            assert found.offsets[a] % ALIGNMENT == 0
            assert found.offsets[a] + life.nbytes <= found.nbytes
            for b, other in lives.items():
                if a < b and life.first <= other.last and other.first <= life.last:
                    start, begin = found.offsets[a], found.offsets[b]
                    assert start + life.nbytes <= begin or begin + other.nbytes <= start


def test_a_chain_takes_the_two_largest_neighbours() -> None:
    sizes = [512, 2048, 1024, 256]
    lives = {f"b{i}": Life(nbytes=n, first=i, last=i + 1) for i, n in enumerate(sizes)}
    assert plan(lives).nbytes == least(lives) == 2048 + 1024
