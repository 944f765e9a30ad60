"""Implicit GEMM: a convolution as a matrix product whose operand A is the images.

Matmul plans accept it as a product. They read A through its access map, so that no window of the
images is ever stored.
"""

from __future__ import annotations

import dataclasses
import math
from functools import lru_cache

from kgen.spec import Conv2d, Layout, Matmul, Spec
from kgen.targets.batch import BATCH, BatchTerm
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen


@frozen
class ImplicitGemm(Matmul):
    """Product that computes the convolution `operation`, with its tensors and its name."""

    operation: Conv2d

    @property
    def key(self) -> str:
        return self.operation.key

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        return self.operation.parameters

    @property
    def formula(self) -> str:
        return self.operation.formula


@lru_cache(maxsize=1024)
def implicit_gemm(spec: Conv2d) -> ImplicitGemm:
    """Return the product of windows and weights; of a Winograd convolution, that of transformed
    tiles and weights in one position."""
    product = spec.product
    fields = {f.name: getattr(product, f.name) for f in dataclasses.fields(product)}
    if spec.transforms:
        tiles = spec.images * math.prod(-(-n // spec.transforms.tile) for n in spec.out_sizes)
        fields |= {"m": tiles, "k": spec.channels, "lda": spec.channels, "layout": Layout.NN}
        fields |= {"ldb": spec.outputs, "batch_stride_b": None}
    return ImplicitGemm(operation=spec, **fields)


def of_all_positions(spec: Matmul) -> Matmul:
    """Return the product with the channels of each position of a Winograd convolution as its K;
    other products as they are."""
    if not isinstance(spec, ImplicitGemm) or spec.operation.transforms is None:
        return spec
    k = positions_of(spec) * spec.operation.channels
    return dataclasses.replace(spec, k=k, lda=k)


def positions_of(spec: Matmul) -> int:
    """Return the positions of a Winograd convolution's transform; 1 for other products."""
    transforms = spec.operation.transforms if isinstance(spec, ImplicitGemm) else None
    return transforms.positions if transforms else 1


def planned_as(spec: Spec) -> Spec:
    """Return the spec that GPU families plan for an operation: an implicit GEMM for a convolution,
    else the spec itself."""
    return implicit_gemm(spec) if isinstance(spec, Conv2d) else spec


def column_terms(spec: Matmul, itemsize: int) -> tuple[BatchTerm, ...]:
    """Return the batch terms of a vector along n. The products of a batch share the vector; the
    groups of a convolution have columns of their own."""
    if not isinstance(spec, ImplicitGemm) or spec.batch == 1:
        return ()
    return (BatchTerm(name=BATCH, stride=spec.n * itemsize),)


def is_matrix(conv: Conv2d) -> bool:
    """Return whether the images are a matrix (one per group): windows are single pixels, one after
    the other, without padding."""
    alone = math.prod(conv.kernel) == 1
    return alone and set(conv.strides) == {1} and not any(map(sum, conv.pads))


def are_windows(spec: Matmul) -> bool:
    """Return whether A is the windows of a convolution, and no matrix."""
    return isinstance(spec, ImplicitGemm) and not is_matrix(spec.operation)
