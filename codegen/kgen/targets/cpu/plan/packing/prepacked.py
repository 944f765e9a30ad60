"""Prepacked B: an order that all kernels of a target share, for any M.

Panels are one vector wide, so that register tiles of any width read whole panels, each as a stream.
A kernel for one row and one for a thousand take the same packed weights.
"""

from __future__ import annotations

import dataclasses

from kgen.spec import ConstantOperand, Matmul
from kgen_runtime.manifest import Packing, TensorParam
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.values import frozen


def b_is_packed(spec: Matmul) -> bool:
    """Return whether B is prepacked in panels that all kernels read; B in blocks is not."""
    return ConstantOperand.B in spec.constant and not spec.has_blocks


@frozen
class PanelFormat:
    """Panels of `width` columns and runs of `depth` k (bytes of blocks), which `runs` cut up.

    K and N are rounded up to multiples of `k_unit` and of `n_unit` (0: `width`).
    """

    width: int
    depth: int = 1
    k_unit: int = 1
    n_unit: int = 0
    runs: tuple[int, ...] = ()

    def of(self, spec: Matmul) -> TensorParam:
        """Return B in this format."""
        b = spec.parameter("b")
        k = spec.b_shape[1] if spec.has_blocks else spec.k
        n_unit = self.n_unit or self.width
        panels = -(-spec.n // n_unit) * n_unit // self.width
        steps = -(-k // self.k_unit) * self.k_unit // self.depth
        shape = (*b.shape[:-2], panels, steps, self.width, self.depth)
        return dataclasses.replace(
            b,
            shape=shape,
            strides=packed_strides(shape),
            packing=Packing(
                shape=b.shape,
                strides=b.strides,
                transposed=spec.layout.b_transposed,
                width=self.width,
                depth=self.depth,
                runs=self.runs,
            ),
        )
