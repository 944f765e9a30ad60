"""This machine as the place of a measurement: its targets, and the source that rows name."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Sequence
from pathlib import Path

import kgen
from kgen import building, spec, targets
from kgen.errors import KgenError, TargetError
from kgen.targets.base import Target
from kgen.targets.tuning.file import TuningSource
from kgen.tune.pairing import TimingCondition
from kgen.tune.record import MEASURED
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.select import best_entries, open_device
from kgen_runtime.this_cpu import this_cpu

#: Kernel that all targets support, to find out which of them a device runs.
PROBE = spec.Elementwise(expression="relu(x)", shapes=((64,),), dtype="f32")


def source_of(machine: str, commit: str, conditions: Sequence[TimingCondition]) -> TuningSource:
    """Return the source of what a machine measures today."""
    return TuningSource(
        kind=MEASURED,
        machine=machine,
        day=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        commit=commit,
        conditions="; ".join(condition.name for condition in conditions),
    )


def commit() -> str:
    """Return the commit of the checkout that kgen runs from, else its version."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return kgen.__version__
    done = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "--short=8", "HEAD"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or kgen.__version__


def device_info(device: str) -> DeviceInfo:
    """Return a device by its id. Raises DeviceError."""
    backend = open_device(device)
    try:
        return backend.info
    finally:
        backend.close()


def name_of(info: DeviceInfo) -> str:
    return this_cpu().name if info.kind == "cpu" else info.name


def target_of(device: str) -> Target:
    """Return the best target of a device. Raises TargetError if it runs none."""
    backend = open_device(device)
    try:
        if backend.name == CpuBackend.name:
            return targets.find("native")
        entries: list[KernelEntry] = []
        for family in targets.families():
            if family.backend == backend.name:
                entries += building.build(PROBE, family.targets).manifest.kernels
        chosen, skipped = best_entries(backend.described, entries, backend.info.id)
        if not chosen:
            why = next(iter(skipped.values()), "no target is for this backend")
            raise TargetError(f"--device {device} runs no target: {why}")
        (choice,) = chosen.values()
        return targets.find(choice.entry.target.name)
    finally:
        backend.close()


def check_runs_here(target: Target, device: str) -> None:
    """Raise TargetError unless the device runs kernels of the target."""
    backend = targets.family(target.family).backend
    if backend != device.partition(":")[0]:
        raise TargetError(
            f"target={target.name}: its kernels run on {backend}, not on {device}; name a device "
            f"with --device {backend}"
        )
    if backend != CpuBackend.name:
        return
    able = CpuBackend().info.capabilities
    missing = sorted(target.features - set(able["features"]))
    if target.arch != able["arch"] or missing:
        lacks = f"has no {', '.join(missing)}" if missing else f"is {able['arch']}"
        raise TargetError(
            f"target={target.name}: kgen tune measures on this CPU, which {lacks}; take native"
        )


def check_core(core: str) -> None:
    """Raise TargetError unless this machine's CPU is the core of a tuning file."""
    try:
        here = targets.find("native")
    except KgenError as error:
        raise TargetError(str(error)) from None
    if (found := targets.family(here.family).core(here)) != core:
        raise TargetError(f"this worker's CPU is {found!r}, not {core!r}; leave it out")
