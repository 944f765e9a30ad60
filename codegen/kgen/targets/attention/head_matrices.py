"""Attention's tensors as batched matrices: one matrix per head, with the strides of the tensor."""

from __future__ import annotations

import math

from kgen.spec import Attention, Matmul
from kgen.targets.batch import BATCH, BatchTerm, batch_coordinates
from kgen.targets.contraction.access import AccessMap, Axis, Digit


def output_matrix(spec: Attention) -> Matmul:
    """Return a batched matmul whose output has the shape and strides of `out`."""
    b, h, row = spec.strides("out")
    sizes = tuple(dims(spec).values())
    strides = tuple(by_dim(spec, b, h)[name] for name in dims(spec))
    return Matmul(
        m=spec.queries,
        n=spec.out_head,
        k=1,
        dtype=spec.out,
        ldc=row if spec.queries > 1 else max(row, spec.out_head),
        batch=math.prod(sizes),
        batch_dims=sizes if len(sizes) > 1 else None,
        batch_stride_c=strides if len(sizes) > 1 else next(iter(strides), None),
    )


def dims(spec: Attention) -> dict[str, int]:
    """Return the sizes of the batch dimensions above 1, by name."""
    sizes = {"batch": spec.batch, "kv_head": spec.kv_heads, "in_group": spec.group}
    return {name: size for name, size in sizes.items() if size > 1}


def by_dim(spec: Attention, batch: int, head: int) -> dict[str, int]:
    """Return the strides in elements along the batch dimensions of a tensor with all query heads.

    `batch` is the stride from one batch element to the next, `head` from one head to the next.
    """
    return {"batch": batch, "kv_head": head * spec.group, "in_group": head}


def coordinates(output: Matmul) -> list[str]:
    """Return the registers that hold the batch coordinates."""
    return [c.name for c in batch_coordinates(output)] or [BATCH]


def terms(spec: Attention, output: Matmul, strides: dict[str, int]) -> tuple[BatchTerm, ...]:
    """Return the terms that batch coordinates add to an address."""
    named = zip(coordinates(output), dims(spec), strict=False)
    return tuple(
        BatchTerm(name=name, stride=stride) for name, dim in named if (stride := strides[dim])
    )


def head_access(spec: Attention, output: Matmul, name: str) -> AccessMap:
    """Return the access to tensor `name`: "q", "k" or "v".

    Axis k of Q runs along the elements of a head; axis k of K and V runs along the keys.
    """
    b, h, row = spec.strides(name)
    is_q = name == "q"
    strides = by_dim(spec, b, h) if is_q else {"batch": b, "kv_head": h, "in_group": 0}
    outer = Digit(extent=spec.queries if is_q else spec.keys, stride=row)
    inner = Digit(extent=spec.out_head if name == "v" else spec.head, stride=1)
    axis: Axis = "k" if is_q else "row"
    access = AccessMap(
        name=name,
        dtype=spec.dtype,
        row=(outer if is_q else inner,),
        k=(inner if is_q else outer,),
        inner=axis,
        batch=terms(spec, output, strides),
    )
    return access.without_idle_strides
