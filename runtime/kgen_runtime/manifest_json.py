"""The manifest as JSON: written without loss, and read with every field checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kgen_runtime.decode import decode
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import BundleError, VersionError
from kgen_runtime.manifest import SCHEMA_VERSION, KernelEntry, Manifest


def to_json(value: Any) -> Any:
    """The plain JSON form of a manifest value; None fields are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {name: to_json(item) for name, item in pairs if item is not None}
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, DType):
        return value.value
    return value


def from_json(data: Any) -> Manifest:
    """The manifest in a decoded JSON object.

    Raises VersionError for a schema that this runtime does not know, BundleError for a field that
    is missing, unknown or of the wrong type.
    """
    if not isinstance(data, dict) or "schema_version" not in data:
        raise BundleError("manifest.json: no schema_version; this is not a kgen manifest")
    if data["schema_version"] != SCHEMA_VERSION:
        raise VersionError(
            f"manifest schema {data['schema_version']!r} is not the one this runtime reads "
            f"({SCHEMA_VERSION}); rebuild the bundle or install the matching kgen-kernels"
        )
    manifest = decode(Manifest, data, "manifest")
    assert isinstance(manifest, Manifest)
    if not manifest.kernels:
        raise BundleError("manifest.kernels: it holds no kernel; a bundle has one or more")
    for kernel in manifest.kernels:
        _check_parameters(kernel)
        _check_arguments(kernel)
    return manifest


def _check_parameters(kernel: KernelEntry) -> None:
    """One of the tensors is the output, and all have a size."""
    outputs = [p.name for p in kernel.parameters if p.role == "output"]
    if len(outputs) != 1:
        raise BundleError(f"{kernel.name}: it has {len(outputs)} outputs; a kernel has one")
    for p in kernel.parameters:
        if len(p.shape) != len(p.strides):
            raise BundleError(f"{kernel.name}: {p.name} has not one stride per dimension")
        if any(n < 1 for n in p.shape) or any(s < 0 for s in p.strides):
            raise BundleError(f"{kernel.name}: {p.name} has a size below 1 or a stride below 0")
    if not kernel.launches:
        raise BundleError(f"{kernel.name}: it launches nothing")


def _check_arguments(kernel: KernelEntry) -> None:
    """Every launch takes what the kernel has, so that a runtime may look it up."""
    known = {p.name for p in kernel.parameters} | {w.name for w in kernel.workspaces}
    for map_ in kernel.tensor_maps:
        if map_.tensor not in known:
            raise BundleError(f"{kernel.name}: {map_.name} views {map_.tensor}, which there is not")
        if not len(map_.shape) == len(map_.strides) == len(map_.box) > 0:
            raise BundleError(f"{kernel.name}: {map_.name} has not one number per dimension")
    for constant in kernel.constants:
        sizes = [p.nbytes for p in kernel.inputs if p.name == constant.parameter]
        if sizes != [constant.nbytes]:
            raise BundleError(f"{kernel.name}: {constant.file} is not its {constant.parameter}")
    known |= {map_.name for map_ in kernel.tensor_maps}
    for launch in kernel.launches:
        if unknown := set(launch.arguments) - known:
            raise BundleError(f"{kernel.name}: no argument is called {min(unknown)}")
