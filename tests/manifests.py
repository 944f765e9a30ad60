"""Manifests of tests, read as those of bundles."""

from __future__ import annotations

import json
from typing import Any

from kgen_runtime.manifest import Manifest
from kgen_runtime.schema import manifest_json


def from_json(data: Any) -> Manifest:
    """Return the manifest of this JSON. Raises BundleError for JSON that readers of bundles
    refuse."""
    text = json.dumps(data).encode()
    manifest_json.check(text)
    return manifest_json.from_text(text)
