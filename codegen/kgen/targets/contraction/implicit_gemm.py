"""Implicit GEMM: a convolution as a matrix product whose operand A is the images.

Matmul plans accept it as a product. They read A through its access map, so that no window of the
images is ever stored.
"""

from __future__ import annotations

import dataclasses
import math

from kgen.spec import Conv2d, Matmul, Spec
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


def implicit_gemm(spec: Conv2d) -> ImplicitGemm:
    product = spec.product
    fields = {f.name: getattr(product, f.name) for f in dataclasses.fields(product)}
    return ImplicitGemm(operation=spec, **fields)


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
