"""Static facts of a kernel's machine code: registers, occupancy, hot loop, and more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kgen import spec, targets
from kgen.check.execute.runners import Reader
from kgen.check.static import hot_loop
from kgen.check.static.hot_loop import Loop, WorkKind
from kgen.check.static.machine_code import MachineInstruction, instructions
from kgen.check.static.roofline import Roofline, RooflinePrediction, count, predict, roofline_of
from kgen.check.static.vulkan.compiled import DriverCompilation, compiled
from kgen.targets.device import Occupancy
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen


@frozen
class StaticFacts:
    """Facts that static analysis finds in a kernel's machine code.

    `metrics` have the names of :mod:`kgen.check.gate.metrics`, `opcodes` counts all instructions.
    `loop` is None without a hot loop, `occupancy` without a device. `compiled` is the code that
    drivers compile SPIR-V to.
    """

    metrics: Mapping[str, float]
    opcodes: Counter[str]
    loop: Loop | None = None
    occupancy: Occupancy | None = None
    findings: tuple[str, ...] = ()
    compiled: tuple[DriverCompilation, ...] = ()

    def absent(self, metric: str) -> str | None:
        """Return why a metric of a driver's compiler is unknown here; None if it is known."""
        return next((c.reason for c in self.compiled if c.gives(metric) and not c.refused), None)

    def note(self, metric: str) -> str | None:
        """Return an explanation of a metric, or None."""
        for each in self.compiled:
            if each.gives(metric):
                return each.note()
        if metric == "findings":
            return "; ".join(self.findings)
        if metric == "occupancy" and self.occupancy is not None:
            return self.occupancy.sentence
        return None if self.loop is None else f"hot loop: {self.loop.mix()}"

    def to_json(self) -> dict[str, Any]:
        return {
            "metrics": dict(self.metrics),
            "opcodes": dict(self.opcodes.most_common()),
            "hot_loop": None if self.loop is None else self.loop.to_json(),
            "occupancy": None if self.occupancy is None else self.occupancy.to_json(),
            "findings": list(self.findings),
            "compiled": [each.to_json() for each in self.compiled],
        }


@frozen
class Outlook:
    """Predicted time on a well-known device; `reason` says why there is none."""

    roofline: Roofline | None = None
    prediction: RooflinePrediction | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "roofline": None if self.roofline is None else self.roofline.to_json(),
            "prediction": None if self.prediction is None else self.prediction.to_json(),
            "reason": self.reason,
        }


def facts(reader: Reader, entry: KernelEntry) -> StaticFacts:
    """Return the facts of a kernel in a bundle. Raises AssembleError if a tool is missing."""
    code = instructions(reader, entry)
    loop = hot_loop.find(code, hot_loop.WORDS[entry.target.family])
    family = targets.family(entry.target.family)
    occupancy = None
    if entry.resources.registers is not None:
        target = targets.find(entry.target.name)
        occupancy = family.occupancy(target, entry.resources, entry.launches[0])
    metrics = _resources(entry)
    if occupancy is not None:
        metrics["occupancy"] = occupancy.warps
    if loop is not None:
        metrics |= _of_loop(loop)
        metrics |= _per_matrix_cycle(entry, loop, [code[i] for i in loop.body])
    by_drivers = compiled(reader, entry) if entry.target.family == "vulkan" else ()
    for each in by_drivers:
        metrics |= {f"{each.compiler}.{name}": n for name, n in each.metrics.items()}
    return StaticFacts(
        metrics=metrics,
        opcodes=Counter(ins.opcode for ins in code),
        loop=loop,
        occupancy=occupancy,
        findings=entry.resources.findings or (),
        compiled=by_drivers,
    )


def _per_matrix_cycle(
    entry: KernelEntry, loop: Loop, body: Sequence[MachineInstruction]
) -> dict[str, float]:
    """Return the load of other units per cycle in which matrix instructions keep a SIMD busy."""
    target, family = targets.find(entry.target.name), targets.family(entry.target.family)
    busy = sum(
        count * (family.matrix_cycles(target, opcode) or 0.0)
        for opcode, count in loop.opcodes.items()
    )
    if not busy:
        return {}
    moved = [family.memory_cycles(target, ins.opcode, ins.operands) for ins in body]
    return {
        "instructions_per_matrix_cycle": loop.instructions / busy,
        "lds_cycles_per_matrix_cycle": sum(lds for lds, _ in moved) / busy,
        "l1_cycles_per_matrix_cycle": sum(l1 for _, l1 in moved) / busy,
    }


def outlook(reader: Reader, entry: KernelEntry, facts: StaticFacts) -> Outlook:
    """Return the roofline and a prediction; counting a large kernel takes seconds."""
    family = targets.family(entry.target.family)
    target = targets.find(entry.target.name)
    rates, line = family.rates(target), roofline_of(spec.from_json(entry.spec), target)
    if rates is None or line is None:
        return Outlook(reason=f"no rates are known for a device of {entry.target.name}")
    if facts.occupancy is None:
        return Outlook(roofline=line, reason="no emulator counts its traffic")
    traffic = count(reader, entry)
    if isinstance(traffic, str):
        return Outlook(roofline=line, reason=traffic)
    prediction = predict(entry, line, rates, traffic, facts.loop, facts.occupancy)
    return Outlook(roofline=line, prediction=prediction)


def _resources(entry: KernelEntry) -> dict[str, float]:
    """Return the manifest's numbers, and the number of findings."""
    known = {name: n for name, n in vars(entry.resources).items() if n is not None}
    return {name: len(n) if isinstance(n, tuple) else n for name, n in known.items()}


def _of_loop(loop: Loop) -> dict[str, float]:
    found: dict[str, float] = {
        "hot_loop_instructions": loop.instructions,
        "hot_loop_spills": loop.spills,
    }
    if loop.kind is not WorkKind.LOAD:
        found |= {"matrix_share": loop.share, "loads_per_matrix": loop.loads / loop.work}
    if loop.kind is WorkKind.MATRIX:
        found["matrix_instructions"] = loop.work
    return found
