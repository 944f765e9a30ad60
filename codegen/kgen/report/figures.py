"""What a report tells of a program: times of its steps, ceilings, sizes. Pure values."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kgen_runtime.manifest import KernelEntry, Manifest
from kgen_runtime.schema.program import Program
from kgen_runtime.values import frozen


@frozen
class Times:
    """Seconds of each step, None where nothing is known; `source` says of what kind they are."""

    seconds: tuple[float | None, ...]
    source: str
    measured: bool

    @property
    def total(self) -> float:
        return sum(s for s in self.seconds if s is not None)

    @property
    def shares(self) -> tuple[float, ...]:
        """Parts of the total."""
        total = self.total or 1.0
        return tuple((s or 0.0) / total for s in self.seconds)


@frozen
class Ceilings:
    """What a device does at most, per second: flops, and bytes by the memory that they are read
    from, the slowest last. `holds` are the bytes of each but that. `source` says whether the rates
    were measured."""

    source: str
    flops: float
    bandwidths: Mapping[str, float]
    holds: Mapping[str, int]

    def memory(self, nbytes: int) -> str:
        """The fastest that holds so much."""
        return next(name for name in self.bandwidths if nbytes <= self.holds.get(name, math.inf))


@frozen
class Work:
    """A kernel of the program: what a call computes and moves at least, and the time that it takes;
    `steps` are how many times it is called."""

    entry: KernelEntry
    steps: int
    flops: int
    nbytes: int
    seconds: float | None

    @property
    def intensity(self) -> float:
        return self.flops / self.nbytes

    @property
    def rate(self) -> float | None:
        """Flops per second."""
        return self.flops / self.seconds if self.seconds else None

    def reached(self, ceilings: Ceilings) -> tuple[float, str] | None:
        """The part of its ceiling, and what that is: arithmetic, or the fastest memory that holds
        its tensors, whichever would take longer."""
        if not self.seconds:
            return None
        name = ceilings.memory(self.nbytes)
        arithmetic = self.flops / ceilings.flops
        memory = self.nbytes / ceilings.bandwidths[name]
        least, limit = max((arithmetic, "arithmetic"), (memory, name))
        return least / self.seconds, limit


@frozen
class Sizes:
    """Bytes of a program's parts, of the arena that it takes where it runs, and of the bundle's
    file."""

    weights: int
    code: int
    texts: int
    arena: int
    bundle: int


@frozen
class Check:
    """Something that was checked, or was not (`passed` is None), and what it came to."""

    name: str
    passed: bool | None
    finding: str


def works(
    program: Program, kernels: Mapping[str, KernelEntry], times: Times | None
) -> tuple[Work, ...]:
    """The distinct kernels of a program, those that take longest in all first."""
    from kgen.spec import from_json

    found = []
    for name in program.kernels:
        entry = kernels[name]
        spec = from_json(entry.spec)
        numbers = [n for n, step in enumerate(program.steps) if step.kernel == entry.key]
        known = [s for n in numbers if times and (s := times.seconds[n]) is not None]
        found.append(
            Work(
                entry=entry,
                steps=len(numbers),
                flops=spec.flops,
                nbytes=spec.bytes_moved,
                seconds=sum(known) / len(known) if known else None,
            )
        )
    return tuple(sorted(found, key=lambda work: -(work.seconds or 0.0) * work.steps))


def sizes(program: Program, manifest: Manifest, bundle_bytes: int) -> Sizes:
    """Those of one program, and the file of all."""
    artifacts = [
        artifact
        for entry in manifest.kernels
        if entry.name in program.kernels
        for artifact in entry.artifacts
    ]
    return Sizes(
        weights=sum({w.file: w.nbytes for w in program.weights}.values()),
        code=sum(a.nbytes for a in artifacts if a.role == "machine-code"),
        texts=sum(a.nbytes for a in artifacts if a.role != "machine-code"),
        arena=program.arena_bytes,
        bundle=bundle_bytes,
    )
