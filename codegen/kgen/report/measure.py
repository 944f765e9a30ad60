"""Times and ceilings of a report: measured if this machine runs the program, else estimated from
the published rates of a device of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kgen import targets
from kgen.errors import DeviceError
from kgen.report.figures import Ceilings, Times, multiplied_by
from kgen.schedule.schedule import current_names
from kgen.spec import from_json
from kgen.targets.base import Target
from kgen.targets.device import Rates
from kgen_runtime.calls.program import LoadedProgram
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.program import Program

Kernels = Mapping[str, KernelEntry]
#: A cache is measured by reading this fraction of its size; memory by reading this multiple of the
#: last cache's size.
HELD, BEYOND = 0.5, 4
#: Bytes read from memory if the last cache's size is unknown, and the most bytes read.
UNKNOWN, MOST = 2**26, 2**28


def profiled(loaded: LoadedProgram, inputs: Mapping[str, Any], threads: int | None) -> Times:
    """Measure the times on this machine; `threads` is the number that CPU kernels run on."""
    found = loaded.profile(inputs)
    info = loaded.backend.info
    count = "" if info.backend != "cpu" else f" in {threads or 'all'} thread{'s' * (threads != 1)}"
    return Times(
        seconds=tuple(step.seconds for step in found),
        source=f"measured on {info.id} ({info.name}){count}, the median of up to 20 runs",
        measured=True,
    )


def estimated(program: Program, kernels: Kernels) -> Times | None:
    """Estimate the times: the cost model's prediction if it chose the schedule, else the roofline's
    lower bound. Return None if no device of the target is known."""
    target = targets.find(program.target)
    rates = targets.family(target.family).rates(target)
    if rates is None:
        return None
    seconds = {name: _estimate(kernels[name], target, rates) for name in program.kernels}
    return Times(
        seconds=tuple(seconds[f"{program.target}/{step.kernel}"] for step in program.steps),
        source=f"estimated for {rates.device} without running it: the cost model's time for "
        "matrix products, the roofline's for other kernels",
        measured=False,
    )


def _estimate(entry: KernelEntry, target: Target, rates: Rates) -> float:
    from kgen.check.static.roofline import roofline

    spec = from_json(entry.spec)
    wanted = {**current_names(entry.schedule), "origin": None}
    for candidate in targets.family(target.family).candidates(spec, target):
        if {**candidate.schedule.to_json(), "origin": None} == wanted:
            return candidate.seconds
    return roofline(spec, rates).floor


def known_ceilings(program: Program, kernels: Kernels) -> Ceilings | None:
    """Return the rates of a known device of the target; None if none is known."""
    target = targets.find(program.target)
    rates = targets.family(target.family).rates(target)
    if rates is None:
        return None
    types = multiplied_types(program, kernels)
    # The size of L2 is unknown here, so DRAM sets the ceiling.
    l2 = {} if rates.l2 is None else {"L2": rates.l2}
    return Ceilings(
        source=f"rates of {rates.device}, not measured here",
        # A GPU without matrix units of a narrow float type multiplies it in f32.
        flops={
            name: rates.flops.get(name, rates.flops["f32"])
            for name in types
            if name in rates.flops or name in ("f16", "bf16", "tf32")
        },
        bandwidths={**l2, "DRAM": rates.dram},
        holds=dict.fromkeys(l2, 0),
    )


def measured_ceilings(
    program: Program, kernels: Kernels, progress: Callable[[str], None] = lambda _: None
) -> Ceilings:
    """Measure the ceilings of one core of this CPU: multiply-adds in registers for each type that
    the program multiplies in, and reads from each cache and from memory. Raises DeviceError."""
    from kgen.check.peers.ceilings import peak_rate, read_rate

    flops = {}
    for name in multiplied_types(program, kernels):
        progress(f"measuring arithmetic in {name}")
        # A type without a multiply-add instruction has no measured rate.
        with suppress(DeviceError):
            flops[name] = peak_rate(DType(name))
    limits = targets.find("native").limits
    # L1 is not measured: reading it takes less time than a call.
    caches = {"L2": "l2_bytes", "L3": "l3_bytes"}
    holds = {name: limits[field] for name, field in caches.items() if field in limits}
    large = max(UNKNOWN, BEYOND * holds.get("L3", 0))
    bandwidths = {}
    for name, nbytes in {**{n: int(HELD * b) for n, b in holds.items()}, "memory": large}.items():
        progress(f"measuring how fast {name} is read")
        bandwidths[name] = read_rate(min(nbytes, MOST))
    return Ceilings(
        source="measured on one core of this CPU", flops=flops, bandwidths=bandwidths, holds=holds
    )


def multiplied_types(program: Program, kernels: Kernels) -> tuple[str, ...]:
    """Return the distinct types that the program's kernels multiply in."""
    found = (multiplied_by(kernels[name]).operands for name in program.kernels)
    return tuple(dict.fromkeys(found))
