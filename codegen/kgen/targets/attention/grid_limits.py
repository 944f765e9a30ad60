"""Check of attention's grid against the target: query blocks along y, heads along z."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.spec.shapes import by_x
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.base import Target
from kgen.targets.powers_of_two import power_of_two


def check_grid(matrices: HeadMatrices, target: Target, block_m: int) -> None:
    """Check that blocks of `block_m` queries fit the target's grid. Raises ScheduleError."""
    spec = matrices.spec
    rows, most = -(-matrices.rows // block_m), target.limits["grid_y"]
    if rows > most:
        raise ScheduleError(
            f"block_m={block_m} cuts {matrices.rows} queries into {rows} workgroups along "
            f"y of the grid; {target.name} allows {most}; try "
            f"block_m={power_of_two(-(-matrices.rows // most))}"
        )
    most = target.limits["grid_z"]
    if matrices.count <= most:
        return
    if matrices.is_split:
        raise ScheduleError(
            f"split_k={matrices.parts} makes {matrices.count} workgroups along z of the grid; "
            f"{target.name} supports {most}; try "
            f"split_k={max(1, most * matrices.parts // matrices.count)}"
        )
    raise ScheduleError(
        f"q={by_x(spec.q)} has {spec.batch * spec.heads} heads in its {spec.batch} batch elements; "
        f"{target.name} supports {most}, workgroups along z of the grid; split the batch into "
        f"parts of {max(1, most // spec.heads)}"
    )
