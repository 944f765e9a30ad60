"""extractelement, insertelement and shufflevector (LangRef "Vector Operations").

The last axis of a value holds the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.frontend.module import Constant, LlvmInstruction, Operand, immediate
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.types import Array


def _poison(dtype: np.dtype[Any]) -> Array:
    """Return poison, the result of an index out of range: all ones, which is NaN in a float."""
    if dtype == np.bool_:
        return np.ones((1, 1), np.bool_)
    return np.full((1, 1), -1, f"i{dtype.itemsize}").view(dtype)


def _fixed(index: Operand) -> int | None:
    if isinstance(index, Constant):
        return immediate(index)
    return None


def _extract(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    at, count = _fixed(ins.operands[1]), ins.operands[0].type.lanes
    if at is not None and at < count:
        return lambda vector, _: np.ascontiguousarray(vector[..., at])

    def extract(vector: Array, index: Array) -> Array:
        shape = np.broadcast_shapes(vector.shape[:2], index.shape)
        whole = np.broadcast_to(vector, (*shape, count))
        inside = index < count
        chosen = np.broadcast_to(np.where(inside, index, 0), shape)[..., None].astype(np.int64)
        element = np.take_along_axis(whole, chosen, axis=2)[..., 0]
        return np.where(inside, element, _poison(vector.dtype))

    return extract


def _insert(ins: LlvmInstruction) -> Callable[[Array, Array, Array], Array]:
    at, count = _fixed(ins.operands[2]), ins.type.lanes
    if at is not None and at < count:

        def insert_at(vector: Array, value: Array, _: Array) -> Array:
            result = _writable(vector, value.shape)
            result[..., at] = value
            return result

        return insert_at

    def insert(vector: Array, value: Array, index: Array) -> Array:
        shape = np.broadcast_shapes(value.shape, index.shape)
        here = index[..., None] == np.arange(count, dtype=index.dtype)
        result = np.where(here, value[..., None], _writable(vector, shape))
        return np.where(index[..., None] < count, result, _poison(vector.dtype)[..., None])

    return insert


def _writable(vector: Array, shape: tuple[int, ...]) -> Array:
    """Return a writable copy of the vector, broadcast to at least ``shape``."""
    if vector.shape[:2] == shape:
        return vector.copy()
    shape = np.broadcast_shapes(vector.shape[:2], shape)
    result = np.empty((*shape, vector.shape[2]), vector.dtype)
    result[...] = vector
    return result


def _shuffle(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """Build shufflevector; a poison index in the mask (-1) selects element 0."""
    count = ins.operands[0].type.lanes
    mask = [max(index, 0) for index in ins.indices]
    start, length = mask[0], len(mask)
    if len(set(mask)) == 1:
        return lambda a, b: _element(a, b, start, count).repeat(length, axis=2)
    if mask == list(range(start, start + length)) and not start < count < start + length:
        if start < count:
            return lambda a, b: a[..., start : start + length]
        return lambda a, b: b[..., start - count : start - count + length]
    if max(mask) < count:
        return lambda a, b: a[..., mask]

    def shuffle(a: Array, b: Array) -> Array:
        if a.shape[:2] != b.shape[:2]:
            shape = np.broadcast_shapes(a.shape[:2], b.shape[:2])
            a, b = (np.broadcast_to(x, (*shape, x.shape[2])) for x in (a, b))
        return np.concatenate((a, b), axis=2)[..., mask]

    return shuffle


def _element(a: Array, b: Array, index: int, count: int) -> Array:
    """Return element ``index`` of two concatenated vectors of ``count``, keeping its axis."""
    if index < count:
        return a[..., index : index + 1]
    return b[..., index - count : index - count + 1]


PURE: dict[str, Build] = {
    "extractelement": _extract,
    "insertelement": _insert,
    "shufflevector": _shuffle,
}
