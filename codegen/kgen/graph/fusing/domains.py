"""Iteration domain of a formula: merge its axes as far as the layouts of its operands allow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kgen.graph.fusing.formulas import Leaf
from kgen.graph.layout import StridedLayout
from kgen.graph.reading.model import Shape


def own_sizes(layout: StridedLayout) -> Shape:
    """Return the sizes of the axes along which a layout moves, and 1 for broadcast axes."""
    return tuple(n if s else 1 for n, s in zip(layout.shape, layout.strides, strict=True))


def are_near(
    layouts: Iterable[StridedLayout], domain: Shape, axes: tuple[int, ...], reduced: bool
) -> bool:
    """Whether all tensors are contiguous, or constant, along the innermost row axis or column axis.

    `axes` are the reduced axes. The output counts unless the kernel reduces.
    """
    kept = tuple(axis for axis in range(len(domain)) if axis not in axes)
    strides = [layout.strides for layout in layouts]
    if not reduced:
        strides.append(tuple(math.prod(domain[axis + 1 :]) for axis in range(len(domain))))
    return any(
        all(steps[along[-1]] in (0, 1) for steps in strides) for along in (axes, kept) if along
    )


def coalesced(
    domain: Shape, leaves: Mapping[str, Leaf], axes: tuple[int, ...] = ()
) -> tuple[Shape, dict[str, StridedLayout], tuple[int, ...]]:
    """Merge axes of a domain that every operand walks with one stride, and drop axes of size 1.

    Returns the merged domain, the operands' layouts in it, and the reduced axes. Models that differ
    only in leading axes then share kernels.
    """
    layouts = {name: leaf.layout.expanded(domain) for name, leaf in leaves.items()}
    groups: list[list[int]] = []
    for axis, n in enumerate(domain):
        if n == 1:
            continue
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and (last in axes) == (axis in axes)
            and all(layout.strides[last] == layout.strides[axis] * n for layout in layouts.values())
        ):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    reduced = [number for number, group in enumerate(groups) if group[0] in axes]
    shape = tuple(math.prod(domain[axis] for axis in group) for group in groups)
    found = {
        name: StridedLayout(
            shape=shape,
            strides=tuple(layout.strides[group[-1]] for group in groups),
            offset=layout.offset,
        )
        for name, layout in layouts.items()
    }
    if not shape or (axes and not reduced):
        # Rows of one element each.
        shape = (*shape, 1)
        reduced = [len(shape) - 1] if axes else []
        found = {
            name: StridedLayout(shape=shape, strides=(*layout.strides, 0), offset=layout.offset)
            for name, layout in found.items()
        }
    return shape, found, tuple(reduced)
