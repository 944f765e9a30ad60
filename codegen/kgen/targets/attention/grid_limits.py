"""Check of attention's grid against the target: query blocks along y, heads along z."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.spec import Attention
from kgen.spec.shapes import by_x
from kgen.targets.base import Target
from kgen.targets.powers_of_two import power_of_two


def check_grid(spec: Attention, target: Target, block_m: int) -> None:
    """Check that blocks of `block_m` queries fit the target's grid. Raises ScheduleError."""
    rows, most = -(-spec.queries // block_m), target.limits["grid_y"]
    if rows > most:
        raise ScheduleError(
            f"block_m={block_m} cuts {spec.queries} queries into {rows} workgroups along "
            f"y of the grid; {target.name} allows {most}; try "
            f"block_m={power_of_two(-(-spec.queries // most))}"
        )
    heads, most = spec.batch * spec.heads, target.limits["grid_z"]
    if heads > most:
        raise ScheduleError(
            f"q={by_x(spec.q)} has {heads} heads in its {spec.batch} batch elements; "
            f"{target.name} supports {most}, workgroups along z of the grid; split the batch into "
            f"parts of {max(1, most // spec.heads)}"
        )
