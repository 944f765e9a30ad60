"""Cycles of LDS, for access patterns with obvious conflicts."""

from __future__ import annotations

import pytest

from kgen import targets
from kgen.targets.amdgpu.plan.lds.banks import conflicts, slots_per_cycle


def count(name: str, stride: int, width: int, *, read: bool, lanes: int = 64) -> int:
    """Return the cycles if lane i accesses `width` bytes at i * stride."""
    return conflicts(targets.find(name), [i * stride for i in range(lanes)], width, read=read)


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("width", [2, 4, 8, 16])
@pytest.mark.parametrize("name", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_neighbours_do_not_conflict(name: str, width: int, read: bool) -> None:
    lanes = targets.find(name).subgroup
    assert count(name, width, width, read=read, lanes=lanes) == 0
    assert count(name, 0, width, read=read, lanes=lanes) == 0
    assert count(name, width, width, read=read, lanes=3) == 0


@pytest.mark.parametrize(
    "name, width, phases, lanes", [("gfx942", 16, 8, 8), ("gfx942", 8, 4, 16), ("gfx950", 4, 1, 64)]
)
def test_one_bank_serves_one_lane_after_the_other(
    name: str, width: int, phases: int, lanes: int
) -> None:
    assert count(name, 256, width, read=False) == phases * (lanes - 1)
    assert count(name, 256, width, read=True) == phases * (lanes - 1)


def test_reads_of_16_bytes_have_phases_of_their_own() -> None:
    """Lanes 0-3 share a phase with lanes 20-23, and so on, so neighbours may differ in
    conflicts."""
    target = targets.find("gfx942")
    # Lanes 4-7 are in the banks of 0-3; 20-23, and 16-19, in the others.
    slots = [4 * (lane // 16 % 2) + lane % 4 for lane in range(64)]
    addresses = [16 * (slot + 8 * lane) for lane, slot in enumerate(slots)]
    assert conflicts(target, addresses, 16, read=True) == 0
    assert conflicts(target, addresses, 16, read=False) == 8


def test_gfx950_has_twice_the_banks() -> None:
    found = {name: slots_per_cycle(targets.find(name)) for name in ("gfx942", "gfx950", "gfx1100")}
    assert found == {"gfx942": 8, "gfx950": 16, "gfx1100": 8}
