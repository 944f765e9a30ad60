"""Accesses of a program's steps to memory, and which of them touch the same bytes.

Spans are found with a tree, so that the cost of a step grows with the number of spans that it
overlaps. runtime/c/program_order.c checks the same rules when a program is read.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.memory.overlap import share_an_element
from kgen_runtime.schema.program import Place, Program, Value

#: Kinds of memory that steps write.
WRITABLE = ("arena", "output", "state")


class StepAccess:
    """Access of a step to a tensor: `param` as the kernel sees it, from byte `start` on."""

    __slots__ = ("end", "is_whole", "param", "start", "step", "value", "writes")

    def __init__(self, step: int, value: Value, param: TensorParam) -> None:
        self.step, self.value, self.param = step, value.name, param
        self.start = value.place.offset
        self.end = self.start + param.nbytes
        self.writes = param.is_output
        #: Whether the access touches every byte from its start to its end.
        self.is_whole = math.prod(param.shape) * param.dtype.itemsize == param.nbytes

    def meets(self, other: StepAccess) -> bool:
        """Return whether the two accesses have a byte in common."""
        if self.end <= other.start or other.end <= self.start:
            return False
        if self.is_whole and other.is_whole:
            return True
        return share_an_element(self.start, self.param, other.start, other.param)


class Spans:
    """Accesses by their spans of one memory, in a tree over all spans that a program has there.

    A node of the tree holds the largest end of the spans below it that have an access.
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
        """Yield the accesses whose spans overlap these bytes."""
        for number in self._numbers(start, end):
            yield from self._held[number]

    def drop_within(self, start: int, end: int, step: int) -> None:
        """Remove the accesses of other steps whose spans lie within these bytes."""
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
        """Yield the numbers of the spans that overlap these bytes, in the order of their starts."""
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
    """Accesses to one memory with which a later step may conflict. An access that a later write has
    wholly overwritten is left out: a step that waits for that write has waited for both."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        spans = [*spans]
        self._reads, self._writes = Spans(spans), Spans(spans)

    def conflicts(self, access: StepAccess) -> list[StepAccess]:
        """Return the earlier accesses to a byte of this one, if one of the two is a write."""
        found = self._meeting(self._writes, access)
        return [*found, *self._meeting(self._reads, access)] if access.writes else found

    def _meeting(self, among: Spans, access: StepAccess) -> list[StepAccess]:
        overlapping = among.overlapping(access.start, access.end)
        return [other for other in overlapping if access.meets(other)]

    def add(self, access: StepAccess) -> None:
        if access.writes and access.is_whole:
            for spans in (self._reads, self._writes):
                spans.drop_within(access.start, access.end, access.step)
        (self._writes if access.writes else self._reads).add(access)


def bound(kernel: KernelEntry) -> tuple[TensorParam, ...]:
    """Return the tensors that a step binds: all but the constants that the kernel stores."""
    return (*kernel.arguments, *kernel.outputs)


Use = tuple[StepAccess, Place, list[StepAccess]]


def uses(program: Program, entries: Mapping[str, KernelEntry]) -> Iterator[list[Use]]:
    """Yield the accesses of each step with their places, and the earlier accesses that conflict
    with them: both touch one byte, and one of them writes it.

    An access that a later one has wholly overwritten is left out: a step that waits for the later
    one has waited for both.
    """
    values = program.by_name
    tensors = {name: bound(entries[name]) for name in program.kernels}
    accesses: list[list[tuple[StepAccess, Place]]] = []
    spans: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for number, step in enumerate(program.steps):
        accesses.append([])
        for param in tensors[f"{program.target}/{step.kernel}"]:
            value = values[step.bindings[param.name]]
            access = StepAccess(number, value, param)
            accesses[-1].append((access, value.place))
            if value.place.kind in WRITABLE:
                spans.setdefault(value.place.memory, set()).add((access.start, access.end))
    live = {memory: Live(found) for memory, found in spans.items()}
    for of_step in accesses:
        yield [
            (access, place, live[place.memory].conflicts(access) if place.memory in live else [])
            for access, place in of_step
        ]
        for access, place in of_step:
            if place.memory in live:
                live[place.memory].add(access)
