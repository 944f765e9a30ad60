"""Inputs of Winograd convolutions: transformed weights, and whole numbers with exact transforms.

A transformed kernel is whole if each of its rows and columns, multiplied by the transform's matrix,
is. Products of two such vectors are kernels of this kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from kgen.check.oracle.transformed_sums import matrices
from kgen.check.tensors import Floats
from kgen.spec.winograd import KERNEL, ConvMath, Transforms, transformed
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.values import frozen

Maker = Callable[[np.random.Generator, TensorParam], Floats]

#: Largest weight of a whole vector: below 6, F(4x4) has no such vector besides 0.
LIMIT = 6


@frozen
class WholeVectors:
    """Vectors of `KERNEL` whole numbers whose transforms are whole. A channel adds at most `most`
    to the magnitude of an output if images are at most 1."""

    vectors: Floats
    most: float


@cache
def whole_vectors(transforms: Transforms) -> WholeVectors:
    g = np.array([[float(x) for x in row] for row in transforms.weights])
    every = np.array([*itertools.product(range(-LIMIT, LIMIT + 1), repeat=KERNEL)], np.float64)
    is_whole = (np.abs(every @ g.T - np.rint(every @ g.T)) < 1 / 1000).all(axis=1)
    outputs, inputs = matrices(transforms.tile)
    largest = (np.abs(every[is_whole] @ g.T) * inputs.sum(axis=1)) @ outputs.T
    return WholeVectors(vectors=every[is_whole], most=float(largest.max() ** 2))


def maker(entry: KernelEntry, make: Maker, *, whole: bool) -> Maker:
    """Return `make` with transformed weights. `whole` numbers are so small that all partial sums
    are exact; beyond some number of channels, some channels have no weights."""
    transforms = ConvMath(entry.spec["math"]).transforms
    assert transforms
    outputs, depth, *kernel = entry.spec["weights"]
    found = whole_vectors(transforms)
    room = 1 / (entry.tolerance.accumulate.unit_roundoff * found.most)

    def made(generator: np.random.Generator, param: TensorParam) -> Floats:
        if whole and param.name == "a":
            limit = max(int(room / depth), 1)
            return np.clip(make(generator, param), -limit, limit).astype(np.float32)
        if param.name != "b":
            return make(generator, param)
        shape = (*kernel, depth, outputs)
        if whole:
            chosen = generator.integers(0, len(found.vectors), (2, depth, outputs))
            down, across = found.vectors[chosen]
            kernels = np.einsum("coi,coj->ijco", down, across)
            kernels *= generator.random((depth, 1)) < room / depth
            return np.rint(transformed(kernels, transforms))
        kernels = make(generator, replace(param, shape=shape, strides=packed_strides(shape)))
        return transformed(kernels, transforms)

    return made
