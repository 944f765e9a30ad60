"""The order in which diverged lanes run.

Of all lanes that are apart, those at the lowest position run first. Lanes meet again where their
paths join if every position on the way to the join is lower, and none behind it is: the order must
keep the blocks of a loop together and put everything behind a loop after it. That is a weak
topological order (F. Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993):
strongly connected components in topological order, each one its header first and then the rest of
it, ordered in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence


def weak_topological_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes that node 0 reaches, in weak topological order."""
    return list(_order(successors, [0], range(len(successors))))


def _order(
    successors: Sequence[Sequence[int]], roots: Sequence[int], among: Collection[int]
) -> Iterator[int]:
    for component in reversed(_components(successors, roots, among)):
        header, *body = component
        yield header
        if body:
            inside = set(body)
            entries = [node for node in successors[header] if node in inside]
            yield from _order(successors, entries + body, inside)


def _components(
    successors: Sequence[Sequence[int]], roots: Sequence[int], among: Collection[int]
) -> list[list[int]]:
    """Strongly connected components, each after all that it reaches, its first-found node first.

    R. Tarjan's algorithm without recursion: a kernel may have thousands of blocks in a row.
    """
    found: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[list[int]] = []
    path: list[tuple[int, Iterator[int]]] = []

    def enter(node: int) -> None:
        found[node] = lowest[node] = len(found)
        stack.append(node)
        on_stack.add(node)
        path.append((node, iter(successors[node])))

    for root in roots:
        if root not in found:
            enter(root)
        while path:
            node, rest = path[-1]
            for successor in rest:
                if successor not in among:
                    continue
                if successor not in found:
                    enter(successor)
                    break
                if successor in on_stack:
                    lowest[node] = min(lowest[node], found[successor])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == found[node]:
                    start = stack.index(node)
                    components.append(stack[start:])
                    on_stack.difference_update(stack[start:])
                    del stack[start:]
    return components
