"""Winograd's minimal filtering for 3x3 kernels: the transforms, and transformed weights.

A tile of m x m outputs is A^T [(G g G^T) * (B^T d B)] A. Here g is the kernel, d the (m + 2) x (m +
2) inputs of the tile, and * the element-wise product (A. Lavin and S. Gray, "Fast Algorithms for
Convolutional Neural Networks", 2015, arXiv:1509.09308, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from kgen_runtime.values import frozen

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Rows of a matrix.
Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]
#: Size of the kernels along each axis.
KERNEL = 3


class ConvMath(StrEnum):
    """Arithmetic of a convolution of f32; `winograd` stands for `winograd4`."""

    EXACT = "exact"  # each product of the definition is computed
    WINOGRAD2 = "winograd2"  # F(2x2, 3x3): 4 products per output and channel instead of 9
    WINOGRAD4 = "winograd4"  # F(4x4, 3x3): 2.25 products per output and channel instead of 9

    @classmethod
    def _missing_(cls, value: object) -> ConvMath | None:
        return cls.WINOGRAD4 if value == "winograd" else None

    @property
    def transforms(self) -> Transforms | None:
        """Transforms of the tiles; None for exact arithmetic."""
        return TRANSFORMS.get(self)


@frozen
class Transforms:
    """Matrices of F(m x m, 3 x 3): `inputs` is B^T, `weights` is G, `outputs` is A^T."""

    inputs: Rows
    weights: Rows
    outputs: Rows

    @property
    def tile(self) -> int:
        """Outputs of a tile along each axis."""
        return len(self.outputs)

    @property
    def size(self) -> int:
        """Inputs of a tile along each axis."""
        return len(self.inputs)

    @property
    def positions(self) -> int:
        """Elements of a transformed tile: products per tile, channel and output."""
        return self.size**2


def _rows(*texts: str) -> Rows:
    return tuple(tuple(map(Fraction, text.split())) for text in texts)


TRANSFORMS: Mapping[ConvMath, Transforms] = {
    ConvMath.WINOGRAD2: Transforms(
        inputs=_rows("1 0 -1 0", "0 1 1 0", "0 -1 1 0", "0 1 0 -1"),
        weights=_rows("1 0 0", "1/2 1/2 1/2", "1/2 -1/2 1/2", "0 0 1"),
        outputs=_rows("1 1 1 0", "0 1 -1 -1"),
    ),
    ConvMath.WINOGRAD4: Transforms(
        inputs=_rows(
            "4 0 -5 0 1 0",
            "0 -4 -4 1 1 0",
            "0 4 -4 -1 1 0",
            "0 -2 -1 2 1 0",
            "0 2 -1 -2 1 0",
            "0 4 0 -5 0 1",
        ),
        weights=_rows(
            "1/4 0 0", "-1/6 -1/6 -1/6", "-1/6 1/6 -1/6", "1/24 1/12 1/6", "1/24 -1/12 1/6", "0 0 1"
        ),
        outputs=_rows("1 1 1 1 1 0", "0 1 -1 2 -2 0", "0 1 1 4 4 0", "0 1 -1 8 -8 1"),
    ),
}


def transformed(weights: npt.NDArray[Any], transforms: Transforms) -> npt.NDArray[np.float32]:
    """Return G g G^T for weights in the order hwio, computed in f64 and rounded once to f32.

    The result has one row for each position and channel, and one column for each output channel.
    """
    import numpy as np  # specs are read without numpy

    g = np.array([[float(x) for x in row] for row in transforms.weights])
    found = np.einsum("ik,jl,klco->ijco", g, g, weights.astype(np.float64), optimize=True)
    return np.asarray(found.reshape(-1, weights.shape[-1]), np.float32)
