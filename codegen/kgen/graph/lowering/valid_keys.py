"""Masks that hide the keys behind a number of valid ones, which is an input of the kernel.

Such a mask depends on one integer per sequence. The finder computes it for numbers of valid keys
and compares it with what attention does with `kv_length`, however the model writes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from kgen.graph.fusing.formulas import Fused, Leaf
from kgen.graph.fusing.truths import typed
from kgen.graph.ir import SourceNode
from kgen.graph.lowering.heads import ScoreAxes, composed
from kgen.graph.reading.model import Array
from kgen.ops.expression import Expression, Primitive, constant, inputs, substituted, variable
from kgen.ops.registry import call_of
from kgen.ops.views import has_views
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Most elements of a mask that are compared, over all numbers of keys; and most numbers of keys.
MOST_ELEMENTS, MOST_NUMBERS = 1 << 22, 64
#: Most roots of a mask that are followed to the number that it depends on.
MOST_ROOTS = 16
#: Most roots behind one another that are followed to a minimum.
MOST_NESTED = 6
#: Functions of masks.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "cast": lambda x: x, "equal": np.equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "less": np.less, "less_equal": np.less_equal,
    "logical_and": np.logical_and, "logical_not": np.logical_not, "logical_or": np.logical_or,
    "max": np.maximum, "min": np.minimum, "neg": np.negative, "not_equal": np.not_equal,
    "sub": np.subtract, "where": np.where,
}  # fmt: skip


@frozen
class ValidKeys:
    """Mask that hides keys from `number` + `more` on, for each sequence of the batch, and with
    `causal` those behind the position of a query; positions count from the last valid key.

    A query attends to the last `window` keys up to its position, if there is a window. `roots` are
    computed for the mask alone.
    """

    number: Leaf
    more: int
    causal: bool
    window: int | None
    roots: tuple[str, ...]


def valid_keys(
    fused: Fused, frame: ScoreAxes, mask: Expression, leaves: Mapping[str, Leaf]
) -> ValidKeys | None:
    """Return what a mask that is added to the scores hides; None for any other mask."""
    found = _Mask(fused, frame, mask, dict(leaves))
    return found.valid_keys() if found.has_one_number() else None


@frozen
class AddedTerms:
    """Terms that add up to what is added to the scores.

    `of_numbers` depend on one integer, perhaps behind other formulas, and `others` do not. Sums
    that the graph computes by themselves, which are `roots`, are taken apart.
    """

    of_numbers: tuple[Expression, ...]
    others: tuple[Expression, ...]
    leaves: Mapping[str, Leaf]
    roots: tuple[str, ...]

    @classmethod
    def of(
        cls,
        fused: Fused,
        frame: ScoreAxes,
        added: Iterable[Expression],
        leaves: Mapping[str, Leaf],
    ) -> AddedTerms:
        known, roots = dict(leaves), list[str]()
        of_numbers, others, left = list[Expression](), list[Expression](), list(added)
        while left:
            term = left.pop(0)
            mask = _Mask(fused, frame, term, dict(known))
            if term.name == "add" and len(term.arguments) == 2:
                left = [*term.arguments, *left]
            elif _Mask(fused, frame, term, dict(known)).has_one_number():
                of_numbers.append(term)
            elif (inside := mask.sum_inside(term, f"term {len(roots)}")) is not None:
                roots += mask.roots
                known |= {name: mask.leaves[name] for name in inputs(inside)}
                left = [*inside.arguments, *left]
            elif term.number != 0.0 or term.primitive is not Primitive.CONSTANT:
                others.append(term)
        return cls(
            of_numbers=tuple(of_numbers), others=tuple(others), leaves=known, roots=tuple(roots)
        )


def hides_no_key(
    fused: Fused,
    frame: ScoreAxes,
    valid: ValidKeys,
    condition: Expression,
    leaves: Mapping[str, Leaf],
) -> tuple[str, ...] | None:
    """Return the roots of a condition that is true at all valid keys; None for any other one.

    The layouts of `leaves` have the axes of the scores.
    """
    mask = call_of("where", condition, constant(0.0), constant(-math.inf))
    found = _Mask(fused, frame, mask, dict(leaves))
    if not found.has_one_number(valid.number):
        return None
    for number in numbers_up_to(frame.keys, frame.queries):
        kept = found.hidden(number - valid.more)
        if kept is None or (kept[:, : max(0, number)] != 0.0).any():
            return None
    return tuple(found.roots)


def is_same(a: Leaf, b: Leaf) -> bool:
    """Whether two leaves read the same elements, whatever the strides of axes of one element."""
    strides = [
        [step for n, step in zip(leaf.layout.shape, leaf.layout.strides, strict=True) if n > 1]
        for leaf in (a, b)
    ]
    return a.root == b.root and a.layout.offset == b.layout.offset and strides[0] == strides[1]


def numbers_up_to(keys: int, queries: int) -> set[int]:
    """Return numbers of valid keys for which a mask of these sizes is compared."""
    count = min(MOST_NUMBERS, max(2, MOST_ELEMENTS // (queries * keys)))
    return {int(n) for n in np.linspace(0, keys, count)} | {-1}


class _Mask:
    """Formula of a mask: its leaves are constants and the number of keys."""

    def __init__(
        self, fused: Fused, frame: ScoreAxes, formula: Expression, leaves: dict[str, Leaf]
    ) -> None:
        self.fused, self.frame, self.formula, self.leaves = fused, frame, formula, leaves
        self.roots: list[str] = []
        self.queries, self.keys = frame.queries, frame.keys

    def _data(self) -> dict[Leaf, list[str]]:
        """Return the leaves of the formula that are not constants, with their names."""
        found: dict[Leaf, list[str]] = {}
        for name in inputs(self.formula):
            source = self.fused.graph.values[self.leaves[name].root].operation
            if not isinstance(source, SourceNode) or source.kind != "constant":
                found.setdefault(self.leaves[name], []).append(name)
        return found

    def has_one_number(self, known: Leaf | None = None) -> bool:
        """Follow the leaves to one leaf of integers, which is the `known` one, if any."""
        values = self.fused.graph.values
        while (data := self._data()) and len(self.roots) < MOST_ROOTS:
            (last, *_) = sorted(data, key=lambda leaf: -int(leaf.root[1:]))
            is_number = values[last.root].dtype in (DType.S64, DType.S32)
            if len(data) == 1 and is_number and (known is None or is_same(last, known)):
                self.number = last
                return True
            if not self.follow(last, data[last]):
                return False
        return False

    def sum_inside(self, term: Expression, mark: str) -> Expression | None:
        """Return the formula of a leaf that the graph computes as a sum; None for other terms."""
        if term.primitive is Primitive.INPUT:
            leaf = self.leaves[term.name]
            lazy = self.fused.formulas.get(leaf.root)
            is_sum = lazy is not None and typed(lazy.expression).name == "add"
            if is_sum and self.follow(leaf, [term.name], mark):
                return self.formula
        return None

    def follow(self, leaf: Leaf, names: list[str], mark: str = "") -> bool:
        """Replace a leaf by its formula, whose leaves get the axes of the scores and names that
        end in `mark`."""
        lazy = self.fused.formulas.get(leaf.root)
        if lazy is None or lazy.axes or leaf.root in self.fused.products:
            return False
        formula, parts = typed(lazy.expression), {}
        if has_views(formula):
            return False
        for own in inputs(formula):
            inner = self.fused.leaves[own]
            layout = composed(leaf.layout, inner.layout.expanded(lazy.value.shape))
            if layout is None:
                return False
            parts[own] = variable(f"{own} {mark or len(self.roots)}")
            self.leaves[parts[own].name] = Leaf(root=inner.root, layout=layout)
        self.roots.append(leaf.root)
        inside = substituted(formula, parts)
        self.formula = substituted(self.formula, dict.fromkeys(names, inside))
        return True

    def valid_keys(self) -> ValidKeys | None:
        """Compare the mask with those of attention, for numbers of valid keys from 0 to all."""
        middle = self.hidden(self.keys // 2)
        last = None if middle is None else np.flatnonzero(middle[-1] == 0.0)
        if middle is None or last is None or not last.size:
            return None
        more = int(last[-1]) + 1 - self.keys // 2
        whole = self.hidden(self.keys - more)
        assert whole is not None
        window = int(np.count_nonzero(whole[-1] == 0.0))
        found = ValidKeys(
            number=self.number,
            more=more,
            causal=window < self.keys or bool((middle[0] != middle[-1]).any()),
            window=window if window < self.keys else None,
            roots=tuple(self.roots),
        )
        numbers = numbers_up_to(self.keys, self.queries)
        if self.most(self.number.root) > self.keys - more:
            # The kernel takes all keys then, and positions count from the last one.
            numbers |= {self.keys + 1, self.keys + self.queries, 2 * self.keys + self.queries}
        for number in numbers:
            own = self.hidden(number - more)
            if own is None or not np.array_equal(own, self.expected(found, number)):
                return None
        return found

    def most(self, root: str, depth: int = 0) -> float:
        """Return an upper bound of a root's elements, which minima with constants give."""
        lazy = self.fused.formulas.get(root)
        if lazy is None or lazy.axes or root in self.fused.products or depth == MOST_NESTED:
            return math.inf

        def bound(step: Expression) -> float:
            if step.primitive is Primitive.CONSTANT:
                return step.number
            if step.primitive is Primitive.INPUT:
                return self.most(self.fused.leaves[step.name].root, depth + 1)
            match step.name:
                case "add":
                    return sum(map(bound, step.arguments))
                case "min":
                    return min(map(bound, step.arguments))
                case "cast" | "max":
                    return max(map(bound, step.arguments))
            return math.inf

        return bound(typed(lazy.expression))

    def expected(self, found: ValidKeys, number: int) -> Array:
        """Return the mask of attention with this number of valid keys."""
        keys, number = np.arange(self.keys), min(max(number, 0), self.keys)
        places = np.arange(self.queries)[:, None] + number - self.queries
        seen = np.broadcast_to(keys < number, (self.queries, self.keys))
        if found.causal:
            seen = seen & (keys <= places)
        if found.window is not None:
            seen = seen & (keys > places - found.window)
        return np.where(seen, 0.0, -np.inf)

    def hidden(self, number: int) -> Array | None:
        """Return the mask for a number, queries x keys; None for a formula of other functions."""
        values: dict[str, Array] = {}
        for name in inputs(self.formula):
            leaf = self.leaves[name]
            source = self.fused.graph.values[leaf.root].operation
            if leaf == self.number or not isinstance(source, SourceNode):
                values[name] = np.asarray(number)
                continue
            sizes = zip(leaf.layout.shape[:-2], leaf.layout.strides[:-2], strict=True)
            if any(n > 1 and step for n, step in sizes):
                return None
            flat = np.ascontiguousarray(self.fused.graph.constants[source.name]).reshape(-1)
            steps = tuple(step * flat.itemsize for step in leaf.layout.strides[-2:])
            values[name] = np.lib.stride_tricks.as_strided(
                flat[leaf.layout.offset :], leaf.layout.shape[-2:], steps
            )

        def value(step: Expression) -> Any:
            if step.primitive is Primitive.INPUT:
                return values[step.name]
            if step.primitive is Primitive.CONSTANT:
                return np.asarray(step.number)
            return FUNCTIONS[step.name](*map(value, step.arguments))

        try:
            found = np.asarray(value(self.formula), np.float64)
        except KeyError:
            return None
        return np.broadcast_to(found, (self.queries, self.keys))
