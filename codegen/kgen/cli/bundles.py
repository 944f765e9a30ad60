"""Lookup of a kernel in a bundle by name, for all commands that read bundles."""

from __future__ import annotations

from kgen.errors import BundleError
from kgen_runtime.manifest import KernelEntry, Manifest


def find_kernel(manifest: Manifest, name: str) -> KernelEntry:
    """Return the kernel called `name`: target/key, or a target or key alone if it is unique.

    Raises BundleError if none or several match.
    """
    found = [k for k in manifest.kernels if name in (k.name, k.key, k.target.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(k.name for k in found or manifest.kernels)
    if found:
        raise BundleError(f"kernel={name} matches several kernels; choose one of {names}")
    raise BundleError(f"kernel={name} is not in the bundle; it has {names}")
