"""Strides of batched matrices."""

from __future__ import annotations

from kgen.spec.shapes import packed

#: Sizes or strides of a batch's dimensions, outermost first.
Dims = tuple[int, ...]


def packed_batch(sizes: Dims, matrix: int) -> Dims:
    """Return the strides of a packed batch of matrices with `matrix` elements each."""
    return tuple(matrix * step for step in packed(sizes))


def are_disjoint(sizes: Dims, strides: Dims) -> bool:
    """Whether no two coordinates address one element.

    Each stride must exceed the distance that all smaller ones reach.
    """
    reach = 0
    for stride, size in sorted((s, n) for s, n in zip(strides, sizes, strict=True) if n > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True


def with_batch(
    shape: tuple[int, int], strides: tuple[int, int], batch: Dims, batch_strides: Dims
) -> tuple[Dims, Dims]:
    """Return the shape and strides of a tensor of matrices, with its batch dimensions in front.

    Batch dimensions of stride 0 have size 1 in the shape, or are left out if no other one precedes
    them. A batch of one has no dimensions.
    """
    if batch == (1,):
        return shape, strides
    walked = [*zip(batch, batch_strides, strict=True)]
    while walked and not walked[0][1]:
        walked.pop(0)
    sizes: Dims = shape
    steps: Dims = strides
    for n, stride in reversed(walked):
        behind = sizes[0] * steps[0]
        sizes = (n if stride else 1, *sizes)
        steps = (stride or behind, *steps)
    return sizes, steps
