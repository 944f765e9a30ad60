"""The chosen schedule is the first of the whole ranking, found without predicting most
candidates."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kgen.errors import SpecError
from kgen.schedule import GpuMatmul
from kgen.spec import Layout, Matmul
from kgen.targets.base import Target, fits
from kgen.targets.cuda import FAMILY
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan import plan
from kgen.targets.cuda.schedule import candidates
from kgen.targets.cuda.schedule.cost_model import least_seconds, predict, tile_clocks

BY_NAME = {target.name: target for target in TARGETS}
#: For each target, whose shapes are others.
SHAPES = 16


def sizes(random: random.Random) -> int:
    """Return a random size: a power of two, small, a multiple of eight or odd, equally often."""
    kinds = (
        1 << random.randrange(14),
        random.randrange(1, 80),
        8 * random.randrange(1, 1000),
        random.randrange(1, 6000),
    )
    return random.choice(kinds)


def specs(target: Target) -> Iterator[Matmul]:
    chosen = random.Random(target.name)
    for _ in range(SHAPES):
        dtype = chosen.choice(FAMILY.dtypes(Matmul.op, target))
        m = sizes(chosen)
        try:
            yield Matmul(
                m=m,
                n=chosen.choice((m, sizes(chosen), sizes(chosen))),
                k=sizes(chosen),
                dtype=dtype,
                layout=chosen.choice(tuple(Layout)),
                math=chosen.choice(FAMILY.maths(target)) if dtype == "f32" else "exact",
                batch=chosen.choice((1, 1, 2, 16)),
            )
        except SpecError:
            continue


def first_of_all(spec: Matmul, target: Target) -> GpuMatmul:
    """Return the first schedule if all candidates are predicted."""
    ranked = candidates._all_ranked(spec, target)
    return next(c.schedule for c in ranked if fits(plan, spec, target, c.schedule))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_choice_is_the_first_of_all(target: Target) -> None:
    for spec in specs(target):
        assert candidates.choose(spec, target) == first_of_all(spec, target), spec.key


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_schedule_is_predicted_to_take_less_than_the_least(target: Target) -> None:
    for spec in [*specs(target)][::2]:
        for schedules in candidates._tiles(spec, target):
            tile = None
            for schedule in schedules:
                tile = tile or tile_clocks(spec, target, schedule)
                least = least_seconds(spec, target, schedule, tile)
                if candidates._predicted(spec, target, schedule) is not None:
                    assert least < predict(spec, target, schedule).seconds, (spec.key, schedule)


def test_what_does_not_fit_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search continues if a whole part of the candidates, or the fastest tile, does not fit."""
    spec, target = Matmul(m=64, n=64, k=1024), BY_NAME["sm_80"]
    ranked = [c.schedule for c in candidates.candidates(spec, target)]

    def refuse(refused: set[GpuMatmul]) -> None:
        monkeypatch.setattr(candidates, "fits", lambda p, s, t, schedule: schedule not in refused)

    for count in (1, 10, len(ranked) - 1):
        refuse(set(ranked[:count]))
        assert candidates.choice(spec, target).schedule == ranked[count]
    refuse({s for s in ranked if s.block_n < 64})
    assert candidates.choice(spec, target).schedule == next(s for s in ranked if s.block_n >= 64)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_few_are_predicted_for_a_square(target: Target) -> None:
    """There are 87 to 928 candidates. perf_budgets.toml holds the numbers of more shapes."""
    found = candidates.choice(Matmul(m=1024, n=1024, k=1024), target)
    assert found.predicted <= 100 and found.planned <= 10
