"""Attention that a model writes out, found in a fused graph: two products around a softmax.

In a fused graph, reshapes, permutations and expansions are strides with which kernels read their
operands. So the finder sees heads, and heads that share keys, as strides, whichever nodes made
them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kgen.errors import SpecError
from kgen.graph.fusing.formulas import Fused, Lazy, Leaf
from kgen.graph.fusing.truths import typed
from kgen.graph.ir import GraphValue, ProductNode, SourceNode
from kgen.graph.layout import StridedLayout
from kgen.graph.lowering.heads import Heads, Mask, ScoreAxes, composed, is_near
from kgen.graph.lowering.score_formula import SCORE, ZERO, ScoreFormula, softmax_of
from kgen.graph.lowering.valid_keys import (
    AddedTerms,
    ValidKeys,
    hides_no_key,
    valid_keys,
)
from kgen.graph.reading.model import Array, Shape
from kgen.ops.expression import Expression, Primitive, constant, inputs, substituted, variable
from kgen.ops.registry import call_of
from kgen.ops.views import has_views
from kgen.spec import Attention
from kgen.spec.attention import DTYPES, Diagonal, EmptyRows
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

MINUS_INFINITY = constant(-math.inf)
#: Scores that are as good as -infinity beside any other that f32 has: their exponentials are 0.
LOWEST = (-math.inf, float(np.finfo(np.float32).min))


@frozen
class _HiddenRows:
    """Rows of a mask that are -infinity for all keys; `domain` is the shape that its formula
    broadcasts to, and `root` computes whether they are."""

    mask: Expression
    domain: Shape
    root: str


@frozen
class _Softmax:
    """Softmax of `scores`, by which values are weighted. The formula `rows` contains it, and
    `roots` compute it. The rows of the result that `hides` describes are zeros."""

    rows: Lazy
    scores: Expression
    empty: EmptyRows
    roots: tuple[str, ...]
    hides: _HiddenRows | None = None


@frozen
class WrittenAttention:
    """Attention of the `operands` q, k and v that a fused graph writes out. The last of `roots` is
    the result, and nothing else reads the others. `computed` has the mask, or the numbers of valid
    keys, by the name of the parameter."""

    spec: Attention
    operands: Mapping[str, Leaf]
    computed: Mapping[str, Mask]
    roots: tuple[str, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Tensors that attention reads."""
        others = (leaf for mask in self.computed.values() for leaf in mask.leaves.values())
        return (*self.operands.values(), *others)


class AttentionFinder:
    """Finds attention among the roots of a fused graph."""

    def __init__(self, fused: Fused, alignment: int) -> None:
        self.fused, self.values, self.alignment = fused, fused.graph.values, alignment
        self.outputs = frozenset(fused.outputs.values())
        #: Roots that read a root.
        self.readers: dict[str, set[str]] = {}
        for root in fused.roots:
            for read in self._reads(root):
                self.readers.setdefault(read, set()).add(root)

    def _reads(self, root: str) -> Iterable[str]:
        product = self.product_of(root)
        if root in self.fused.formulas:
            for name in inputs(self.fused.formulas[root].expression):
                yield self.fused.leaves[name].root
        if product is not None:
            yield from (leaf.root for leaf in self.fused.operands[product.id])

    def product_of(self, root: str) -> GraphValue | None:
        """Return the product of matrices that a root is, or has in its formula."""
        value = self.values[self.fused.products.get(root, root)]
        is_product = isinstance(value.operation, ProductNode) and value.operation.conv is None
        return value if is_product else None

    def is_only_for(self, root: str, reader: str) -> bool:
        return self.readers.get(root) == {reader} and root not in self.outputs

    def is_read_beside(self, root: str, roots: Sequence[str]) -> bool:
        """Whether a root is an output, or a root that is not among `roots` reads it."""
        return root in self.outputs or not self.readers.get(root, set()).issubset(roots)

    # -- the three kernels ---------------------------------------------------------------------

    def find(self, root: str) -> WrittenAttention | None:
        """Return the attention whose result is a root; None if the root is not attention."""
        second, lazy = self.product_of(root), self.fused.formulas.get(root)
        if second is None or not (lazy is None or _is_copy(lazy.expression)):
            return None
        found = self._softmax(self.fused.operands[second.id][0], root)
        if found is None or has_views(found.scores):
            return None
        rows = found.rows
        path = self._path(rows.value.id)
        first = self.product_of(self.fused.leaves[path[-1]].root) if path else None
        if first is None or first.shape[-1] != rows.domain[-1]:
            return None
        steps = [*(self.fused.leaves[name].root for name in reversed(path)), *found.roots]
        frame = ScoreAxes.of(first, second, [self.values[step].shape for step in steps])
        formula = self._formula(found.scores, rows.domain, path, first, frame) if frame else None
        if frame is None or formula is None:
            return None
        return self._attention(frame, formula, found, (first, second), (*steps, root))

    def _softmax(self, weights: Leaf, reader: str) -> _Softmax | None:
        """Return the softmax of the weights; None if they are not one, or are read elsewhere."""
        lazy = self.fused.formulas.get(weights.root)
        if (
            lazy is None
            or not self._is_whole(weights)
            or not self.is_only_for(weights.root, reader)
        ):
            return None
        formula, hides = typed(lazy.expression), None
        if formula.name == "where" and formula.arguments[1] is ZERO:
            hides, formula = self._hides(formula.arguments[0], lazy), formula.arguments[2]
        if lazy.axes:
            found = softmax_of(typed(lazy.expression) if hides is None else formula)
            if found is None or lazy.axes != (len(lazy.domain) - 1,):
                return None
            if lazy.value.shape != lazy.domain:
                return None
            return _Softmax(
                rows=lazy, scores=found[0], empty=found[1], roots=(weights.root,), hides=hides
            )
        if not _is_copy(formula) or (hides is None and not _is_copy(lazy.expression)):
            return None
        inner = self._softmax(self.fused.leaves[inputs(formula)[0]], weights.root)
        if inner is None or (hides is not None and inner.hides is not None):
            return None
        if hides is not None and lazy.value.shape != inner.rows.domain:
            return None
        return dataclasses.replace(
            inner, hides=hides or inner.hides, roots=(*inner.roots, weights.root)
        )

    def _hides(self, condition: Expression, within: Lazy) -> _HiddenRows | None:
        """Return the mask whose rows of -infinity a condition finds; None for any other
        condition."""
        domain, root = within.domain, ""
        if _is_leaf(condition):
            leaf = self.fused.leaves[condition.name]
            lazy = self.fused.formulas.get(leaf.root)
            if lazy is None or lazy.axes != (len(lazy.domain) - 1,):
                return None
            if leaf.layout != StridedLayout.of(lazy.value.shape):
                return None
            condition, domain, root = typed(lazy.expression), lazy.domain, leaf.root
        if condition.name != "equal" or condition.arguments[1] is not MINUS_INFINITY:
            return None
        most = condition.arguments[0]
        if most.name != "amax":
            return None
        return _HiddenRows(mask=most.arguments[0], domain=domain, root=root)

    def _path(self, root: str) -> list[str]:
        """Return the leaves through which a formula reads a whole product that it alone needs.

        The product may be behind other formulas. Return no leaves if there is no such product.
        """
        for name in inputs(self.fused.formulas[root].expression):
            leaf = self.fused.leaves[name]
            if not self._is_whole(leaf) or not self.is_only_for(leaf.root, root):
                continue
            if self.product_of(leaf.root) is not None:
                return [name]
            lazy = self.fused.formulas.get(leaf.root)
            if lazy is not None and not lazy.axes and (rest := self._path(leaf.root)):
                return [name, *rest]
        return []

    def _is_whole(self, leaf: Leaf) -> bool:
        whole = math.prod(self.values[leaf.root].shape)
        layout = self.fused.memory.get(leaf.root)
        return leaf.layout.is_packed and leaf.layout.size == whole and (
            layout is None or layout.is_packed
        )  # fmt: skip

    def _formula(
        self,
        of: Expression,
        domain: Shape,
        path: Sequence[str],
        first: GraphValue,
        frame: ScoreAxes,
    ) -> tuple[Expression, dict[str, Leaf]] | None:
        """Return the formula of the scores, and its leaves with the axes of the scores.

        The product is called `SCORE`. Return None if a leaf cannot have these axes.
        """
        leaves: dict[str, Leaf | None] = {}
        parts: dict[str, Expression] = {}
        inner: Lazy | None = None
        for own in inputs(of):
            leaf = self.fused.leaves[own]
            if leaf.root == first.id:
                parts[own] = variable(SCORE)
            elif path and own == path[0]:
                inner = self.fused.formulas.get(leaf.root)
            else:
                # A leaf of formulas of two shapes has two layouts.
                parts[own] = variable(f"{own} {len(path)}")
                leaves[parts[own].name] = frame.leaf(leaf, domain)
        if inner is not None:
            found = self._formula(
                typed(inner.expression), inner.value.shape, path[1:], first, frame
            )
            if found is None:
                return None
            parts[path[0]] = found[0]
            leaves |= found[1]
        known = {name: leaf for name, leaf in leaves.items() if leaf is not None}
        formula = substituted(of, parts)
        return (formula, known) if len(known) == len(leaves) and not has_views(formula) else None

    def _attention(
        self,
        frame: ScoreAxes,
        formula: tuple[Expression, dict[str, Leaf]],
        softmax: _Softmax,
        products: tuple[GraphValue, GraphValue],
        written: tuple[str, ...],
        *,
        counts_keys: bool = True,
    ) -> WrittenAttention | None:
        """Return the attention of two products with a softmax between them; None if it is none.

        `counts_keys`: whether a mask may be the number of valid keys of each sequence.
        """
        scores = ScoreFormula.of(formula[0])
        first, second = products
        # With --products a product rounds the weights, and attention does not.
        dtypes = {self.values[name].dtype for p in products for name in (*p.operands, p.id)}
        if scores is None or len(dtypes) > 1 or not dtypes <= set(DTYPES):
            return None
        (dtype,) = dtypes
        matrices = {"q": (first, 0), "k": (first, 1), "v": (second, 1)}
        root, scale, roots = written[-1], scores.scale, written
        added: Sequence[Expression] = [term for term in scores.added if term is not ZERO]
        leaves: Mapping[str, Leaf] = formula[1]
        valid = terms = None
        if counts_keys and scores.seen is None:
            valid, terms = self._valid_keys(added, leaves, frame)
        if terms is not None:
            added, leaves, roots = terms.others, terms.leaves, (*terms.roots, *roots)
        operands: dict[str, Leaf] = {}
        for name, (product, number) in matrices.items():
            leaf = self.fused.operands[product.id][number]
            layout = self.matrices(product, number, leaf.layout, frame)
            if layout is None:
                return None
            if name == "k":
                axes = [*range(len(frame.batch)), len(frame.batch) + 1, len(frame.batch)]
                layout = layout.permuted(axes)
            leaf, factor, copies = self.read_through(
                Leaf(root=leaf.root, layout=layout), frame, None if name == "q" else valid,
                scales=name != "v",
            )  # fmt: skip
            operands[name], scale, roots = leaf, scale * factor, (*copies, *roots)
        layouts = {name: leaf.layout for name, leaf in operands.items()}
        out = self.fused.memory[root].reshaped(second.shape)
        out = out and out.reshaped((*frame.batch, *second.shape[-2:]))
        if out is None or not all(map(is_near, (out, *layouts.values()))):
            return None
        layouts["out"] = out
        heads = Heads.of(frame, layouts)
        if heads is None:
            return None
        empty = softmax.empty
        if softmax.hides is not None:
            if not self._is_mask(softmax.hides, softmax.rows.domain, scores, formula[1], frame):
                return None
            empty, roots = EmptyRows.ZEROS, (softmax.hides.root, *roots)
        computed: dict[str, Mask] = {}
        fields: dict[str, object] = {}
        if valid is not None:
            count = variable("count")
            keys = call_of("add", count, constant(float(valid.more))) if valid.more else count
            length = heads.mask(keys, {count.name: valid.number}).by_batch(heads)
            if length is None:
                return self._attention(
                    frame, formula, softmax, products, written, counts_keys=False
                )
            computed["kv_length"], roots = length, (*valid.roots, *roots)
            fields = {"kv_length": True}
            if valid.causal:
                bottom = {"causal": True, "diagonal": Diagonal.BOTTOM_RIGHT}
                fields |= bottom | {"window": valid.window}
        mask, given = self._mask(scores, added, leaves, heads, dtype, fields)
        if given is None:
            return None
        fields = given
        if mask is not None:
            computed["mask"] = mask
        epilogue = self.fused.formulas.get(root)
        try:
            spec = heads.spec(
                layouts,
                dtype=dtype,
                out_dtype=(epilogue.value if epilogue else second).dtype,
                scale=scale,
                softcap=scores.cap,
                empty_rows=empty,
                **fields,
            )
        except SpecError:
            return None
        return WrittenAttention(spec=spec, operands=operands, computed=computed, roots=roots)

    def matrices(
        self, product: GraphValue, number: int, layout: StridedLayout, frame: ScoreAxes
    ) -> StridedLayout | None:
        """Return the layout of a product's operand with the axes of a batch of scores."""
        m, n = product.shape[-2:]
        k = self.values[product.operands[0]].shape[-1]
        shape = ((m, k), (k, n))[number]
        return layout.expanded((*product.shape[:-2], *shape)).reshaped((*frame.batch, *shape))

    def read_through(
        self, leaf: Leaf, frame: ScoreAxes, valid: ValidKeys | None, *, scales: bool
    ) -> tuple[Leaf, float, tuple[str, ...]]:
        """Return the tensor that an operand is a multiple of, perhaps with zeros behind the valid
        keys.

        Return the factor, which is 1 unless `scales`, and the roots that compute the operand.
        """
        factor, copies = 1.0, list[str]()
        while (lazy := self.fused.formulas.get(leaf.root)) is not None and not lazy.axes:
            times, of, condition = _multiple(typed(lazy.expression))
            if of is None or (times != 1.0 and not scales):
                break
            inner = self.fused.leaves[of]
            layout = composed(leaf.layout, inner.layout.expanded(lazy.value.shape))
            if (
                layout is None
                or not is_near(layout)
                or leaf.root in self.fused.products
                or self.values[inner.root].dtype is not lazy.value.dtype
                or layout.offset * lazy.value.dtype.itemsize % self.alignment
            ):
                break
            if condition is not None:
                hidden = self._behind_valid(condition, lazy, leaf, frame, valid)
                if hidden is None:
                    break
                copies = [*hidden, *copies]
            factor, copies = factor * times, [leaf.root, *copies]
            leaf = Leaf(root=inner.root, layout=layout)
        return leaf, factor, tuple(copies)

    def _behind_valid(
        self,
        condition: Expression,
        within: Lazy,
        operand: Leaf,
        frame: ScoreAxes,
        valid: ValidKeys | None,
    ) -> tuple[str, ...] | None:
        """Return the roots of a condition on rows of K or V that is true at all valid keys.

        Return None for any other condition.
        """
        leaves: dict[str, Leaf] = {}
        for name in inputs(condition) if valid is not None else ():
            inner = self.fused.leaves[name]
            layout = composed(operand.layout, inner.layout.expanded(within.value.shape))
            if layout is None or (layout.strides[-1] and layout.shape[-1] > 1):
                return None
            strides = (*layout.strides[:-2], 0, layout.strides[-2])
            layout = StridedLayout(shape=frame.shape, strides=strides, offset=layout.offset)
            leaves[name] = dataclasses.replace(inner, layout=layout)
        if valid is None or has_views(condition):
            return None
        return hides_no_key(self.fused, frame, valid, condition, leaves)

    def _is_mask(
        self,
        hides: _HiddenRows,
        domain: Shape,
        scores: ScoreFormula,
        leaves: Mapping[str, Leaf],
        frame: ScoreAxes,
    ) -> bool:
        """Whether rows that are made zeros are those of the mask that is added to the scores."""
        if len(scores.added) != 1 or has_views(hides.mask):
            return False
        seen: dict[str, Leaf] = {}
        for name in inputs(hides.mask):
            leaf = self.fused.leaves[name]
            wide = dataclasses.replace(leaf, layout=leaf.layout.expanded(hides.domain))
            found = frame.leaf(wide, domain)
            if found is None:
                return False
            seen[name] = found
        return _shown(hides.mask, seen) is _shown(scores.added[0], leaves)

    # -- masks -----------------------------------------------------------------------------------

    def _valid_keys(
        self, added: Sequence[Expression], leaves: Mapping[str, Leaf], frame: ScoreAxes
    ) -> tuple[ValidKeys | None, AddedTerms | None]:
        """Return the valid keys if added terms hide all others, and the terms; else None twice."""
        terms = AddedTerms.of(self.fused, frame, added, leaves)
        if terms.of_numbers:
            formula = _sum(terms.of_numbers)
            if found := valid_keys(self.fused, frame, formula, terms.leaves):
                return found, terms
        return None, None

    def _mask(
        self,
        scores: ScoreFormula,
        added: Sequence[Expression],
        leaves: Mapping[str, Leaf],
        heads: Heads,
        dtype: DType,
        known: Mapping[str, object],
    ) -> tuple[Mask | None, dict[str, object] | None]:
        """Return the mask of scores and the fields of the spec, `known` ones included.

        Return None for both if the mask is not supported. The terms `added` are those that `known`
        fields do not stand for.
        """
        fields = dict[str, object](known)
        if scores.seen is not None:
            if scores.hidden in LOWEST:
                fields = self._causal(scores.seen, leaves, hidden=(0.0,), seen=None)
            if fields:
                return None, fields
            seen = scores.seen
            if _is_leaf(seen) and self.values[leaves[seen.name].root].dtype is not DType.BOOL:
                seen = call_of("not_equal", seen, ZERO)
            mask = heads.mask(seen, leaves)
            value = None if scores.hidden == -math.inf else scores.hidden
            return mask, {"mask": mask.sizes, "mask_dtype": DType.BOOL, "mask_value": value}
        if not all(map(inputs, added)):
            # The sum of a score and a large number loses the score's digits.
            return None, None
        terms = []
        # Beside another mask, a finite number does not hide a key from rows that hide all others.
        hidden = LOWEST if len(added) == 1 else LOWEST[:1]
        for term in added:
            found = {} if fields else self._causal(term, leaves, hidden=hidden, seen=0.0)
            fields |= found
            if not found:
                terms.append(term)
        if not terms:
            return None, fields
        formula = _sum(terms)
        mask = heads.mask(formula, leaves)
        own = self.values[leaves[formula.name].root].dtype if _is_leaf(formula) else None
        kind = dtype if own is dtype else DType.F32
        return mask, fields | {"mask": mask.sizes, "mask_dtype": kind}

    def _causal(
        self,
        term: Expression,
        leaves: Mapping[str, Leaf],
        *,
        hidden: Sequence[float],
        seen: float | None,
    ) -> dict[str, object]:
        """Return the fields of a constant mask that hides the keys after each query's position.

        Return no fields for any other mask. `hidden` are its values at hidden keys. `seen` is its
        value elsewhere; None allows any value.
        """
        if not _is_leaf(term):
            return {}
        leaf = leaves[term.name]
        source = self.values[leaf.root].operation
        if not isinstance(source, SourceNode) or source.kind != "constant":
            return {}
        if self.values[leaf.root].dtype is DType.BF16:
            return {}
        if any(
            s for n, s in zip(leaf.layout.shape[:-2], leaf.layout.strides, strict=False) if n > 1
        ):
            return {}
        found = _elements(self.fused.graph.constants[source.name], leaf.layout)
        queries, keys = found.shape
        is_hidden = np.isin(found, hidden)
        is_seen = found == seen if seen is not None else ~is_hidden
        for diagonal, moved in ((Diagonal.TOP_LEFT, 0), (Diagonal.BOTTOM_RIGHT, keys - queries)):
            within = np.arange(keys) <= np.arange(queries)[:, None] + moved
            if (
                moved >= 0
                and np.array_equal(is_seen, within)
                and np.array_equal(is_hidden, ~within)
            ):
                return {"causal": True, "diagonal": diagonal} if not within.all() else {}
        return {}


def _elements(array: Array, layout: StridedLayout) -> Array:
    """Return the one matrix of a constant that a layout repeats."""
    flat = np.ascontiguousarray(array).reshape(-1)
    strides = tuple(stride * flat.itemsize for stride in layout.strides[-2:])
    return np.lib.stride_tricks.as_strided(flat[layout.offset :], layout.shape[-2:], strides)


def _shown(formula: Expression, leaves: Mapping[str, Leaf]) -> Expression:
    """Return a formula whose names identify the tensors and layouts of its leaves."""
    names = {n: variable(f"{leaf.root} {leaf.layout}") for n, leaf in leaves.items()}
    return substituted(formula, names)


def _is_leaf(formula: Expression) -> bool:
    return formula.primitive is Primitive.INPUT


def _is_copy(formula: Expression) -> bool:
    """Whether a formula is one value, perhaps cast to another type."""
    while formula.name == "cast" and len(formula.arguments) == 1:
        (formula,) = formula.arguments
    return _is_leaf(formula)


def _sum(terms: Sequence[Expression]) -> Expression:
    total = terms[0]
    for term in terms[1:]:
        total = call_of("add", total, term)
    return total


def _multiple(formula: Expression) -> tuple[float, str | None, Expression | None]:
    """Return the factor, input and condition of a formula `where(condition, factor * input, 0)`.

    The condition is None if there is no `where`. The input is None for any other formula.
    """
    if _is_copy(formula):
        return 1.0, inputs(formula)[0], None
    if formula.name == "where" and formula.arguments[2] is ZERO:
        inner, name, condition = _multiple(formula.arguments[1])
        return inner, name if condition is None else None, formula.arguments[0]
    if formula.name not in ("mul", "div") or len(formula.arguments) != 2:
        return 1.0, None, None
    x, factor = formula.arguments
    if formula.name == "mul" and x.primitive is Primitive.CONSTANT:
        x, factor = factor, x
    if factor.primitive is not Primitive.CONSTANT or not factor.number:
        return 1.0, None, None
    inner, name, condition = _multiple(x)
    times = inner * factor.number if formula.name == "mul" else inner / factor.number
    return times, name, condition
