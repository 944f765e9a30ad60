"""One bundle with the kernels of several: of a CPU's and a GPU's build machine, say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kgen.bundle import Bundle
from kgen.errors import BundleError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import KernelEntry, Manifest
from kgen_runtime.schema.program import Program

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes


def merge(paths: Sequence[str | os.PathLike[str]]) -> Bundle:
    """The kernels and programs of all bundles, in order; one that is in several of them, byte by
    byte the same, is taken once.

    Every digest is checked. Raises BundleError for kernels of one name that differ, and what
    :class:`kgen_runtime.bundle.BundleFile` raises.
    """
    kernels: dict[str, KernelEntry] = {}
    programs: dict[str, Program] = {}
    weights: dict[str, HostBytes] = {}
    files: dict[str, bytes] = {}
    digests: dict[str, str] = {}
    provenances = []
    for path in paths:
        with BundleFile(path) as bundle:
            for entry in bundle.manifest.kernels:
                if kernels.setdefault(entry.name, entry) != entry:
                    raise BundleError(
                        f"{path}: {entry.name} is not the kernel of that name in a bundle before "
                        "it; build both with one version of kgen and one schedule, or leave one out"
                    )
                for part in entry.files:
                    if digests.setdefault(part.file, part.sha256) != part.sha256:
                        raise BundleError(f"{path}: another bundle has another {part.file}")
                    if part.file not in files:
                        files[part.file] = bundle.read(part)
            for program in bundle.manifest.programs:
                if programs.setdefault(program.qualified_name, program) != program:
                    raise BundleError(
                        f"{path}: {program.qualified_name} is not the program of that name in a "
                        "bundle before it; leave one out"
                    )
                for weight in program.weights:
                    if weight.file not in weights:
                        weights[weight.file] = bundle.check_weight(weight)
            provenances.append(bundle.manifest.provenance)
    manifest = Manifest(
        kernels=tuple(kernels.values()),
        programs=tuple(programs.values()),
        provenance=_together(provenances),
    )
    return Bundle(manifest=manifest, files=files, weights=weights)


def _together(provenances: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What the bundles were made with: where versions differ, all of them."""
    found: dict[str, list[str]] = {}
    for provenance in provenances:
        for name, version in provenance.items():
            known = found.setdefault(name, [])
            known += [part for part in version.split(", ") if part not in known]
    return {name: ", ".join(versions) for name, versions in found.items()}
