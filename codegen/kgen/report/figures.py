"""Figures in a program's report: times of the steps, rooflines of the kernels, sizes and checks."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kgen.errors import KgenError
from kgen.targets.device import Multiplied, multiplied
from kgen_runtime.manifest import KernelEntry, Manifest
from kgen_runtime.schema.program import Program, Step
from kgen_runtime.values import frozen


@frozen
class Times:
    """Seconds of each step, None if unknown; `source` says how they were found."""

    seconds: tuple[float | None, ...]
    source: str
    measured: bool

    @property
    def total(self) -> float:
        return sum(s for s in self.seconds if s is not None)

    @property
    def shares(self) -> tuple[float, ...]:
        """Each step's fraction of the total."""
        total = self.total or 1.0
        return tuple((s or 0.0) / total for s in self.seconds)


@frozen
class Ceilings:
    """Highest rates of a device.

    `flops` are flops per second by the type that is multiplied; types of unknown rate are absent.
    `bandwidths` are bytes per second by the memory that is read, the slowest memory last. `holds`
    are the sizes of all memories but the slowest. `source` says whether the rates were measured.
    """

    source: str
    flops: Mapping[str, float]
    bandwidths: Mapping[str, float]
    holds: Mapping[str, int]

    def memory(self, nbytes: int) -> str:
        """Return the name of the fastest memory that holds `nbytes` bytes."""
        return next(name for name in self.bandwidths if nbytes <= self.holds.get(name, math.inf))


@frozen
class KernelWork:
    """Kernel of a program, with the fewest flops and bytes that a call needs and its time.

    `steps` is the number of calls in a run. `weight_bytes` of `nbytes` are weights, which a run
    reads once: a cache keeps them for the next run only if it holds all `program_weights` bytes.
    `multiplied` is the type that the kernel multiplies in, and how many products in that type it
    computes for one product of the problem.
    """

    entry: KernelEntry
    steps: int
    flops: int
    nbytes: int
    seconds: float | None
    weight_bytes: int = 0
    program_weights: int = 0
    multiplied: Multiplied = Multiplied(operands="f32")

    @property
    def intensity(self) -> float:
        return self.flops / self.nbytes

    @property
    def rate(self) -> float | None:
        """Flops per second, None if the time is unknown."""
        return self.flops / self.seconds if self.seconds else None

    def reached(self, ceilings: Ceilings) -> tuple[float, str] | None:
        """Return which fraction of its ceiling the kernel reaches, and the ceiling's name: the
        arithmetic or the slowest of the memories, whichever takes longer.

        Weights come from the fastest memory that holds those of the whole program, other tensors
        from the fastest that holds them.
        """
        if not self.seconds:
            return None
        parts = (
            (self.weight_bytes, max(self.program_weights, self.nbytes)),
            (self.nbytes - self.weight_bytes, self.nbytes),
        )
        reads = [
            (part / ceilings.bandwidths[name], name)
            for part, held in parts
            for name in [ceilings.memory(held)]
        ]
        memory, name = sum(seconds for seconds, _ in reads), max(reads)[1]
        operands = self.multiplied.operands
        limits = [(memory, name)]
        if rate := ceilings.flops.get(operands):
            flops = self.flops * self.multiplied.products
            limits.append((flops / rate, f"arithmetic in {operands}"))
        least, limit = max(limits)
        return least / self.seconds, limit


@frozen
class Sizes:
    """Bytes of a program's parts, of its arena at run time, and of the bundle's file."""

    weights: int
    code: int
    texts: int
    arena: int
    bundle: int


@frozen
class Check:
    """A check of the program and its finding; `passed` is None if it was not run."""

    name: str
    passed: bool | None
    finding: str


def works(
    program: Program, kernels: Mapping[str, KernelEntry], times: Times | None
) -> tuple[KernelWork, ...]:
    """Return a program's distinct kernels, those with the largest total time first."""
    from kgen.spec import from_json

    found = []
    weights = sum({w.file: w.nbytes for w in program.weights}.values())
    for name in program.kernels:
        entry = kernels[name]
        spec = from_json(entry.spec)
        numbers = [n for n, step in enumerate(program.steps) if step.kernel == entry.key]
        known = [s for n in numbers if times and (s := times.seconds[n]) is not None]
        found.append(
            KernelWork(
                entry=entry,
                steps=len(numbers),
                flops=spec.flops,
                nbytes=spec.bytes_moved,
                seconds=sum(known) / len(known) if known else None,
                weight_bytes=min(spec.bytes_moved, _weights_of(program, program.steps[numbers[0]])),
                program_weights=weights,
                multiplied=multiplied_by(entry),
            )
        )
    return tuple(sorted(found, key=lambda work: -(work.seconds or 0.0) * work.steps))


def multiplied_by(entry: KernelEntry) -> Multiplied:
    """Return the type that a kernel's main loop multiplies in, from its plan. If it cannot be
    planned, because another version built the bundle, return the type that the spec implies."""
    from kgen import pipeline, targets
    from kgen.schedule.schedule import current_names
    from kgen.spec import from_json

    spec = from_json(entry.spec)
    fields = current_names(entry.schedule)
    overrides = {name: value for name, value in fields.items() if name != "origin"}
    try:
        return pipeline.plan_with(spec, targets.find(entry.target.name), overrides).multiplied
    except KgenError:
        return multiplied(spec)


def _weights_of(program: Program, step: Step) -> int:
    """Return the bytes of the weights that a step reads."""
    values = {program.by_name[name] for name in step.bindings.values()}
    return sum(value.nbytes for value in values if value.place.kind == "weights")


def sizes(program: Program, manifest: Manifest, bundle_bytes: int) -> Sizes:
    """Return the sizes of a program and of the bundle's file."""
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
