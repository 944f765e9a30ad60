"""Einsum: diagonals, sums, and contractions of two tensors at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.operators.registry import Operator
from kgen.graph.reading.model import Node

#: Tensor with a letter for each axis.
Term = tuple[GraphValue, str]
#: Names of the axes that `...` stands for; the letters of an equation are alphabetic.
UNNAMED = "0123456789"


def einsum(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Einsum to contractions of two tensors, those with the smallest result first."""
    values = [value for value in given if value is not None]
    terms, out = parsed(b, node.attribute("equation", ""), values)
    sizes = sizes_of(b, terms)
    left = [diagonal(b, value, term) for value, term in terms]

    def others(*numbers: int) -> set[str]:
        """Return the letters of the result and of all tensors except these."""
        return {*out, *(c for i, (_, t) in enumerate(left) if i not in numbers for c in t)}

    def size(pair: tuple[int, int]) -> int:
        letters = others(*pair) & {*left[pair[0]][1], *left[pair[1]][1]}
        return math.prod(sizes[c] for c in letters)

    while len(left) > 1:
        i, j = min(itertools.combinations(range(len(left)), 2), key=size)
        made = contracted(b, left[i], left[j], others(i, j), sizes)
        left = [*(term for k, term in enumerate(left) if k not in (i, j)), made]
    value, term = summed(b, *left[0], set(out))
    return b.permute(value, [term.index(c) for c in out])


def parsed(b: Builder, text: str, values: list[GraphValue]) -> tuple[list[Term], str]:
    """Return each tensor with its letters, and the letters of the result.

    Axes that `...` stands for are counted from the last one.
    """
    equation = text.replace(" ", "")
    left, arrow, out = equation.partition("->")
    terms = left.split(",")
    hidden = [
        value.rank - len(t.replace("...", "")) for t, value in zip(terms, values, strict=False)
    ]
    fits = len(terms) == len(values) and all(
        0 <= n <= len(UNNAMED) and ("..." in term or n == 0) and all(c.isalpha() for c in named)
        for n, term in zip(hidden, terms, strict=True)
        for named in [term.replace("...", "", 1)]
    )
    if not arrow:
        named = left.replace("...", "").replace(",", "")
        out = "..." + "".join(sorted(c for c in set(named) if named.count(c) == 1))
    most = max(hidden, default=0) if fits else 0
    full = [
        term.replace("...", UNNAMED[most - n : most])
        for term, n in zip(terms, hidden, strict=False)
    ]
    out = out.replace("...", UNNAMED[:most], 1)
    if not fits or len(set(out)) < len(out) or any(c not in "".join(full) for c in out):
        raise b.refusal(
            f"has equation={text!r}, which does not fit its {len(values)} inputs; each "
            "axis needs a letter or `...`, and the result has each letter once",
            "change the equation in the model",
        )
    return list(zip(values, full, strict=True)), out


def sizes_of(b: Builder, terms: Iterable[Term]) -> dict[str, int]:
    """Return the size of each letter's axis.

    Raises GraphError unless all its axes are equal or 1.
    """
    sizes: dict[str, int] = {}
    for value, term in terms:
        for letter, n in zip(term, value.shape, strict=True):
            known = sizes.get(letter, 1)
            if n != known and 1 not in (n, known):
                where = f"along {letter}" if letter.isalpha() else "in `...`"
                raise b.refusal(
                    f"has {known} and {n} elements {where}; they must be equal, or 1", CHANGE_MODEL
                )
            sizes[letter] = max(n, known)
    return sizes


def diagonal(b: Builder, value: GraphValue, term: str) -> Term:
    """Return a tensor without repeated letters: two axes of one letter become their diagonal."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            i = term.index(letter)
            j = term.index(letter, i + 1)
            n = max(value.shape[i], value.shape[j])
            shape = [n if axis in (i, j) else m for axis, m in enumerate(value.shape)]
            value = b.expand(value, shape)
            order = [axis for axis in range(value.rank) if axis not in (i, j)]
            rest = [value.shape[axis] for axis in order]
            line = b.reshape(b.permute(value, [i, j, *order]), (n * n, *rest))
            value = b.slice(line, 0, 0, n, n + 1)
            term = letter + "".join(c for k, c in enumerate(term) if k not in (i, j))
    return value, term


def contracted(b: Builder, one: Term, two: Term, kept: set[str], sizes: dict[str, int]) -> Term:
    """Contract two tensors: multiply, and sum over the letters that are not kept."""
    (x, first), (y, second) = (
        summed(b, *term, kept | set(other)) for term, (_, other) in ((one, two), (two, one))
    )
    batch = [c for c in first if c in second and c in kept]
    inner = [c for c in first if c in second and c not in kept]
    rows, cols = ([c for c in t if c not in o] for t, o in ((first, second), (second, first)))

    def matrix(value: GraphValue, term: str, *groups: list[str]) -> GraphValue:
        ordered = b.permute(value, [term.index(c) for group in groups for c in group])
        full = b.expand(ordered, [sizes[c] for group in groups for c in group])
        return b.folded(b.reshape(full, [math.prod(sizes[c] for c in group) for group in groups]))

    product = b.product(matrix(x, first, batch, rows, inner), matrix(y, second, batch, inner, cols))
    letters = "".join([*batch, *rows, *cols])
    return b.reshape(product, [sizes[c] for c in letters]), letters


def summed(b: Builder, value: GraphValue, term: str, kept: set[str]) -> Term:
    """Sum a tensor over the axes whose letters are not kept."""
    axes = tuple(i for i, c in enumerate(term) if c not in kept)
    if not axes:
        return value, term
    sizes = [1 if i in axes else n for i, n in enumerate(value.shape)]
    total = b.formula(b.call("sum", value), sizes, value.dtype, axes)
    left = [n for i, n in enumerate(value.shape) if i not in axes]
    return b.reshape(total, left), "".join(c for c in term if c in kept)


OPERATORS: tuple[Operator, ...] = (
    Operator(name="Einsum", family="product", becomes="matmul, sum", lower=einsum),
)
