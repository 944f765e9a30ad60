"""Copies of the next K-tile, spread over the steps of the current one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.cuda.plan.staging.copy_units import Unit
from kgen_runtime.values import frozen


@frozen
class Share:
    """Units of the next K-tile whose copies start together; `last` marks the end of their operand's
    tile."""

    copy: TileCopy
    units: tuple[Unit, ...]
    last: bool


def share_out(copies: Sequence[TileCopy], k_steps: int) -> Mapping[int, tuple[Share, ...]]:
    """Return the units to copy in each step: those of all copies, in order, spread evenly over all
    steps but the last."""
    steps = max(1, k_steps - 1)
    units = [(copy, unit) for copy in copies for unit in copy.units]
    bounds = [len(units) * i // steps for i in range(steps + 1)]
    return {
        step: _by_copy(units[first:last])
        for step, (first, last) in enumerate(itertools.pairwise(bounds))
    }


def _by_copy(units: Sequence[tuple[TileCopy, Unit]]) -> tuple[Share, ...]:
    found = []
    for _, group in itertools.groupby(units, key=lambda each: each[0].name):
        own = list(group)
        copy, last = own[-1]
        found.append(
            Share(
                copy=copy,
                units=tuple(unit for _, unit in own),
                last=last.index == len(copy.units) - 1,
            )
        )
    return tuple(found)
