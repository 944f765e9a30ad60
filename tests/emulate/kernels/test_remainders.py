"""Remainders and rounded quotients of floats, in emulated kernels of three families."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.runners import EmulatorExecutor
from kgen.spec import DType, Elementwise
from tests import remainders

FORMS = {
    "x86-64-v3": "llvm-ir",
    "x86-64": "llvm-ir",
    "sm_80": "ptx",
    "gfx942": "llvm-ir",
    "gfx1100": "llvm-ir",
}


@pytest.mark.parametrize("name", FORMS)
def test_remainders_are_exact(name: str) -> None:
    x, y = remainders.pairs(np.float32)
    spec = Elementwise(expression=remainders.EXPRESSION, shapes=(x.shape,) * 2, dtype=DType.F32)
    kernel = pipeline.kernel(spec, targets.find(name))
    (entry,) = bundle.pack([kernel]).manifest.kernels
    buffers = {"x": x.view(np.uint8), "y": y.view(np.uint8)}
    found = {out: np.zeros_like(x) for out in ("cut", "down", "out")}
    buffers |= {out: array.view(np.uint8) for out, array in found.items()}
    EmulatorExecutor(entry, FORMS[name], kernel.source.text).run(buffers, None)
    remainders.check(x, y, found)
