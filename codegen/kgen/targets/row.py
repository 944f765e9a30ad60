"""The plan of a row-wise kernel that all families share: phases, a row's lanes, where inputs lie.

An expression with reductions is computed in phases. In each a lane folds what it has of the row,
the lanes exchange what they have folded, and what is the same for the whole row (a mean, a scale)
is computed once. The last phase computes the output. A row is either *resident*: a lane loads its
vectors once and keeps them, and what a phase computes of them is there in the next; or *streamed*:
every phase reads the row again.

A row has `lanes` lanes; lane i has the vectors i, i + lanes, i + 2 lanes, ... of it. Where the
innermost axis is reduced, lanes next to one another have vectors next to one another. Where it is
kept (the sums of a matrix' columns, softmax over the channels of NCHW), rows are *interleaved*:
elements next to one another are of rows next to one another. Then neighbouring threads take
neighbouring rows, so that what they read and write at once is contiguous all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from kgen.ops import COORDINATES, REDUCTIONS, Expression, Primitive, Reduction, steps
from kgen.ops.expression import infix, node, reduce, unknown, variable, with_arguments
from kgen.ops.patterns import bound
from kgen.ops.views import has_views
from kgen.spec import DType, Rowwise
from kgen.spec.formula import Shape, packed
from kgen.targets.stream import Dimension, StreamInput, coordinates, merge
from kgen_runtime.values import frozen

#: What a comment may say of a fold.
TITLE_CHARACTERS = 70
#: Interleaved rows of a block: those of a warp, which read 64 bytes of f16 at once.
INTERLEAVED_ROWS = 32
#: What a lane of an interleaved row has at least, so that more lanes are worth their exchange.
COLUMNS_PER_LANE = 4


@frozen
class Fold:
    """A reduction over the row: `name` is that of its value; `title` says what it is, for a
    comment. `relative_to` names the fold of the same phase that an online one is relative to."""

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
    folds' arguments, or in the last phase the results, element by element."""

    number: int
    folds: tuple[Fold, ...]
    wanted: tuple[Expression, ...]
    row_values: tuple[Expression, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def online(self) -> tuple[Fold, ...]:
        """Those that are relative to another fold of this phase."""
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
    """Where an operand lies in its `tensor`. `row_terms`: (coordinate of the row, stride) whose
    products sum to the row's first element, counted from `offset`; `columns` is where the row's
    elements are from there, None if one element is the whole row's."""

    name: str
    tensor: str
    offset: int
    row_terms: tuple[tuple[int, int], ...]
    columns: StreamInput | None


@frozen
class RowOutput:
    """Where an output lies: as an input does, or `row_stride` from row to row where that is all.
    `columns` is None if it has one element for a row."""

    name: str
    result: Expression
    row_stride: int
    row_terms: tuple[tuple[int, int], ...]
    columns: StreamInput | None
    offset: ClassVar[int] = 0

    @property
    def tensor(self) -> str:
        return self.name


@frozen
class RowPlan:
    """`vector` divides the innermost dimension of the columns, `native` are the functions of which
    the family has a better form.

    `online` gives the reduction that another one is relative to and is found together with, in the
    same phase, which spares a streamed row one reading. With `maximum_of` it is a sum of
    exponentials relative to the row's maximum, rescaled whenever that grows (M. Milakov and
    N. Gimelshein, "Online normalizer calculation for softmax", 2018).
    """

    spec: Rowwise
    vector: int
    lanes: int
    native: frozenset[str] = frozenset()
    online: Callable[[Expression], Expression | None] | None = None
    #: What the family makes of the expression in primitives.
    form: Callable[[Expression], Expression] = lambda expression: expression

    # -- the expression ------------------------------------------------------------------------

    @cached_property
    def results(self) -> tuple[Expression, ...]:
        """Those of the outputs."""
        return tuple(map(self.form, self.spec.primitives(self.native)))

    @cached_property
    def _of_row(self) -> frozenset[Expression]:
        """What is the same for a whole row."""
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
        """How many phases come before each step's value is known."""
        found: dict[Expression, int] = {}
        for step in steps(*self.results):
            before = max((found[a] for a in step.arguments), default=0)
            together = self._extreme(step) is not None
            found[step] = before + (step.primitive is Primitive.REDUCE and not together)
        return found

    def _extreme(self, step: Expression) -> Expression | None:
        """What a reduction is found together with."""
        return self.online(step) if self.online else None

    def is_of_row(self, step: Expression) -> bool:
        return step in self._of_row

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """Those that fold, then the one that computes the output."""
        counts: Counter[str] = Counter()
        folds: dict[int, list[Fold]] = {}
        found: list[Fold] = []
        for step in steps(*self.results):
            if step.primitive is Primitive.REDUCE:
                counts[step.name] += 1
                number = counts[step.name] if counts[step.name] > 1 else ""
                name = f"{step.name}{number}"
                title = f"{name} = {step.name}({infix(self._in_words(step.arguments[0], folds))})"
                if len(title) > TITLE_CHARACTERS:
                    title = name
                extreme = self._extreme(step)
                relative_to = next((f.name for f in found if f.step is extreme), "")
                fold = Fold(name=name, step=step, title=title, relative_to=relative_to)
                found.append(fold)
                folds.setdefault(self._depths[step], []).append(fold)
        last = max(self._depths[result] for result in self.results)
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
        wanted = tuple(fold.argument for fold in folds) or self.results
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
        """What differs along the row of all that these are computed from, less what is known and
        what only that needs; each after its arguments."""
        return unknown(wanted, self._of_row.union(known))

    def identity(self, fold: Fold) -> float:
        """What a fold starts from."""
        return fold.reduction.identity_of(self.spec.compute)

    @property
    def coordinates(self) -> frozenset[str]:
        """Which of `row` and `column` the expression asks for."""
        return COORDINATES & {s.name for s in steps(*self.results)}

    @property
    def height(self) -> int:
        """Rows of a matrix, from whose first one `row` counts."""
        return self.spec.height

    # -- where things lie ----------------------------------------------------------------------

    @property
    def interleaved(self) -> bool:
        """Neighbouring elements are of neighbouring rows."""
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
        """The inputs, then the outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def views(self) -> tuple[RowInput, ...]:
        """Inputs that are not a tensor from its first element on, under its own name."""
        return tuple(of for of in self.inputs if of.offset or of.name != of.tensor)

    def dtype_of(self, name: str) -> DType:
        """That of an input or output."""
        tensors = {of.name: of.tensor for of in self.inputs}
        return self.spec.dtype_of(tensors.get(name, name))

    @property
    def whole_outputs(self) -> tuple[RowOutput, ...]:
        """Those that have a row's columns."""
        return tuple(of for of in self.outputs if of.columns)

    @property
    def reduced_outputs(self) -> tuple[RowOutput, ...]:
        """Those that have one element for a row."""
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
    def row_dimensions(self) -> tuple[Dimension, ...]:
        """How a row's number gives the coordinates that some tensor needs."""
        return coordinates(self._split.rows, {d for i in self.tensors for d, _ in i.row_terms})

    @property
    def column_dimensions(self) -> tuple[Dimension, ...]:
        """How a vector's number in its row gives the coordinates that some tensor needs."""
        *outer, inner = self._split.cols
        columns = [i.columns for i in self.tensors if i.columns is not None]
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


@frozen
class Split:
    """Sizes of the rows' dimensions and of the columns', those merged that all operands and outputs
    walk alike; and the strides of each in both, by name."""

    rows: Shape
    cols: Shape
    strides: Mapping[str, tuple[Shape, Shape]]

    @property
    def rows_are_near(self) -> bool:
        """Elements of neighbouring rows are next to one another, or one."""
        return all(outer[-1] in (0, 1) for outer, _ in self.strides.values())

    @property
    def columns_are_near(self) -> bool:
        """Those of neighbouring columns are."""
        return all(inner[-1] in (0, 1) for _, inner in self.strides.values())


def split(spec: Rowwise) -> Split:
    """Where a vector of columns is not of neighbouring elements, there is an innermost dimension of
    one, so that no vector has several."""
    found = _merged(spec)
    if is_interleaved(spec) or found.columns_are_near:
        return found
    strides = {name: (outer, (*inner, 0)) for name, (outer, inner) in found.strides.items()}
    return Split(rows=found.rows, cols=(*found.cols, 1), strides=strides)


def _merged(spec: Rowwise) -> Split:
    whole = {read.name: read.strides for read in spec.reads.reads}
    whole |= {name: spec.output_strides(name) for name in spec.outputs}
    (rows, outer), (cols, inner) = (
        merge([spec.domain[a] for a in axes], [[s[a] for a in axes] for s in whole.values()])
        for axes in (spec.kept, spec.axes)
    )
    pairs = zip(outer, inner, strict=True)
    return Split(rows=rows, cols=cols, strides=dict(zip(whole, pairs, strict=True)))


def is_interleaved(spec: Rowwise) -> bool:
    """The innermost axis along which there is something is kept; through views, rows lie next to
    one another and columns do not."""
    if has_views(*spec.formula_calls):
        found = _merged(spec)
        return found.rows_are_near and not found.columns_are_near
    last = len(spec.domain) - 1
    inner = max((a for a, n in enumerate(spec.domain) if n > 1), default=last)
    return not {inner, last} & set(spec.axes)


def interleaved_block(spec: Rowwise, threads: int) -> tuple[int, int]:
    """Rows of a block that are next to one another, and lanes for each of them: as many rows as
    read whole sectors of memory at once, and lanes while each has a few columns."""
    rows, lanes = 1, 1
    while rows < min(INTERLEAVED_ROWS, spec.rows):
        rows *= 2
    while 2 * lanes * rows <= threads and 2 * lanes * COLUMNS_PER_LANE <= spec.cols:
        lanes *= 2
    return rows, lanes


def line_length(spec: Rowwise) -> int:
    """Columns one after the other in which no input begins again: those of a row, unless an input
    broadcasts along some of its axes, or other axes lie between."""
    return split(spec).cols[-1]


def walked_itemsize(spec: Rowwise) -> int:
    """Bytes of the widest element of what is walked by vectors: not of outputs of which a row has
    one element."""
    whole = [name for name in spec.outputs if not spec.reduced[name]]
    return max(spec.dtype_of(name).itemsize for name in (*spec.inputs, *whole))


_X, _C = variable("x"), variable("c")
_EXPONENTIALS = reduce("sum", node(Primitive.EXP2, (_X - reduce("maxnum", _X)) * _C))


def maximum_of(step: Expression) -> Expression | None:
    """The row's maximum M of a sum over the row of exp2((x - M) c), M = maxnum(x), c a constant."""
    found = bound(_EXPONENTIALS, step)
    if found is None or found["c"].primitive is not Primitive.CONSTANT:
        return None
    return reduce("maxnum", found["x"])


def widest_vector(spec: Rowwise, most: int) -> int:
    """The most elements, a power of two up to `most`, that a vector of every tensor can have."""
    if is_interleaved(spec):
        return 1
    found = split(spec)
    lengths = [found.cols[-1], *(read.offset for read in spec.reads.reads)]
    for outer, inner in found.strides.values():
        # A vector stays in its row, and rows of a tensor that is walked by vectors start at one.
        lengths += [s for s in (*outer, *inner[:-1]) if inner[-1] and s]
    vector = most
    while any(length % vector for length in lengths):
        vector //= 2
    return vector
