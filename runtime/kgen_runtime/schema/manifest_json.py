"""The manifest as JSON: written without loss, and read with every field checked."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.errors import BundleError, VersionError
from kgen_runtime.manifest import SCHEMA_VERSIONS, Manifest


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
    is missing, unknown or of the wrong type, and for a kernel that contradicts itself.
    """
    # Who writes a manifest needs no checks of one.
    from kgen_runtime.schema.decode import decode, shown
    from kgen_runtime.schema.kernel_check import check
    from kgen_runtime.schema.migrations import in_this_schema, renewed

    if not isinstance(data, dict) or "schema_version" not in data:
        raise BundleError("manifest.json: no schema_version; this is not a kgen manifest")
    version = data["schema_version"]
    if type(version) is not int or version not in SCHEMA_VERSIONS:
        known = " and ".join(map(str, SCHEMA_VERSIONS))
        raise VersionError(
            f"manifest schema {shown(version)} is not one that this runtime reads ({known}); "
            "rebuild the bundle or install the matching kgen-kernels"
        )
    manifest = decode(Manifest, in_this_schema(data), "manifest")
    assert isinstance(manifest, Manifest)
    if (kernels := tuple(map(renewed, manifest.kernels))) != manifest.kernels:
        manifest = dataclasses.replace(manifest, kernels=kernels)
    if not manifest.kernels:
        raise BundleError("manifest.kernels: it has no kernel; a bundle needs one or more")
    for name, count in Counter(kernel.name for kernel in manifest.kernels).items():
        if count > 1:
            raise BundleError(f"manifest.kernels: {name} occurs twice; build the bundle again")
    for kernel in manifest.kernels:
        check(kernel)
    if manifest.programs:
        from kgen_runtime.schema.program_check import check_programs

        check_programs(manifest.programs, manifest.kernels)
    return manifest
