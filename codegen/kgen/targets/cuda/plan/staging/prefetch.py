"""When the next tile along k is asked for: its units are spread over the steps of this one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.cuda.plan.staging.copy_units import Unit
from kgen_runtime.values import frozen


@frozen
class Share:
    """Units of the next tile that are asked for together; `last` ends their operand's tile."""

    copy: TileCopy
    units: tuple[Unit, ...]
    last: bool


def share_out(copies: Sequence[TileCopy], k_steps: int) -> Mapping[int, tuple[Share, ...]]:
    """Distribute all units of the copies, one copy after another, evenly over all steps but the
    last; the result is by number of the step."""
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
