"""Agreement of the oracle with the scalar reference."""

from __future__ import annotations

import itertools
import math

from kgen.check.oracle import operations as oracle
from kgen.check.verify import cost, inputs
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.reference.elements import elements


def agree(entry: KernelEntry, *, rel: float = 1e-12) -> None:
    """Check the oracle against the scalar reference on every element of every data set."""
    shape = oracle.output_shape(entry)
    for data in inputs.data_sets(entry, seed=1):
        element = elements(entry.spec, data.buffers)
        for box in cost.panels(entry, tuple(slice(0, n) for n in shape)):
            found = oracle.estimate(entry, data.buffers, box, data.whole)
            for at in itertools.product(*(range(s.start, s.stop) for s in box)):
                inside = tuple(i - s.start for i, s in zip(at, box, strict=True))
                got, want = float(found.value[inside]), element(at)
                same = math.isclose(got, want, rel_tol=rel, abs_tol=1e-13)
                assert same or (math.isnan(got) and math.isnan(want)), (data.name, at, got, want)
