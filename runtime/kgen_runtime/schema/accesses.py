"""Accesses of a program's steps to memory, and which of them touch the same bytes.

Spans are looked up in a tree, so that a step's cost is the number of spans that it meets. What
remains is bounded by a budget in proportion to the program's accesses.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from kgen_runtime.errors import BundleError
from kgen_runtime.manifest import TensorParam
from kgen_runtime.schema.program import Value

#: Comparisons allowed for each access of a program, and for any program.
EACH, ANY = 64, 65536
#: Comparisons that a question about two tensors with gaps counts as.
STRIDED = 64


class Budget:
    """Comparisons that the check of a program may take, by the number of its accesses."""

    def __init__(self, accesses: int) -> None:
        self.most = self.left = ANY + EACH * accesses

    def take(self, comparisons: int) -> None:
        """Raises BundleError when there are too many."""
        self.left -= comparisons
        if self.left < 0:
            raise BundleError(
                f"its steps share memory more than {self.most} times, the limit; give values "
                "memory of their own"
            )


class StepAccess:
    """Access of a step to a tensor: `param` as the kernel sees it, from byte `start` on."""

    __slots__ = ("end", "is_whole", "param", "start", "step", "value", "writes")

    def __init__(self, step: int, value: Value, param: TensorParam) -> None:
        self.step, self.value, self.param = step, value.name, param
        self.start = value.place.offset
        self.end = self.start + param.nbytes
        self.writes = param.role == "output"
        #: Whether it touches every byte from its start to its end.
        self.is_whole = math.prod(param.shape) * param.dtype.itemsize == param.nbytes

    def meets(self, other: StepAccess, budget: Budget) -> bool:
        """Whether both touch one byte."""
        budget.take(1)
        if self.end <= other.start or other.end <= self.start:
            return False
        if self.is_whole and other.is_whole:
            return True
        from kgen_runtime.memory.overlap import share_an_element  # numpy: most programs need none

        budget.take(STRIDED)
        return share_an_element(self.start, self.param, other.start, other.param)


class Spans:
    """Accesses by their spans of one memory, in a tree over all spans that a program has there.

    A node of the tree holds the furthest end of the spans below it that have an access.
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = sorted(set(spans))
        self._number = {span: i for i, span in enumerate(self._spans)}
        self._leaves = 1 << max(0, len(self._spans) - 1).bit_length()
        self._ends = [-1] * (2 * self._leaves)
        self._held: list[list[StepAccess]] = [[] for _ in self._spans]

    def add(self, access: StepAccess) -> None:
        number = self._number[access.start, access.end]
        self._held[number].append(access)
        if len(self._held[number]) == 1:
            self._set(number, access.end)

    def overlapping(self, start: int, end: int) -> Iterator[StepAccess]:
        """Accesses whose spans overlap these bytes."""
        for number in self._numbers(start, end):
            yield from self._held[number]

    def drop_within(self, start: int, end: int, step: int) -> None:
        """Forget the accesses of other steps whose spans lie within these bytes."""
        for number in [*self._numbers(start, end)]:
            if start <= self._spans[number][0] and self._spans[number][1] <= end:
                self._held[number] = [a for a in self._held[number] if a.step == step]
                if not self._held[number]:
                    self._set(number, -1)

    def _set(self, number: int, end: int) -> None:
        node, ends = self._leaves + number, self._ends
        ends[node] = end
        while node > 1:
            node //= 2
            ends[node] = max(ends[2 * node], ends[2 * node + 1])

    def _numbers(self, start: int, end: int) -> Iterator[int]:
        """Numbers of the spans that overlap these bytes, the lowest start first."""
        behind = bisect_left(self._spans, (end, -1))
        nodes = [(1, 0, self._leaves)]
        while nodes:
            node, first, count = nodes.pop()
            if first >= behind or self._ends[node] <= start:
                continue
            if count == 1:
                yield first
                continue
            half = count // 2
            nodes.append((2 * node + 1, first + half, half))
            nodes.append((2 * node, first, half))


class Live:
    """Accesses to one memory that a later step may conflict with: those that no later write has
    wholly overwritten. Whoever waits for that write has waited for them too."""

    def __init__(self, spans: Iterable[tuple[int, int]], budget: Budget) -> None:
        spans = [*spans]
        self._reads, self._writes, self._budget = Spans(spans), Spans(spans), budget

    def conflicts(self, access: StepAccess) -> list[StepAccess]:
        """Earlier accesses that touch a byte of this one where one of both writes it."""
        found = self._meeting(self._writes, access)
        return [*found, *self._meeting(self._reads, access)] if access.writes else found

    def _meeting(self, among: Spans, access: StepAccess) -> list[StepAccess]:
        overlapping = among.overlapping(access.start, access.end)
        return [other for other in overlapping if access.meets(other, self._budget)]

    def add(self, access: StepAccess) -> None:
        if access.writes and access.is_whole:
            for spans in (self._reads, self._writes):
                spans.drop_within(access.start, access.end, access.step)
        (self._writes if access.writes else self._reads).add(access)


def conflicts_within(
    accesses: Iterable[StepAccess], budget: Budget
) -> Iterator[tuple[StepAccess, StepAccess]]:
    """Pairs of one step's accesses to one memory that touch one byte, of which one writes it."""
    reads: list[StepAccess] = []
    writes: list[StepAccess] = []
    for access in sorted(accesses, key=lambda one: one.start):
        writes = [other for other in writes if other.end > access.start]
        others = writes
        if access.writes:
            reads = [other for other in reads if other.end > access.start]
            others = writes + reads
        for other in others:
            if access.meets(other, budget):
                yield access, other
        (writes if access.writes else reads).append(access)
