"""Roofline and predicted time of a kernel on a well-known device of its target.

The floor is the least time that the device's peaks allow for the problem (Williams, Waterman and
Patterson, "Roofline", CACM 52(4), 2009): arithmetic at its peak rate, or every byte of the tensors
once. The prediction uses counted instructions and traffic instead: the longest of several terms,
each a lower bound. What it leaves out is listed in docs/how-it-works/static-analysis.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kgen import targets
from kgen.check import profile
from kgen.check.execute.runners import Reader
from kgen.check.static.hot_loop import Loop, WorkKind
from kgen.check.verify import walk
from kgen.emulate.counters import MOST_OF_ANY
from kgen.spec import Spec
from kgen.targets.base import Target
from kgen.targets.device import Occupancy, Rates, multiplied
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen


@frozen
class Roofline:
    """Problem on a device: `peak` is the rate of flops of type `operands`."""

    device: str
    operands: str
    flops: float
    nbytes: int
    peak: float
    bandwidth: float

    @property
    def intensity(self) -> float:
        """Flops per byte that must be moved."""
        return self.flops / self.nbytes

    @property
    def ridge(self) -> float:
        """Intensity above which arithmetic takes longer than memory."""
        return self.peak / self.bandwidth

    @property
    def binds(self) -> str:
        return "compute" if self.intensity > self.ridge else "memory"

    @property
    def floor(self) -> float:
        """Least time in seconds."""
        return max(self.flops / self.peak, self.nbytes / self.bandwidth)

    def to_json(self) -> dict[str, Any]:
        derived = ("intensity", "ridge", "binds", "floor")
        return vars(self) | {name: getattr(self, name) for name in derived}


@frozen
class LaunchCounters:
    """Counters of all launches, by the names of :mod:`kgen.emulate.counters`.

    `part` is the fraction of the workgroups that ran; the counters are scaled to all of them.
    """

    counters: Mapping[str, float]
    part: float


@frozen
class RooflinePrediction:
    """Predicted time of each term, in seconds.

    `fraction` is the part of the roofline that the longest term reaches.
    """

    terms: Mapping[str, float]
    fraction: float
    busy: float
    part: float

    @property
    def seconds(self) -> float:
        return max(self.terms.values())

    @property
    def binds(self) -> str:
        return max(self.terms, key=lambda name: self.terms[name])

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"seconds": self.seconds, "binds": self.binds}


def roofline(spec: Spec, rates: Rates) -> Roofline:
    """Return the roofline of a problem. Types without a unit of their own are computed in f32."""
    found = multiplied(spec)
    operands = found.operands if found.operands in rates.flops else "f32"
    return Roofline(
        device=rates.device,
        operands=operands,
        flops=found.products * spec.flops,
        nbytes=spec.bytes_moved,
        peak=rates.flops[operands],
        bandwidth=rates.dram,
    )


def roofline_of(spec: Spec, target: Target) -> Roofline | None:
    """Return the roofline on a well-known device of the target, for CPUs on one core; None if no
    device is known."""
    rates = targets.family(target.family).rates(target)
    return None if rates is None else roofline(spec, rates)


def count(reader: Reader, entry: KernelEntry) -> LaunchCounters | str:
    """Return the traffic that the emulator counts, or the reason why it cannot."""
    sample = profile.sample_of(entry, patience=1)
    found = profile.profile_kernel(reader, entry, patience=1)
    if found.reason is not None:
        return found.reason
    part = 1.0
    if sample is not None:
        part = len(sample.workgroups[0]) / math.prod(entry.launches[0].grid)
    counters = {
        name: number if name in MOST_OF_ANY else number / part
        for name, number in profile.merged(found.launches).items()
    }
    return LaunchCounters(counters=counters, part=part)


def predict(
    entry: KernelEntry,
    line: Roofline,
    rates: Rates,
    traffic: LaunchCounters,
    loop: Loop | None,
    occupancy: Occupancy,
) -> RooflinePrediction:
    """Return the prediction from all known terms of the time.

    - math: the flops at the peak of the instruction that does them, on the units with work
    - issue: the instructions that the hot loop needs for all products
    - L2: the sectors that the emulator counted
    - DRAM: every tensor once
    - latency: copies in flight in all resident CTAs, against the time of one copy (Little's law)
    """
    busy, counters, terms = busy_units(entry, rates.units), traffic.counters, dict[str, float]()
    if loop is not None and loop.kind is not WorkKind.LOAD:
        reach = min((rates.reach.get(opcode, 1.0) for opcode in loop.opcodes), default=1.0)
        terms["math"] = line.flops / (line.peak * reach * busy)
        issued = counters["matrix" if loop.kind is WorkKind.MATRIX else "fma"] / loop.share
        if rates.issues is not None:
            terms["issue"] = issued / (rates.issues * busy)
    if rates.l2 is not None:
        nbytes = counters["global_sectors"] * profile.FAMILIES[entry.target.family].sector
        terms["L2"] = nbytes / rates.l2
    terms["DRAM"] = line.nbytes / rates.dram
    in_flight = counters.get("copies_in_flight", 0)
    if in_flight and rates.latency is not None:
        workgroups = min(math.prod(entry.launches[0].grid), rates.units * occupancy.workgroups)
        terms["latency"] = counters["global_load_bytes"] * rates.latency / (in_flight * workgroups)
    fraction = line.floor / max(terms.values())
    return RooflinePrediction(terms=terms, fraction=fraction, busy=busy, part=traffic.part)


def busy_units(entry: KernelEntry, units: int) -> float:
    """Return the fraction of the device's time in which units have work.

    If all workgroups take equally long, 130 of them on 108 units take as long as 216.
    """
    launch = entry.launches[0]
    pieces = math.prod(launch.grid)
    # Split pieces all have equal work.
    if launch.tile is not None and launch.tile.walk is not None and not launch.tile.walk.steps:
        pieces = math.prod(walk.counts(launch.tile))
        units = min(units, math.prod(launch.grid))
    return pieces / (units * -(-pieces // units))
