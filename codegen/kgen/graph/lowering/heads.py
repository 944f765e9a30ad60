"""Axes of attention's tensors: which of a model's axes are sequences, heads and shared heads."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from kgen.graph.fusing.domains import own_sizes
from kgen.graph.fusing.formulas import Leaf
from kgen.graph.ir import GraphValue
from kgen.graph.layout import StridedLayout
from kgen.graph.reading.model import Shape
from kgen.ops.expression import Expression, inputs
from kgen.spec import Attention
from kgen.spec.shapes import packed
from kgen_runtime.values import frozen


@frozen
class Mask:
    """Mask of attention: a formula of leaves.

    `shape` is the shape of the leaves' layouts: for each axis of the scores, its size or 1. `sizes`
    is the same shape as batch, heads, queries and keys.
    """

    formula: Expression
    leaves: Mapping[str, Leaf]
    shape: Shape
    sizes: Shape

    def by_batch(self, heads: Heads) -> Mask | None:
        """Return a mask with one element per batch element; None if it depends on other axes."""
        if max(self.sizes[1:]) > 1:
            return None
        shape = tuple(n if axis < heads.outer else 1 for axis, n in enumerate(heads.frame.shape))
        leaves = {
            name: dataclasses.replace(leaf, layout=dataclasses.replace(leaf.layout, shape=shape))
            for name, leaf in self.leaves.items()
        }
        sizes = (math.prod(shape), 1, 1, 1)
        return Mask(formula=self.formula, leaves=leaves, shape=shape, sizes=sizes)


@frozen
class ScoreAxes:
    """Axes of the scores: axes of the batch, queries, keys.

    The batch has several axes if the model reshapes the scores: each of the model's shapes can be
    made from these axes by merging neighbours.
    """

    batch: Shape
    queries: int
    keys: int
    #: Whether the first axis seems to be the batch of sequences, as judged by the shapes.
    has_batch: bool

    @classmethod
    def of(
        cls, first: GraphValue, second: GraphValue, between: Sequence[Shape]
    ) -> ScoreAxes | None:
        """Return the axes that fit both products and the formulas between them.

        Return None if their shapes do not agree.
        """
        queries = first.shape[-2]
        cuts: set[int] = {queries}
        shapes = (first.shape, second.shape, *between)
        for shape in shapes:
            behind = [math.prod(shape[axis:-1]) for axis in range(len(shape) - 1)]
            cuts.update(cut for cut in behind if cut % queries == 0)
        ordered = sorted(cuts)
        whole = {math.prod(shape[:-1]) for shape in shapes}
        if second.shape[-2] != queries or whole != {ordered[-1]}:
            return None
        if any(b % a for a, b in pairwise(ordered)):
            return None
        batch = tuple(b // a for a, b in pairwise(ordered))[::-1]
        has_batch = max(shapes, key=len)[0] > 1 < len(batch)
        return cls(batch=batch, queries=queries, keys=first.shape[-1], has_batch=has_batch)

    @property
    def shape(self) -> Shape:
        return (*self.batch, self.queries, self.keys)

    def leaf(self, leaf: Leaf, shape: Shape) -> Leaf | None:
        """Return a leaf with the axes of the scores; its formula has the shape `shape`."""
        layout = leaf.layout.expanded(shape).reshaped(self.shape)
        return None if layout is None else dataclasses.replace(leaf, layout=layout)


@frozen
class Heads:
    """Meaning of the batch axes of the scores.

    The first `outer` axes are the batch, those up to `inner` are K/V heads, and the rest are heads
    that share a K/V head.
    """

    frame: ScoreAxes
    outer: int
    inner: int

    @classmethod
    def of(cls, frame: ScoreAxes, layouts: Mapping[str, StridedLayout]) -> Heads | None:
        """Return axes for which every tensor has a single stride each; None if there are none."""
        rank = len(frame.batch)
        for outer in sorted(range(rank + 1), key=lambda n: abs(n - frame.has_batch)):
            for inner in range(outer, rank + 1):
                found = cls(frame=frame, outer=outer, inner=inner)
                if all(found.strides(name, each) for name, each in layouts.items()):
                    return found
        return None

    @property
    def batch(self) -> Shape:
        return self.frame.batch

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Batch elements, heads, and K/V heads."""
        return (
            math.prod(self.batch[: self.outer]),
            math.prod(self.batch[self.outer :]),
            math.prod(self.batch[self.outer : self.inner]),
        )

    def strides(self, name: str, layout: StridedLayout) -> Shape | None:
        """Return the strides of batch elements, heads and rows; None if an axis has several."""
        rank, rows = len(self.batch), layout.strides[len(self.batch)]
        stop = self.inner if name in ("k", "v") else rank
        if any(
            s for n, s in zip(self.batch[stop:], layout.strides[stop:rank], strict=True) if n > 1
        ):
            return None
        cut = StridedLayout(shape=self.batch[:stop], strides=layout.strides[:stop])
        sizes = (math.prod(self.batch[: self.outer]), math.prod(self.batch[self.outer : stop]))
        merged = cut.reshaped(sizes)
        return None if merged is None else (*merged.strides, rows)

    def spec(self, layouts: Mapping[str, StridedLayout], **fields: object) -> Attention:
        """Return the spec of the attention, with the model's strides. Raises SpecError."""
        batch, heads, kv_heads = self.sizes
        (queries, size), (keys, out) = (layouts[name].shape[-2:] for name in ("q", "v"))
        sizes = {
            "q": (batch, heads, queries, size), "k": (batch, kv_heads, keys, size),
            "v": (batch, kv_heads, keys, out), "out": (batch, heads, queries, out),
        }  # fmt: skip
        steps = {}
        for name, layout in layouts.items():
            strides = self.strides(name, layout)
            assert strides is not None
            steps[f"{name}_strides"] = _with_steps_of_one(sizes[name], strides)
        return Attention(q=sizes["q"], k=sizes["k"], v=sizes["v"], **steps, **fields)  # type: ignore[arg-type]

    def mask(self, formula: Expression, leaves: Mapping[str, Leaf]) -> Mask:
        """Return a formula of leaves as a mask, of size 1 along axes on which it does not depend.

        All axes of the batch count as one axis, and so do all axes of heads.
        """
        used = {name: leaves[name] for name in inputs(formula)}
        every = (own_sizes(leaf.layout) for leaf in used.values())
        own = [max(sizes) for sizes in zip(*every, strict=True)]
        rank = len(self.batch)
        groups = [range(self.outer), range(self.outer, rank), [rank], [rank + 1]]
        for group in groups:
            if any(own[axis] > 1 for axis in group):
                for axis in group:
                    own[axis] = self.frame.shape[axis]
        shape = tuple(own)
        return Mask(
            formula=formula,
            leaves={
                name: dataclasses.replace(
                    leaf, layout=dataclasses.replace(leaf.layout, shape=shape)
                )
                for name, leaf in used.items()
            },
            shape=shape,
            sizes=tuple(math.prod(own[axis] for axis in group) for group in groups),
        )


def _with_steps_of_one(sizes: Shape, strides: Shape) -> Shape:
    """Return the strides, where axes of one element have the stride of a packed tensor."""
    inside, found = sizes[3], list[int]()
    for n, stride in reversed([*zip(sizes, strides, strict=False)]):
        found.append(stride if n > 1 else inside)
        inside = max(inside, found[-1] * n)
    return tuple(reversed(found))


def composed(outer: StridedLayout, inner: StridedLayout) -> StridedLayout | None:
    """Return the layout `outer` of a packed tensor whose elements are those of `inner`.

    Return None if the result has more than one stride along an axis.
    """
    steps, strides = packed(inner.shape), []
    first = [outer.offset // step % n for n, step in zip(inner.shape, steps, strict=True)]
    ends = [*first]
    for n, stride in zip(outer.shape, outer.strides, strict=True):
        axis = next((i for i, step in enumerate(steps) if 0 < step <= stride), None)
        if n == 1 or not stride or axis is None:
            strides.append(0)
            continue
        count = stride // steps[axis]
        ends[axis] += count * (n - 1)
        if stride % steps[axis]:
            return None
        strides.append(count * inner.strides[axis])
    if any(end >= n for end, n in zip(ends, inner.shape, strict=True)):
        return None
    offset = inner.offset + sum(a * s for a, s in zip(first, inner.strides, strict=True))
    return StridedLayout(shape=outer.shape, strides=tuple(strides), offset=offset)


def is_near(layout: StridedLayout) -> bool:
    """Whether each row is contiguous and no stride is negative."""
    return (layout.shape[-1] == 1 or layout.strides[-1] == 1) and min(layout.strides) >= 0
