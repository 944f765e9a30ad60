"""The domain that a formula is computed in, with as few axes as its leaves' layouts allow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kgen.graph.fusing.formulas import Leaf
from kgen.graph.layout import StridedLayout
from kgen.graph.reading.model import Shape


def own_sizes(layout: StridedLayout) -> Shape:
    """The sizes of what a layout has elements for: 1 where one serves all."""
    return tuple(n if s else 1 for n, s in zip(layout.shape, layout.strides, strict=True))


def are_near(
    layouts: Iterable[StridedLayout], domain: Shape, axes: tuple[int, ...], reduced: bool
) -> bool:
    """Whether neighbouring columns, or neighbouring rows, are next to one another in all inputs and
    the output, as far as they are not one element."""
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
    """The domain with axes made one where all leaves walk them as one, and without those of one
    element; the leaves' layouts in it, and the row-wise axes. So kernels of models that differ in
    leading axes only are one."""
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
