"""Overlap check: whether two strided tensors share an element. No memory is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen_runtime.array import lent_array
from kgen_runtime.manifest import TensorParam

#: Steps that numpy may spend on one check before the answer is yes. A bundle may need many checks.
WORK = 1_000
#: Offset added to addresses, because an array cannot have address 0.
BASE = 1 << 12


def share_an_element(start: int, param: TensorParam, other_start: int, other: TensorParam) -> bool:
    """Return whether two tensors, which start at these byte addresses, may share an element."""
    try:
        # numpy's type stubs allow only the two named values of max_work, but any number of steps is
        # valid.
        work: Any = WORK
        one, two = _ghost(start, param), _ghost(other_start, other)
        return np.shares_memory(one, two, max_work=work)
    # ValueError: more elements than numpy can count.
    except (np.exceptions.TooHardError, ValueError):
        return True


def _ghost(start: int, param: TensorParam) -> np.ndarray[Any, Any]:
    """Return an array with this address and layout whose elements must not be accessed."""
    strides = tuple(s * param.dtype.itemsize for s in param.strides)
    return lent_array(BASE + start, param.dtype, param.shape, strides)
