"""Whether a device takes a launch at all, which is asked before anything runs."""

from __future__ import annotations

from kgen.emulate.report import Index3
from kgen.errors import EmulationError
from kgen_runtime.launch_limits import Limits, Usage, refusal
from kgen_runtime.manifest import Launch


def check_launch(
    entry: str,
    limits: Limits,
    usage: Usage,
    *,
    grid: Index3,
    block: Index3,
    cluster: Index3 = (1, 1, 1),
    dynamic_shared: int,
) -> None:
    """Raise EmulationError for what the driver of such a device would refuse to launch."""
    launch = Launch(
        entry_point=entry,
        grid=grid,
        block=block,
        cluster=cluster,
        dynamic_shared_memory=dynamic_shared,
        arguments=(),
    )
    if (why := refusal(launch, limits, usage)) is not None:
        raise EmulationError(f"{entry}: {why}")
