"""Reading bundles with a check of the kernels' specs, for commands that compute from specs."""

from __future__ import annotations

from kgen_runtime.bundle import BundleFile, Source
from kgen_runtime.schema.spec_tensors import check_spec


class SpecifiedBundle(BundleFile):
    """Open bundle. Raises BundleError if a kernel's spec contradicts its manifest entry."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        for kernel in self.manifest.kernels:
            check_spec(kernel)
