"""Manifest as JSON: writing, and reading after libkgen has checked it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import SCHEMA_VERSION, Manifest


def to_json(value: Any) -> Any:
    """Return the JSON form of a manifest value; None fields are left out."""
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


def check(text: bytes) -> None:
    """Raise BundleError or VersionError if the text is not a valid manifest."""
    from kgen_runtime import libkgen

    libkgen.check(libkgen.library().kgen_manifest_check(text, len(text)))


def from_text(text: bytes) -> Manifest:
    """Read a manifest that libkgen has checked. Old specs are migrated, and repeated steps are
    expanded."""
    from kgen_runtime.schema.decode import reader
    from kgen_runtime.schema.migrations import renewed
    from kgen_runtime.schema.repeats import written_out

    read = reader(Manifest)
    assert read is not None
    manifest = read({**json.loads(text), "schema_version": SCHEMA_VERSION})
    assert isinstance(manifest, Manifest)
    kernels = tuple(map(renewed, manifest.kernels))
    programs = tuple(map(written_out, manifest.programs))
    found = (*kernels, *programs)
    if all(map(lambda new, old: new is old, found, (*manifest.kernels, *manifest.programs))):
        return manifest
    return dataclasses.replace(manifest, kernels=kernels, programs=programs)
