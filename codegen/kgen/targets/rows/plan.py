"""Plan of a row-wise kernel that all families share: phases, lanes of a row, addresses of tensors.

An expression with reductions is computed in phases. In each phase a lane folds its elements of the
row, the lanes exchange partial results, and values that are constant along the row (a mean, a
scale) are computed once. The last phase computes the output. A row is either *resident*: a lane
loads its vectors once and keeps them, with the values that each phase computes from them; or
*streamed*: every phase reads the row again.

A row has `lanes` lanes; lane i has its vectors i, i + lanes, i + 2 lanes, ... If the innermost axis
is reduced, adjacent lanes have adjacent vectors. If it is kept (column sums of a matrix, softmax
over the channels of NCHW), rows are *interleaved*: adjacent elements belong to adjacent rows.
Adjacent threads then have adjacent rows, so that their accesses are contiguous too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property

from kgen.ops import Expression, Primitive, steps
from kgen.ops.expression import shown, unknown
from kgen.spec import DType, Rowwise
from kgen.spec.shapes import Shape, packed
from kgen.targets.rows.folds_and_phases import RowFold, RowInput, RowOutput, RowPhase, RowVector
from kgen.targets.rows.split import Split, is_interleaved, split
from kgen.targets.stream import Dimension, StreamInput, coordinates, operand_terms
from kgen_runtime.values import frozen

#: Most characters of a fold's description in a comment.
TITLE_CHARACTERS = 70


@frozen
class RowPlan:
    """Plan of a row-wise kernel.

    - `vector` divides the innermost dimension of the columns.
    - `native`: functions that the family computes in a better form than their expansion.
    - `online` returns the reduction that another one is relative to (rows/online.py). Both are
      computed in one phase, so that a streamed row is read once less.
    """

    spec: Rowwise
    vector: int
    lanes: int
    native: frozenset[str] = frozenset()
    online: Callable[[Expression], Expression | None] | None = None
    #: Rewrites the expression, in primitives, to the family's form.
    form: Callable[[Expression], Expression] = lambda expression: expression

    # -- the expression ------------------------------------------------------------------------

    @cached_property
    def results(self) -> tuple[Expression, ...]:
        """Expressions of the outputs."""
        return tuple(map(self.form, self.spec.primitives(self.native)))

    @cached_property
    def _of_row(self) -> frozenset[Expression]:
        """Expressions that are constant along a row."""
        same = {i.name for i in self.inputs if i.columns is None} | {"row"}
        found: set[Expression] = set()
        for step in steps(*self.results):
            leaf = step.name in same if step.primitive is Primitive.INPUT else None
            reduced = step.primitive is Primitive.REDUCE
            if leaf or reduced or (leaf is None and found.issuperset(step.arguments)):
                found.add(step)
        return frozenset(found)

    @cached_property
    def _depths(self) -> dict[Expression, int]:
        """Number of phases before each step's value is known."""
        found: dict[Expression, int] = {}
        for step in steps(*self.results):
            before = max((found[a] for a in step.arguments), default=0)
            together = self._extreme(step) is not None
            found[step] = before + (step.primitive is Primitive.REDUCE and not together)
        return found

    def _extreme(self, step: Expression) -> Expression | None:
        """Return the fold that a reduction is computed together with; None if its argument is
        constant along the row, because that is computed before the elements, once the extreme is
        known."""
        if self.online is None or self._of_row.issuperset(step.arguments):
            return None
        return self.online(step)

    def is_of_row(self, step: Expression) -> bool:
        return step in self._of_row

    @cached_property
    def phases(self) -> tuple[RowPhase, ...]:
        """Phases that fold, then the phase that computes the output."""
        counts: Counter[str] = Counter()
        folds: dict[int, list[RowFold]] = {}
        found: list[RowFold] = []
        for step in steps(*self.results):
            if step.primitive is Primitive.REDUCE:
                counts[step.name] += 1
                number = counts[step.name] if counts[step.name] > 1 else ""
                name = f"{step.name}{number}"
                names = {fold.step: fold.name for fold in found}
                words = shown(step.arguments[0], TITLE_CHARACTERS, names)
                title = f"{name} = {step.name}({words})"
                if len(title) > TITLE_CHARACTERS:
                    title = name
                extreme = self._extreme(step)
                relative_to = next((f.name for f in found if f.step is extreme), "")
                fold = RowFold(name=name, step=step, title=title, relative_to=relative_to)
                found.append(fold)
                folds.setdefault(self._depths[step], []).append(fold)
        last = max(self._depths[result] for result in self.results)
        return tuple(
            self._phase(number, tuple(folds.get(number + 1, ()))) for number in range(last + 1)
        )

    def _phase(self, number: int, folds: tuple[RowFold, ...]) -> RowPhase:
        wanted = tuple(fold.argument for fold in folds) or self.results
        return self.given(RowPhase(number=number, folds=folds, wanted=wanted), ())

    def given(self, phase: RowPhase, known: Collection[Expression]) -> RowPhase:
        """Return the phase with the inputs and row values that it needs if some values of every
        element are known."""
        needed = self.elements(phase.wanted, known)
        running = {fold.step for fold in phase.folds}
        row_values = [
            a
            for step in needed
            for a in step.arguments
            if a in self._of_row
            and a.primitive is not Primitive.CONSTANT
            and running.isdisjoint(steps(a))
        ]
        row_values += [w for w in phase.wanted if w in self._of_row]
        leaves = {s.name for s in needed if s.primitive is Primitive.INPUT}
        return replace(
            phase,
            row_values=tuple(dict.fromkeys(row_values)),
            inputs=tuple(i.name for i in self.inputs if i.name in leaves),
        )

    def elements(
        self, wanted: Sequence[Expression], known: Collection[Expression] = ()
    ) -> list[Expression]:
        """Return the steps on a row's elements that the wanted expressions need, each after its
        arguments, without known steps and steps that only those need."""
        return unknown(wanted, self._of_row.union(known))

    def identity(self, fold: RowFold) -> float:
        """Return the start value of a fold."""
        return fold.reduction.identity_of(self.spec.compute)

    @property
    def asks_row(self) -> bool:
        """Whether the expression reads the row's number in its matrix."""
        return "row" in {s.name for s in steps(*self.results)}

    @property
    def asks_column(self) -> bool:
        """Whether the expression reads an element's number in its row."""
        return "column" in {s.name for s in steps(*self.results)}

    @property
    def height(self) -> int:
        """Rows of a matrix, from whose first one `row` counts."""
        return self.spec.height

    # -- addresses -----------------------------------------------------------------------------

    @property
    def interleaved(self) -> bool:
        """Whether adjacent elements belong to adjacent rows."""
        return is_interleaved(self.spec)

    @cached_property
    def _split(self) -> Split:
        return split(self.spec)

    @cached_property
    def inputs(self) -> tuple[RowInput, ...]:
        found = []
        for read in self.spec.reads.reads:
            outer, inner = self._split.strides[read.name]
            terms = tuple((d, stride) for d, stride in enumerate(outer) if stride)
            # A row of one column has strides of 0.
            whole = any(inner) or self.spec.cols == 1
            columns = self._columns(read.name, inner) if whole else None
            found.append(
                RowInput(
                    name=read.name,
                    tensor=read.tensor,
                    offset=read.offset,
                    row_terms=terms,
                    columns=columns,
                )
            )
        return tuple(found)

    @cached_property
    def outputs(self) -> tuple[RowOutput, ...]:
        rows, found = self._split.rows, []
        for name, result in zip(self.spec.outputs, self.results, strict=True):
            outer, inner = self._split.strides[name]
            reduced = self.spec.reduced[name]
            linear = all(s == outer[-1] * n for s, n in zip(outer, packed(rows), strict=True))
            step = outer[-1] or (1 if reduced else self.spec.cols)
            terms = tuple((d, stride) for d, stride in enumerate(outer) if stride)
            found.append(
                RowOutput(
                    name=name,
                    result=result,
                    row_stride=step if linear else 0,
                    row_terms=() if linear else terms,
                    columns=None if reduced else self._columns(name, inner),
                )
            )
        return tuple(found)

    @property
    def tensors(self) -> tuple[RowInput | RowOutput, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def views(self) -> tuple[RowInput, ...]:
        """Inputs that are a part of a tensor, or a tensor of another name."""
        return tuple(of for of in self.inputs if of.offset or of.name != of.tensor)

    def dtype_of(self, name: str) -> DType:
        """Return the dtype of an input or output."""
        tensors = {of.name: of.tensor for of in self.inputs}
        return self.spec.dtype_of(tensors.get(name, name))

    @property
    def whole_outputs(self) -> tuple[RowOutput, ...]:
        """Outputs that have a row's columns."""
        return tuple(of for of in self.outputs if of.columns)

    @property
    def reduced_outputs(self) -> tuple[RowOutput, ...]:
        """Outputs that have one element per row."""
        return tuple(of for of in self.outputs if not of.columns)

    def _columns(self, name: str, inner: Shape) -> StreamInput:
        return StreamInput(
            name=name,
            strides=(*inner[:-1], inner[-1] * self.vector),
            linear=inner == packed(self._split.cols)
            or (name in self.spec.outputs and not any(inner)),
            single=inner[-1] == 0,
        )

    @property
    def of_row(self) -> tuple[RowInput, ...]:
        """Inputs with one element per row."""
        return tuple(of for of in self.inputs if of.columns is None)

    @property
    def folds(self) -> tuple[RowFold, ...]:
        """Folds of all phases."""
        return tuple(fold for phase in self.phases for fold in phase.folds)

    @property
    def has_matrices(self) -> bool:
        """Whether rows are counted within each of several matrices."""
        return self.height < self.spec.rows

    @property
    def computed_rows(self) -> tuple[Dimension, ...]:
        """Dimensions of a row whose coordinate is not the row's number itself."""
        return tuple(d for d in self.row_dimensions if not d.is_whole)

    @property
    def computed_columns(self) -> tuple[Dimension, ...]:
        """Dimensions of a column whose coordinate is not the column's number itself."""
        return tuple(d for d in self.column_dimensions if not d.is_whole)

    @property
    def row_dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions that split a row's number into the coordinates that some tensor needs."""
        return coordinates(self._split.rows, {d for i in self.tensors for d, _ in i.row_terms})

    @property
    def column_dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions that split the number of a vector in its row into the coordinates that some
        tensor needs."""
        *outer, inner = self._split.cols
        columns = [i.columns for i in self.tensors if i.columns is not None]
        needed = {d for c in columns if not c.linear for d, _ in c.terms}
        return coordinates((*outer, inner // self.vector), needed)

    def note(self, workers: str, *, is_resident: bool) -> str:
        """Return the header's line on who computes a row, and how often the row is read."""
        passes = len([phase for phase in self.phases if phase.inputs])
        kept = "the row stays in registers" if is_resident else f"the row is read {passes} times"
        return f"{workers} per row; {kept}"

    def row_operands(self, of: RowInput | RowOutput, number: str) -> tuple[tuple[str, int], ...]:
        """Return the terms of a tensor's row: operands, and elements per unit of each. `number` is
        the operand of the row's number, whose coordinates are %row.at<d>."""
        if isinstance(of, RowOutput) and of.row_stride:
            return ((number, of.row_stride),)
        return operand_terms("%row", number, self.row_dimensions, of.row_terms)

    # -- a row's vectors -----------------------------------------------------------------------

    @property
    def row_vectors(self) -> int:
        return self.spec.cols // self.vector

    @property
    def turns(self) -> int:
        """Most vectors of a lane; some lanes may lack the last one."""
        return -(-self.row_vectors // self.lanes)

    @property
    def held(self) -> int:
        """Elements and values that a lane of a resident row keeps from one phase to the next."""
        return self.turns * self.vector * self.values_kept

    @cached_property
    def values_kept(self) -> int:
        """Most values per element that later phases use from earlier ones."""
        elements = [self.elements(phase.wanted) for phase in self.phases]
        most = 0
        for number in range(1, len(elements)):
            known = {step for phase in elements[:number] for step in phase}
            new = {step for phase in elements[number:] for step in phase} - known
            taken = {a for step in new for a in step.arguments} & known
            most = max(most, len(taken | known & set(self.phases[-1].wanted)))
        return most

    @property
    def pieces(self) -> tuple[RowVector, ...]:
        """Vectors of a lane."""
        return tuple(
            RowVector(index=i, offset=offset, partial=offset + self.lanes > self.row_vectors)
            for i, offset in enumerate(range(0, self.row_vectors, self.lanes))
        )
