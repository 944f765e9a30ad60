"""The plan of a row-wise kernel that all families share: phases, a row's lanes, where inputs lie.

An expression with reductions is computed in phases. In each a lane folds what it has of the row,
the lanes exchange what they have folded, and what is the same for the whole row (a mean, a scale)
is computed once. The last phase computes the output. A row is either *resident*: a lane loads its
vectors once and keeps them, and what a phase computes of them is there in the next; or *streamed*:
every phase reads the row again.

A row has `lanes` lanes; lane i has the vectors i, i + lanes, i + 2 lanes, ... of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kgen.ops import COORDINATES, REDUCTIONS, Expression, Primitive, Reduction, steps
from kgen.ops.expression import infix, unknown, variable, with_arguments
from kgen.spec import Rowwise
from kgen.targets.stream import Dimension, StreamInput, coordinates, merge
from kgen_runtime.values import frozen

#: What a comment may say of a fold.
TITLE_CHARACTERS = 70


@frozen
class Fold:
    """A reduction over the row: `name` is that of its value; `title` says what it is, for a
    comment. `relative_to` names the maximum of the same phase that an online sum's terms are
    relative to."""

    name: str
    step: Expression
    title: str
    relative_to: str = ""

    @property
    def before(self) -> str:
        """What an online sum's maximum was."""
        return f"{self.relative_to}_before"

    @property
    def rescaled(self) -> Expression:
        """An online sum in the maximum as it is now."""
        (power,) = self.argument.arguments
        distance = variable(self.before) - variable(self.relative_to)
        factor = with_arguments(power, (distance, power.arguments[1]))
        return variable(self.name) * with_arguments(self.argument, (factor,))

    @property
    def reduction(self) -> Reduction:
        return REDUCTIONS[self.step.name]

    @property
    def argument(self) -> Expression:
        """What is folded."""
        return self.step.arguments[0]


@frozen
class Phase:
    """`row_values` are computed once for the row, from the folds of the phases before; then the
    folds' arguments, or in the last phase the `result`, element by element."""

    number: int
    folds: tuple[Fold, ...]
    wanted: tuple[Expression, ...]
    row_values: tuple[Expression, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def online(self) -> tuple[Fold, ...]:
        """Sums that are relative to a maximum of this phase."""
        return tuple(fold for fold in self.folds if fold.relative_to)

    @property
    def name(self) -> str:
        return "_".join(fold.name for fold in self.folds) or "out"


@frozen
class Piece:
    """A vector of a lane: `offset` vectors behind its first. `partial`: some lanes have none."""

    index: int
    offset: int
    partial: bool


@frozen
class RowInput:
    """Where an input lies. `row_terms`: (coordinate of the row, stride) whose products sum to the
    row's first element; `columns` is where the row's elements are from there, None if one element
    is the whole row's."""

    name: str
    row_terms: tuple[tuple[int, int], ...]
    columns: StreamInput | None


@frozen
class RowPlan:
    """`vector` divides the innermost dimension of the columns, `native` are the functions of which
    the family has a better form.

    `online`: a sum of exponentials relative to the row's maximum is found in the same phase as the
    maximum, and rescaled whenever that grows (M. Milakov and N. Gimelshein, "Online normalizer
    calculation for softmax", 2018); it spares a streamed row one reading.
    """

    spec: Rowwise
    vector: int
    lanes: int
    native: frozenset[str] = frozenset()
    online: bool = False
    #: What the family makes of the expression in primitives.
    form: Callable[[Expression], Expression] = lambda expression: expression

    # -- the expression ------------------------------------------------------------------------

    @cached_property
    def result(self) -> Expression:
        return self.form(self.spec.primitives(self.native))

    @cached_property
    def _of_row(self) -> frozenset[Expression]:
        """What is the same for a whole row."""
        same = {i.name for i in self.inputs if i.columns is None} | {"row"}
        found: set[Expression] = set()
        for step in steps(self.result):
            leaf = step.name in same if step.primitive is Primitive.INPUT else None
            reduced = step.primitive is Primitive.REDUCE
            if leaf or reduced or (leaf is None and found.issuperset(step.arguments)):
                found.add(step)
        return frozenset(found)

    @cached_property
    def _depths(self) -> dict[Expression, int]:
        """How many phases come before each step's value is known."""
        found: dict[Expression, int] = {}
        for step in steps(self.result):
            before = max((found[a] for a in step.arguments), default=0)
            together = self.online and maximum_of(step) is not None
            found[step] = before + (step.primitive is Primitive.REDUCE and not together)
        return found

    def is_of_row(self, step: Expression) -> bool:
        return step in self._of_row

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """Those that fold, then the one that computes the output."""
        counts: Counter[str] = Counter()
        folds: dict[int, list[Fold]] = {}
        found: list[Fold] = []
        for step in steps(self.result):
            if step.primitive is Primitive.REDUCE:
                counts[step.name] += 1
                number = counts[step.name] if counts[step.name] > 1 else ""
                name = f"{step.name}{number}"
                title = f"{name} = {step.name}({infix(self._in_words(step.arguments[0], folds))})"
                if len(title) > TITLE_CHARACTERS:
                    title = name
                top = maximum_of(step) if self.online else None
                relative_to = next((f.name for f in found if f.step is top), "")
                fold = Fold(name=name, step=step, title=title, relative_to=relative_to)
                found.append(fold)
                folds.setdefault(self._depths[step], []).append(fold)
        last = self._depths[self.result]
        return tuple(
            self._phase(number, tuple(folds.get(number + 1, ()))) for number in range(last + 1)
        )

    @staticmethod
    def _in_words(expression: Expression, folds: Mapping[int, Sequence[Fold]]) -> Expression:
        """An expression with the folds' names for what is known of them."""
        names = {fold.step: variable(fold.name) for known in folds.values() for fold in known}
        done: dict[Expression, Expression] = {}
        for step in steps(expression):
            made = names.get(step)
            if made is None:
                made = with_arguments(step, tuple(done[a] for a in step.arguments))
            done[step] = made
        return done[expression]

    def _phase(self, number: int, folds: tuple[Fold, ...]) -> Phase:
        wanted = tuple(fold.argument for fold in folds) or (self.result,)
        return self.given(Phase(number=number, folds=folds, wanted=wanted), ())

    def given(self, phase: Phase, known: Collection[Expression]) -> Phase:
        """The phase with what it needs of the row and of the inputs where some values of every
        element are known."""
        needed = self.elements(phase.wanted, known)
        running = {fold.step for fold in phase.folds}
        row_values = [
            a
            for step in needed
            for a in step.arguments
            if a in self._of_row and a.primitive is not Primitive.CONSTANT and a not in running
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
        """What differs along the row of all that these are computed from, less what is known and
        what only that needs; each after its arguments."""
        return unknown(wanted, self._of_row.union(known))

    @property
    def coordinates(self) -> frozenset[str]:
        """Which of `row` and `column` the expression asks for."""
        return COORDINATES & {s.name for s in steps(self.result)}

    @property
    def height(self) -> int:
        """Rows of a matrix, from whose first one `row` counts."""
        return (1, *self.spec.domain)[-1 - self.spec.axes]

    # -- where things lie ----------------------------------------------------------------------

    @cached_property
    def _split(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[RowInput, ...]]:
        """Sizes of the rows' dimensions, of the columns', and the inputs."""
        spec, axes = self.spec, self.spec.axes
        strides = [spec.broadcast_strides(name) for name in spec.inputs]
        rows, row_strides = merge(spec.domain[:-axes], [s[:-axes] for s in strides])
        cols, column_strides = merge(spec.domain[-axes:], [s[-axes:] for s in strides])
        packed = tuple(math.prod(cols[i + 1 :]) for i in range(len(cols)))
        found = []
        for name, outer, inner in zip(spec.inputs, row_strides, column_strides, strict=True):
            columns = StreamInput(
                name=name,
                strides=(*inner[:-1], inner[-1] * self.vector),
                linear=inner == packed,
                single=inner[-1] == 0,
            )
            terms = tuple((d, stride) for d, stride in enumerate(outer) if stride)
            # A row of one column has strides of 0.
            whole = any(inner) or self.spec.cols == 1
            found.append(RowInput(name=name, row_terms=terms, columns=columns if whole else None))
        return rows, cols, tuple(found)

    @property
    def inputs(self) -> tuple[RowInput, ...]:
        return self._split[2]

    @property
    def row_dimensions(self) -> tuple[Dimension, ...]:
        """How a row's number gives the coordinates that some input needs."""
        return coordinates(self._split[0], {d for i in self.inputs for d, _ in i.row_terms})

    @property
    def column_dimensions(self) -> tuple[Dimension, ...]:
        """How a vector's number in its row gives the coordinates that some input needs."""
        *outer, inner = self._split[1]
        columns = [i.columns for i in self.inputs if i.columns is not None]
        needed = {d for c in columns if not c.linear for d, _ in c.terms}
        return coordinates((*outer, inner // self.vector), needed)

    # -- a row's vectors -----------------------------------------------------------------------

    @property
    def row_vectors(self) -> int:
        return self.spec.cols // self.vector

    @property
    def turns(self) -> int:
        """Vectors of a lane, some lanes' last one missing."""
        return -(-self.row_vectors // self.lanes)

    @property
    def held(self) -> int:
        """Numbers that a lane of a resident row keeps from one phase to the next."""
        return self.turns * self.vector * self.values_kept

    @cached_property
    def values_kept(self) -> int:
        """The most values of an element that later phases take from earlier ones."""
        elements = [self.elements(phase.wanted) for phase in self.phases]
        most = 0
        for number in range(1, len(elements)):
            known = {step for phase in elements[:number] for step in phase}
            new = {step for phase in elements[number:] for step in phase} - known
            taken = {a for step in new for a in step.arguments} & known
            most = max(most, len(taken | known & set(self.phases[-1].wanted)))
        return most

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """A lane's vectors."""
        return tuple(
            Piece(index=i, offset=offset, partial=offset + self.lanes > self.row_vectors)
            for i, offset in enumerate(range(0, self.row_vectors, self.lanes))
        )


def line_length(spec: Rowwise) -> int:
    """Columns one after the other in which no input begins again: those of a row, unless an input
    broadcasts along some of its axes."""
    strides = [spec.broadcast_strides(name)[-spec.axes :] for name in spec.inputs]
    return merge(spec.domain[-spec.axes :], strides)[0][-1]


def maximum_of(step: Expression) -> Expression | None:
    """The row's maximum M of a sum over the row of exp2((x - M) c), M = maxnum(x), c a constant."""
    match step:
        case Expression(
            primitive=Primitive.REDUCE,
            name="sum",
            arguments=(
                Expression(
                    primitive=Primitive.EXP2,
                    arguments=(
                        Expression(
                            primitive=Primitive.MUL,
                            arguments=(
                                Expression(primitive=Primitive.SUB, arguments=(x, top)),
                                Expression(primitive=Primitive.CONSTANT),
                            ),
                        ),
                    ),
                ),
            ),
        ) if top.name == "maxnum" and top.arguments == (x,):
            return top
    return None


def widest_vector(spec: Rowwise, most: int) -> int:
    """The most elements, a power of two up to `most`, that a vector of every tensor can have."""
    strides = [spec.broadcast_strides(name) for name in spec.inputs]
    cols, columns = merge(spec.domain[-spec.axes :], [s[-spec.axes :] for s in strides])
    lengths = [cols[-1]]
    for whole, inner in zip(strides, columns, strict=True):
        # A vector stays in its row, and rows of an input that is read by vectors start at one.
        lengths += [s for s in (*whole[: -spec.axes], *inner[:-1]) if inner[-1] and s]
    vector = most
    while any(length % vector for length in lengths):
        vector //= 2
    return vector
