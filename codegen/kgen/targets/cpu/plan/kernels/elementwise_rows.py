"""Rows of an element-wise kernel's output, segments of a row, and addresses of their operands."""

from __future__ import annotations

import itertools
import math
from functools import cached_property

from kgen.spec import Elementwise
from kgen.targets.cpu.plan.cpu_plan import FormulaPlan, Run
from kgen.targets.stream import Dimension, StreamCondition, StreamOperand, StreamPlan
from kgen_runtime.values import frozen


@frozen
class Segment:
    """Elements [start, stop) of a row, where the conditions `known` have a constant value. `prefix`
    is the prefix of names."""

    prefix: str
    start: int
    stop: int
    run: Run
    known: tuple[tuple[str, bool], ...]

    @property
    def unrolled(self) -> tuple[tuple[str, int], ...]:
        """Prefix of names and first element of each vector of a step."""
        return tuple((f"{self.prefix}u{u}", u * self.run.vector) for u in range(self.run.unroll))


@frozen
class RowAddresses(FormulaPlan):
    """Rows of the stream's last dimension; all elements are one row if nothing broadcasts."""

    spec: Elementwise

    @cached_property
    def stream(self) -> StreamPlan:
        return StreamPlan(spec=self.spec, vector=1)

    @property
    def by_rows(self) -> bool:
        return takes_rows(self.stream)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Segments of a row, which end where a condition starts or stops to hold."""
        inner = [c for c in self.stream.conditions if not self.is_of_row(c)]
        ends = sorted({0, self.cols, *(end for c in inner for end in (c.low, c.high))})
        return tuple(
            Segment(
                prefix=f"s{i}." if len(ends) > 2 else "",
                start=start,
                stop=stop,
                run=Run(length=stop - start, vector=self.run.vector, unroll=self.run.unroll),
                known=tuple((c.name, c.low <= start < c.high) for c in inner),
            )
            for i, (start, stop) in enumerate(itertools.pairwise(ends))
        )

    def is_of_row(self, condition: StreamCondition) -> bool:
        return bool(condition.index) or condition.dimension < len(self.stream.sizes) - 1

    @property
    def row_conditions(self) -> tuple[StreamCondition, ...]:
        return tuple(c for c in self.stream.conditions if self.is_of_row(c))

    def row_guards(self, of: StreamOperand) -> tuple[str, ...]:
        return tuple(c.name for c in self.row_conditions if c.name in of.guards)

    def branches(self, of: StreamOperand) -> bool:
        """Return whether an operand is read element by element, only in rows where its guards hold.
        A row belongs to one part of a concatenation."""
        return of.lane != 1 and not of.single and bool(self.row_guards(of))

    def guards_together(self, of: StreamOperand) -> tuple[tuple[str, str, str], ...]:
        """Return conjunctions of guards: result so far, next guard, and name of both."""
        holds = [f"%{name}.holds" for name in self.row_guards(of)]
        both = [holds[0], *(f"%{of.name}.holds{i}" for i in range(1, len(holds)))]
        return tuple(zip(both, holds[1:], both[1:], strict=False))

    def holds(self, of: StreamOperand) -> str:
        """Return the value that says whether all guards of an operand hold."""
        together = self.guards_together(of)
        return together[-1][-1] if together else f"%{self.row_guards(of)[0]}.holds"

    def is_plain(self, of: StreamOperand) -> bool:
        """Return whether the operand begins at the first element of its tensor or of a row."""
        return not (of.offset or of.indices or of.guards) and min(of.strides) >= 0

    def start(self, of: StreamOperand) -> str:
        """Return the pointer to which offsets of a row's elements are added."""
        in_place = not self.by_rows and self.is_plain(of)
        return self.pointer(of.tensor) if in_place else f"%{of.name}.row"

    def places(self, of: StreamOperand) -> tuple[tuple[str, int], ...]:
        """Return the terms of a row's address: values, and bytes per unit of each."""
        at = self.row_terms(of) if self.by_rows else ()
        itemsize = self._itemsize(of)
        return (*at, *((f"%{name}.place", stride * itemsize) for name, stride in of.indices))

    def offset_bytes(self, of: StreamOperand) -> int:
        return of.offset * self._itemsize(of)

    def _itemsize(self, of: StreamOperand) -> int:
        return self.spec.dtype_of(of.tensor).itemsize

    def spare_bytes(self, of: StreamOperand) -> int:
        """Return the byte offset that stands in for that of a row whose guard fails. With it, all
        reads are inside the tensor."""
        inside = [s for s in self.segments if dict(s.known).items() >= self._held(of).items()]
        places = [i for s in inside for i in (s.start, s.stop - 1)]
        return -min((i * of.lane for i in places), default=0) * self._itemsize(of)

    def _held(self, of: StreamOperand) -> dict[str, bool]:
        """Return the conditions on columns that guard an operand; all of them must hold."""
        found = (c.name for c in self.stream.conditions if not self.is_of_row(c))
        return {name: True for name in found if name in of.guards}

    def lanes(self, of: StreamOperand, valid: int) -> tuple[int, ...]:
        """Return the byte offsets of a vector's elements, or of its first `valid` ones."""
        return tuple(e * of.lane * self._itemsize(of) for e in range(valid or self.compute.count))

    @property
    def rows(self) -> int:
        return math.prod(self.stream.sizes[:-1])

    @property
    def cols(self) -> int:
        return self.stream.sizes[-1]

    @property
    def out_rows(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Bytes of a row of outputs, and the names of these outputs."""
        found: dict[int, list[str]] = {}
        for name in self.spec.outputs:
            found.setdefault(self.cols * self.spec.dtype_of(name).itemsize, []).append(name)
        return tuple((nbytes, tuple(names)) for nbytes, names in found.items())

    @property
    def row_dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions that split a row's number into coordinates, if it has several."""
        outer = self.stream.sizes[:-1]
        return self.stream.coordinates(outer) if len(outer) > 1 else ()

    def row_terms(self, of: StreamOperand) -> tuple[tuple[str, int], ...]:
        """Return the terms of an operand's row: values, and bytes per unit of each."""
        rows = len(self.stream.sizes) - 1
        itemsize = self._itemsize(of)
        if of.linear:
            return (("%r", self.cols * itemsize),)
        return tuple((self.coordinate(d), stride * itemsize) for d, stride in of.terms if d < rows)

    def coordinate(self, dimension: int) -> str:
        return "%r" if len(self.stream.sizes) == 2 else f"%r.at{dimension}"

    @property
    def operands(self) -> tuple[StreamOperand, ...]:
        return tuple(i for i in self.stream.inputs if not i.is_index)


def takes_rows(stream: StreamPlan) -> bool:
    """Return whether the kernel needs rows: an input broadcasts, or there are conditions."""
    return len(stream.sizes) > 1 or bool(stream.conditions)
