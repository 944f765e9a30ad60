"""`kgen inspect --static`: facts from each kernel's machine code, and its roofline."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from kgen.check.static.facts import Outlook, StaticFacts, facts, outlook
from kgen.check.static.hot_loop import Loop, WorkKind, mix
from kgen.check.static.roofline import Roofline, RooflinePrediction
from kgen.check.static.vulkan.compiled import DriverCompilation
from kgen.cli.output import end_progress, print_json, progress
from kgen.errors import AssembleError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import KernelEntry


def run(bundle: BundleFile, *, as_json: bool) -> int:
    """Print the facts of every kernel of a bundle, and what to install for the others.

    Return 2 if a tool is missing for a kernel, else 0.
    """
    rows, missing = [], {}
    for entry in bundle.manifest.kernels:
        progress(f"counting {entry.name}")
        try:
            known = facts(bundle, entry)
            rows.append((entry, known, outlook(bundle, entry, known)))
        except AssembleError as error:
            missing[entry.name] = str(error)
    end_progress()
    if as_json:
        kernels = [
            {"kernel": entry.name} | known.to_json() | ahead.to_json()
            for entry, known, ahead in rows
        ]
        print_json({"kernels": kernels, "missing": missing})
    else:
        for entry, known, ahead in rows:
            print(entry.name)
            for title, text in lines(entry, known, ahead):
                print(f"  {title:<14} {text}")
            print()
    for reason in dict.fromkeys(missing.values()):
        print(f"kgen inspect: {reason}", file=sys.stderr)
    return 2 if missing else 0


def lines(entry: KernelEntry, known: StaticFacts, ahead: Outlook) -> Iterator[tuple[str, str]]:
    """Yield titles and texts; a continuation line has no title."""
    yield from _resources(entry)
    size, count = entry.resources.code_bytes, known.opcodes.total()
    yield "code", f"{size} bytes, {count} instructions: {mix(known.opcodes)}"
    if known.occupancy is not None:
        yield "occupancy", known.occupancy.sentence
    yield from _loop(known.loop)
    if all(artifact.role != "machine-code" for artifact in entry.artifacts):
        yield "", "the driver compiles it again; only its compiler knows registers and spills:"
        for compiled in known.compiled:
            yield from _compiled(compiled)
    elif known.loop is not None:
        yield "", f"{known.loop.spills or 'no'} spills in the loop"
    for finding in known.findings:
        yield "finding", finding
    if ahead.roofline is not None:
        yield from _roofline(ahead.roofline)
    if ahead.prediction is not None:
        yield from _prediction(ahead.prediction)
    else:
        yield "prediction", f"none: {ahead.reason}"


def _resources(entry: KernelEntry) -> Iterator[tuple[str, str]]:
    used = entry.resources
    if used.registers is not None:
        parts = [f"{used.registers} per thread"]
        if used.accumulator_registers:
            parts.append(f"{used.accumulator_registers} of them accumulators")
        if used.scalar_registers is not None:
            parts.append(f"{used.scalar_registers} scalar ones per wave")
        yield "registers", f"{', '.join(parts)}; {used.spills or 0} bytes spilled"
    if used.stack is not None:
        yield "stack", f"{used.stack} bytes per thread"
    if used.shared_memory is not None:
        yield "shared memory", f"{used.shared_memory} bytes per workgroup"


def _loop(loop: Loop | None) -> Iterator[tuple[str, str]]:
    if loop is None:
        yield "hot loop", "none: no loop computes or loads"
        return
    if loop.unrolled:
        yield "hot loop", "none: the compiler unrolled it; the figures are of the whole function"
    else:
        yield "hot loop", f"{loop.instructions} instructions: {loop.mix()}"
    if loop.kind is not WorkKind.LOAD:
        share, loads = 100 * loop.share, loop.loads / loop.work
        yield "", f"{loop.work} {loop.kind} are {share:.0f} % of them; {loads:.2f} loads for each"


def _compiled(found: DriverCompilation) -> Iterator[tuple[str, str]]:
    """Yield the result of a driver's compiler for SPIR-V; its GPU need not be present."""
    title = found.compiler.upper()
    if found.reason is not None:
        yield title, f"{'none' if found.refused else 'not measured here'}: {found.reason}"
        return
    yield title, f"{found.device.strip()}, Mesa {found.version}"
    numbers = found.metrics
    parts = [
        f"{numbers['registers']:.0f} registers per thread",
        f"{numbers['spills']:.0f} spilled",
        f"{numbers['occupancy']:.0f} resident waves",
        f"{numbers['code_bytes']:.0f} bytes of code",
    ]
    if "shared_memory" in numbers:
        parts.insert(3, f"{numbers['shared_memory']:.0f} bytes of workgroup memory")
    yield "", ", ".join(parts)
    yield from _loop(found.loop)
    if "matrix_share" in numbers:
        share = 100 * numbers["matrix_share"]
        yield "", f"{share:.0f} % of the vector instructions are matrix instructions"
    if found.loads:
        yield "", f"loads: {mix(found.loads)}"


def _roofline(line: Roofline) -> Iterator[tuple[str, str]]:
    yield (
        "device",
        f"{line.device}: {line.peak / 1e12:.4g} TFLOP/s {line.operands}, "
        f"{line.bandwidth / 1e9:.4g} GB/s",
    )
    side = "above" if line.binds == "compute" else "below"
    yield (
        "roofline",
        f"{line.flops / 1e9:.4g} GFLOP, {line.nbytes / 1e6:.4g} MB at least: "
        f"{line.intensity:.4g} FLOP/byte, {side} {line.ridge:.4g}, so limited by {line.binds}",
    )
    yield "floor", f"{_microseconds(line.floor)} us"


def _prediction(found: RooflinePrediction) -> Iterator[tuple[str, str]]:
    yield (
        "prediction",
        f"{_microseconds(found.seconds)} us at best, {100 * found.fraction:.0f} % of the roofline; "
        f"limited by {found.binds} (not measured: see docs/how-it-works/static-analysis.md)",
    )
    terms = sorted(found.terms.items(), key=lambda term: -term[1])
    yield "", "us by term: " + ", ".join(f"{k} {_microseconds(v)}" for k, v in terms)
    if found.busy < 1:
        yield "", f"the number of workgroups keeps {100 * found.busy:.0f} % of the units busy"
    if found.part < 1:
        yield "", f"traffic is counted in {100 * found.part:.2g} % of the workgroups and scaled"


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.3g}"
