"""Merging bundles, such as those built on a CPU machine and on a GPU machine."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kgen.bundle import Bundle
from kgen.bundle_file import SpecifiedBundle
from kgen.errors import BundleError
from kgen.spec.keys import digest
from kgen_runtime.manifest import KernelEntry, Manifest
from kgen_runtime.schema.program import Program

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes


def merge(paths: Sequence[str | os.PathLike[str]]) -> Bundle:
    """Return the kernels and programs of all bundles, in order.

    An entry that is byte for byte the same in several bundles is taken once. If kernels of
    different specs have the same key, the later one gets a new key. Every digest is checked. Raises
    BundleError for different kernels of one spec, and whatever
    :class:`kgen_runtime.bundle.BundleFile` raises.
    """
    keys = _Keys()
    kernels: dict[str, KernelEntry] = {}
    programs: dict[str, Program] = {}
    weights: dict[str, HostBytes] = {}
    files: dict[str, bytes] = {}
    digests: dict[str, str] = {}
    provenances = []
    for path in paths:
        with SpecifiedBundle(path) as bundle:
            renamed = {entry.name: keys.of(entry) for entry in bundle.manifest.kernels}
            for found in bundle.manifest.kernels:
                entry = _with_key(found, renamed[found.name])
                if kernels.setdefault(entry.name, entry) != entry:
                    raise BundleError(
                        f"{path}: {entry.name} differs from the kernel of that name in an earlier "
                        "bundle; build both with one version of kgen and one schedule, or leave "
                        "one out"
                    )
                for part, stored in zip(entry.files, found.files, strict=True):
                    if digests.setdefault(part.file, part.sha256) != part.sha256:
                        raise BundleError(
                            f"{path}: {part.file} differs from that of an earlier bundle; build "
                            "both with one version of kgen, or leave one out"
                        )
                    if part.file not in files:
                        files[part.file] = bundle.read(stored)
            for program in (_with_kernels(p, renamed) for p in bundle.manifest.programs):
                if programs.setdefault(program.qualified_name, program) != program:
                    raise BundleError(
                        f"{path}: {program.qualified_name} is not the program of that name in a "
                        "bundle before it; leave one out"
                    )
                for weight in program.weights:
                    if weight.file not in weights:
                        weights[weight.file] = bundle.weight(weight, check=True)
            provenances.append(bundle.manifest.provenance)
    manifest = Manifest(
        kernels=tuple(kernels.values()),
        programs=tuple(programs.values()),
        provenance=_together(provenances),
    )
    return Bundle(manifest=manifest, files=files, weights=weights)


class _Keys:
    """Keys of the kernels of several bundles, one for each spec."""

    def __init__(self) -> None:
        self._by_spec: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, entry: KernelEntry) -> str:
        """Return the key in the merged bundle for a kernel's spec."""
        spec = json.dumps(entry.spec, sort_keys=True, default=dict)
        if spec not in self._by_spec:
            key = entry.key
            if key in self._taken:
                key = f"{key}_{digest(entry.spec)}"
            self._by_spec[spec] = key
            self._taken.add(key)
        return self._by_spec[spec]


def _with_key(entry: KernelEntry, key: str) -> KernelEntry:
    """Return the kernel with another key, which its file names contain as well."""
    if key == entry.key:
        return entry
    own = f"{entry.target.name}/{entry.key}"
    artifacts = tuple(
        dataclasses.replace(a, file=f"{entry.target.name}/{key}{a.file.removeprefix(own)}")
        if a.file.startswith(own)
        else a
        for a in entry.artifacts
    )
    return dataclasses.replace(entry, key=key, artifacts=artifacts)


def _with_kernels(program: Program, renamed: Mapping[str, str]) -> Program:
    """Return the program with its steps' kernels named by their keys in the merged bundle."""
    steps = tuple(
        dataclasses.replace(step, kernel=renamed[f"{program.target}/{step.kernel}"])
        for step in program.steps
    )
    return dataclasses.replace(program, steps=steps)


def _together(provenances: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the provenance of the merged bundle: all versions that made a part of it."""
    found: dict[str, list[str]] = {}
    for provenance in provenances:
        for name, version in provenance.items():
            known = found.setdefault(name, [])
            known += [part for part in version.split(", ") if part not in known]
    return {name: ", ".join(versions) for name, versions in found.items()}
