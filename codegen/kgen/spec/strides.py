"""Strides of batched matrices: those without gaps, and what others reach."""

from __future__ import annotations

from kgen.spec.shapes import packed

#: Numbers of a batch's dimensions, outermost first.
Dims = tuple[int, ...]


def packed_batch(sizes: Dims, matrix: int) -> Dims:
    """Strides of a batch of matrices that follow each other, of so many elements each."""
    return tuple(matrix * step for step in packed(sizes))


def are_disjoint(sizes: Dims, strides: Dims) -> bool:
    """Whether no two coordinates are one element: each stride steps over all that smaller ones
    reach."""
    reach = 0
    for stride, size in sorted((s, n) for s, n in zip(strides, sizes, strict=True) if n > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True


def with_batch(
    shape: tuple[int, int], strides: tuple[int, int], batch: Dims, batch_strides: Dims
) -> tuple[Dims, Dims]:
    """Shape and strides of a tensor of matrices. Dimensions of the batch that share a matrix are of
    size 1; of those in front there are none, nor any of a batch of one."""
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
