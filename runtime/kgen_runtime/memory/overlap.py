"""Whether two strided tensors share an element; nothing is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen_runtime.array import lent_array
from kgen_runtime.manifest import TensorParam

#: Steps that numpy may spend on one question; then the answer is yes. A bundle may ask many.
WORK = 1_000
#: Added to offsets: an array has no address 0.
BASE = 1 << 12


def share_an_element(start: int, param: TensorParam, other_start: int, other: TensorParam) -> bool:
    """Return whether two tensors that start at these bytes of one memory share an element."""
    try:
        # The stubs know only the two named values of max_work; any count of steps is allowed.
        work: Any = WORK
        one, two = _ghost(start, param), _ghost(other_start, other)
        return np.shares_memory(one, two, max_work=work)
    except (np.exceptions.TooHardError, ValueError):  # more elements than numpy counts
        return True


def _ghost(start: int, param: TensorParam) -> np.ndarray[Any, Any]:
    """An array of this place and layout, to be reasoned about and never read."""
    strides = tuple(s * param.dtype.itemsize for s in param.strides)
    return lent_array(BASE + start, param.dtype, param.shape, strides)
