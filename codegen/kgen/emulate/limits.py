"""Check of a launch against the limits of a device, before anything runs."""

from __future__ import annotations

from kgen.emulate.request import Request
from kgen.errors import EmulationError
from kgen_runtime.launch_limits import Limits, Usage, refusal
from kgen_runtime.manifest import Launch


def check_launch(request: Request, limits: Limits, usage: Usage) -> None:
    """Check that the driver of a device with these limits would accept a launch. Raises
    EmulationError."""
    launch = Launch(
        entry_point=request.entry,
        grid=request.grid,
        block=request.block,
        cluster=request.cluster,
        dynamic_shared_memory=request.dynamic_shared,
        arguments=(),
    )
    if (why := refusal(launch, limits, usage)) is not None:
        raise EmulationError(f"{request.entry}: {why}")
