"""Prepacked B: an order that all kernels of a target agree on, whatever M is.

Panels are one vector wide, so that register tiles of any width read whole panels, each as a stream
of its own; and a kernel for one row and one for a thousand take the same packed weights.
"""

from __future__ import annotations

import dataclasses

from kgen.spec import ConstantOperand, Matmul
from kgen_runtime.manifest import Packing, TensorParam
from kgen_runtime.memory.strides import packed_strides


def b_is_packed(spec: Matmul) -> bool:
    """B comes packed, in panels, whatever the kernel is; of blocks only some kernels do."""
    return ConstantOperand.B in spec.constant and not spec.has_blocks


def packed_b(
    spec: Matmul, *, width: int, depth: int, k_unit: int, n_unit: int, runs: tuple[int, ...] = ()
) -> TensorParam:
    """B in panels of `width` columns and runs of `depth` k (bytes of blocks), which `runs` cut up;
    K and N rounded up to their units."""
    b = spec.parameter("b")
    k = spec.b_shape[1] if spec.has_blocks else spec.k
    panels = -(-spec.n // n_unit) * n_unit // width
    steps = -(-k // k_unit) * k_unit // depth
    shape = (*b.shape[:-2], panels, steps, width, depth)
    return dataclasses.replace(
        b,
        shape=shape,
        strides=packed_strides(shape),
        packing=Packing(
            shape=b.shape,
            strides=b.strides,
            transposed=spec.layout.b_transposed,
            width=width,
            depth=depth,
            runs=runs,
        ),
    )
