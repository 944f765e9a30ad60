"""Check that this kgen supports a kernel's problem: another version may have built it."""

from __future__ import annotations

from kgen import spec, targets
from kgen.errors import BundleError, SpecError, TargetError
from kgen_runtime.manifest import KernelEntry


def check_known(entry: KernelEntry) -> None:
    """Raise BundleError for a problem that is unknown here, or not the kernel's."""
    try:
        problem = spec.from_json(entry.spec)
        targets.family(entry.target.family)
    except (SpecError, TargetError) as error:
        raise BundleError(f"{entry.name}: {error}; use the version of kgen that built it") from None
    if problem.parameters != entry.unpacked.parameters:
        raise BundleError(
            f"{entry.name}: its parameters differ from those of its spec; build it again"
        )
