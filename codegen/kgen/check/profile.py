"""Profiler: runs kernels in an emulator that counts instructions and memory traffic."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kgen.bundle import Bundle
from kgen.check.execute.runners import LANGUAGES, EmulatorExecutor, Reader, text_of
from kgen.check.verify import cost, inputs, sampling
from kgen.check.verify.run import opened
from kgen.emulate.counters import MOST_OF_ANY
from kgen.emulate.profile import WORDS, Profile
from kgen.errors import EmulationError, VerificationError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen

#: Families with profiles, and their vocabulary.
FAMILIES = {"cuda": WORDS["ptx"], "amdgpu": WORDS["llvm"]}
#: Families whose kernels the emulators count.
COUNTED = (*FAMILIES, "cpu")
#: Workgroups of a profile, relative to a data set of a verification: a profile runs once and
#: without checks. 16 cover a 2048x2048x2048 GEMM in full.
PATIENCE = 16


@frozen
class KernelProfile:
    """Profiles of a kernel's launches; empty, with a `reason`, if it cannot be profiled."""

    kernel: str
    target: str
    launches: tuple[Profile, ...] = ()
    reason: str | None = None

    def to_json(self, *, lines: bool) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "target": self.target,
            "launches": [launch.to_json(lines=lines) for launch in self.launches],
            "reason": self.reason,
        }


def profile(
    bundle: str | os.PathLike[str] | Bundle | BundleFile,
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Iterator[KernelProfile]:
    """Profile every kernel of a bundle on random data, without the checks of a verification.

    All workgroups run, or a sample that `seed` selects. Raises BundleError for an invalid bundle.
    """
    with opened(bundle) as reader:
        for entry in reader.manifest.kernels:
            if progress is not None:
                progress(f"profiling {entry.name}")
            if entry.target.family in FAMILIES:
                yield profile_kernel(reader, entry, seed)
                continue
            reason = (
                f"{entry.target.name} kernels have no profile; only NVIDIA and AMD kernels have one"
            )
            yield KernelProfile(kernel=entry.key, target=entry.target.name, reason=reason)


def sample_of(
    entry: KernelEntry, seed: int = 0, patience: int = PATIENCE
) -> sampling.Sample | None:
    """Return the workgroups that a profile runs; None for all.

    A kernel whose workgroups share tiles of the output (split-k, stream-k) runs in full, because a
    sample would not represent it.
    """
    tiles = [launch.tile for launch in entry.launches if launch.tile is not None]
    if any(tile.parts > 1 or (tile.walk and tile.walk.steps) for tile in tiles):
        return None
    return sampling.sample(entry, patience * cost.emulated_workgroups(entry), seed)


def profile_kernel(
    reader: Reader, entry: KernelEntry, seed: int = 0, patience: int = PATIENCE
) -> KernelProfile:
    """Profile one kernel; the result holds the reason if that is impossible."""
    names: dict[str, Any] = {"kernel": entry.key, "target": entry.target.name}
    if entry.target.family not in COUNTED:
        reason = f"no emulator runs {entry.target.name} kernels"
        return KernelProfile(**names, reason=reason)
    sample = sample_of(entry, seed, patience)
    if (refusal := cost.emulation_refusal(entry, sample)) is not None:
        return KernelProfile(**names, reason=refusal)
    try:
        cost.check_memory(entry, "profiling")
    except VerificationError as error:
        return KernelProfile(**names, reason=str(error))
    artifact = next((a for a in entry.artifacts if a.format in LANGUAGES), None)
    if artifact is None:
        return KernelProfile(
            **names, reason="the bundle holds no PTX or LLVM IR text of the kernel"
        )
    source = text_of(reader, artifact)
    taken = inputs.as_taken(entry, next(inputs.data_sets(entry, seed)).buffers)
    buffers = taken | inputs.output_buffers(entry, taken)
    workgroups = None if sample is None else sample.workgroups
    executor = EmulatorExecutor(entry, artifact.format, source)
    try:
        reports = executor.reports(buffers, workgroups, checks=False, profile=True, seed=seed)
    except EmulationError as error:
        return KernelProfile(**names, reason=str(error))
    launches = tuple(
        Profile(
            entry=launch.entry_point,
            language=LANGUAGES[artifact.format],
            source=source,
            threads=math.prod(launch.block),
            report=report,
        )
        for launch, report in zip(entry.launches, reports, strict=True)
    )
    return KernelProfile(**names, launches=launches)


def merged(launches: Sequence[Profile]) -> dict[str, int]:
    """Return the counters of several launches combined."""
    found: dict[str, int] = {}
    for launch in launches:
        for name, count in launch.report.counters.items():
            before = found.get(name, 0)
            found[name] = max(before, count) if name in MOST_OF_ANY else before + count
    return found
