"""The least time that a CPU allows a model: its products at the peak of their type's instruction,
or its weights read once, whichever is longer."""

from __future__ import annotations

from collections import Counter
from functools import cache

from kgen.check.peers import ceilings
from kgen.spec import Matmul, from_json
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Manifest

#: Of weights, no more is read to measure how fast they are.
MOST_READ = 2**28

peak_rate = cache(ceilings.peak_rate)
read_rate = cache(ceilings.read_rate)


def least_seconds(manifest: Manifest, threads: int) -> float:
    """Of a bundle's one program, in so many threads; memory is read no faster by several."""
    (program,) = manifest.programs
    specs = {kernel.key: from_json(kernel.spec) for kernel in manifest.kernels}
    work: Counter[DType] = Counter()
    for step in program.steps:
        spec = specs[step.kernel]
        if isinstance(spec, Matmul):
            work[spec.dtype] += spec.flops
    arithmetic = sum(flops / peak_rate(dtype) for dtype, flops in work.items()) / threads
    weights = sum({weight.file: weight.nbytes for weight in program.weights}.values())
    return max(arithmetic, weights / read_rate(min(weights, MOST_READ)))
