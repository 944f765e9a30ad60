"""The least time that a CPU allows a model: its products at the peak of what multiplies their type,
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

read_rate = cache(ceilings.read_rate)


@cache
def peak_rate(dtype: DType) -> float:
    """Flops per second of one core, by the type's own instruction or widened to f32, whichever is
    faster: a CPU may have a slow one for narrow types."""
    own = ceilings.peak_rate(dtype)
    return own if dtype.itemsize >= DType.F32.itemsize else max(own, peak_rate(DType.F32))


def least_seconds(manifest: Manifest, threads: int) -> float:
    """Return the least seconds of a bundle's program; several threads read memory no faster."""
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
