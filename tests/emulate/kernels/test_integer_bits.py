"""Bitwise operations and shifts of integers, in emulated kernels of three families."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.runners import EmulatorExecutor
from kgen.spec import DType
from tests import integer_bits

FORMS = {"x86-64-v3": "llvm-ir", "sm_80": "ptx", "gfx942": "llvm-ir", "gfx1100": "llvm-ir"}


@pytest.mark.parametrize("dtype", integer_bits.DTYPES)
@pytest.mark.parametrize("name", FORMS)
def test_bits_and_shifts(name: str, dtype: DType) -> None:
    x, y = integer_bits.pairs(dtype)
    for function in integer_bits.FUNCTIONS:
        spec = integer_bits.spec_of(dtype, function, len(x))
        kernel = pipeline.kernel(spec, targets.find(name))
        (entry,) = bundle.pack([kernel]).manifest.kernels
        found = np.zeros_like(x)
        buffers = {n: array.view(np.uint8) for n, array in (("x", x), ("y", y), ("out", found))}
        EmulatorExecutor(entry, FORMS[name], kernel.source.text).run(buffers, None)
        integer_bits.check(x, y, function, found)
