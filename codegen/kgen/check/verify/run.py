"""Verification: execute every kernel of a bundle here, and compare it with the reference."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen import emulate
from kgen.bundle import Bundle
from kgen.bundle_file import SpecifiedBundle
from kgen.check.execute import runners as execute
from kgen.check.execute.executor import Executor, Unavailable
from kgen.check.execute.isolate import IsolatedDevices
from kgen.check.execute.runners import Emulation, On, Reader
from kgen.check.oracle import operations as oracle
from kgen.check.oracle.operations import Box
from kgen.check.oracle.tolerance import Estimate
from kgen.check.tensors import Bits, Bytes, Mask, decode, strided_bits
from kgen.check.verify import compare, cost, inputs, sampling
from kgen.check.verify.compare import Comparison
from kgen.check.verify.inputs import DataSet
from kgen.check.verify.known_problems import check_known
from kgen.check.verify.progress import Progress
from kgen.check.verify.sampling import Sample, Workgroups
from kgen.errors import EmulationError, KgenError, VerificationError
from kgen.parallel import work
from kgen_runtime.bundle import BundleFile
from kgen_runtime.launch_limits import kernel_refusal, limits_of
from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Manifest
from kgen_runtime.reference.elements import elements
from kgen_runtime.schema.program import Weight
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes


@frozen
class Coverage:
    """Workgroups run (CPU: tasks) out of `of`, and output elements compared per data set."""

    workgroups: int
    of: int
    elements: int


@frozen
class KernelResult:
    """Verification of one kernel.

    `status` is passed, failed or not-executed. `max_error` and `tolerance` belong to the element
    with the largest ratio of the two, at `worst_at` in the output's own coordinates; an error is
    infinite where a NaN or an infinity is missing or out of place.
    """

    kernel: str
    target: str
    status: str
    passed: bool
    executed_on: str | None = None
    executed_form: str | None = None
    coverage: Coverage | None = None
    max_error: float | None = None
    tolerance: float | None = None
    worst_at: tuple[int, ...] | None = None
    seconds: float = 0.0
    reason: str | None = None
    #: Findings of the emulator that are not faults, and the number of thread schedules that ran.
    warnings: tuple[str, ...] = ()
    schedules: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain values; infinity, which JSON cannot hold, is null."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            "status": self.status,
            "passed": self.passed,
            "executed_on": self.executed_on,
            "executed_form": self.executed_form,
            "coverage": None if self.coverage is None else vars(self.coverage).copy(),
            "max_error": _finite(self.max_error),
            "tolerance": _finite(self.tolerance),
            "worst_at": None if self.worst_at is None else list(self.worst_at),
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "warnings": list(self.warnings),
            "schedules": self.schedules,
        }


@frozen
class VerificationReport:
    """Results of all kernels, in the order of the bundle."""

    kernels: tuple[KernelResult, ...]

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.kernels)

    def to_json(self) -> dict[str, Any]:
        return {"passed": self.passed, "kernels": [r.to_json() for r in self.kernels]}


def verify(
    bundle: str | os.PathLike[str] | Bundle | BundleFile | MemoryReader,
    *,
    on: On = "auto",
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    emulation: Emulation | None = None,
    devices: IsolatedDevices | None = None,
    executor: futures.Executor | None = None,
) -> VerificationReport:
    """Execute every kernel on random, integer and special-value data, and compare the results.

    - `on` selects devices, emulators (qemu included), or the first available.
    - `seed` determines the data and the samples.
    - `progress` is called with the current and remaining work, also every second.
    - `emulation` has the options of the emulator.
    - `devices` are used and stay open for the next call; otherwise opened devices are closed.
    - With an `executor`, its workers verify the kernels on their own devices or emulators.

    Raises BundleError for an invalid bundle, and VerificationError for a shape that does not fit
    into this machine's memory. A wrong kernel raises nothing; it fails in the report.
    """
    if executor is not None:
        with opened(bundle) as reader:
            return VerificationReport(
                kernels=_elsewhere(executor, reader, on, seed, progress, emulation)
            )
    results = []
    with (
        opened(bundle) as reader,
        IsolatedDevices() if devices is None else nullcontext(devices) as devices,
        Progress(progress, len(reader.manifest.kernels)) as told,
    ):
        for entry in reader.manifest.kernels:
            told.kernel(entry.name)
            check_known(entry)
            cost.check_memory(entry)
            start = time.perf_counter()
            fields = _verify_kernel(reader, entry, on, seed, devices, told, emulation)
            results.append(
                KernelResult(
                    kernel=entry.key,
                    target=entry.target.name,
                    passed=fields["status"] == "passed",
                    seconds=time.perf_counter() - start,
                    **fields,
                )
            )
    return VerificationReport(kernels=tuple(results))


def _elsewhere(
    executor: futures.Executor,
    reader: Reader,
    on: On,
    seed: int,
    progress: Callable[[str], None] | None,
    emulation: Emulation | None,
) -> tuple[KernelResult, ...]:
    """Return the results of all kernels from an executor's workers. Raises VerificationError."""
    entries = reader.manifest.kernels
    pieces = []
    for entry in entries:
        one = MemoryReader(
            manifest=Manifest(kernels=(entry,), provenance=reader.manifest.provenance),
            files={file.file: reader.read(file) for file in entry.artifacts},
        )
        pieces.append((one, on, seed, emulation))

    def blame(number: int, why: str) -> VerificationError:
        return VerificationError(f"{entries[number].name}: {why}")

    def told(number: int, done: int, left: int) -> None:
        if progress is not None:
            progress(f"verifying {entries[number].name}: {done} done, {left} left")

    found = dict(work.results(executor, _alone, pieces, blame, told))
    return tuple(found[number] for number in range(len(entries)))


def _alone(
    reader: MemoryReader, on: On, seed: int, emulation: Emulation | None
) -> KernelResult | str:
    """Verify the one kernel of a bundle on a worker; return the result, or the error's text."""
    try:
        return verify(reader, on=on, seed=seed, emulation=emulation).kernels[0]
    except KgenError as error:
        return str(error)


@frozen
class MemoryReader:
    """Bundle in memory, with the interface of a saved one."""

    manifest: Manifest
    files: Mapping[str, bytes]
    weights: Mapping[str, HostBytes] = field(default_factory=dict)

    def weight(self, weight: Weight) -> HostBytes:
        return self.weights[weight.file]

    def read(self, artifact: ArtifactEntry) -> bytes:
        return self.files[artifact.file]


@contextmanager
def opened(
    bundle: str | os.PathLike[str] | Bundle | BundleFile | MemoryReader,
) -> Iterator[MemoryReader | BundleFile]:
    if isinstance(bundle, Bundle):
        yield MemoryReader(manifest=bundle.manifest, files=bundle.files, weights=bundle.weights)
    elif isinstance(bundle, BundleFile | MemoryReader):
        yield bundle
    else:
        with SpecifiedBundle(bundle) as file:
            yield file


def _verify_kernel(
    reader: Reader,
    entry: KernelEntry,
    on: On,
    seed: int,
    devices: IsolatedDevices,
    told: Progress,
    emulation: Emulation | None = None,
) -> dict[str, Any]:
    """Execute a kernel and return the fields of its result."""
    if (beyond := kernel_refusal(entry, limits_of(entry))) is not None:
        return {"status": "failed", "reason": beyond}
    try:
        executor = execute.executor(reader, entry, on, devices, emulation)
    except Unavailable as reason:
        return {"status": "not-executed", "reason": str(reason)}
    sample = None
    if executor.samples:
        sample = sampling.sample(entry, cost.emulated_workgroups(entry), seed)
        if (refusal := cost.emulation_refusal(entry, sample)) is not None:
            return {"status": "not-executed", "reason": refusal}
        told.expect(cost.emulated_seconds(entry, sample))
    fields: dict[str, Any] = {"executed_on": executor.on, "executed_form": executor.form}
    worst: Comparison | None = None
    try:
        few = sampling.fewest(entry, seed) if executor.schedules > 1 else None
        for data, whole in _under_schedules(executor, inputs.data_sets(entry, seed), few):
            told.data_set(data.name)
            if not whole:
                executor.run(_buffers(entry, inputs.as_taken(entry, data.buffers)), few)
                continue
            found = run(executor, entry, data, sample, seed)
            if worst is None or not found.ratio <= worst.ratio:
                worst = found
            if not found.passed:
                fields["reason"] = describe(entry, data, found)
                break
    except emulate.UnknownInstruction as unknown:
        return {"status": "not-executed", "reason": str(unknown)}
    except (VerificationError, EmulationError) as fault:
        fields["reason"] = f"{data.name} data: {fault}"
    finally:
        executor.close()
    if executor.schedules > 1:
        fields["schedules"] = executor.schedules
    fields["warnings"] = tuple(str(found) for found in executor.warnings)
    for launch in entry.launches:
        if (gap := sampling.uncovered(launch)) is not None:
            fields.setdefault("reason", gap)
    if worst is not None:
        fields |= {
            "coverage": _coverage(entry, sample, worst.elements),
            "max_error": worst.error,
            "tolerance": worst.bound,
            "worst_at": _own_coordinates(entry, worst),
        }
    return fields | {"status": "failed" if "reason" in fields else "passed"}


def _under_schedules(
    executor: Executor, sets: Iterator[DataSet], few: Workgroups | None
) -> Iterator[tuple[DataSet, bool]]:
    """Yield data sets so that every thread schedule of the executor runs, and whether to run all.

    Later schedules may take ten times as long, so they run on few workgroups. A kernel without such
    a subset runs its data sets under the schedules in turn.
    """
    first, runs = None, 0
    for data in sets:
        executor.schedule = runs % executor.schedules if few is None else 0
        yield data, True
        first, runs = first or data, runs + 1
    for schedule in range(runs if few is None else 1, executor.schedules):
        assert first is not None
        executor.schedule = schedule
        yield first, few is None


def run(
    executor: Executor,
    entry: KernelEntry,
    data: DataSet,
    sample: Sample | None,
    seed: int,
    expected: Iterable[Expected] | None = None,
) -> Comparison:
    """Run a kernel on a data set and compare it with :func:`expectation`.

    Raises VerificationError or EmulationError for a write outside the kernel's outputs.
    """
    taken = inputs.as_taken(entry, data.buffers)
    buffers = _buffers(entry, taken)
    executor.run(buffers, None if sample is None else sample.workgroups)
    for name, before in taken.items():
        if not np.array_equal(before, buffers[name]):
            raise VerificationError(f"the kernel wrote to its input {name}")
    views = {view.output.name: view for view in entry.by_output}
    found = {}
    for name, view in views.items():
        out = view.output
        if not inputs.untouched_gaps(buffers[name], out):
            raise VerificationError(f"the kernel wrote into the gaps between the rows of {name}")
        bits = oracle.in_coordinates(view, strided_bits(buffers[name], out))
        chosen = np.zeros(bits.shape, np.bool_)
        for box in _boxes(view, sample, seed):
            chosen[box] = True
        if sample is not None:
            _check_strays(view, bits, chosen)
        found[name] = (bits, chosen)
    worst: Comparison | None = None
    for name, box, estimate in expected or expectation(entry, data, sample, seed):
        bits, chosen = found[name]
        compared = _compare(views[name], estimate, box, bits[box], chosen[box])
        worst = compare.merge(worst, compared)
    assert worst is not None
    return worst


def _buffers(entry: KernelEntry, taken: Mapping[str, Bytes]) -> dict[str, Bytes]:
    """Return fresh copies of the inputs, and outputs full of poison."""
    return {name: buffer.copy() for name, buffer in taken.items()} | inputs.output_buffers(
        entry, taken
    )


def _check_strays(entry: KernelEntry, bits: Bits, chosen: Mask) -> None:
    """Raise VerificationError if a workgroup of a sample wrote outside of all their tiles."""
    strays = ~chosen & ~inputs.holds_poison(bits, entry.output.dtype)
    if strays.any():
        first = np.unravel_index(int(strays.argmax()), strays.shape)
        at = ", ".join(map(str, oracle.own_coordinates(entry, tuple(map(int, first)))))
        raise VerificationError(
            f"{entry.output.name}[{at}] was written by a workgroup whose tile does not include it"
        )


def _boxes(entry: KernelEntry, sample: Sample | None, seed: int) -> tuple[Box, ...]:
    """Return the compared boxes of the output, cut to its shape (a reduced row has one column)."""
    if sample is None:
        return cost.compared_boxes(entry, seed)
    shape = oracle.output_shape(entry)
    return tuple(
        tuple(slice(s.start, min(s.stop, n)) for s, n in zip(box, shape, strict=True))
        for box in sample.boxes
    )


#: Name of an output, a box of it, and its expected values.
Expected = tuple[str, Box, Estimate]


def expectation(
    entry: KernelEntry, data: DataSet, sample: Sample | None, seed: int
) -> Iterator[Expected]:
    """Yield the expected output of a data set, piece by piece.

    The values are the oracle's; as many as time allows are replaced by the scalar reference's.
    """
    for view in entry.by_output:
        for box, estimate in _expectation(view, data, sample, seed):
            yield view.output.name, box, estimate


def _expectation(
    entry: KernelEntry, data: DataSet, sample: Sample | None, seed: int
) -> Iterator[tuple[Box, Estimate]]:
    """Yield the expected values of one output."""
    boxes = _boxes(entry, sample, seed)
    budget = cost.scalar_elements(entry) // (len(boxes) * data.turns)
    points = [at for box in boxes for at in sampling.elements(entry, box, budget, seed)]
    values = scalar_values(entry.spec, data.buffers, entry.output.name, points)
    places = np.array(points, np.int64).reshape(len(points), -1)
    for piece in cost.oracle_pieces(entry, boxes):
        found = oracle.estimate(entry.unpacked, data.buffers, piece, data.whole)
        starts, stops = np.array([(s.start, s.stop) for s in piece]).T
        inside = np.flatnonzero(((places >= starts) & (places < stops)).all(axis=1))
        found.value[tuple((places[inside] - starts).T)] = [values[i] for i in inside.tolist()]
        yield piece, found


def scalar_values(
    spec: Mapping[str, Any],
    buffers: Mapping[str, Bytes],
    output: str,
    points: Sequence[tuple[int, ...]],
) -> list[float]:
    """Return the scalar reference's values of these elements of an output."""
    return list(map(elements(spec, buffers, output), points))


def _compare(
    entry: KernelEntry, estimate: Estimate, box: Box, bits: Bits, chosen: Mask
) -> Comparison:
    """Compare the chosen elements of a box."""
    dtype = entry.output.dtype
    return compare.compare(
        estimate,
        decode(bits, dtype),
        unwritten=inputs.unwritten(bits, dtype),
        chosen=chosen,
        dtype=dtype,
        box=box,
        output=entry.output.name,
    )


def describe(entry: KernelEntry, data: DataSet, found: Comparison) -> str:
    """Return the worst error and its place in one line."""
    at = ", ".join(map(str, _own_coordinates(entry, found)))
    line = (
        f"{data.name} data, {found.output}[{at}]: got {found.got:.9g}, "
        f"expected {found.expected:.9g} within {found.bound:.3g}; {found.wrong} of "
        f"{found.elements} elements are wrong"
    )
    return f"{line}, {found.unwritten} were never written" if found.unwritten else line


def _own_coordinates(entry: KernelEntry, found: Comparison) -> tuple[int, ...]:
    """Return the coordinates of the worst element in its output."""
    view = next(v for v in entry.by_output if v.output.name == found.output)
    return oracle.own_coordinates(view, found.at)


def _coverage(entry: KernelEntry, sample: Sample | None, elements: int) -> Coverage:
    of = sum(math.prod(launch.grid) for launch in entry.launches)
    run = of if sample is None else sum(map(len, sample.workgroups))
    return Coverage(workgroups=run, of=of, elements=elements)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
