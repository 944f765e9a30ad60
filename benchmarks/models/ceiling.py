"""Least time of a model on a CPU: its products at peak rate, or one read of its weights, whichever
takes longer."""

from __future__ import annotations

from collections import Counter
from functools import cache

from kgen.check.peers import ceilings
from kgen.spec import Matmul, from_json
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Manifest

#: Most bytes of weights that are read to measure the rate.
MOST_READ = 2**28

read_rate = cache(ceilings.read_rate)


@cache
def peak_rate(dtype: DType) -> float:
    """Return the flops per second of one core, by the type's own instruction or in f32, the faster
    one: a CPU's instructions for narrow types may be slow."""
    own = ceilings.peak_rate(dtype)
    return own if dtype.itemsize >= DType.F32.itemsize else max(own, peak_rate(DType.F32))


def least_seconds(manifest: Manifest, threads: int) -> float:
    """Return the least seconds of a bundle's program. More threads do not read memory faster."""
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
