"""Areas of shared memory: ranges that instructions name repeatedly, and single granules."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.ptx.memory.areas import Areas
from kgen.emulate.ptx.types import Array

COUNT = 24


def areas(*, whole: bool) -> tuple[Areas, list[int]]:
    """Return areas and an array with one entry per area: the number of the area that it came
    from."""
    grown = list(range(1 if whole else COUNT))
    return Areas(COUNT, lambda parents: grown.extend(parents.tolist()), whole=whole), grown


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_granule_is_found_again_when_all_are_alone(whole: bool, seed: int) -> None:
    found, grown = areas(whole=whole)
    order = np.random.default_rng(seed).permutation(COUNT)
    for part in np.array_split(order, 5):
        found.single(part)
    everything = np.arange(COUNT)
    alone = found.single(everything)
    np.testing.assert_array_equal(found.first[alone], everything)
    assert found.count == COUNT == len(grown)


@pytest.mark.parametrize("seed", range(5))
def test_the_areas_of_a_name_are_its_granules_and_no_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, grown = areas(whole=True)
    parts: dict[str, Array] = {f"part {i}": rng.permutation(COUNT)[:7] for i in range(4)}
    for name, granules in parts.items():
        covering = found.covering(name, lambda granules=granules: granules)  # type: ignore[misc]
        inside = np.flatnonzero(np.isin(found.of, covering))
        np.testing.assert_array_equal(inside, np.sort(granules))
    assert found.count == len(grown)
