"""Operator fusion: which values are written to memory, and which formula computes each of them.

A *root* is a value in memory: an input, a constant, or the output of a kernel. Every other formula
is substituted into its consumers, and every other view becomes a layout of a root. An element-wise
chain thus becomes one expression, and a decomposed normalization one row-wise expression. A value
that several kernels need is a root unless it is cheap to compute again. Epilogues of products were
chosen before (:mod:`kgen.graph.fusing.epilogues`).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from kgen.errors import GraphError
from kgen.graph.fusing.domains import coalesced
from kgen.graph.fusing.epilogues import Epilogues
from kgen.graph.fusing.formulas import (
    Fused,
    Lazy,
    Leaf,
    index_inputs,
    indices_apart,
    is_scattered,
    viewed_operands,
)
from kgen.graph.fusing.limits import CHEAP, MOST_OPERANDS, characters, is_too_long
from kgen.graph.fusing.paths import (
    ends_of_runs,
    origin,
    reachable,
    shape_behind,
    simplified,
    uses_of,
)
from kgen.graph.fusing.products import matrix
from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, SourceNode, ViewNode
from kgen.graph.joined import roots_to_join
from kgen.graph.layout import StridedLayout, ViewStep, is_seen, replayed, seen
from kgen.graph.lowering.calls import nodes_shown
from kgen.graph.operators.signed_bytes import Dequantization, is_saturated
from kgen.graph.reading.model import Shape
from kgen.ops import reduces
from kgen.ops.expression import Expression, inputs, steps, substituted, variable, view
from kgen.ops.views import has_views
from kgen.spec.shapes import MAX_RANK, by_x
from kgen_runtime.dtypes import DType, computed_in


def fuse(graph: Graph) -> Fused:
    """Fuse a graph: add roots until every formula and product can read its operands."""
    fusion = _Fusion(graph)
    while fusion.compose() or fusion.share() or fusion.join():
        pass
    return fusion.fused()


class _Fusion:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.values = graph, graph.values
        used = reachable(graph)
        self.order = [v for v in graph.values.values() if v.id in used]
        self.epilogues = Epilogues(graph, self.order, uses_of(graph, used))
        self.roots = set(self.epilogues.roots) | {v.id for v in self.order if is_scattered(v)}
        self.roots |= ends_of_runs(self.order)
        self.lazies: dict[str, Lazy] = {}
        self.leaves: dict[str, Leaf] = {}
        self.names: dict[Leaf, str] = {}
        #: Number of named leaves by root.
        self.counts: Counter[str] = Counter()

    # -- views ------------------------------------------------------------------------------

    def origin(self, name: str) -> tuple[str, tuple[ViewStep, ...]]:
        """Return the root or formula that a chain of views reads, and the views."""
        return origin(self.values, self.roots, name)

    def cuts(self, name: str) -> list[str]:
        """Return the views to materialize so that each other view is a readable layout of a root.

        Each materialized view covers as much of the chain as possible.
        """
        chain = [name]
        while chain[-1] not in self.roots and isinstance(
            at := self.values[chain[-1]].operation, ViewNode
        ):
            chain.append(at.of)
        if chain[-1] not in self.roots:
            return [name]
        root = before = chain.pop()
        found: list[str] = []
        views: list[ViewStep] = []
        for view_of in reversed(chain):
            operation = self.values[view_of].operation
            assert isinstance(operation, ViewNode)
            views.append(operation.step)
            if len(views) > 1 and not self.is_readable(root, views):
                found.append(root := before)
                views = [operation.step]
            if len(views) == 1 and not self.is_readable(root, views):
                found.append(root := view_of)
                views = []
            before = view_of
        return found or [name]

    def is_readable(self, root: str, views: Iterable[ViewStep]) -> bool:
        return self.leaf(root, simplified(self.values[root].shape, views)) is not None

    def layout_of(self, root: str) -> StridedLayout:
        return self.epilogues.memory.get(root, StridedLayout.of(self.values[root].shape))

    def leaf(self, root: str, views: Iterable[ViewStep]) -> Leaf | None:
        """Return a root read through views; None if no kernel can read that layout."""
        layout = replayed(self.layout_of(root), tuple(views))
        if layout is None or not is_seen(layout, math.prod(self.values[root].shape)):
            return None
        return Leaf(root=root, layout=layout)

    def named(self, leaf: Leaf) -> Expression:
        if leaf not in self.names:
            count = self.counts[leaf.root]
            self.counts[leaf.root] += 1
            name = f"{leaf.root}_{count}" if count else leaf.root
            self.names[leaf], self.leaves[name] = name, leaf
        return variable(self.names[leaf])

    # -- formulas of leaves -----------------------------------------------------------------

    def compose(self) -> bool:
        """Compute the formulas of all values.

        True if this added roots, so that it must run again.
        """
        self.names, self.leaves, self.lazies = {}, {}, {}
        self.counts.clear()
        before = len(self.roots)
        for value in self.order:
            if isinstance(value.operation, FormulaNode):
                self.lazies[value.id] = self.formula(value)
            elif isinstance(value.operation, ViewNode) and value.id in self.roots:
                self.lazies[value.id] = self.copied(value)
            elif isinstance(value.operation, ProductNode):
                self.multiplied(value)
        for name in self.graph.outputs.values():
            self.output(name)
        return len(self.roots) > before

    def copied(self, value: GraphValue) -> Lazy:
        """Return the formula of a view that is written to memory."""
        operation = value.operation
        assert isinstance(operation, ViewNode)
        found = self.taken(value, operation.of, (operation.step,))
        return dataclasses.replace(found, value=value)

    def formula(self, value: GraphValue) -> Lazy:
        operation = value.operation
        assert isinstance(operation, FormulaNode)
        exact, rooted = viewed_operands(operation.expression)
        for name in rooted:
            self.root_itself(name)
        if is_scattered(value):
            self.root_all(operation.expression.arguments[0].name)
        taken = {name: self.taken(value, name) for name in operation.operands}
        if is_scattered(value) and (read := self.read_of_table(operation, taken)):
            self.roots.update(read)
            return self.formula(value)
        for name in exact:
            if taken[name].inlined and self.is_deeper(taken[name]):
                self.roots.add(taken[name].value.id)
                return self.formula(value)
            if self.is_deeper(taken[name]):
                root = self.cuts(name)[0]
                if root in self.roots:
                    raise self.unreadable(root)
                self.roots.add(root)
                return self.formula(value)
        rows = [lazy for lazy in taken.values() if lazy.axes]
        domain, axes = self.rows_of(value, operation, rows, exact)
        if axes is None:
            self.roots.update(lazy.value.id for lazy in rows)
            return self.formula(value)
        parts = {
            name: view("expand", (lazy.expression, *lazy.value.shape))
            if name in exact and lazy.inlined
            else lazy.expression
            for name, lazy in taken.items()
        }
        expression, indices = indices_apart(operation.expression)
        parts |= {own: self.as_index(parts[name]) for own, name in indices.items()}
        expression = substituted(expression, parts)
        if axes and value.shape != domain and not reduces(expression):
            # The formula has one number per row, and reads operands in memory besides results of
            # reductions. A row-wise kernel would write whole rows for them, so materialize the
            # reductions.
            self.roots.update(lazy.value.id for lazy in rows)
            return self.formula(value)
        inlined = frozenset().union(*(lazy.inlined for lazy in taken.values()))
        found = Lazy(value=value, expression=expression, domain=domain, axes=axes, inlined=inlined)
        unfit = self.unfit(found, taken) or self.apart(found, taken)
        if unfit:
            self.root_numbers(unfit)
            return self.formula(value)
        return found

    def as_index(self, expression: Expression) -> Expression:
        """Return the expression of an index, whose leaves are marked as indices."""
        leaves = {name: self.leaves[name] for name in inputs(expression)}
        return substituted(
            expression,
            {
                name: self.named(dataclasses.replace(leaf, is_index=True))
                for name, leaf in leaves.items()
            },
        )

    def root_itself(self, name: str) -> None:
        """Make a value a root that is read packed, without a layout of another root."""
        at, views = self.origin(name)
        lazy = self.lazies.get(at)
        if at not in self.roots and lazy is not None and lazy.axes:
            # A view of a row-wise result would need a copy, so materialize the result itself.
            self.roots.add(at)
        if at not in self.roots or (views and not self.is_packed(at, views)):
            self.roots.add(name)

    def root_all(self, name: str) -> None:
        """Make a value a root that covers all of its memory, because a scatter writes into it."""
        at, views = self.origin(name)
        leaf = self.leaf(at, views) if at in self.roots else None
        if leaf is None or not self.is_all(at, leaf.layout):
            self.roots.add(name)

    def read_of_table(self, operation: FormulaNode, taken: Mapping[str, Lazy]) -> set[str]:
        """Return the operands of a scatter that read the table which the scatter overwrites."""
        table = operation.expression.arguments[0].name
        (whole,) = inputs(taken[table].expression)
        reads = {name for name, lazy in taken.items() if whole in inputs(lazy.expression)}
        return reads - {table}

    def is_packed(self, root: str, views: tuple[ViewStep, ...]) -> bool:
        leaf = self.leaf(root, views)
        return leaf is not None and leaf.layout.is_packed

    def taken(self, into: GraphValue, name: str, more: tuple[ViewStep, ...] = ()) -> Lazy:
        """Return an operand as a formula of leaves, through further views.

        The value becomes a root if its formula cannot be substituted.
        """
        while True:
            at, views = self.origin(name)
            views = simplified(self.values[at].shape, (*views, *more))
            shown = dataclasses.replace(
                self.values[at], shape=shape_behind(self.values[at].shape, views)
            )
            if at in self.roots:
                leaf = self.leaf(at, views)
                if leaf is not None:
                    return Lazy(value=shown, expression=self.named(leaf), domain=shown.shape)
                if at == name:
                    raise self.unreadable(name)
                self.roots.update(self.cuts(name))
                continue
            lazy = self.lazies[at]
            pushed = self.pushed(lazy, views) if views else lazy.expression
            if pushed is None or not self.is_inlined(at, into):
                self.roots.add(at)
                continue
            found = Lazy(
                value=shown, expression=pushed, domain=shown.shape, inlined=lazy.inlined | {at}
            )
            if views:
                return found
            return dataclasses.replace(found, domain=lazy.domain, axes=lazy.axes)

    def unreadable(self, root: str) -> GraphError:
        value = self.values[root]
        remedy = "this is a bug in kgen: report it with the model"
        if value.rank > MAX_RANK:
            remedy = f"reshape it to at most {MAX_RANK} axes, or split its Transpose into two"
        return GraphError(
            f"{self.graph.names.get(root, root)} of shape {by_x(value.shape)} is read through a "
            f"view that no kernel supports; {remedy}{nodes_shown(value.nodes)}"
        )

    def is_inlined(self, name: str, into: GraphValue) -> bool:
        """Whether the formula of `name` may be substituted into `into`.

        A formula in a product's epilogue stays in that epilogue.
        """
        owners = self.epilogues.region_of
        return owners.get(name) == owners.get(into.id)

    def is_deeper(self, lazy: Lazy) -> bool:
        """Whether a formula reads a leaf with more axes than the leaf's layout has."""
        for leaf in (self.leaves[name] for name in inputs(lazy.expression)):
            shown = seen(leaf.layout, math.prod(self.values[leaf.root].shape), "x")
            if shown is not None and len(shown.shape) > len(leaf.layout.shape):
                return True
        return False

    def pushed(self, lazy: Lazy, views: tuple[ViewStep, ...]) -> Expression | None:
        """Return the formula of a view of a formula, by views of its leaves, or None."""
        if lazy.axes or not lazy.is_plain:
            return None
        found = {}
        for name in inputs(lazy.expression):
            leaf = self.leaves[name]
            layout = replayed(leaf.layout.expanded(lazy.value.shape), views)
            size = math.prod(self.values[leaf.root].shape)
            if layout is None or not is_seen(layout, size):
                return None
            found[name] = self.named(Leaf(root=leaf.root, layout=layout))
        return substituted(lazy.expression, found)

    def rows_of(
        self, value: GraphValue, operation: FormulaNode, rows: list[Lazy], exact: frozenset[str]
    ) -> tuple[Shape, tuple[int, ...] | None]:
        """Return the domain of a formula, and its reduced axes.

        The axes are () without row-wise parts, and None if the row-wise parts do not agree.
        """
        if operation.axes:
            shapes = [self.values[name].shape for name in operation.operands]
            found = (tuple(np.broadcast_shapes(*shapes)), operation.axes)
        elif rows:
            found = (rows[0].domain, rows[0].axes)
        else:
            return value.shape, ()
        domain, axes = found
        same = all((lazy.domain, lazy.axes) == found for lazy in rows)
        rank = len(domain)
        fits = value.rank == rank and all(
            n == m or (n == 1 and axis in axes)
            for axis, (n, m) in enumerate(zip(value.shape, domain, strict=True))
        )
        return domain, axes if same and fits and not (exact and rows) else None

    def unfit(self, lazy: Lazy, taken: Mapping[str, Lazy]) -> set[str]:
        """Return the parts that must be roots because one kernel cannot compute all of them."""
        if not any(part.inlined for part in taken.values()):
            return set()
        found = set()
        alone = computed_in([part.value.dtype for part in taken.values()], (lazy.value.dtype,))
        for part in taken.values():
            if not part.inlined:
                continue
            whole = self.computed(lazy)
            # A comparison of integers that selects floats would make the kernel compute in
            # integers.
            alike = self.is_computed_alike(part, whole) and alone.is_integer is whole.is_integer
            alike = alike or self.is_rounded_within(part, lazy, whole)
            if not alike or (lazy.axes and not part.is_plain):
                found.add(part.value.id)
        if is_too_long(lazy.expression) or len(inputs(lazy.expression)) > MOST_OPERANDS:
            widest = max(
                (t for t in taken.values() if t.inlined), key=lambda t: characters(t.expression)
            )
            found.add(widest.value.id)
        return found

    def apart(self, lazy: Lazy, taken: Mapping[str, Lazy]) -> set[str]:
        """Return the parts that must be roots because the formula has too many axes.

        Raises GraphError if the formula has no such parts.
        """
        if len(lazy.domain) <= MAX_RANK or has_views(lazy.expression):
            return set()
        leaves = {name: self.leaves[name] for name in inputs(lazy.expression)}
        shape, layouts, _ = coalesced(lazy.domain, leaves, lazy.axes)
        sizes = {name: math.prod(self.values[leaf.root].shape) for name, leaf in leaves.items()}
        if len(shape) <= MAX_RANK and all(is_seen(layouts[n], sizes[n]) for n in leaves):
            return set()
        if not (found := {part.value.id for part in taken.values() if part.inlined}):
            raise GraphError(
                f"a formula of shape {by_x(lazy.domain)} has {len(shape)} axes that do not "
                f"merge, and a kernel at most {MAX_RANK}; reshape its operands so that "
                f"neighbouring axes are one{nodes_shown(lazy.value.nodes)}"
            )
        return found

    def is_computed_alike(self, part: Lazy, whole: DType) -> bool:
        """Whether a part gives equal results when the kernel computes in the type `whole`."""
        own, dtype = self.computed(part), part.value.dtype
        converts = part.expression.name == "cast" and not part.expression.arguments[0].arguments
        if converts and not dtype.is_integer:
            return not whole.is_integer
        if dtype is not DType.BOOL and dtype.is_integer != own.is_integer:
            return False
        if dtype in (DType.S32, DType.S64) and dtype is not whole:
            # A conversion to s64 avoids an overflow, one to s32 wraps around: neither is the same
            # in floats.
            return False
        return own is whole

    def is_rounded_within(self, part: Lazy, lazy: Lazy, whole: DType) -> bool:
        """Whether a part is saturated s8 that the consumer computes in f32.

        Consumers with windows are excluded, as they would compute the part once per kernel
        position.
        """
        of, into = self.values[part.value.id].operation, lazy.value.operation
        return (
            part.value.dtype is DType.S8
            and whole is DType.F32 is self.computed(part)
            and isinstance(of, FormulaNode)
            and is_saturated(of.expression)
            and isinstance(into, FormulaNode)
            and not has_views(into.expression)
        )

    def computed(self, lazy: Lazy) -> DType:
        indices = index_inputs(lazy.expression)
        dtypes = [
            self.read_as(self.leaves[name].root)
            for name in inputs(lazy.expression)
            if name not in indices
        ]
        return computed_in(dtypes, (lazy.value.dtype,))

    def read_as(self, root: str) -> DType:
        """Return the type in which a root is read: s32 sums in an epilogue are read as f32."""
        dtype = self.values[root].dtype
        return DType.F32 if dtype is DType.S32 and root in self.epilogues.root_of else dtype

    # -- products ---------------------------------------------------------------------------

    def multiplied(self, product: GraphValue) -> None:
        """Make the operands of a product roots: matrices in memory with one stride."""
        for number, name in enumerate(product.operands):
            at, views = self.origin(name)
            if at not in self.roots:
                # Materialize the source of the views if the product can read it through them.
                layout = replayed(StridedLayout.of(self.values[at].shape), views)
                fits = layout is not None and matrix(self.graph, product, number, layout)
                self.roots.add(at if fits else name)
                continue
            leaf = self.leaf(at, views)
            if leaf is None or matrix(self.graph, product, number, leaf.layout) is None:
                self.roots.add(name)

    # -- what several kernels need ------------------------------------------------------------

    def output(self, name: str) -> None:
        """Materialize a model's output, packed."""
        at, views = self.origin(name)
        if isinstance(self.values[at].operation, SourceNode):
            self.roots.add(name)
        elif at not in self.roots:
            layout = replayed(StridedLayout.of(self.values[at].shape), views)
            self.roots.add(at if layout is not None and self.is_all(at, layout) else name)
        elif (leaf := self.leaf(at, views)) is None or not self.is_all(at, leaf.layout):
            self.roots.add(name)

    def is_all(self, root: str, layout: StridedLayout) -> bool:
        """Whether a layout covers a root's memory in its order."""
        return layout.is_packed and layout.size == math.prod(self.values[root].shape)

    def share(self) -> bool:
        """Materialize what several kernels would compute. True if this added roots."""
        owners: dict[str, set[str]] = {}
        for root in self.roots:
            if root in self.lazies:
                for name in self.lazies[root].inlined:
                    owners.setdefault(name, set()).add(root)
        new = {name for name, by in owners.items() if len(by) > 1 and not self.is_cheap(name)}
        # A value that only other new roots need will be computed once anyway.
        first = new - self.inside(new, owners)
        self.root_numbers(first)
        return bool(first)

    def root_numbers(self, names: Iterable[str]) -> None:
        """Make values roots; for a dequantised value, make its s8 numbers the root instead."""
        for name in names:
            numbers = self.numbers_of(name)
            self.roots.add(numbers)
            if numbers != name:
                self.lazies[name] = self.formula(self.values[name])

    def numbers_of(self, name: str) -> str:
        """Return the s8 numbers that a value dequantises.

        Returns the value itself if it is no dequantisation, or if its numbers are a root already.
        """
        at = self.values[name].operation
        parts = Dequantization.of(at.expression) if isinstance(at, FormulaNode) else None
        if parts is None or parts.numbers not in self.lazies or parts.numbers in self.roots:
            return name
        return parts.numbers if self.values[parts.numbers].dtype is DType.S8 else name

    def join(self) -> bool:
        """Materialize operands that can be written directly into a concatenation.

        True if this added roots.
        """
        new = roots_to_join(self.graph, self.order, self.roots)
        self.roots |= new
        return bool(new)

    def inside(self, new: set[str], owners: Mapping[str, set[str]]) -> set[str]:
        """Return the new roots that are computed only as a part of another new root."""
        return {
            name
            for other in new
            for name in new.intersection(self.lazies[other].inlined)
            if other != name and owners[other] == owners[name]
        }

    def is_cheap(self, name: str) -> bool:
        lazy = self.lazies[name]
        if lazy.axes:
            return False
        parts = Dequantization.of(lazy.expression)
        if parts is not None and self.values[self.leaves[parts.numbers].root].dtype is DType.S8:
            return True
        computed = [s for s in steps(lazy.expression) if s.arguments]
        read = sum(self.size(leaf) for leaf in inputs(lazy.expression))
        return len(computed) <= CHEAP and read <= math.prod(lazy.value.shape)

    def size(self, leaf: str) -> int:
        layout = self.leaves[leaf].layout
        return math.prod(n for n, s in zip(layout.shape, layout.strides, strict=True) if s)

    def fused(self) -> Fused:
        written = [
            v.id
            for v in self.order
            if v.id in self.roots
            and not isinstance(v.operation, SourceNode)
            and v.id not in self.epilogues.root_of
        ]
        operands = {}
        for value in self.order:
            if isinstance(value.operation, ProductNode):
                pair = [self.leaf(*self.origin(o)) for o in value.operands]
                assert pair[0] is not None and pair[1] is not None
                operands[value.id] = (pair[0], pair[1])
        return Fused(
            graph=self.graph,
            roots=tuple(written),
            formulas={name: self.lazies[name] for name in written if name in self.lazies},
            products=self.epilogues.products,
            leaves=self.leaves,
            memory={name: self.layout_of(name) for name in self.roots},
            operands=operands,
            outputs={name: self.origin(of)[0] for name, of in self.graph.outputs.items()},
        )
