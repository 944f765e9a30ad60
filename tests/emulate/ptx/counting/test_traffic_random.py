"""Counts of a PTX profile, against the same rules lane by lane, on random accesses."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.ptx.counting.traffic import CtaTraffic
from kgen.emulate.windows import window_start


class FakeMachine:
    """Machine with the members that a profile needs."""

    def __init__(self, *, ctas: int, warps: int) -> None:
        self.ctas, self.warps = ctas, warps


def by_scalar_code(addresses: list[int | None], nbytes: int, *, load: bool) -> tuple[int, int]:
    """Return (wavefronts, ideal) of one warp, lane by lane; None is an inactive lane."""
    width = max(4, nbytes)
    lanes = 128 // width
    paired = load and width > 4
    if paired and any(
        all(
            a is None or b is None or a // width == b // width
            for a, b in ((addresses[lane], addresses[lane ^ distance]) for lane in range(32))
        )
        for distance in (1, 2)
    ):
        lanes *= 2
    wavefronts = ideal = 0
    for start in range(0, 32, lanes):
        words_of_bank: dict[int, set[int]] = {}
        for address in addresses[start : start + lanes]:
            for word in range(width // 4) if address is not None else ():
                number = address // width * (width // 4) + word  # type: ignore[operator]
                words_of_bank.setdefault(number % 32, set()).add(number)
        wavefronts += max(map(len, words_of_bank.values()), default=0)
        ideal += bool(words_of_bank)
    return wavefronts, ideal


@pytest.mark.parametrize("nbytes", [2, 4, 8, 16])
@pytest.mark.parametrize("load", [True, False])
def test_random_accesses(nbytes: int, load: bool) -> None:
    """Strided, scattered, shared and guarded accesses have the counts of a computation lane by
    lane."""
    rng = np.random.default_rng(nbytes)
    machine = FakeMachine(ctas=2, warps=3)
    for _ in range(60):
        requests = CtaTraffic(machine).watch(1)  # type: ignore[arg-type]
        units = rng.integers(0, rng.choice([2, 8, 64, 512]), (2, 3, 32))
        if rng.random() < 0.4:
            units[..., 1::2] = units[..., ::2]
        if rng.random() < 0.3:
            units[:] = np.arange(32) * rng.integers(0, 20)
        active = rng.random((2, 3, 32)) < rng.choice([0.1, 0.8, 1])
        requests.shared(units * nbytes, nbytes, active, load=load)
        wanted = [
            by_scalar_code(
                [int(u) * nbytes if a else None for u, a in zip(lane, on, strict=True)],
                nbytes,
                load=load,
            )
            for lane, on in zip(units.reshape(-1, 32), active.reshape(-1, 32), strict=True)
        ]
        found = requests.shared_wavefronts, requests.shared_wavefronts_ideal
        assert found == tuple(map(sum, zip(*wanted, strict=True)))


@pytest.mark.parametrize("nbytes", [1, 4, 16])
def test_random_sectors(nbytes: int) -> None:
    rng = np.random.default_rng(nbytes)
    machine = FakeMachine(ctas=2, warps=3)
    buffer = np.zeros(1 << 12, np.uint8)
    every: set[int] = set()
    traffic = CtaTraffic(machine)  # type: ignore[arg-type]
    for _ in range(40):
        before = sum(traffic.counters()[name] for name in ("global_sectors", "global_load_bytes"))
        ideal_before = traffic.counters()["global_sectors_ideal"]
        at = rng.integers(0, rng.choice([4, 40, len(buffer) // nbytes]), (2, 3, 32)) * nbytes
        active = rng.random((2, 3, 32)) < rng.choice([0.1, 1])
        traffic.watch(1).load(window_start(0) + at, nbytes, active)
        sectors = ideal = 0
        for lanes, on in zip(at.reshape(-1, 32), active.reshape(-1, 32), strict=True):
            touched = {int(a) + byte for a in lanes[on] for byte in range(nbytes)}
            every |= touched
            sectors += len({byte // 32 for byte in touched})
            ideal += -(-len(touched) // 32)
        counters = traffic.counters()
        moved = counters["global_sectors"] + counters["global_load_bytes"] - before
        assert moved == sectors + int(active.sum()) * nbytes
        assert counters["global_sectors_ideal"] - ideal_before == ideal
        assert counters["global_unique_bytes"] == len(every)
