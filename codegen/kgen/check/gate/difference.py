"""Comparison of two bundles, kernel by kernel: metrics, rendered source and machine code."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any

from kgen.check.gate.metrics import METRICS, Metric, Tier
from kgen.check.gate.values import Values, measure
from kgen.check.profile import FAMILIES
from kgen.check.static.disassemble import disassemble
from kgen.check.static.machine_code import instructions
from kgen.errors import AssembleError, EmulationError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen

#: Addresses in disassembly (nvdisasm, objdump, llvm-objdump), which shift with every insertion.
_ADDRESS = re.compile(r"/\*[0-9a-f]{4,}\*/|^\s*[0-9a-f]+:|\s*// [0-9A-F]{8,}:.*$", re.MULTILINE)


@frozen
class Change:
    """Metric of the old and the new kernel; None if one lacks it."""

    metric: Metric
    old: float | None
    new: float | None

    @property
    def verdict(self) -> str:
        if self.old is None or self.new is None:
            return "in one only"
        if self.old == self.new:
            return "same"
        return "better" if self.metric.better(self.new, self.old) else "worse"

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric.name,
            "tier": self.metric.tier.value,
            "bound": self.metric.bound.value,
            "old": self.old,
            "new": self.new,
            "verdict": self.verdict,
        }


@frozen
class KernelDiff:
    """Differences between two kernels of one name.

    `source` and `code` are unified diffs, empty if equal. `notes` say what could not be compared.
    """

    name: str
    changes: tuple[Change, ...]
    source: str
    code: str
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"changes": [change.to_json() for change in self.changes]}


def compare(
    old: BundleFile, new: BundleFile, progress: Callable[[str], None] = lambda _: None
) -> Iterator[KernelDiff]:
    """Compare the kernels that both bundles contain. Raises BundleError."""
    entries = {entry.name: entry for entry in new.manifest.kernels}
    for entry in old.manifest.kernels:
        if entry.name in entries:
            progress(f"comparing {entry.name}")
            yield _compare((old, entry), (new, entries[entry.name]))


def only_in(one: BundleFile, other: BundleFile) -> list[str]:
    """Return the names of the kernels that the other bundle lacks."""
    names = {entry.name for entry in other.manifest.kernels}
    return [entry.name for entry in one.manifest.kernels if entry.name not in names]


Side = tuple[BundleFile, KernelEntry]


def _compare(old: Side, new: Side) -> KernelDiff:
    notes: list[str] = []
    values = [_values(side, notes) for side in (old, new)]
    sources = [bundle.source(entry)[1] for bundle, entry in (old, new)]
    codes = _codes(old, new, notes)
    return KernelDiff(
        name=old[1].name,
        changes=tuple(_changes(*values)),
        source=_unified(*sources),
        code=_unified(*codes),
        notes=tuple(dict.fromkeys(notes)),
    )


def _codes(old: Side, new: Side, notes: list[str]) -> list[str]:
    """Return the machine code of both as text: disassembled with labels, or as LLVM prints it."""
    try:
        return [_ADDRESS.sub("", disassemble(bundle, entry)) for bundle, entry in (old, new)]
    except AssembleError as error:
        notes.append(f"machine code is compared without labels: {error}")
    try:
        codes = [instructions(bundle, entry) for bundle, entry in (old, new)]
        return ["\n".join(f"{ins.opcode} {ins.operands}" for ins in code) for code in codes]
    except AssembleError as error:
        notes.append(f"machine code is not compared: {error}")
        return ["", ""]


def _values(side: Side, notes: list[str]) -> Values:
    """Return all numbers of a kernel, or the static ones if it cannot be emulated."""
    try:
        tiers = (Tier.STATIC, Tier.EMULATED)
        return measure(*side, tiers if side[1].target.family in FAMILIES else tiers[:1])
    except EmulationError as error:
        notes.append(f"emulated metrics are not compared: {error}")
        return measure(*side, (Tier.STATIC,))


def _changes(old: Values, new: Values) -> Iterator[Change]:
    for metric in METRICS:
        before, after = old.numbers.get(metric.name), new.numbers.get(metric.name)
        if before is not None or after is not None:
            yield Change(metric=metric, old=before, new=after)


def _unified(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="")
    return "".join(f"{line}\n" for line in lines)
